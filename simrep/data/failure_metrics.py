"""What a run tells of something that went wrong in it: stalls, suspicions, views, errors, returns.

The names of the figures are those under which the same was measured of real clusters. All times are
in seconds. They count from the fault, if the name does not say that they count from its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import inf, isfinite, nan

import numpy as np
from numpy.typing import NDArray

from simrep.contract.setup import Setup, setup_of
from simrep.data.definition import SeriesTable
from simrep.data.failures import FailureSample
from simrep.errors import ScenarioError
from simrep.kernel.streams import Streams
from simrep.kernel.timeline import Noted
from simrep.measure.attempts import WAITING, Attempts
from simrep.measure.counts import error_of
from simrep.runs.replication import Replication, simulate
from simrep.scenario import Scenario, with_values
from simrep.scenario.clients import ClientsTable

__all__ = ["Experiment", "Group", "failure_figures", "failure_sample"]

_SIGHT = 5.0  # seconds before the fault and before the end in which commits are counted
_LAST = 3.0  # of the time in which the fault lasts
_END = 1.0  # seconds at the end that do not count: clients are stopped one by one


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
    """

    names: tuple[str, ...]
    victim: int
    inject_s: float
    back_s: float
    end_s: float
    groups: tuple[Group, ...]
    watched: frozenset[int]

    @classmethod
    def of(cls, scenario: Scenario, series: SeriesTable) -> Experiment:
        """What the faults and groups of a scenario say."""
        names = scenario.node_names
        fault, *others = scenario.faults or (None,)
        duration_s = scenario.run.duration_s
        if fault is None or duration_s is None:
            raise ScenarioError(
                series.scenario, "needs a fault and run.duration_s", "see [[fault]]"
            )
        [victim, *_] = fault.struck(names, names)
        back_s = next((f.at_s for f in others if f.what == "restart"), fault.end_s)
        back_s = back_s if isfinite(back_s) else duration_s
        readers = {one.name for one in scenario.workload.classes if not one.statements}
        groups = []
        for place, table in enumerate(scenario.workload.groups):
            policy = (table.clients or ClientsTable()).above(scenario.workload.policy)
            groups.append(
                Group(
                    table.name or f"group.{place}",
                    names.index(table.node),
                    reads=readers.issuperset(table.classes or ("",)),
                    moves=policy.on_error == "next",
                )
            )
        return cls(
            names=tuple(names),
            victim=victim,
            inject_s=fault.at_s,
            back_s=back_s,
            end_s=scenario.run.warmup_s + duration_s,
            groups=tuple(groups),
            watched=frozenset(map(names.index, series.watched or names)) - {victim},
        )

    @property
    def bystanders(self) -> list[Group]:
        """Writers that never meet the node that is hit."""
        return [one for one in self.groups if not one.reads and one.node != self.victim]

    @property
    def lasting(self) -> list[Group]:
        """Writers that go on, with those that move."""
        return [
            one for one in self.groups if not one.reads and (one.moves or one.node != self.victim)
        ]


class _Clients:
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

    def longest(self, groups: Collection[Group], low: float, high: float) -> float:
        """The longest latency of those that were under way in a time."""
        own = self._of(groups) & (self._ended >= low) & (self._ended - self._latency < high)
        return float(self._latency[own].max(initial=-inf))

    def elsewhere(self, group: Group) -> NDArray[np.float64]:
        """When they committed on other nodes than their first after the fault, in order."""
        own = self._of([group]) & (self._all.node != group.node) & (self._ended > 0.0)
        return np.sort(self._ended[own])

    def errors(self, group: Group) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
        """Node, number of the error, and (end, latency) of what failed with it after the fault."""
        every = self._all
        failed = (every.error > 0) & (self._ended >= 0.0)
        if WAITING in every.texts:  # clients have a second to end what they began
            waits = every.error == every.texts.index(WAITING)
            failed &= ~waits | (self._latency > _END)
        failed &= every.group == every.groups.index(group.name)
        met: dict[tuple[str, str], list[int]] = {}
        for place in np.flatnonzero(failed).tolist():
            code = error_of(every.texts[every.error[place]])
            code += "_connect" if every.connecting[place] else ""
            met.setdefault((every.nodes[every.node[place]], code), []).append(place)
        for (node, code), places in sorted(met.items()):
            yield node, code, np.column_stack([self._ended[places], self._latency[places]])


