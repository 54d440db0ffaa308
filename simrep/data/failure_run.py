"""One simulated run in which a node was hit: what happened, what clients met, what servers noted.

All times are in seconds. Those of clients count from the fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simrep.data.definition import SeriesTable
from simrep.errors import ScenarioError
from simrep.kernel.timeline import Noted
from simrep.measure.attempts import WAITING, Attempts
from simrep.measure.counts import error_of
from simrep.scenario import Scenario
from simrep.scenario.clients import ClientsTable

__all__ = [
    "LAST_S", "Clients", "Experiment", "Group", "first_noted", "longest_gap", "rate", "window",
]  # fmt: skip

LAST_S = 1.0  # at the end, that do not count: clients are stopped one by one
_SHORTEST_S = 0.3  # of a time in which commits are looked at
_HITS = ("kill", "power-loss", "leave", "pause", "cut")
_OF_DISK = ("disk-stall", "slow")  # what is looked at where nothing else happens


@dataclass(frozen=True, slots=True)
class Group:
    """Clients that do the same.

    Attributes
    ----------
    name : str
    node : int
        Position of the node that they begin with.
    reads : bool
        They only read.
    moves : bool
        They go to another node after an error.
    """

    name: str
    node: int
    reads: bool
    moves: bool


@dataclass(frozen=True, slots=True)
class Experiment:
    """What happens in a scenario: one node is hit, and comes back.

    Attributes
    ----------
    names : tuple of str
        Of the nodes, by position.
    victim : int
        Position of the node that is hit.
    inject_s, back_s, end_s : float
        Begin of the fault; its end, or the command to start the server again; end of the run.
    groups : tuple of Group
    watched : frozenset of int
        Positions of the nodes whose logs tell of first suspicions and of the new view.
    held : bool
        Whether an operator holds up the node, by a lock, and it does not fail.
    """

    names: tuple[str, ...]
    victim: int
    inject_s: float
    back_s: float
    end_s: float
    groups: tuple[Group, ...]
    watched: frozenset[int]
    held: bool = False

    @classmethod
    def of(cls, scenario: Scenario, series: SeriesTable) -> Experiment:
        """What the faults and groups of a scenario say."""
        names = scenario.node_names
        hits = [f for f in scenario.faults if f.what in _HITS]
        hits = hits or [f for f in scenario.faults if f.what in _OF_DISK]
        operated = [*scenario.maintenance, *scenario.workload.ddl]
        fault: Any = next(iter([*hits, *operated]), None)
        duration_s = scenario.run.duration_s
        if fault is None or duration_s is None:
            raise ScenarioError(
                series.scenario, f"needs run.duration_s and a fault: {', '.join(_HITS)}"
            )
        held = not hits
        [victim, *_] = fault.struck(names, names) if hits else map(names.index, fault.on(names))
        end_s = scenario.run.warmup_s + duration_s
        ends = [f.at_s for f in scenario.faults if f.what == "restart"]
        ends += [fault.end_s] if fault.at_s < fault.end_s < inf else []
        readers = {one.name for one in scenario.workload.classes if not one.writes}
        groups = []
        for name, table in zip(
            scenario.workload.group_names, scenario.workload.groups, strict=True
        ):
            policy = (table.clients or ClientsTable()).above(scenario.workload.policy)
            groups.append(
                Group(
                    name,
                    names.index(table.node),
                    reads=readers.issuperset(table.classes or ("",)),
                    moves=policy.on_error == "next",
                )
            )
        return cls(
            names=tuple(names),
            victim=victim,
            inject_s=fault.at_s,
            back_s=ends[0] if ends else end_s,
            end_s=end_s,
            groups=tuple(groups),
            held=held,
            watched=frozenset(map(names.index, series.watched or names)) - {victim},
        )

    @property
    def writers(self) -> list[Group]:
        """All groups that do not only read."""
        return [one for one in self.groups if not one.reads]

    @property
    def bystanders(self) -> list[Group]:
        """Writers that never meet the node that is hit."""
        return [one for one in self.writers if one.node != self.victim]

    @property
    def lasting(self) -> list[Group]:
        """Writers that go on, with those that move."""
        return [one for one in self.writers if one.moves or one.node != self.victim]


class Clients:
    """What the clients of one run met; times count from the fault."""

    def __init__(self, attempts: Attempts, experiment: Experiment) -> None:
        self._all = attempts
        self._names = experiment.names
        self._start_s = experiment.inject_s
        self._ended = attempts.ended_s - experiment.inject_s
        self._latency = attempts.ended_s - attempts.began_s
        self._done = (attempts.error == 0) & ~attempts.connecting

    def _of(self, groups: Collection[Group]) -> NDArray[np.bool_]:
        """Which attempts were committed, or answered, of some groups."""
        places = [self._all.groups.index(one.name) for one in groups]
        done: NDArray[np.bool_] = self._done & np.isin(self._all.group, places)
        return done

    def commits(self, groups: Collection[Group]) -> NDArray[np.float64]:
        """When their transactions were committed, in order."""
        return np.sort(self._ended[self._of(groups)])

    def latencies(self, groups: Collection[Group], low: float, high: float) -> NDArray[np.float64]:
        """Of those that were committed in a time."""
        return self._latency[self._of(groups) & (self._ended >= low) & (self._ended < high)]

    def latencies_begun(
        self, groups: Collection[Group], low: float, high: float
    ) -> NDArray[np.float64]:
        """Of those that were begun in a time."""
        began = self._ended - self._latency
        return self._latency[self._of(groups) & (began >= low) & (began < high)]

    def longest(self, groups: Collection[Group], low: float, high: float) -> float:
        """The longest latency of those that were under way in a time."""
        own = self._of(groups) & (self._ended >= low) & (self._ended - self._latency < high)
        return float(self._latency[own].max(initial=-inf))

    def elsewhere(self, group: Group) -> NDArray[np.float64]:
        """When they committed on other nodes than their first after the fault, in order."""
        own = self._of([group]) & (self._all.node != group.node) & (self._ended > 0.0)
        return np.sort(self._ended[own])

    def at(self, groups: Collection[Group], node: int) -> NDArray[np.float64]:
        """When their transactions were committed on one node, in order."""
        return np.sort(self._ended[self._of(groups) & (self._all.node == node)])

    def errors(self, group: Group) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
        """Node, number of the error, and (end, latency) of what failed with it after the fault."""
        every = self._all
        failed = (every.error > 0) & (self._ended >= 0.0)
        if WAITING in every.texts:  # clients have a second to end what they began
            waits = every.error == every.texts.index(WAITING)
            failed &= ~waits | (self._latency > LAST_S)
        failed &= every.group == every.groups.index(group.name)
        met: dict[tuple[str, str], list[int]] = {}
        for place in np.flatnonzero(failed).tolist():
            code = error_of(every.texts[every.error[place]])
            code += "_connect" if every.connecting[place] else ""
            met.setdefault((every.nodes[every.node[place]], code), []).append(place)
        for (node, code), places in sorted(met.items()):
            yield node, code, np.column_stack([self._ended[places], self._latency[places]])


def longest_gap(
    times: NDArray[np.float64], low: float, high: float, end: float
) -> tuple[float, ...]:
    """The longest time between commits that overlaps a time: how long, begin and end."""
    edges = np.append(times, end)
    before, after = edges[:-1], edges[1:]
    length = np.where((after >= low) & (before <= high), after - before, -inf)
    if not len(length) or length.max() == -inf:
        return nan, nan, nan
    place = int(length.argmax())
    return float(length[place]), float(before[place]), float(after[place])


def rate(times: NDArray[np.float64], low: float, high: float) -> float:
    """Commits per second from ``low`` to ``high``."""
    return float(((times >= low) & (times < high)).sum()) / (high - low)


def window(
    name: str, clients: Clients, groups: Collection[Group], low: float, high: float
) -> Iterator[tuple[str, float]]:
    """How fast writers commit in a time; nothing if it is short, or was not there."""
    if not high - low >= _SHORTEST_S:
        return
    commits = clients.commits(groups)
    yield f"{name}_tps", rate(commits, low, high)
    inside = commits[(commits >= low) & (commits < high)]
    yield f"{name}_longest_gap_s", float(np.diff([low, *inside, high]).max())
    latencies = clients.latencies(groups, low, high)
    if len(latencies):
        yield f"{name}_latency_median_ms", 1e3 * float(np.median(latencies))
        yield f"{name}_latency_max_ms", 1e3 * float(latencies.max())


def first_noted(
    noted: Collection[Noted], what: str, nodes: Collection[int], after_s: float, members: int = 0
) -> float:
    """When a node of several notes something after a time; NaN if none does."""
    for one in noted:
        if one.what == what and one.node in nodes and one.at_s >= after_s:
            # No server writes a line about being alone in a view.
            alone = what == "stable" and not {*one.of} - {one.node}
            if not alone and len(one.of) == (members or len(one.of)):
                return one.at_s
    return nan
