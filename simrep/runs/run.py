"""Running a scenario: one replication, or all of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future
from math import isfinite, isnan
from pathlib import Path
from statistics import fmean
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ExtrapolationWarning, ScenarioError, ShortRunWarning, SimrepError
from simrep.measure.stopping import MOST, replications_wanted
from simrep.runs.batch import figures_of
from simrep.runs.notices import percentile_notice, precision_notice
from simrep.runs.pack_range import extrapolation
from simrep.runs.prediction import (
    CONFIDENCE,
    Prediction,
    Uncertainty,
    predictable,
    prediction_interval,
    uncertainty_of,
    with_drawn_costs,
)
from simrep.runs.replication import (
    Replication,
    Traffic,
    simulate,
    with_run_settings,
    with_warmup,
)
from simrep.runs.result import FIGURES, Result
from simrep.runs.steady_state import check_precision, with_warmup_found
from simrep.scenario.load import load
from simrep.scenario.schema import Scenario

__all__ = ["Replication", "Traffic", "run", "simulate"]

Progress = Callable[[int, int], None]


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    seed: int | None = None,
    replications: int | None = None,
    precision: float | None = None,
    of: str = "throughput_tps",
    most: int = MOST,
    draws: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
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
    precision : float, optional
        Instead of a number of replications: as many as it takes until the half width of the 95 %
        interval is this share of the figure ``of``, at least 10 and at most ``most``. A warm-up
        that the scenario does not set is found out and left out.
    of : str
        A figure of the result by its path, such as ``latency_s.p95``.
    most : int
        Replications at which to give up.
    draws : int, optional
        Further runs for the prediction interval, with costs drawn from what the pack says of
        them; default: as many as replications, if there are several. With 0 the interval covers
        the error of the model alone. Without a pack that tells how sure it is there are none.
    executor : concurrent.futures.Executor, optional
        Where replications and draws run; default: here, one after the other.
    progress : callable, optional
        Called with the number of finished replications, and of those that are wanted so far.
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
        in the measured time, if it ended before a scheduled transaction or a change, if the
        precision was not reached, or rests on a percentile of too few transactions.
    ExtrapolationWarning
        If its pack was not checked with such a cluster or load.
    """
    if precision is not None and replications is not None:
        raise ScenarioError("precision", "finds out how many replications there are", "give one")
    loaded = load(scenario)
    if precision is not None:
        check_precision(precision)
        _at_least("most", most, 2)
        loaded = with_warmup_found(loaded)
    settings = loaded.run
    seed = settings.seed if seed is None else _at_least("seed", seed, 0)
    wanted = settings.replications
    if replications is not None:
        wanted = _at_least("replications", replications, 1)
    setup = setup_of(
        loaded.model_copy(
            update={"run": settings.model_copy(update={"seed": seed, "replications": wanted})}
        )
    )
    if beyond := extrapolation(setup):
        warnings.warn(beyond, ExtrapolationWarning, stacklevel=2)
    if draws is not None and _at_least("draws", draws, 0) == 1:
        raise ScenarioError("draws", "must be 0 or at least 2, given 1")
    setup = with_warmup(setup, seed)
    records: list[Replication] = []
    drawn: list[dict[str, float]] = []
    uncertainty = uncertainty_of(setup)
    values: list[float] = []
    try:
        if precision is not None:
            wanted = replications_wanted(values, precision, most=most)
        while len(records) < wanted:
            numbers = range(len(records), wanted)
            for record in _replications(setup, seed, numbers, executor, trace):
                records.append(record)
                if precision is not None:
                    values.append(_value(record, of))
                if progress is not None:
                    progress(len(records), wanted)
            if precision is not None:
                wanted = replications_wanted(values, precision, most=most)
        if draws is None:
            draws = wanted if wanted > 1 else 0
        if uncertainty is not None:
            for figures in _drawn(setup, uncertainty, seed, draws, executor):
                drawn.append(figures)  # noqa: PERF402 - what came before an interrupt stays
    except KeyboardInterrupt:
        if not records:
            raise
        done = f"{len(records)} of {wanted} replications"
        if len(records) == wanted:
            done = f"{len(drawn)} of {draws} draws of costs"
        warnings.warn(f"interrupted: {done}", ShortRunWarning, stacklevel=2)
    if precision is not None:
        for notice in _precision_notices(records, values, precision, of):
            warnings.warn(notice, ShortRunWarning, stacklevel=2)
        setup = with_run_settings(setup, {"replications": len(records)})
    if not any(record.measurement.committed for record in records):
        warnings.warn(
            "no transaction committed in the measured time: lengthen run.duration_s, or look for "
            "the reason in the counters",
            ShortRunWarning,
            stacklevel=2,
        )
    for late in _never_happened(setup, records):
        warnings.warn(
            f"{late}, when the run has ended: lengthen it, or let that come earlier",
            ShortRunWarning,
            stacklevel=2,
        )
    return Result.combine(
        records,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
        prediction=_prediction(setup, uncertainty, records, drawn),
    )


def _value(record: Replication, of: str) -> float:
    value = figures_of(Result.combine([record]), (of,))[0]
    if not isfinite(value):
        raise SimrepError(
            f"replication {record.replication} has no {of}: lengthen the run, or look for the "
            "reason in its counters"
        )
    return value


def _precision_notices(
    records: list[Replication], values: list[float], precision: float, of: str
) -> Iterator[str]:
    """What is wrong with a figure that was asked for with a precision."""
    fewest = min(record.measurement.committed for record in records)
    for notice in (precision_notice(of, values, precision), percentile_notice(of, fewest)):
        if notice:
            yield notice


def _prediction(
    setup: Setup,
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
        if name not in predictable(setup):
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
    setup: Setup, uncertainty: Uncertainty, seed: int, draws: int, executor: Executor | None
) -> Iterator[dict[str, float]]:
    """Figures of runs with drawn costs, each with the random numbers of a replication."""
    if executor is None:
        for number in range(draws):
            yield _drawn_figures(setup, uncertainty, seed, number)
        return
    futures = [
        executor.submit(_drawn_figures, setup, uncertainty, seed, number) for number in range(draws)
    ]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _drawn_figures(
    setup: Setup, uncertainty: Uncertainty, seed: int, number: int
) -> dict[str, float]:
    measured = simulate(
        with_drawn_costs(setup, uncertainty, seed, number), seed, number
    ).measurement
    return {name: figure(measured) for name, figure in FIGURES.items()}


def _never_happened(setup: Setup, records: list[Replication]) -> Iterator[str]:
    """What the scenario lets happen at a time that no replication has reached."""
    for number, one in enumerate(setup.scenario.workload.scheduled):
        if all(isnan(record.scheduled[number].begin_s) for record in records):
            yield f"workload.scheduled.{number} ({one.name}) begins at {one.at_s:g} s"
    ended_s = max(record.measurement.ended_s for record in records)
    for number, change in enumerate(setup.scenario.cluster.changes):
        if change.at_s > ended_s:
            what = f"{change.what} of {change.node}"
            yield f"cluster.change.{number} ({what}) happens at {change.at_s:g} s"


def _replications(
    setup: Setup, seed: int, numbers: range, executor: Executor | None, trace: bool
) -> Iterator[Replication]:
    if executor is None:
        for replication in numbers:
            yield simulate(setup, seed, replication, trace)
        return
    futures = [executor.submit(simulate, setup, seed, r, trace) for r in numbers]
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
