"""Running a scenario: one replication, or all of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.errors import (
    ContentionWarning,
    DegradedWarning,
    ExtrapolationWarning,
    ScenarioError,
    ShortRunWarning,
    SimrepError,
)
from simrep.kernel.arrays import NUMPY
from simrep.runs.batch import figures_of
from simrep.runs.contention import preset_trap
from simrep.runs.degradation import degradations, degraded
from simrep.runs.executor import collected, in_order, workers
from simrep.runs.notices import notices
from simrep.runs.pilot import QUICK, quick_setup
from simrep.runs.prediction import (
    CONFIDENCE,
    Prediction,
    Uncertainty,
    extrapolation,
    predictable,
    prediction_interval,
    uncertainty_of,
    with_drawn_costs,
)
from simrep.runs.progress import told
from simrep.runs.replication import (
    Replication,
    Traffic,
    simulate,
    with_run_settings,
    with_warmup,
    with_warmup_found,
)
from simrep.runs.result import FIGURES, Result
from simrep.runs.sampler import LEAST, MOST, Progress, Sampler, at_least, check_precision, seed_of
from simrep.scenario.schema import Scenario, load

__all__ = ["Replication", "Traffic", "run", "simulate"]

_QUICK_FIGURES = ("throughput_tps", "latency_s.p99")


@told
def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    seed: int | None = None,
    replications: int | None = None,
    precision: float | None = None,
    of: str = "throughput_tps",
    most: int = MOST,
    draws: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
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
        them; default: as many as replications, if there are several, with ``precision`` at most
        10. With 0 the interval covers
        the error of the model alone. Without a pack that tells how sure it is there are none.
    quick : bool
        A first look: where rates and latencies of the long run are asked for, 4 replications of
        about 5,000 transactions each instead of one that is much longer; without draws. The
        intervals of the result tell how sure that is.
    jobs : int, optional
        Processes of this machine that share replications and draws; default: ``SIMREP_JOBS`` of
        the environment, or one for each core. Work of less than a second stays in this one.
    executor : concurrent.futures.Executor, optional
        Where replications and draws run instead: the machines of a Dask cluster, say.
    progress : callable or bool, optional
        True for a bar on a terminal, False for silence; or called with the number of finished
        replications, and of those that are wanted so far.
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
    DegradedWarning
        If clients got less than the product promises, such as commits that no replica has
        acknowledged, as far as the model tells.
    ExtrapolationWarning
        If its pack was not checked with such a cluster or load.
    ContentionWarning
        If defaults of sysbench send most writes to few rows.
    OneProcessWarning
        If other processes cannot help: this one is of a pool itself, or the model is written in
        the script.
    """
    if precision is not None and replications is not None:
        raise ScenarioError(
            "precision", "decides how many replications there are", "leave out one of the two"
        )
    executor = workers(jobs, executor)
    if quick and precision is not None:
        raise ScenarioError("quick", "cannot keep a precision", "leave out one of the two")
    loaded = load(scenario)
    if quick:
        loaded = with_warmup_found(loaded)
    if precision is not None:
        check_precision(precision)
        at_least("most", most, 2)
        loaded = with_warmup_found(loaded)
    seed = seed_of(seed, loaded.run.seed)
    wanted = loaded.run.replications
    if replications is not None:
        wanted = at_least("replications", replications, 1)
    asked = {"seed": seed, "replications": wanted}
    setup = setup_of(loaded.model_copy(update={"run": loaded.run.model_copy(update=asked)}))
    if beyond := extrapolation(setup):
        warnings.warn(beyond, ExtrapolationWarning, stacklevel=3)
    if trap := preset_trap(setup):
        warnings.warn(trap, ContentionWarning, stacklevel=3)
    if draws is not None and at_least("draws", draws, 0) == 1:
        raise ScenarioError("draws", "must be 0 or at least 2, given 1")
    if quick:
        draws = draws or 0
        short = quick_setup(setup, seed, _QUICK_FIGURES)
        if replications is None:
            wanted = QUICK if short is not None else min(QUICK, wanted)
        setup = with_run_settings(short or setup, {"replications": wanted})
    setup = with_warmup(setup, seed, briefly=quick)
    values: list[float] = []

    def simulated(numbers: range) -> Iterator[Replication]:
        tasks = [(setup, seed, number, trace) for number in numbers]
        for record in in_order(simulate, tasks, executor):
            if precision is not None:
                values.append(_value(record, of))
            yield record

    sampler = Sampler(
        simulate=simulated,
        figure=lambda _: values,
        replications=wanted,
        precision=precision,
        most=most,
        progress=progress,
    )
    uncertainty = uncertainty_of(setup)
    first = wanted if precision is None else min(LEAST, most)
    if (
        uncertainty is not None
        and uncertainty.names
        and (draws or (first > 1 and draws is None))
        and not NUMPY
    ):
        raise ScenarioError(
            "draws", "costs are drawn with NumPy, which is not installed",
            "install numpy, or give draws=0: the interval is then that of the model's error alone",
        )  # fmt: skip
    records, complete = collected(sampler, total=first)
    interrupted = "" if complete else f"{len(records)} of {sampler.wanted} replications"
    drawn: list[dict[str, float]] = []
    if uncertainty is not None and complete:
        if draws is None:
            draws = len(records) if len(records) > 1 else 0
            if precision is not None:
                draws = min(draws, LEAST)
        costs = [(setup, uncertainty, seed, number) for number in range(draws)]
        drawn, complete = collected(in_order(_drawn_figures, costs, executor), least=0)
        interrupted = "" if complete else f"{len(drawn)} of {draws} draws of costs"
    if precision is not None:
        setup = with_run_settings(setup, {"replications": len(records)})
    for notice in degraded(degradations([record.degradation for record in records])):
        warnings.warn(notice, DegradedWarning, stacklevel=3)
    for notice in notices(setup, records, interrupted, of, values, precision):
        warnings.warn(notice, ShortRunWarning, stacklevel=3)
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
    intervals, errors = {}, {}
    latency_s = fmean(FIGURES["latency_s.mean"](record.measurement) for record in records)
    for name, figure in FIGURES.items():
        if name not in predictable(setup):
            continue
        values = [figures[name] for figures in drawn]
        if not draws:
            values = [fmean(figure(record.measurement) for record in records)]
        error = uncertainty.error(name, latency_s)
        span = prediction_interval(values, error.relative, error.freedom)
        if span is not None:
            intervals[name] = span
            errors[name] = error.relative
    costs = uncertainty.names if draws else ()
    return Prediction(intervals, CONFIDENCE, draws, costs, errors)


def _drawn_figures(
    setup: Setup, uncertainty: Uncertainty, seed: int, number: int
) -> dict[str, float]:
    measured = simulate(
        with_drawn_costs(setup, uncertainty, seed, number), seed, number
    ).measurement
    return {name: figure(measured) for name, figure in FIGURES.items()}
