"""Where an objective begins or ceases to be met, found by noisy simulations.

A value is judged by replications until its interval leaves the limit out, which the first few of
them may tell, or there are as many as allowed. First a grid over the range is judged: it shows on
which side the objective is met, whether the answer lies in the range at all, and whether the
question is monotone. Then the gap between the last value of the one kind and the first of the other
is bisected. A value that stays open between them does no harm: both of its sides are narrowed.

With the given confidence no verdict of the whole search is wrong (Bonferroni over all looks that it
may take), so if the question is monotone, the answer lies between the two ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, inf, isfinite, log, log1p, log2, nan, sqrt
from statistics import fmean
from typing import Literal, TypeVar

from simrep.measure.confidence import Interval, mean_interval
from simrep.measure.grammar import Range
from simrep.measure.looks import Look, looks
from simrep.runs.sampler import Sampler
from simrep.whatif.objective import Condition

__all__ = ["FIRST", "MOST_VALUES", "POINTS", "Found", "Sample", "Tried", "search", "settled"]

T = TypeVar("T")
Verdict = Literal["met", "open", "failed"]
Sample = Callable[[float, range], Sequence[Sequence[float]]]
"""Figures of the replications of these numbers at a value, in the order of the conditions."""

MOST_VALUES = 32
POINTS = 8
"""Values of the range that are tried first, at equal ratios."""
FIRST = 4
"""Replications at the first look at a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One value that was tried.

    Attributes
    ----------
    value : float
    verdict : {"met", "open", "failed"}
        Whether the objective is surely met, surely not, or may be either.
    means : tuple of float
        Of the figures of the objective, in the order of its conditions.
    intervals : tuple of Interval
        Of the same, each at the confidence that the verdict needs: more than that of the answer,
        which rests on many verdicts.
    replications : int
    """

    value: float
    verdict: Verdict
    means: tuple[float, ...]
    intervals: tuple[Interval, ...]
    replications: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The end of a search.

    Attributes
    ----------
    status : {"found", "everywhere", "nowhere", "open"}
        The limit lies between ``start`` and ``end``; the whole range is of the kind of its begin;
        even the begin of the range is of the other kind; chance hides at least one side.
    start, end : float or None
        The last value of the kind that the range begins with, and the first of the other kind.
    tried : tuple of Tried
        By value.
    strays : tuple of float
        Values beyond ``end`` of the first kind: the question is not monotone.
    exhausted : bool
        The search ended because it had tried as many values as it may.
    complete : bool
        False if it was interrupted.
    """

    status: Literal["found", "everywhere", "nowhere", "open"]
    start: float | None
    end: float | None
    tried: tuple[Tried, ...]
    strays: tuple[float, ...] = ()
    exhausted: bool = False
    complete: bool = True


def search(
    sample: Sample,
    conditions: Sequence[Condition],
    within: Range,
    *,
    points: int = POINTS,
    climbing: bool = False,
    largest: bool,
    precision: float,
    replications: int,
    confidence: float,
    progress: Callable[[int, int | None], object] | None = None,
) -> Found:
    """Search for the largest (or smallest) value that meets all conditions.

    Parameters
    ----------
    sample : callable
        Simulates.
    conditions : sequence of Condition
    within : Range
    points : int
        Values of the range that are tried first, at equal ratios.
    climbing : bool
        They are tried from the lowest on, and none beyond the first of the other kind: for ranges
        that end far beyond what makes sense to simulate.
    largest : bool
        Small values meet the objective and large ones do not; else the other way round.
    precision : float
        Ratio of neighbouring values, minus one, that are not told apart any more.
    replications : int
        The most at one value.
    confidence : float
        That no verdict is wrong.
    progress : callable, optional
        Called with the number of values that were tried, and about how many there will be.

    Returns
    -------
    Found
        Of the values that were tried when it was interrupted (Ctrl-C), if there are any.
    """
    # A value that meets the objective can be taken for one that does not, or the other way
    # round, but not both: one side of each interval counts.
    each = 1.0 - 2.0 * (1.0 - confidence) / (MOST_VALUES * len(conditions))
    schedule = looks(FIRST, replications, each)
    tried: dict[float, Tried] = {}

    def attempt(value: float) -> None:
        tried[value], _ = settled(partial(sample, value), tuple, value, conditions, schedule)
        if progress is not None:
            progress(len(tried), _expected(tried, first, within, points, precision))

    first: Verdict = "met" if largest else "failed"
    try:
        for value in within.ratios(points):
            attempt(value)
            if climbing and tried[value].verdict not in {first, "open"}:
                break
        while len(tried) < MOST_VALUES:
            found = _bracket(tried, first)
            between = _next(found, tried, within, precision)
            if between is None:
                return found
            attempt(between)
    except KeyboardInterrupt:
        if not tried:
            raise
        return _bracket(tried, first, complete=False)
    return _bracket(tried, first, exhausted=True)


