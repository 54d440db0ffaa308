"""The running clusters of the lessons: what a reader may change, and the scenario that this makes.

The same module runs in the page and in the tests. ``play`` takes the name of a lab, the values of
its sliders and the faults that the reader has set, and returns what the page draws, as JSON.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import simrep

__all__ = ["LABS", "Lab", "first_faults", "first_settings", "messages", "play", "scenarios", "why"]

Table = dict[str, Any]
Settings = Mapping[str, Any]
Faults = Sequence[Mapping[str, Any]]

PRODUCTS = {
    "galera": "Galera",
    "group_replication": "Group Replication",
    "semisync": "Semi-synchronous",
    "asynchronous": "Asynchronous",
}
VERSIONS = {
    "galera": "mariadb-11.8",
    "group_replication": "mysql-8.4",
    "semisync": "mysql-8.4",
    "asynchronous": "mysql-8.4",
}
LEADER = ", single leader"
"""Behind the name of a product: only its leader proposes."""

SILENCE = "longest time without a commit while clients wait"
LOST = "commits lost after they were confirmed"

PLAIN = {
    "to the next tick": "until the next check",
    "sees no progress of": "has heard nothing new from",
    "join retransmission: members repeat their joins": "until join messages are repeated: "
    "members repeat them",
    "joins, install and gaps of the view (EVS)": "the nodes agree on a view and install it",
    "states and install of the component (PC), state exchange (GCS)": "the nodes find that they "
    "are the majority, and compare what each has received",
    "so total order on": "so the order of commits on",
    "period of the suspicion thread": "until the thread that removes members looks again",
    "wave for the removal": "the removal",
    "which waits for slots of": "which waits for places of",
}
"""How a lesson says what an explanation says of timers and messages."""

SEED = 1


@dataclass(frozen=True)
class Slider:
    """What a reader sets by a slider: the values that it steps through, and where it begins."""

    name: str
    label: str
    values: tuple[float, ...]
    start: float
    unit: str = ""


@dataclass(frozen=True)
class Choice:
    """What a reader picks from a list."""

    name: str
    label: str
    values: tuple[tuple[str, str], ...]
    start: str


@dataclass(frozen=True)
class Lab:
    """A running cluster, or several of them beside each other.

    Attributes
    ----------
    controls : tuple of Slider or Choice
    build : callable
        Makes the scenarios of the clusters, by title, of the settings.
    faults : tuple
        Those that the reader finds there; he adds others.
    views : tuple of str
        What is drawn: ``rate`` (commits per second), ``waits`` (how long each commit took),
        ``stages`` (where the time of a commit goes), ``silence`` (the steps from the end of a node
        of Galera to the next commit), ``tried`` (each run that was tried).
    bin_s : float
        Commits are counted in intervals of this length.
    breakable : bool
        Whether the reader may kill, cut and heal.
    """

    controls: tuple[Slider | Choice, ...]
    build: Callable[[Settings], dict[str, Table]]
    faults: tuple[Table, ...] = ()
    views: tuple[str, ...] = ("rate", "waits")
    bin_s: float = 0.5
    breakable: bool = False


def _cluster(model: str, nodes: int = 3, **options: Any) -> Table:
    return {"model": model, "version": VERSIONS[model], "nodes": nodes, "options": options}


def _farthest(given: Settings) -> dict[str, Table]:
    model = given["product"].removesuffix(LEADER)
    options: Table = {}
    if given["product"].endswith(LEADER):
        options["group_replication_paxos_single_leader"] = True
    if model == "semisync":
        options["rpl_semi_sync_source_wait_for_replica_count"] = int(given["acknowledgements"])
    near = {"from": "n1", "to": "n2", "rtt_ms": given["near_ms"]}
    return {
        PRODUCTS[model]: {
            "cluster": _cluster(model, **options),
            "network": {"rtt_ms": given["far_ms"], "path": [near]},
            "workload": {"threads": 1, "nodes": ["n1"], "clients": {"on_error": "stay"}},
            "run": {"duration_s": 5},
        }
    }


def _windows(given: Settings) -> dict[str, Table]:
    window = int(given["window"])
    options = {"evs.send_window": window, "evs.user_send_window": max(1, window // 2)}
    return {
        "Galera": {
            "cluster": _cluster("galera", **options),
            "network": {"rtt_ms": given["rtt_ms"]},
            "workload": {
                "threads": int(given["threads"]),
                "nodes": ["n1"],
                "clients": {"on_error": "stay"},
            },
            "run": {"duration_s": 5},
        }
    }


def _conflicts(given: Settings) -> dict[str, Table]:
    names = ["n1", "n2", "n3"]
    return {
        "Galera": {
            "cluster": _cluster("galera", wsrep_retry_autocommit=0, wsrep_slave_threads=8),
            "network": {"rtt_ms": given["rtt_ms"]},
            "workload": {
                "threads": 12,
                "nodes": names[: int(given["writers"])],
                "clients": {"on_error": "stay"},
                "class": [
                    {
                        "name": "update",
                        "table": "stock",
                        "row_bytes": 60,
                        "keys": {"distribution": "uniform", "rows": int(given["rows"])},
                    }
                ],
            },
            "run": {"duration_s": 5},
        }
    }


def _dying(given: Settings) -> dict[str, Table]:
    clients = {"threads": 3, "think_time_ms": 100}
    suspect_s = given["suspect_s"]
    galera = {"evs.suspect_timeout": f"PT{suspect_s:g}S"}
    if suspect_s < 3:  # the provider wants three keepalives in that time
        galera["evs.keepalive_period"] = f"PT{int(100 * suspect_s / 3) / 100:g}S"
    group = {"group_replication_member_expel_timeout": int(given["expel_s"])}
    source = {
        "failover_manager": "orchestrator",
        "rpl_semi_sync_source_wait_for_replica_count": 1,
    }
    return {
        PRODUCTS[model]: {
            "cluster": _cluster(model, **options),
            "network": {"rtt_ms": given["rtt_ms"]},
            "workload": clients
            | {
                "nodes": ["n1", "n2", "n3"] if model == "galera" else ["n1"],
                "clients": {
                    "on_error": "next" if given["broken"] else "stay",
                    "retry_pause_s": 0.2,
                    "connect_timeout_s": 2,
                },
            },
            "run": {"duration_s": 30},
        }
        for model, options in (
            ("galera", galera),
            ("group_replication", group),
            ("semisync", source),
        )
    }


def _lost(given: Settings) -> dict[str, Table]:
    model = given["product"]
    options: Table = {}
    if model == "semisync":
        options["rpl_semi_sync_source_timeout"] = int(1000 * given["timeout_s"])
    return {
        PRODUCTS[model]: {
            "cluster": _cluster(model, **options),
            "network": {"rtt_ms": given["rtt_ms"]},
            "workload": {
                "threads": 4,
                "think_time_ms": 50,
                "nodes": ["n1"],
                "clients": {
                    "on_error": "next" if given["promoted"] else "stay",
                    "read_timeout_s": 3,
                    "retry_pause_s": 0.2,
                    "connect_timeout_s": 2,
                },
            },
            "run": {"duration_s": 20},
        }
    }


def _bite(given: Settings) -> dict[str, Table]:
    nightly: Table = {
        "name": "nightly",
        "at_s": 2,
        "rows": int(given["rows"]),
        "row_bytes": 100,
        "table": "big",
        "keys": {"distribution": "scan", "rows": int(given["rows"])},
    }
    if given["fragment_bytes"]:
        nightly["session"] = {"wsrep_trx_fragment_size": int(given["fragment_bytes"])}
    return {
        "Galera": {
            "cluster": _cluster("galera"),
            "network": {"rtt_ms": given["rtt_ms"]},
            "workload": {
                "rate_tps": 100,
                "connections": 20,
                "clients": {"on_error": "stay"},
                "scheduled": [nightly],
            },
            "run": {"duration_s": 10, "interval_s": 0.1},
        }
    }


_RTT = Slider("rtt_ms", "Round trip between nodes", (0.5, 1, 2, 5, 10, 20, 40, 80, 160), 0.5, "ms")
LABS = {
    "farthest": Lab(
        (
            Choice(
                "product", "Product",
                (
                    ("galera", "Galera"),
                    ("group_replication", "Group Replication"),
                    ("group_replication" + LEADER, "Group Replication, single leader"),
                    ("semisync", "Semi-synchronous"),
                ),
                "galera",
            ),
            Slider("near_ms", "Round trip n1 to n2", (0.5, 1, 2, 5, 10, 20, 40, 80), 2, "ms"),
            Slider(
                "far_ms", "Round trip n1 to n3, n2 to n3",
                (1, 2, 5, 10, 20, 40, 80, 120, 160, 240), 80, "ms",
            ),
            Slider("acknowledgements", "Semi-synchronous: replies that a commit needs", (1, 2), 1),
        ),
        _farthest,
        views=("waits", "stages", "tried"),
    ),
    "windows": Lab(
        (
            Slider("threads", "Clients of n1", (1, 2, 4, 8, 16, 32, 64), 1),
            Slider("rtt_ms", "Round trip between nodes", (1, 5, 10, 20, 40, 80, 160), 80, "ms"),
            Slider(
                "window", "evs.send_window (user_send_window is half of it)",
                (1, 2, 4, 8, 16, 64, 256, 512), 4, "messages",
            ),
        ),
        _windows,
        views=("rate", "stages", "tried"),
    ),
    "conflicts": Lab(
        (
            Slider("rows", "Rows that all clients update", (3, 10, 30, 100, 1000, 10_000), 100),
            Slider("writers", "Nodes that take writes (12 clients in all)", (1, 2, 3), 3),
            Slider("rtt_ms", "Round trip between nodes", (0.5, 2, 5, 10, 20, 40, 80), 20, "ms"),
        ),
        _conflicts,
        views=("rate", "stages", "tried"),
    ),
    "dying": Lab(
        (
            Slider("suspect_s", "Galera: evs.suspect_timeout", (1, 2, 3, 5, 8, 10), 5, "s"),
            Slider(
                "expel_s", "Group Replication: group_replication_member_expel_timeout",
                (0, 2, 5, 10), 5, "s",
            ),
            Slider("rtt_ms", "Round trip between nodes", (0.5, 5, 20, 80), 0.5, "ms"),
        ),
        _dying,
        faults=({"what": "kill", "node": "first", "at_s": 5.0},),
        views=("rate", "waits", "silence"),
        breakable=True,
    ),
    "lost": Lab(
        (
            Choice("product", "Product", tuple(PRODUCTS.items())[2:], "semisync"),
            Slider("timeout_s", "rpl_semi_sync_source_timeout", (0.5, 1, 2, 5, 10, 30), 1, "s"),
            _RTT,
        ),
        _lost,
        faults=(
            {"what": "cut", "node": "n1", "at_s": 5.0},
            {"what": "power-loss", "node": "n1", "at_s": 9.0},
            {"what": "promote", "node": "n2", "at_s": 12.0},
        ),
        breakable=True,
    ),
    "bite": Lab(
        (
            Slider(
                "rows", "Rows that the nightly update changes",
                (1000, 10_000, 30_000, 100_000, 200_000), 100_000,
            ),
            Slider(
                "fragment_bytes", "wsrep_trx_fragment_size (0: the whole at once)",
                (0, 10_000, 50_000, 200_000, 1_000_000), 0, "bytes",
            ),
            _RTT,
        ),
        _bite,
        bin_s=0.1,
    ),
}  # fmt: skip


def first_settings(name: str) -> Table:
    """Where the sliders of a lab begin."""
    return {one.name: one.start for one in LABS[name].controls}


def first_faults(name: str) -> list[Table]:
    """The faults that a reader finds in a lab."""
    return [dict(one) for one in LABS[name].faults]


def scenarios(name: str, settings: Settings, faults: Faults) -> dict[str, Table]:
    """The scenarios of a lab by title; ``first`` is the node that takes the writes, or any."""
    promoted = any(one["what"] == "promote" for one in faults)  # else a replica takes no writes
    given = first_settings(name) | dict(settings) | {"promoted": promoted, "broken": bool(faults)}
    found = LABS[name].build(given)
    for title, one in found.items():
        one["name"] = title
        one["run"] = {"seed": SEED} | one["run"]
        if faults:
            one["fault"] = [_fault(fault) for fault in faults]
    return found


def _fault(fault: Mapping[str, Any]) -> Table:
    given = dict(fault)
    if given.get("node") == "first":
        given["node"] = "n1"
    return given


def play(name: str, settings: Settings, faults: Faults, place: int | None = None) -> Table:
    """Run a lab, or one of its clusters.

    Parameters
    ----------
    name : str
    settings : mapping
        Of each slider or list its value.
    faults : sequence of mapping
        Tables ``[[fault]]``.
    place : int, optional
        Run only the cluster at this place, counted from 0.

    Returns
    -------
    dict
        ``clusters``, of each what its clients and servers saw; ``count``, how many the lab has.
    """
    every = list(scenarios(name, settings, faults).items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clusters = [
            _told(title, simrep.run(one, replications=1, progress=False), faults, one)
            for title, one in (every if place is None else every[place : place + 1])
        ]
    return {
        "lab": name, "settings": dict(settings), "clusters": clusters, "count": len(every),
    }  # fmt: skip


def messages(
    name: str, settings: Settings, faults: Faults, title: str, look_s: Sequence[float]
) -> Table:
    """The document of the player for one cluster of a lab: its messages around a time."""
    from simrep.show.player.document import document
    from simrep.why.recording import record

    scenario = scenarios(name, settings, faults)[title]
    begin_s, end_s = look_s
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return document(record(scenario, look_s=(begin_s, end_s)))


def why(name: str, settings: Settings, faults: Faults, title: str) -> list[str]:
    """What the longest silence of one cluster of a lab consists of, sentence by sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = simrep.explain_stall(scenarios(name, settings, faults)[title])
    told = [_in_lesson_words(one) for one in found.sentences()]
    begun = [one["at_s"] for one in faults if 0 < found.stall.began_s - one["at_s"] < 1]
    if begun:
        late_ms = 1e3 * (found.stall.began_s - max(begun))
        counted = f"from the first client that wants to commit, {late_ms:.0f} ms after the fault"
        checks = any("until the next check" in one or "until a poll" in one for one in told)
        shorter = f", so the first wait for a check is {late_ms:.0f} ms shorter here"
        told.insert(1, f"It is counted {counted}{shorter if checks else ''}.")
    return told


