"""Confidence intervals for simulation output. Knows nothing of simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Interval",
    "batch_means_interval",
    "difference_interval",
    "mean_interval",
    "quantile_interval",
    "ratio_interval",
]

Values = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes
    ----------
    low, high : float
        Bounds; infinite where the values do not bound the figure.
    mean : float
        The estimate: a mean, a difference or ratio of means, or a quantile.
    confidence : float
        Probability with which such an interval covers the true figure.
    """

    low: float
    high: float
    mean: float
    confidence: float

    @property
    def half_width(self) -> float:
        """Half of the distance between the bounds."""
        return (self.high - self.low) / 2.0

    @property
    def relative(self) -> float:
        """The half width as a share of the estimate; infinite if that is 0 and the width is not."""
        half = self.half_width
        if half == 0.0:
            return 0.0
        return half / abs(self.mean) if self.mean else inf

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def _checked(values: Values, least: int, confidence: float) -> NDArray[np.float64]:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, given {confidence}")
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or len(array) < least:
        raise ValueError(f"needs at least {least} values in one dimension, given {array.shape}")
    return array


def _pairs(
    a: Values, b: Values, confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = _checked(a, 2, confidence), _checked(b, 2, confidence)
    if len(first) != len(second):
        raise ValueError(f"needs pairs, given {len(first)} and {len(second)} values")
    return first, second


def _half_width(array: NDArray[np.float64], confidence: float) -> float:
    """Of Student's interval for the mean; exactly 0 for equal values, which std may not give."""
    if array.min() == array.max():
        return 0.0
    count = len(array)
    return _student(count - 1, confidence) * float(array.std(ddof=1)) / sqrt(count)


@cache
def _student(freedom: int, confidence: float) -> float:
    from scipy.special import stdtrit  # scipy.stats gives the same and takes 0.6 s to import

    return float(stdtrit(freedom, 0.5 + confidence / 2.0))


def mean_interval(values: Values, confidence: float = 0.95) -> Interval:
    """Student's interval for the mean of independent values, such as replications.

    Parameters
    ----------
    values : sequence of float
        At least two, independent and about normal.
    confidence : float
        Between 0 and 1.
    """
    array = _checked(values, 2, confidence)
    mean = float(array.mean())
    half = _half_width(array, confidence)
    return Interval(mean - half, mean + half, mean, confidence)


def difference_interval(a: Values, b: Values, confidence: float = 0.95) -> Interval:
    """An interval for mean(a) - mean(b) of pairs, such as replications with equal random numbers.

    Parameters
    ----------
    a, b : sequence of float
        At least two of each, the values of a pair at the same position.
    confidence : float
        Between 0 and 1.
    """
    first, second = _pairs(a, b, confidence)
    return mean_interval(first - second, confidence)


def ratio_interval(a: Values, b: Values, confidence: float = 0.95) -> Interval:
    """An interval for mean(a) / mean(b) of pairs of values whose means are positive.

    By the delta method, on the logarithm of the ratio, which keeps the bounds positive.

    Parameters
    ----------
    a, b : sequence of float
        At least two of each, the values of a pair at the same position.
    confidence : float
        Between 0 and 1.

    References
    ----------
    A. M. Law: Simulation Modeling and Analysis. 5th ed., McGraw-Hill 2015, section 9.4.
    """
    first, second = _pairs(a, b, confidence)
    above, below = float(first.mean()), float(second.mean())
    if not (above > 0.0 and below > 0.0):
        raise ValueError(f"a ratio needs positive means, given {above:g} and {below:g}")
    half = _half_width(first / above - second / below, confidence)
    middle = log(above) - log(below)
    return Interval(exp(middle - half), exp(middle + half), above / below, confidence)


def batch_means_interval(values: Values, batches: int = 20, confidence: float = 0.95) -> Interval:
    """An interval for the mean of a stationary, correlated series from one long run.

    The series is cut into batches, whose means are nearly independent when a batch is much
    longer than the correlation lasts. Values that fill no batch are left out at the beginning.

    Parameters
    ----------
    values : sequence of float
        At least two per batch, warm-up removed.
    batches : int
        Number of batches; 10 to 30 is usual.
    confidence : float
        Between 0 and 1.

    References
    ----------
    B. Schmeiser, Batch size effects in the analysis of simulation output, Operations Research
    30 (1982), doi:10.1287/opre.30.3.556.
    """
    if batches < 2:
        raise ValueError(f"needs at least 2 batches, given {batches}")
    array = _checked(values, 2 * batches, confidence)
    size = len(array) // batches
    return mean_interval(array[-size * batches :].reshape(batches, size).mean(axis=1), confidence)


def quantile_interval(values: Values, q: float, confidence: float = 0.95) -> Interval:
    """A distribution-free interval for a quantile of independent values.

    Its bounds are order statistics; the number of values below the true quantile is binomial.
    It covers with at least the given confidence.

    Parameters
    ----------
    values : sequence of float
        In any order.
    q : float
        Between 0 and 1, for example 0.95.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Interval
        A bound is infinite when there are too few values for it.

    References
    ----------
    G. J. Hahn, W. Q. Meeker, Statistical Intervals, Wiley 1991, section 5.2,
    doi:10.1002/9780470316771.
    """
    from scipy.special import bdtr

    if not 0.0 < q < 1.0:
        raise ValueError(f"a quantile lies between 0 and 1, given {q}")
    array = np.sort(_checked(values, 1, confidence))
    count = len(array)
    tail = (1.0 - confidence) / 2.0
    # below[k] = P(at most k values lie below the quantile)
    below = np.asarray(bdtr(np.arange(count), count, q))
    # X(l), the l-th smallest, is above the quantile when at most l - 1 values lie below it.
    lower = int(np.searchsorted(below, tail, side="right"))
    upper = int(np.searchsorted(below, 1.0 - tail, side="left")) + 1
    return Interval(
        low=float(array[lower - 1]) if lower >= 1 else -inf,
        high=float(array[upper - 1]) if upper <= count else inf,
        mean=float(np.quantile(array, q)),
        confidence=confidence,
    )