def failure_sample(
    scenario: Scenario, series: SeriesTable, phase_s: float, seed: int, replication: int
) -> FailureSample:
    """Simulate one run of a cell, whose faults come at a time that is drawn."""
    late_s = phase_s * Streams(seed, replication).uniform("dataset/phase")()
    setup = _later(scenario, round(late_s, 6))
    run = simulate(setup, seed, replication)
    return failure_figures(run, Experiment.of(setup.scenario, series))


def _later(scenario: Scenario, late_s: float) -> Setup:
    """The scenario with all faults so much later."""
    times: dict[str, float] = {}
    for position, fault in enumerate(scenario.faults):
        times[f"fault.{position}.at_s"] = fault.at_s + late_s
        if fault.until_s is not None:
            times[f"fault.{position}.until_s"] = fault.until_s + late_s
    return setup_of(with_values(scenario, times))


def failure_figures(run: Replication, experiment: Experiment) -> FailureSample:
    """All figures of a run by their names, and the errors that clients met.

    An error is written as group, node and number. What did not happen has no figure.
    """
    assert run.attempts is not None, "there is no fault"
    clients = _Clients(run.attempts, experiment)
    figures = dict(_of_writers(clients, experiment, None if run.fates is None else run.fates.lost))
    figures |= dict(_of_servers(run.noted, experiment))
    figures |= dict(_of_return(run.noted, clients, experiment))
    codes = set()
    for group in experiment.groups:
        for node, code, failed in clients.errors(group):
            codes.add(f"{group.name} {node} {code}")
            name = f"err_{group.name}_{node}_{code}"
            figures[f"{name}_n"] = float(len(failed))
            figures[f"{name}_first_after_inject_s"] = float(failed[:, 0].min())
            figures[f"{name}_max_wait_s"] = float(failed[:, 1].max())
        if group.reads:
            figures |= dict(_of_reader(clients, group, experiment))
    return {name: value for name, value in figures.items() if isfinite(value)}, frozenset(codes)


def _gap(times: NDArray[np.float64], low: float, high: float, end: float) -> tuple[float, ...]:
    """The longest time between commits that overlaps a time: how long, begin and end."""
    edges = np.append(times, end)
    before, after = edges[:-1], edges[1:]
    length = np.where((after >= low) & (before <= high), after - before, -inf)
    if not len(length) or length.max() == -inf:
        return nan, nan, nan
    place = int(length.argmax())
    return float(length[place]), float(before[place]), float(after[place])


def _rate(times: NDArray[np.float64], low: float, high: float) -> float:
    return float(((times >= low) & (times < high)).sum()) / (high - low)


def _of_writers(
    clients: _Clients, experiment: Experiment, lost: int | None
) -> Iterator[tuple[str, float]]:
    back = experiment.back_s - experiment.inject_s
    end = experiment.end_s - experiment.inject_s
    writers = [group for group in experiment.groups if not group.reads]
    own = clients.commits(experiment.bystanders)
    length, begin, until = _gap(own, 0.0, back, end)
    yield "stall_survivors_s", length
    yield "stall_begins_after_inject_s", begin
    yield "stall_ends_after_inject_s", until
    yield "max_latency_survivors_s", clients.longest(experiment.bystanders, 0.0, back)
    yield "max_latency_victim_writers_s", clients.longest(writers[:1], 0.0, end)
    yield "tput_before_tps", _rate(own, -_SIGHT, 0.0)
    yield "tput_after_tps", _rate(own, end - _SIGHT, end - _END)
    low = back - min(_LAST, back)
    for name in ("tput_while_down_tps", "tput_while_silent_tps"):
        yield name, _rate(clients.commits(experiment.lasting), low, back)
    yield "acked_n", float(len(clients.commits(writers)))
    yield "acked_lost_n", nan if lost is None else float(lost)
    before = clients.latencies(writers[:1], -_SIGHT, 0.0)
    if len(before):
        yield "before_latency_median_ms", 1e3 * float(np.median(before))
    for group in writers:
        if group.moves and (first := clients.elsewhere(group)[:1]).size:
            yield "failover_first_commit_elsewhere_after_inject_s", float(first[0])
    length, begin, _ = _gap(own, back, end, end)
    yield "stall_survivors_while_rejoining_s", length
    yield "stall_survivors_after_heal_s", length
    yield "stall_after_heal_begins_s", begin - back