def _in_lesson_words(sentence: str) -> str:
    """Without paths into a scenario, which a lesson does not show."""
    sentence = re.sub(r" \((?:fault|workload\.scheduled)\.\d+\)", "", sentence)
    sentence = re.sub(r"(?<=\d) us\b", " µs", sentence)
    sentence = re.sub(r"; (\d+) more of the kind", r"; the same in \1 more place", sentence)
    for word, plain in PLAIN.items():
        sentence = sentence.replace(word, plain)
    return sentence


def _told(title: str, result: simrep.Result, faults: Faults, scenario: Table) -> Table:
    (run,) = result.runs
    attempts, seen = run.attempts, run.measurement
    assert attempts is not None
    latency_s = result.latency_s
    lines = result.timeline().to_dict()["lines"]
    figures: list[tuple[str, float, str]] = [
        ("commits", result.throughput_tps, "/s"),
        ("median commit", 1e3 * latency_s["p50"], "ms"),
        ("95 % are faster than", 1e3 * latency_s["p95"], "ms"),
        ("attempts that failed", float(result.aborted), ""),
    ]
    if faults:
        figures.append((SILENCE, result.stall_max_s, "s"))
        if run.fates is not None:
            figures.append((LOST, float(run.fates.lost), ""))
    marks: list[tuple[float, str]] = []
    for one in result.scheduled.values():
        marks += [(one.begin_s, "the update begins"), (one.commit_s, "it commits")]
        figures.append(("the large update takes", one.duration_s, "s"))
        figures.append(("others commit nothing for", one.stall_s, "s"))
        figures.append(("parts that it is sent in", float(one.fragments) + 1.0, ""))
    return {
        "title": title,
        "nodes": list(attempts.nodes),
        "waits_from_s": seen.stall.began_s if isfinite(seen.stall.began_s) else None,
        "end_s": attempts.end_s,
        "measured_s": seen.ended_s - seen.began_s,
        "began": _rounded(attempts.began_s.tolist()),
        "ended": _rounded(attempts.ended_s.tolist()),
        "node": attempts.node.tolist(),
        "error": attempts.error.tolist(),
        "texts": list(attempts.texts),
        "lines": [
            [
                round(one["at_s"], 4),
                one["text"],
                one["what"] if one["node"] else "",
                one["node"],
                one["of"],
            ]
            for one in lines
            if one["at_s"] <= attempts.end_s
        ],
        "marks": [[round(at_s, 4), words] for at_s, words in marks if isfinite(at_s)],
        "rtt_ms": _distances(scenario, list(attempts.nodes)),
        "noted": [[round(n.at_s, 4), n.node, n.what, list(n.of)] for n in run.noted],
        "faults": [_fault(one) for one in faults],
        "stages": {
            name: 1e3 * value
            for name, value in result.breakdown().stages.items()
            if isfinite(value)
        },
        "figures": [[text, value, unit] for text, value, unit in figures if isfinite(value)],
        "digest": result.digest(),
    }


def _distances(scenario: Table, names: list[str]) -> list[list[float]]:
    """Round trips between nodes in milliseconds, by their positions."""
    network = scenario["network"]
    own = {frozenset((one["from"], one["to"])): one["rtt_ms"] for one in network.get("path", ())}
    return [
        [float(own.get(frozenset((one, other)), network["rtt_ms"])) for other in names]
        for one in names
    ]


def _rounded(seconds: Sequence[float]) -> list[float]:
    return [round(one, 5) for one in seconds]
