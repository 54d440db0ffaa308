"""What is right in each fault, but not together, or not in this cluster and this run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

from simrep.errors import ScenarioError, nearest
from simrep.scenario.faults import CHANGES, LINKS, FaultTable

__all__ = ["fault_problems", "order_problems", "power_losses", "server_changes"]

_Struck = tuple[int, ...]  # positions of nodes


def server_changes(
    faults: Sequence[FaultTable], names: Sequence[str], hosts: Sequence[str]
) -> list[tuple[FaultTable, _Struck]]:
    """Faults that let servers come or go, in the order of time, each with those that do.

    Of a machine, those that are there go, and those that are away come back. Nobody does if the
    order is wrong: a server that is away cannot go, and one that is there cannot start.
    """
    away: set[int] = set()
    changes = []
    for fault in sorted((one for one in faults if one.what in CHANGES), key=_at_s):
        struck = fault.struck(names, hosts)
        if fault.what == "restart":
            struck = tuple(node for node in struck if node in away)
        elif fault.what != "bootstrap":
            struck = tuple(node for node in struck if node not in away)
        changes.append((fault, struck))
        if fault.what in {"restart", "bootstrap"}:
            away.difference_update(struck)
        elif fault.what != "promote":
            away.update(struck)
    return changes


def power_losses(
    faults: Sequence[FaultTable], names: Sequence[str], hosts: Sequence[str]
) -> dict[int, list[tuple[float, float]]]:
    """When a node is without power, from and until in simulated seconds, by its position."""
    changes = server_changes(faults, names, hosts)
    spells: dict[int, list[tuple[float, float]]] = {}
    for node in range(len(names)):
        own = [fault for fault, struck in changes if node in struck]
        for fault, after in pairwise([*own, None]):
            if fault is not None and fault.what == "power-loss":
                until_s = inf if after is None else after.at_s
                spells.setdefault(node, []).append((fault.at_s, until_s))
    return spells


def fault_problems(
    faults: Sequence[FaultTable], names: Sequence[str], hosts: Sequence[str], run_end_s: float
) -> Iterator[ScenarioError]:
    """What is wrong with faults in this cluster and this run.

    Parameters
    ----------
    faults : sequence of FaultTable
    names, hosts : sequence of str
        Nodes and their machines, by position.
    run_end_s : float
        When the run ends in simulated seconds; infinite if that is not known.
    """
    places: list[_Struck] = []
    for position, fault in enumerate(faults):
        struck = fault.struck(names, hosts)
        yield from _strangers(fault, names, hosts)
        if fault.own:
            yield from _outside(fault, run_end_s)
        for earlier, other in enumerate(faults[:position]):
            both = set(struck) & set(places[earlier])
            if both and _clash(fault, other):
                yield ScenarioError(
                    fault.path,
                    f"{fault.what} of {names[min(both)]!r} at {fault.at_s:g} s, during that of "
                    f"{other.path}",
                    "let one end before the other begins",
                )
            if fault.name is not None and fault.name == other.name:
                yield ScenarioError(
                    f"fault.{position}.name", f"fault {fault.name!r} is there twice"
                )
        places.append(struck)


def _strangers(
    fault: FaultTable, names: Sequence[str], hosts: Sequence[str]
) -> Iterator[ScenarioError]:
    """Names that nobody has, links that are none, and power that others share."""
    key = "node" if fault.nodes is None else "nodes"
    side = fault.nodes or (() if fault.node is None else (fault.node,))
    for where, given in ((key, side), ("others", fault.others or ())):
        for name in given:
            if name not in names:
                path = f"{fault.path}.{where}"
                yield ScenarioError(path, f"no node {name!r}", nearest(name, names))
    if fault.host is not None and fault.host not in hosts:
        path = f"{fault.path}.host"
        yield ScenarioError(path, f"no host {fault.host!r}", nearest(fault.host, set(hosts)))
    struck = {names[node] for node in fault.struck(names, hosts)}
    both = sorted(struck & set(fault.others or ()))
    if both:
        yield ScenarioError(
            f"{fault.path}.others", f"node {both[0]!r} is on both sides, and has no link to itself"
        )
    elif fault.what in LINKS and struck == set(names) and fault.own:
        yield ScenarioError(
            f"{fault.path}.{'host' if fault.host is not None else key}",
            "all nodes are on one side: there is no link to the other",
            "leave out some, or name those on the other side in others",
        )
    if fault.what == "power-loss" and fault.node in names:
        host = hosts[names.index(fault.node)]
        if hosts.count(host) > 1:
            yield ScenarioError(
                f"{fault.path}.node",
                f"{fault.node!r} shares its machine with other nodes",
                f"say host = {host!r} instead",
            )


def _outside(fault: FaultTable, run_end_s: float) -> Iterator[ScenarioError]:
    for key in ("at_s", "until_s"):
        value = getattr(fault, key)
        if value is not None and (value > run_end_s or (key == "at_s" and value == run_end_s)):
            yield ScenarioError(
                f"{fault.path}.{key}",
                f"is after the end of the run at {run_end_s:g} s, given {value:g}",
                "run.warmup_s + run.duration_s is its end",
            )
            return


def _clash(one: FaultTable, other: FaultTable) -> bool:
    """Whether both would have the same thing happen to the same server at the same time.

    What happens to links adds up; the order of comings and goings is looked at by itself.
    """
    if one.what != other.what or one.what in CHANGES | LINKS:
        return False
    if min(one.end_s, other.end_s) <= max(one.at_s, other.at_s):
        return False
    return one.what != "slow" or any(
        getattr(one, name) is not None and getattr(other, name) is not None
        for name in ("cpu_factor", "fsync_factor")
    )


def order_problems(
    faults: Sequence[FaultTable], names: Sequence[str], hosts: Sequence[str]
) -> Iterator[ScenarioError]:
    """Who goes must be there, and who starts must be away and not stand still.

    It is asked of a model that plays these faults: with another one, no order is right.
    """
    changes = server_changes(faults, names, hosts)
    for fault, movers in changes:
        struck = fault.struck(names, hosts)
        if struck and not movers:
            state = "there" if fault.what == "restart" else "away"
            yield ScenarioError(
                f"{fault.path}.what",
                f"node {names[struck[0]]!r} is {state} already at {fault.at_s:g} s",
            )
    for fault in faults:
        struck = fault.struck(names, hosts)
        if not fault.lasts or not struck or not fault.own:
            continue
        spells = [_away(changes, node, fault.at_s) for node in struck]
        if all(spell is not None and _outlasts(fault, spell[1]) for spell in spells):
            yield ScenarioError(
                f"{fault.path}.at_s", f"node {names[struck[0]]!r} is away at {fault.at_s:g} s"
            )
        if fault.what != "pause":
            continue
        for change, movers in changes:
            meanwhile = fault.at_s <= change.at_s < fault.end_s
            acts = change.what in {"leave", "restart", "bootstrap", "promote"}
            for node in sorted(set(movers) & set(struck)) if meanwhile and acts else ():
                yield ScenarioError(
                    f"{change.path}.at_s",
                    f"node {names[node]!r} stands still at {change.at_s:g} s, by {fault.path}",
                    f"for {change.what!r} the pause has to end before",
                )


def _away(
    changes: Sequence[tuple[FaultTable, _Struck]], node: int, at_s: float
) -> tuple[float, float] | None:
    """From and until when a node is away at a time; None if it is there."""
    own = [fault for fault, movers in changes if node in movers and fault.what != "promote"]
    for fault, after in pairwise([*own, None]):
        assert fault is not None
        until_s = inf if after is None else after.at_s
        if fault.what not in {"restart", "bootstrap"} and fault.at_s <= at_s < until_s:
            return fault.at_s, until_s
    return None


def _outlasts(fault: FaultTable, back_s: float) -> bool:
    """Whether a node that is away until then is hit by nothing of a fault."""
    return fault.what == "pause" or back_s >= fault.end_s


def _at_s(fault: FaultTable) -> float:
    return fault.at_s
