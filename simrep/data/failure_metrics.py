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
from simrep.measure.meter import TransactionLog
from simrep.runs.replication import Replication, simulate
from simrep.scenario import Scenario, with_values

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
    clients : range
        Their numbers in the log.
    node : int
        Position of the node that they begin with.
    reads : bool
        They only read.
    moves : bool
        They go to another node after an error.
    """

    name: str
    clients: range
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
    inject_s, back_s, connect_s, end_s : float
        Begin of the fault; its end, or the command to start the server again; when a server that
        was started again connects (``back_s`` if it was not); end of the run.
    groups : tuple of Group
    """

    names: tuple[str, ...]
    victim: int
    inject_s: float
    back_s: float
    connect_s: float
    end_s: float
    groups: tuple[Group, ...]

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
        struck = fault.node or next(iter(getattr(fault, "nodes", None) or names))
        back_s = next((f.at_s for f in others if str(f.what) == "restart"), fault.end_s)
        back_s = back_s if isfinite(back_s) else duration_s
        readers = {one.name for one in scenario.workload.classes if not one.statements}
        groups, first = [], 0
        for name, table in zip(series.groups, scenario.workload.groups, strict=True):
            clients = range(first, first + (table.threads or 0))
            first = clients.stop
            policy = getattr(table, "clients", None) or getattr(scenario.workload, "clients", None)
            groups.append(
                Group(
                    name,
                    clients,
                    names.index(table.node),
                    reads=readers.issuperset(table.classes or ("",)),
                    moves=getattr(policy, "on_error", "stay") == "next",
                )
            )
        return cls(
            names=tuple(names),
            victim=names.index(struck),
            inject_s=fault.at_s,
            back_s=back_s - series.start_up_s,
            connect_s=back_s,
            end_s=scenario.run.warmup_s + duration_s,
            groups=tuple(groups),
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


class _Client:
    """What the clients of one run met; times count from the fault."""

    def __init__(self, log: TransactionLog, experiment: Experiment) -> None:
        self._log = log
        self._names = experiment.names
        self.ended = log.started_s + log.latency_s - experiment.inject_s

    def of(self, groups: Collection[Group]) -> NDArray[np.bool_]:
        """Which transactions are theirs."""
        own = np.zeros(len(self.ended), bool)
        for group in groups:
            numbers = self._log.client
            own |= (numbers >= group.clients.start) & (numbers < group.clients.stop)
        return own

    def commits(self, groups: Collection[Group]) -> NDArray[np.float64]:
        """When their transactions were committed, in order."""
        return np.sort(self.ended[self._log.committed & self.of(groups)])

    def latencies(self, groups: Collection[Group], low: float, high: float) -> NDArray[np.float64]:
        """Of those that were committed in a time."""
        own = self._log.committed & self.of(groups) & (self.ended >= low) & (self.ended < high)
        return self._log.latency_s[own]

    def longest(self, groups: Collection[Group], low: float, high: float) -> float:
        """The longest latency of those that were under way in a time."""
        own = self._log.committed & self.of(groups)
        own &= (self.ended >= low) & (self.ended - self._log.latency_s < high)
        return float(self._log.latency_s[own].max(initial=-inf))

    def elsewhere(self, group: Group) -> NDArray[np.float64]:
        """When they committed on other nodes than their first, in order."""
        own = self._log.committed & self.of([group])
        return np.sort(self.ended[own & (self._log.node != self._names[group.node])])

    def errors(self, group: Group) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
        """Node, number of the error, and (end, latency) of what failed with it after the fault."""
        failed = ~self._log.committed & self.of([group]) & (self.ended >= 0.0)
        codes = np.array([text.partition(" ")[0].rstrip(":") for text in self._log.error])
        for node in self._names:
            for code in sorted(set(codes[failed & (self._log.node == node)].tolist())):
                own = failed & (self._log.node == node) & (codes == code)
                yield node, code, np.column_stack([self.ended[own], self._log.latency_s[own]])


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
    return setup_of(with_values(scenario, {**times, "run.log": True}))


def failure_figures(run: Replication, experiment: Experiment) -> FailureSample:
    """All figures of a run by their names, and the errors that clients met.

    An error is written as group, node and number. What did not happen has no figure.
    """
    log = run.measurement.log
    assert log is not None, "figures of faults need run.log"
    clients = _Client(log, experiment)
    figures = dict(_of_writers(clients, experiment))
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


def _of_writers(clients: _Client, experiment: Experiment) -> Iterator[tuple[str, float]]:
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
    survivors = {*range(len(experiment.names))} - {victim}
    suspected = _first(noted, "suspect", survivors, start_s)
    yield "first_suspect_log_after_inject_s", suspected - start_s
    view = _first(noted, "primary", survivors, start_s, len(survivors))
    yield "view_change_after_inject_s", view - start_s
    left = _first(noted, "non-primary", {victim}, start_s)
    yield "victim_non_primary_after_inject_s", left - start_s
    yield "victim_non_primary_after_heal_s", left - experiment.back_s
    for node, name in enumerate(experiment.names):
        words = {"link_closed": "link-closed", "first_suspect": "suspect"}
        for figure, word in (words | {"first_declaring_stable": "stable"}).items():
            yield f"{figure}_on_{name}_s", _first(noted, word, {node}, start_s) - start_s


def _of_return(
    noted: Collection[Noted], clients: _Client, experiment: Experiment
) -> Iterator[tuple[str, float]]:
    start_s, back_s = experiment.inject_s, experiment.back_s
    own = {experiment.victim}
    primary_s = _first(noted, "primary", own, back_s)
    synced_s = _first(noted, "synced", own, back_s)
    yield "link_open_after_back_s", _first(noted, "link-open", own, back_s) - back_s
    yield "rejoin_primary_view_after_s", primary_s - back_s
    yield "primary_view_after_connect_s", primary_s - experiment.connect_s
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
    clients: _Client, group: Group, experiment: Experiment
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
