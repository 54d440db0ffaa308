"""Two scenarios with the same random numbers, so that luck does not pass for a difference."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

from simrep.errors import ExtrapolationWarning, ScenarioError, ShortRunWarning
from simrep.experiment.pack_range import extrapolation
from simrep.experiment.plan import Plan, plan
from simrep.experiment.simulated import Run, figures_of, simulate_groups
from simrep.scenario import Scenario, load
from simrep.whatif.comparison import Comparison

__all__ = ["FIGURES", "compare"]

Progress = Callable[[int, int | None], None]

FIGURES = (
    "throughput_tps",
    "makespan_s",
    "aborted",
    "latency_s.mean",
    "latency_s.p50",
    "latency_s.p95",
    "latency_s.p99",
)
"""What is compared if nothing else is asked for."""

_REPLICATIONS = 10  # enough for Student's t to be within 15 % of the normal distribution
_MOST = 640  # with a precision


def compare(
    a: str | Path | Mapping[str, Any] | Scenario,
    b: str | Path | Mapping[str, Any] | Scenario,
    *,
    figures: Sequence[str] = FIGURES,
    labels: tuple[str, str] = ("A", "B"),
    seed: int | None = None,
    replications: int | None = None,
    precision: float | None = None,
    confidence: float = 0.95,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Simulate two scenarios with the same random numbers and compare them.

    In each replication both have the same streams of random numbers for the same purposes, so the
    difference of a pair holds little of what is only chance.

    Parameters
    ----------
    a, b : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    figures : sequence of str
        Paths of figures of a result, e.g. ``latency_s.p95``. The first decides on ``precision``.
    labels : (str, str)
        What the two are called in tables and in the verdict.
    seed : int, optional
        Root of all random numbers; default: ``run.seed`` of ``a``.
    replications : int, optional
        Pairs, at least 2; default: the larger ``run.replications`` of the two, or 10 if that is 1.
    precision : float, optional
        Go on, in steps that double the pairs, until half the interval of the ratio of the first
        figure is at most this share of the ratio, or there are 640 pairs.
    confidence : float
        Of every single interval.
    executor : concurrent.futures.Executor, optional
        Where replications run; default: here, one after the other.
    progress : callable, optional
        Called with the number of finished pairs and of all (None when nobody knows).

    Returns
    -------
    Comparison
        Of the finished pairs when it was interrupted (Ctrl-C).

    Raises
    ------
    ScenarioError
        If a scenario cannot be run, or a path leads to no number.

    Warns
    -----
    ExtrapolationWarning
        If a pack was not checked with such a cluster or load.
    ShortRunWarning
        If the precision was not reached.
    """
    first, second = load(a), load(b)
    if not 0.0 < confidence < 1.0:
        raise ScenarioError("confidence", f"must lie between 0 and 1, given {confidence}")
    if precision is not None and not 0.0 < precision < 1.0:
        raise ScenarioError("precision", f"must lie between 0 and 1, given {precision}")
    if not figures:
        raise ScenarioError("figures", "needs at least one figure")
    seed = first.run.seed if seed is None else seed
    if seed < 0:
        raise ScenarioError("seed", f"must be at least 0, given {seed}")
    wanted = _wanted(first, second, replications)
    plans = plan(first), plan(second)
    for label, planned in zip(labels, plans, strict=True):
        if beyond := extrapolation(planned):
            warnings.warn(f"{label}: {beyond}", ExtrapolationWarning, stacklevel=2)
    pairs: list[tuple[tuple[float, ...], tuple[float, ...]]] = []

    def compared(*, complete: bool) -> Comparison:
        return Comparison.of(
            pairs,
            figures,
            labels=labels,
            confidence=confidence,
            seed=seed,
            complete=complete,
            scenarios=(plans[0].scenario.to_dict(), plans[1].scenario.to_dict()),
            versions=tuple(dict(planned.versions) for planned in plans),
        )

    try:
        while True:
            for pair in _pairs(plans, figures, range(len(pairs), wanted), seed, executor):
                pairs.append(pair)
                if progress is not None:
                    progress(len(pairs), wanted if precision is None else None)
            found = compared(complete=True)
            if precision is None or found.precise(precision):
                return found
            if 2 * wanted > _MOST:
                warnings.warn(
                    f"after {wanted} pairs the ratio of {figures[0]} is not yet known to "
                    f"{precision:.3g}",
                    ShortRunWarning,
                    stacklevel=2,
                )
                return found
            wanted *= 2
    except KeyboardInterrupt:
        if len(pairs) < 2:
            raise
        return compared(complete=False)


def _wanted(first: Scenario, second: Scenario, replications: int | None) -> int:
    if replications is None:
        most = max(first.run.replications, second.run.replications)
        return most if most > 1 else _REPLICATIONS
    if replications < 2:
        raise ScenarioError(
            "replications", f"an interval needs at least 2 pairs, given {replications}"
        )
    return replications


def _pairs(
    plans: tuple[Plan, Plan],
    figures: Sequence[str],
    numbers: range,
    seed: int,
    executor: Executor | None,
) -> Iterator[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Figures of both, replication by replication."""
    groups = [[Run(planned, number) for planned in plans] for number in numbers]
    reduce = partial(figures_of, paths=tuple(figures))
    for one, other in simulate_groups(groups, reduce, seed, executor):
        yield one, other