def _expected(
    tried: dict[float, Tried], first: Verdict, within: Range, points: int, precision: float
) -> int:
    """About how many values there will be: halves of the gap until it is narrow enough."""
    found = _bracket(tried, first)
    left = 0
    if found.status == "found" and found.start is not None and found.end is not None:
        gap = found.end / found.start
    else:
        left = max(0, points - len(tried))
        gap = (within.high / within.low) ** (1.0 / max(1, points - 1))
    steps = log2(max(1.0, log(gap) / log1p(precision))) if gap > 1.0 else 0.0
    return min(MOST_VALUES, len(tried) + left + ceil(steps))


def _bracket(tried: dict[float, Tried], first: Verdict, **how: bool) -> Found:
    """Where the verdicts change, from the lowest value on."""
    ordered = tuple(tried[value] for value in sorted(tried))
    other: Verdict = "failed" if first == "met" else "met"
    ends = [one.value for one in ordered if one.verdict == other]
    end = ends[0] if ends else None
    starts = [one.value for one in ordered if one.verdict == first]
    before = [value for value in starts if end is None or value < end]
    start = before[-1] if before else None
    strays = tuple(value for value in starts if end is not None and value > end)
    status: Literal["found", "everywhere", "nowhere", "open"] = "open"
    if start is not None and end is not None:
        status = "found"
    elif ordered[-1].value == start:
        status = "everywhere"
    elif ordered[0].value == end:
        status = "nowhere"
    return Found(status=status, start=start, end=end, tried=ordered, strays=strays, **how)


def _next(found: Found, tried: dict[float, Tried], within: Range, precision: float) -> float | None:
    """The middle of the wider of the gaps beside what is open."""
    start, end = found.start, found.end
    low, high = -inf if start is None else start, inf if end is None else end
    inside = [value for value in sorted(tried) if low <= value <= high]
    gaps: dict[tuple[float, float], None] = {}
    if len(inside) > 1 and start is not None:
        gaps[inside[0], inside[1]] = None
    if len(inside) > 1 and end is not None:
        gaps[inside[-2], inside[-1]] = None
    middles = [
        (high / low, middle)
        for low, high in gaps
        if (middle := _between(within, low, high, precision)) is not None
    ]
    return max(middles)[1] if middles else None


def _between(within: Range, low: float, high: float, precision: float) -> float | None:
    """A value between two; None if they are as close as it makes sense."""
    if high <= low * (1.0 + precision):
        return None
    middle = sqrt(low * high)
    if not within.whole:
        return middle
    middle = float(round(middle))
    if low < middle < high:
        return middle
    return None if high - low <= 1.0 else low + 1.0


def settled(
    simulate: Callable[[range], Iterable[T]],
    figures: Callable[[T], Sequence[float]],
    value: float,
    conditions: Sequence[Condition],
    schedule: Sequence[Look],
) -> tuple[Tried, list[T]]:
    """What replications tell of a value, as soon as a look settles it; and the replications.

    Parameters
    ----------
    simulate : callable
        Gives the replications of these numbers.
    figures : callable
        Of a replication, in the order of the conditions.
    value : float
    conditions : sequence of Condition
    schedule : sequence of Look
    """
    judgement: list[Tried] = []

    def clear(samples: Sequence[T], look: Look) -> bool:
        judgement[:] = [judged(value, [*map(figures, samples)], conditions, look.confidence)]
        return judgement[0].verdict != "open"

    samples = list(Sampler(simulate=simulate, looks=schedule, clear=clear))
    return judgement[0], samples


def judged(
    value: float,
    samples: Sequence[Sequence[float]],
    conditions: Sequence[Condition],
    confidence: float,
) -> Tried:
    """What replications tell of a value.

    Parameters
    ----------
    value : float
    samples : sequence of sequence of float
        Figures of each replication, in the order of the conditions.
    conditions : sequence of Condition
    confidence : float
        Of each interval.
    """
    means: list[float] = []
    intervals: list[Interval] = []
    verdicts: list[Verdict] = []
    for position, condition in enumerate(conditions):
        column = [sample[position] for sample in samples]
        if not all(map(isfinite, column)):  # nothing committed, or a transaction failed
            interval = Interval(nan, nan, nan, confidence)
            verdicts.append("failed")
        else:
            interval = mean_interval(column, confidence)
            verdicts.append(_verdict(interval, condition))
        intervals.append(interval)
        means.append(fmean(column))
    worst: Verdict = "met"
    if "failed" in verdicts:
        worst = "failed"
    elif "open" in verdicts:
        worst = "open"
    return Tried(
        value=value,
        verdict=worst,
        means=tuple(means),
        intervals=tuple(intervals),
        replications=len(samples),
    )


def _verdict(interval: Interval, condition: Condition) -> Verdict:
    ends = condition.met(interval.low), condition.met(interval.high)
    if all(ends):
        return "met"
    return "open" if any(ends) else "failed"
