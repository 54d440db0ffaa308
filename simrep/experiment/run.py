"""Running a scenario: one replication, or all of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError, ShortRunWarning, SimrepError
from simrep.experiment.build import build_cluster
from simrep.experiment.plan import Plan, plan
from simrep.experiment.result import Result, RunRecord
from simrep.experiment.scheduled import ScheduledRecord
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.kernel.trace import Trace, TraceEvent
from simrep.kernel.watch import Waited, Watch
from simrep.measure.meter import Meter
from simrep.measure.stations import StationWatch
from simrep.scenario.load import load
from simrep.scenario.schema import Scenario
from simrep.workload.clients import Clients
from simrep.workload.laps import LapClock

__all__ = ["Replication", "Traffic", "run", "simulate"]


@dataclass(frozen=True, slots=True)
class Traffic:
    """What clients did since the start of the simulation, the warm-up included.

    Every attempt counts, also that of a transaction which is submitted again, so that
    ``submitted == committed + aborted + in_flight``.
    """

    submitted: int
    committed: int
    aborted: int
    in_flight: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Replication(RunRecord):
    """A replication that was simulated here: its record, and what only tests and tools need.

    Attributes
    ----------
    traffic : Traffic
    trace : tuple of TraceEvent or None
        Only when it was asked for.
    trace_digest : str or None
        Equal only if the traces are equal bit for bit.
    waited : tuple of Waited or None
        What was blocked; only when it was asked for.
    """

    traffic: Traffic
    trace: tuple[TraceEvent, ...] | None = None
    trace_digest: str | None = None
    waited: tuple[Waited, ...] | None = None


def simulate(
    scenario: Scenario | Plan,
    seed: int,
    replication: int = 0,
    trace: bool = False,
    watch_s: float | None = None,
) -> Replication:
    """Simulate one replication.

    Parameters
    ----------
    scenario : Scenario or Plan
        A plan spares reading options and pack again for every replication.
    seed, replication : int
        Together they choose the random numbers.
    trace : bool
        Keep a trace of what the model did.
    watch_s : float, optional
        Keep what was blocked for at least so long, in seconds; nothing if not given.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run.
    SimrepError
        If a fixed number of transactions has not ended at ``run.limit_s``.
    """
    planned = plan(scenario) if isinstance(scenario, Scenario) else scenario
    settings = planned.scenario.run
    clock = LapClock()
    streams = Streams(seed, replication)
    tracer = Trace(clock) if trace else None
    meter = Meter(clock, settings.warmup_s, settings.interval_s, settings.log)
    clock.laps = meter.laps
    blocked = Watch(clock, watch_s) if watch_s is not None else None
    cluster = build_cluster(planned, clock, streams, tracer, blocked)
    model = planned.model(cluster, planned.options, planned.costs)
    hosts = dict.fromkeys(cluster.hosts)  # each once, in the order of the nodes
    flushers = [host.flusher for host in hosts if host.flusher is not None]
    watch = StationWatch(clock, [*hosts, *flushers, *model.stations()], meter.start_s)
    clients = Clients(clock, streams, planned.workload, model, meter, cluster.size)
    for change in planned.changes:
        clock.at(change.at_s, model.change, change)
        clock.at(change.at_s, clients.node_changes, change.node)

    until_s = None
    if settings.duration_s is not None:
        clients.start()
        until_s = settings.warmup_s + settings.duration_s
        clock.run(until_s)
    elif settings.settle_s is not None:
        until_s = _run_until_settled(clock, clients, settings.settle_s, settings.limit_s)
    else:
        _run_to_completion(clock, clients, settings.limit_s)
    if blocked is not None:
        blocked.finish()

    measurement = meter.measurement(until_s, clients.in_flight_since_s)
    return Replication(
        seed=seed,
        replication=replication,
        measurement=measurement,
        scheduled=tuple(
            ScheduledRecord.of(journal, measurement.series) for journal in clients.journals
        ),
        counters=model.counters(),
        stations=watch.use(),
        traffic=Traffic(clients.submitted, clients.committed, clients.aborted, clients.in_flight),
        trace=None if tracer is None else tuple(tracer.events),
        trace_digest=None if tracer is None else tracer.digest(),
        waited=None if blocked is None else tuple(blocked.waited),
    )


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    seed: int | None = None,
    replications: int | None = None,
    executor: Executor | None = None,
    trace: bool = False,
) -> Result:
    """Simulate a scenario.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        A TOML file, its text or content, or a scenario that was loaded before.
    seed : int, optional
        Root of all random numbers; default: ``run.seed`` of the scenario.
    replications : int, optional
        Independent repetitions; default: ``run.replications``.
    executor : concurrent.futures.Executor, optional
        Where replications run; default: here, one after the other.
    trace : bool
        Keep a trace of what the model did, in ``result.runs``.

    Returns
    -------
    Result
        Of all replications; of those that have ended when it is interrupted from the keyboard.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run.

    Warns
    -----
    ShortRunWarning
        If it was interrupted and holds fewer replications than asked for, if nothing committed
        in the measured time, or if it ended before a scheduled transaction or a change.
    """
    loaded = load(scenario)
    settings = loaded.run
    seed = settings.seed if seed is None else _at_least("seed", seed, 0)
    wanted = settings.replications
    if replications is not None:
        wanted = _at_least("replications", replications, 1)
    planned = plan(
        loaded.model_copy(
            update={"run": settings.model_copy(update={"seed": seed, "replications": wanted})}
        )
    )
    records: list[Replication] = []
    try:
        for record in _replications(planned, seed, wanted, executor, trace):
            records.append(record)  # noqa: PERF402 - what came before an interrupt stays
    except KeyboardInterrupt:
        if not records:
            raise
        warnings.warn(
            f"interrupted: {len(records)} of {wanted} replications", ShortRunWarning, stacklevel=2
        )
    if not any(record.measurement.committed for record in records):
        warnings.warn(
            "no transaction committed in the measured time: lengthen run.duration_s, or look for "
            "the reason in the counters",
            ShortRunWarning,
            stacklevel=2,
        )
    for late in _never_happened(planned, records):
        warnings.warn(
            f"{late}, when the run has ended: lengthen it, or let that come earlier",
            ShortRunWarning,
            stacklevel=2,
        )
    return Result.combine(records, scenario=planned.scenario.to_dict(), versions=planned.versions)


def _never_happened(planned: Plan, records: list[Replication]) -> Iterator[str]:
    """What the scenario lets happen at a time that no replication has reached."""
    for number, one in enumerate(planned.scenario.workload.scheduled):
        if all(isnan(record.scheduled[number].begin_s) for record in records):
            yield f"workload.scheduled.{number} ({one.name}) begins at {one.at_s:g} s"
    ended_s = max(record.measurement.ended_s for record in records)
    for number, change in enumerate(planned.scenario.cluster.changes):
        if change.at_s > ended_s:
            what = f"{change.what} of {change.node}"
            yield f"cluster.change.{number} ({what}) happens at {change.at_s:g} s"


def _run_to_completion(clock: Clock, clients: Clients, limit_s: float) -> None:
    done = clock.all_of(clients.start())
    clock.run(done | clock.until(limit_s))
    if not done.processed:
        raise SimrepError(
            f"the transactions have not ended after {limit_s:g} simulated seconds (run.limit_s): "
            f"{clients.committed} committed, {clients.aborted} aborted, "
            f"{clients.in_flight} in flight"
        )


def _run_until_settled(clock: Clock, clients: Clients, settle_s: float, limit_s: float) -> float:
    """Until a while after the last scheduled transaction has ended; returns when that is."""
    clients.start()
    ended = clock.all_of([journal.closed for journal in clients.journals])
    clock.run(ended | clock.until(limit_s))
    if not ended.processed:
        open_ones = ", ".join(j.name for j in clients.journals if not j.closed.triggered)
        raise SimrepError(
            f"scheduled transactions have not ended after {limit_s:g} simulated seconds "
            f"(run.limit_s): {open_ones}"
        )
    until_s = clock.now + settle_s
    clock.run(until_s)
    return until_s


def _replications(
    planned: Plan, seed: int, wanted: int, executor: Executor | None, trace: bool
) -> Iterator[Replication]:
    if executor is None:
        for replication in range(wanted):
            yield simulate(planned, seed, replication, trace)
        return
    futures = [executor.submit(simulate, planned, seed, r, trace) for r in range(wanted)]
    yielded = 0
    try:
        for future in futures:
            yield future.result()
            yielded += 1
    except KeyboardInterrupt:
        for future in futures:
            future.cancel()
        yield from _finished(futures[yielded:])
        raise


def _finished(futures: list[Future[Replication]]) -> Iterator[Replication]:
    """Replications that ended in time, whatever happened to the others."""
    for future in futures:
        try:
            if future.done() and future.exception() is None:
                yield future.result()
        except CancelledError:
            continue


def _at_least(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ScenarioError(name, f"must be a whole number of at least {least}, given {value!r}")
    return value