def _first(
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


def _of_servers(noted: Collection[Noted], experiment: Experiment) -> Iterator[tuple[str, float]]:
    start_s, victim = experiment.inject_s, experiment.victim
    survivors = len(experiment.names) - 1
    suspected = _first(noted, "suspect", experiment.watched, start_s)
    yield "first_suspect_log_after_inject_s", suspected - start_s
    view = _first(noted, "primary", experiment.watched, start_s, survivors)
    yield "view_change_after_inject_s", view - start_s
    left = _first(noted, "non-primary", {victim}, start_s)
    yield "victim_non_primary_after_inject_s", left - start_s
    yield "victim_non_primary_after_heal_s", left - experiment.back_s
    for node, name in enumerate(experiment.names):
        words = {"link_closed": "link-closed", "first_suspect": "suspect"}
        for figure, word in (words | {"first_declaring_stable": "stable"}).items():
            yield f"{figure}_on_{name}_s", _first(noted, word, {node}, start_s) - start_s


def _of_return(
    noted: Collection[Noted], clients: _Clients, experiment: Experiment
) -> Iterator[tuple[str, float]]:
    start_s, back_s = experiment.inject_s, experiment.back_s
    own = {experiment.victim}
    primary_s = _first(noted, "primary", own, back_s)
    synced_s = _first(noted, "synced", own, back_s)
    linked_s = _first(noted, "link-open", own, back_s)
    yield "link_open_after_back_s", linked_s - back_s
    yield "rejoin_primary_view_after_s", primary_s - back_s
    yield "primary_view_after_connect_s", primary_s - linked_s
    yield "rejoin_joined_after_s", _first(noted, "joined", own, back_s) - back_s
    for name in ("rejoin_synced_after_heal_s", "restart_total_s", "rejoining_seconds_s"):
        yield name, synced_s - back_s
    joiners = [one for one in noted if one.what == "joiner" and one.at_s >= back_s]
    donors = [one for one in noted if one.what == "donor" and one.at_s >= back_s]
    ist = [one.at_s for one in joiners if one.how == "IST"]
    yield "rejoin_ist_n", float(bool(ist))
    yield "full_sst_n", float(any(one.how == "SST" for one in donors))
    if ist:
        yield "ist_begins_after_back_s", ist[0] - back_s
    if donors:
        yield "donor_n", donors[0].node + 1.0
    if not isfinite(synced_s):
        return
    commits = clients.commits(experiment.lasting)
    missed = (commits > 0.0) & (commits <= primary_s - start_s)
    yield "ist_writesets_n", float(missed.sum())
    low, high = back_s - start_s, synced_s - start_s
    inside = commits[(commits >= low) & (commits < high)]
    yield "rejoining_tps", len(inside) / (high - low)
    yield "rejoining_longest_gap_s", float(np.diff([low, *inside, high]).max())
    latencies = clients.latencies(experiment.lasting, low, high)
    if len(latencies):
        yield "rejoining_latency_median_ms", 1e3 * float(np.median(latencies))
        yield "rejoining_latency_max_ms", 1e3 * float(latencies.max())


def _of_reader(
    clients: _Clients, group: Group, experiment: Experiment
) -> Iterator[tuple[str, float]]:
    """How long a node answers reads, and when again."""
    name = f"reads_on_{experiment.names[group.node]}"
    answered = clients.commits([group])
    failed = [times[:, 0] for _, _, times in clients.errors(group)]
    bad = np.sort(np.concatenate(failed)) if failed else np.empty(0)
    yield f"{name}_failed_n", float(len(bad))
    until = answered[(answered > 0.0) & (answered < bad[0] if len(bad) else True)]
    yield f"{name}_ok_until_s", float(until[-1]) if len(until) else 0.0
    if not len(bad):
        return
    again = answered[answered > bad[-1]]
    yield f"{name}_ok_again_s", float(again[0]) if len(again) else nan
    back = experiment.back_s - experiment.inject_s
    after = answered[(answered > back) & (answered < bad[0])]
    late = float(after[-1]) - back if len(after) else 0.0
    yield f"{name}_ok_after_heal_before_first_error_s", late
