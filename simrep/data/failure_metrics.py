"""What a run tells of something that went wrong in it: stalls, suspicions, views, errors, returns.

The names of the figures are those under which the same was measured of real clusters. All times are
in seconds. They count from the fault, if the name does not say that they count from its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import isfinite, nan
from typing import Protocol

import numpy as np

from simrep.contract.setup import Setup, setup_of
from simrep.data.acknowledgement_metrics import acknowledgement_figures
from simrep.data.definition import SeriesTable
from simrep.data.failure_run import (
    LAST_S,
    Clients,
    Experiment,
    Group,
    first_noted,
    longest_gap,
    rate,
)
from simrep.data.failures import FailureSample
from simrep.data.maintenance_metrics import maintenance_figures
from simrep.data.operation_metrics import operation_figures
from simrep.data.queue_readings import QueueReadings
from simrep.data.removal_metrics import removal_figures
from simrep.kernel.streams import Streams
from simrep.kernel.timeline import Noted
from simrep.measure.attempts import Attempts
from simrep.runs.replication import Replication, simulate
from simrep.scenario import Scenario, with_values
from simrep.workload.fate import FateCount

__all__ = ["Course", "failure_figures", "failure_sample"]

_SIGHT = 5.0  # seconds before the fault and before the end in which commits are counted
_LAST = 3.0  # of the time in which the fault lasts


class Course(Protocol):
    """What became of a run, simulated or measured."""

    @property
    def attempts(self) -> Attempts | None:
        """What clients tried."""

    @property
    def noted(self) -> Collection[Noted]:
        """What servers logged."""

    @property
    def fates(self) -> FateCount | None:
        """What became of transactions."""


def failure_sample(
    scenario: Scenario,
    series: SeriesTable,
    phase_s: float,
    readings_s: float | None,
    seed: int,
    replication: int,
) -> FailureSample:
    """Simulate one run of a cell, whose faults come at a time that is drawn."""
    streams = Streams(seed, replication)
    late_s = phase_s * streams.uniform("dataset/phase")()
    setup = _later(scenario, round(late_s, 6))
    queues = None
    if readings_s is not None:
        queues = QueueReadings(readings_s * streams.uniform("dataset/readings")(), readings_s)
    run = simulate(setup, seed, replication, attend=None if queues is None else queues.attend)
    return failure_figures(run, Experiment.of(setup.scenario, series), queues)


def _later(scenario: Scenario, late_s: float) -> Setup:
    """The scenario with all faults so much later."""
    times: dict[str, float] = {}
    spans = [(f"fault.{n}", one.at_s, one.until_s) for n, one in enumerate(scenario.faults)]
    spans += [
        (f"maintenance.{n}", one.at_s, one.until_s) for n, one in enumerate(scenario.maintenance)
    ]
    spans += [(f"workload.ddl.{n}", one.at_s, None) for n, one in enumerate(scenario.workload.ddl)]
    for path, at_s, until_s in spans:
        times[f"{path}.at_s"] = at_s + late_s
        if until_s is not None:
            times[f"{path}.until_s"] = until_s + late_s
    return setup_of(with_values(scenario, times))


def failure_figures(
    run: Course, experiment: Experiment, queues: QueueReadings | None = None
) -> FailureSample:
    """All figures of a run by their names, and the errors that clients met.

    An error is written as group, node and number. What did not happen has no figure. Of queues the
    longest counts, or the longest that was read.
    """
    assert run.attempts is not None, "there is no fault"
    clients = Clients(run.attempts, experiment)
    figures = dict(_of_writers(clients, experiment, None if run.fates is None else run.fates.lost))
    figures |= dict(_of_servers(run.noted, experiment))
    figures |= dict(_of_return(run.noted, clients, experiment))
    figures |= dict(removal_figures(run.noted, clients, experiment))
    figures |= dict(acknowledgement_figures(run.noted, clients, experiment, run.fates))
    if experiment.held and isinstance(run, Replication):  # no other has its counters
        figures |= dict(maintenance_figures(run, clients, experiment, queues))
        figures |= dict(operation_figures(run, clients, experiment, queues))
    codes = set()
    for group in experiment.groups:
        for node, code, failed in clients.errors(group):
            codes.add(f"{group.name} {node} {code}".replace("_", " "))
            name = f"err_{group.name}_{node}_{code}"
            figures[f"{name}_n"] = float(len(failed))
            figures[f"{name}_first_after_inject_s"] = float(failed[:, 0].min())
            figures[f"{name}_max_wait_s"] = float(failed[:, 1].max())
        if group.reads:
            figures |= dict(_of_reader(clients, group, experiment))
    return {name: value for name, value in figures.items() if isfinite(value)}, frozenset(codes)


def _of_writers(
    clients: Clients, experiment: Experiment, lost: int | None
) -> Iterator[tuple[str, float]]:
    back = experiment.back_s - experiment.inject_s
    end = experiment.end_s - experiment.inject_s
    writers = experiment.writers
    going_on = experiment.bystanders or experiment.lasting
    own = clients.commits(going_on)
    length, begin, until = longest_gap(own, 0.0, back, end)
    yield "stall_survivors_s", length
    yield "stall_begins_after_inject_s", begin
    yield "stall_ends_after_inject_s", until
    yield "max_latency_survivors_s", clients.longest(going_on, 0.0, back)
    yield "max_latency_victim_writers_s", clients.longest(writers[:1], 0.0, end)
    everybody = clients.commits(going_on or writers)
    yield "tput_before_tps", rate(everybody, -_SIGHT, 0.0)
    yield "tput_after_tps", rate(own, end - _SIGHT, end - LAST_S)
    low = back - min(_LAST, back)
    for name in ("tput_while_down_tps", "tput_while_silent_tps", "tput_while_stopped_tps"):
        yield name, rate(clients.commits(experiment.lasting), low, back)
    yield "acked_n", float(len(clients.commits(writers)))
    yield "acked_lost_n", nan if lost is None else float(lost)
    before = clients.latencies(writers[:1], -_SIGHT, 0.0)
    if len(before):
        yield "before_latency_median_ms", 1e3 * float(np.median(before))
    for group in writers:
        if group.moves and (first := clients.elsewhere(group)[:1]).size:
            yield "failover_first_commit_elsewhere_after_inject_s", float(first[0])
    length, begin, _ = longest_gap(own, back, end, end)
    for who in ("survivors", "writers"):
        yield f"stall_{who}_while_rejoining_s", length
        yield f"stall_{who}_after_heal_s", length
    yield "stall_after_heal_begins_s", begin - back


def _of_servers(noted: Collection[Noted], experiment: Experiment) -> Iterator[tuple[str, float]]:
    start_s, victim = experiment.inject_s, experiment.victim
    survivors = len(experiment.names) - 1
    suspected = first_noted(noted, "suspect", experiment.watched, start_s)
    yield "first_suspect_log_after_inject_s", suspected - start_s
    view = first_noted(noted, "primary", experiment.watched, start_s, survivors)
    yield "view_change_after_inject_s", view - start_s
    left = first_noted(noted, "non-primary", {victim}, start_s)
    yield "victim_non_primary_after_inject_s", left - start_s
    yield "victim_non_primary_after_heal_s", left - experiment.back_s
    for node, name in enumerate(experiment.names):
        words = {"link_closed": "link-closed", "first_suspect": "suspect"}
        for figure, word in (words | {"first_declaring_stable": "stable"}).items():
            yield f"{figure}_on_{name}_s", first_noted(noted, word, {node}, start_s) - start_s


def _of_return(
    noted: Collection[Noted], clients: Clients, experiment: Experiment
) -> Iterator[tuple[str, float]]:
    start_s, back_s = experiment.inject_s, experiment.back_s
    own = {experiment.victim}
    primary_s = first_noted(noted, "primary", own, back_s)
    synced_s = first_noted(noted, "synced", own, back_s)
    linked_s = first_noted(noted, "link-open", own, back_s)
    yield "link_open_after_back_s", linked_s - back_s
    yield "rejoin_primary_view_after_s", primary_s - back_s
    yield "primary_view_after_connect_s", primary_s - linked_s
    yield "rejoin_joined_after_s", first_noted(noted, "joined", own, back_s) - back_s
    for name in ("rejoin_synced_after_heal_s", "restart_total_s", "rejoining_seconds_s"):
        yield name, synced_s - back_s
    joiners = [one for one in noted if one.what == "joiner" and one.at_s >= back_s]
    donors = [one for one in noted if one.what == "donor" and one.at_s >= back_s]
    ist = [one.at_s for one in joiners if one.how == "IST"]
    yield "rejoin_ist_n", float(bool(ist))
    yield "full_sst_n", float(any(one.how == "SST" for one in donors))
    if ist:
        applies_s = first_noted(noted, "applies", own, ist[0])
        if not isfinite(applies_s):  # the log of a real server tells of both in one line
            applies_s = ist[0]
        yield "ist_begins_after_back_s", applies_s - back_s
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
    clients: Clients, group: Group, experiment: Experiment
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
