"""Random faults of Galera clusters: which promises are broken, if any.

Two to seven nodes, segments and arbitrators; servers crash, leave, stand still and come back,
machines lose power, links are cut one way or both ways, or lose packets. After the last fault all
servers are up.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Hashable
from typing import Any

from simrep.errors import ScenarioError
from simrep.runs.replication import Replication, simulate
from simrep.scenario import load

__all__ = ["FIGURES", "broken_promises", "content", "outcome"]

_HEAL_S = 24.0  # in which a group finds together, and servers get what they have missed
_BEHIND = 40  # transactions under way at the end
_TOLD = {"primary", "non-primary", "aborted"}
_STEPS = {"joiner", "joined", "synced"}

FIGURES = ("answered", "lost", "unknown", "unknown_present", "duplicated", "transfers", "aborted")


def _link_fault(draw: random.Random, names: list[str], what: str, at_s: float) -> dict[str, Any]:
    fault = {
        "what": what,
        "nodes": sorted(draw.sample(names, draw.randint(1, len(names) - 1))),
        "at_s": at_s,
        "until_s": round(at_s + draw.choice([1.0, 4.0, 9.0, 14.0]), 3),
        "direction": draw.choice(["both", "both", "out"]),
    }
    return fault | ({"loss": 0.1} if what == "loss" else {})


def _faults(draw: random.Random, names: list[str]) -> tuple[list[dict[str, Any]], float]:
    """What goes wrong, and when all is well again."""
    faults: list[dict[str, Any]] = []
    up = set(names)
    at_s = well_s = 1.0
    words = ["cut", "cut", "loss", "pause", "kill", "power-loss", "leave", "restart"]
    for _ in range(draw.randint(1, 5)):
        at_s = round(at_s + draw.choice([0.05, 0.4, 2.0, 7.0]), 3)
        what, node = draw.choice(words), draw.choice(names)
        if what in {"cut", "loss"}:
            faults.append(_link_fault(draw, names, what, at_s))
        elif what == "pause" and node in up:
            until_s = round(at_s + draw.choice([0.5, 4.0, 9.0]), 3)
            faults.append({"what": what, "node": node, "at_s": at_s, "until_s": until_s})
        elif node in up and what not in {"pause", "restart"}:
            up.remove(node)
            faults.append({"what": what, "node": node, "at_s": at_s})
        elif node not in up:
            up.add(node)
            faults.append({"what": "restart", "node": node, "at_s": at_s})
        well_s = max([well_s, at_s, *(fault.get("until_s", 0.0) for fault in faults)])
    well_s += 1.0
    faults += [
        {"what": "restart", "node": name, "at_s": well_s} for name in names if name not in up
    ]
    return faults, well_s


def content(seed: int) -> dict[str, Any]:
    """The scenario of a seed."""
    draw = random.Random(seed)
    size = draw.randint(2, 7)
    names = [f"n{position + 1}" for position in range(size)]
    nodes: list[dict[str, Any]] = [{"name": name} for name in names]
    if draw.random() < 0.4:
        for node in nodes:
            node["segment"] = draw.choice([0, 1])
    data = names
    if size > 2 and draw.random() < 0.3:
        nodes[-1]["arbitrator"] = True
        data = names[:-1]
    faults, well_s = _faults(draw, names)
    return {
        "cluster": {
            "model": "galera",
            "nodes": names,
            "data_bytes": 10**8,
            "options": {
                "wsrep_slave_threads": draw.choice([1, 4]),
                "gcache.size": draw.choice(["128M", "128M", 6000]),
                "wsrep_sst_method": draw.choice(["rsync", "clone"]),
            },
            "costs": {
                "apply_us": draw.choice([40.0, 3000.0]),
                "engine_start_ms": 200.0,
                "recover_ms": 100.0,
                "start_ms": 100.0,
            },
        },
        "node": nodes,
        "network": {"rtt_ms": draw.choice([0.2, 20.0])},
        "workload": {
            "think_time_ms": 50.0,
            "threads": draw.choice([1, 2]),
            "nodes": data[: draw.choice([1, 2, len(data)])],
        },
        "fault": faults,
        "run": {"warmup_s": 0.0, "duration_s": well_s + _HEAL_S},
    }


def broken_promises(run: Replication, names: list[str]) -> list[str]:
    """Which promises a run has broken."""
    broken = []
    last: dict[int, str] = {}
    step: dict[int, str] = {}
    for one in run.noted:
        if one.what in _TOLD:
            last[one.node] = one.what
        elif one.what in _STEPS:
            step[one.node] = one.what
    committed = {
        names.index(name): counters["wsrep_last_committed"]
        for name, counters in run.counters.items()
        if "wsrep_last_committed" in counters
    }
    members = [node for node in committed if last.get(node, "primary") == "primary"]
    broken += [f"{names[n]} is not back" for n in members if step.get(n, "synced") != "synced"]
    ends = [committed[node] for node in members]
    if ends and max(ends) - min(ends) > _BEHIND:
        broken.append(f"not equal: {ends}")
    ordered: dict[int, dict[int, Hashable]] = {}
    for event in run.trace or ():
        if event.what == "order":
            ordered.setdefault(event.node, {})[event.seqno] = event.detail[2]  # type: ignore[index]
    common: dict[int, Hashable] = {}
    for node in members:
        for seqno, keys in ordered.get(node, {}).items():
            if seqno <= committed[node] and common.setdefault(seqno, keys) != keys:
                broken.append(f"{names[node]} has another transaction at {seqno}")
                break
    if run.fates is not None and "aborted" not in last.values():
        if run.fates.lost:
            broken.append(f"{run.fates.lost} lost")
        if run.fates.duplicated:
            broken.append(f"{run.fates.duplicated} twice")
    return broken


def outcome(seed: int) -> tuple[list[str], dict[str, int]] | None:
    """Which promises are broken, and figures; None if such faults are refused."""
    table = content(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scenario = load(table)
        except ScenarioError:  # a pause of a server that is away
            return None
        run = simulate(scenario, seed, trace=True)
    # Without fates nobody has noticed anything: a short pause, lost packets.
    counted = dict.fromkeys(FIGURES, 0) if run.fates is None else run.fates.to_dict()
    words = [one.what for one in run.noted]
    counted |= {"transfers": words.count("joiner"), "aborted": words.count("aborted")}
    return broken_promises(run, table["cluster"]["nodes"]), {
        name: counted[name] for name in FIGURES
    }
