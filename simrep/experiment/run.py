"""Running a scenario: one replication, or all of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import Any

from simrep.errors import ExtrapolationWarning, ScenarioError, ShortRunWarning, SimrepError
from simrep.experiment.build import build_cluster
from simrep.experiment.pack_range import extrapolation
from simrep.experiment.plan import Plan, plan
from simrep.experiment.prediction import (
    CONFIDENCE,
    Prediction,
    Uncertainty,
    predictable,
    prediction_interval,
    uncertainty_of,
    with_drawn_costs,
)
from simrep.experiment.result import FIGURES, Result, RunRecord
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
    draws: int | None = None,
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
    draws : int, optional
        Further runs for the prediction interval, with costs drawn from what the pack says of
        them; default: as many as replications, if there are several. With 0 the interval covers
        the error of the model alone. Without a pack that tells how sure it is there are none.
    executor : concurrent.futures.Executor, optional
        Where replications and draws run; default: here, one after the other.
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
    ExtrapolationWarning
        If its pack was not checked with such a cluster or load.
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
    if beyond := extrapolation(planned):
        warnings.warn(beyond, ExtrapolationWarning, stacklevel=2)
    if draws is None:
        draws = wanted if wanted > 1 else 0
    elif _at_least("draws", draws, 0) == 1:
        raise ScenarioError("draws", "must be 0 or at least 2, given 1")
    records: list[Replication] = []
    drawn: list[dict[str, float]] = []
    uncertainty = uncertainty_of(planned)
    try:
        for record in _replications(planned, seed, wanted, executor, trace):
            records.append(record)  # noqa: PERF402 - what came before an interrupt stays
        if uncertainty is not None:
            for figures in _drawn(planned, uncertainty, seed, draws, executor):
                drawn.append(figures)  # noqa: PERF402 - as above
    except KeyboardInterrupt:
        if not records:
            raise
        done = f"{len(records)} of {wanted} replications"
        if len(records) == wanted:
            done = f"{len(drawn)} of {draws} draws of costs"
        warnings.warn(f"interrupted: {done}", ShortRunWarning, stacklevel=2)
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
    return Result.combine(
        records,
        scenario=planned.scenario.to_dict(),
        versions=planned.versions,
        prediction=_prediction(planned, uncertainty, records, drawn),
    )


def _prediction(
    planned: Plan,
    uncertainty: Uncertainty | None,
    records: list[Replication],
    drawn: list[dict[str, float]],
) -> Prediction | None:
    """Prediction intervals, from the draws, or from the mean of the replications without them."""
    if uncertainty is None:
        return None
    draws = len(drawn) if len(drawn) > 1 else 0
    intervals = {}
    for name, figure in FIGURES.items():
        if name not in predictable(planned):
            continue
        values = [figures[name] for figures in drawn]
        if not draws:
            values = [fmean(figure(record.measurement) for record in records)]
        span = prediction_interval(values, uncertainty.discrepancy, uncertainty.freedom)
        if span is not None:
            intervals[name] = span
    costs = uncertainty.names if draws else ()
    return Prediction(intervals, CONFIDENCE, draws, costs, uncertainty.discrepancy)


def _drawn(
    planned: Plan, uncertainty: Uncertainty, seed: int, draws: int, executor: Executor | None
) -> Iterator[dict[str, float]]:
    """Figures of runs with drawn costs, each with the random numbers of a replication."""
    if executor is None:
        for number in range(draws):
            yield _drawn_figures(planned, uncertainty, seed, number)
        return
    futures = [
        executor.submit(_drawn_figures, planned, uncertainty, seed, number)
        for number in range(draws)
    ]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _drawn_figures(
    planned: Plan, uncertainty: Uncertainty, seed: int, number: int
) -> dict[str, float]:
    measured = simulate(
        with_drawn_costs(planned, uncertainty, seed, number), seed, number
    ).measurement
    return {name: figure(measured) for name, figure in FIGURES.items()}


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
