"""Where one further simulated run would lie: what a measurement may be compared with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import exp, isfinite, log, sqrt
from statistics import fmean, stdev

__all__ = ["CONFIDENCE", "single_run_interval"]

CONFIDENCE = 0.95


def single_run_interval(
    values: Sequence[float], *, positive: bool = True
) -> tuple[float, float] | None:
    """Student's prediction interval for one further value; None for fewer than two.

    Parameters
    ----------
    values : sequence of float
        One per replication.
    positive : bool
        On a logarithmic scale: durations and rates are positive and vary by factors, and the
        logarithm keeps bounds positive. There is then no interval if a value is not positive.
    """
    count = len(values)
    if count < 2 or not all(isfinite(value) for value in values):
        return None
    if positive and min(values) <= 0.0:
        return None
    if min(values) == max(values):
        return values[0], values[0]  # exactly, where the logarithm would round
    scaled = [log(value) for value in values] if positive else values
    middle = fmean(scaled)
    half = _student(count - 1) * stdev(scaled) * sqrt(1.0 + 1.0 / count)
    low, high = middle - half, middle + half
    return (exp(low), exp(high)) if positive else (low, high)


@cache
def _student(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + CONFIDENCE / 2.0))
