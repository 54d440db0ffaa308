"""Intervals for simulation output, and where its warm-up ends. Knows nothing of simulation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from simrep.errors import ShortRunWarning

__all__ = ["Interval", "batch_means_interval", "mean_interval", "mser5", "quantile_interval"]

Values = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes
    ----------
    estimate : float
    low, high : float
        Bounds; infinite where the values do not bound the figure.
    confidence : float
        Probability with which such an interval covers the true figure.
    """

    estimate: float
    low: float
    high: float
    confidence: float

    @property
    def half_width(self) -> float:
        """Half of the distance between the bounds."""
        return (self.high - self.low) / 2.0

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def _checked(values: Values, least: int, confidence: float) -> NDArray[np.float64]:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, given {confidence}")
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or len(array) < least:
        raise ValueError(f"needs at least {least} values in one dimension, given {array.shape}")
    return array


def mean_interval(values: Values, confidence: float = 0.95) -> Interval:
    """Student's interval for the mean of independent values, such as replications.

    Parameters
    ----------
    values : sequence of float
        At least two, independent and about normal.
    confidence : float
        Between 0 and 1.
    """
    from scipy.special import stdtrit  # scipy.stats gives the same and takes 0.6 s to import

    array = _checked(values, 2, confidence)
    count = len(array)
    mean = float(array.mean())
    quantile = float(stdtrit(count - 1, 0.5 + confidence / 2.0))
    half = quantile * float(array.std(ddof=1)) / sqrt(count)
    return Interval(mean, mean - half, mean + half, confidence)


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


def mser5(values: Values) -> int:
    """How many values at the beginning are warm-up: the MSER-5 rule.

    The series is averaged in fives; the cut is where the standard error of the mean of the rest
    is least. Only the first half is searched, as near the end the rule locks on to a few values
    that happen to be alike.

    Parameters
    ----------
    values : sequence of float
        In order of time, at least 10.

    Returns
    -------
    int
        Number of values to drop, a multiple of 5.

    Warns
    -----
    ShortRunWarning
        When the cut falls on the end of the first half: the run holds little or nothing beyond
        its warm-up.

    References
    ----------
    K. P. White, M. J. Cobb, S. C. Spratt, A comparison of five steady-state truncation
    heuristics for simulation, Proceedings of the 2000 Winter Simulation Conference, 755-760.
    """
    array = _checked(values, 10, 0.5)
    count = len(array) // 5
    means = array[: 5 * count].reshape(count, 5).mean(axis=1)
    if means.min() == means.max():  # nothing but rounding could choose a cut
        return 0
    means = means - means.mean()  # keeps the difference of squares below from cancelling
    left = np.arange(count, 0, -1)
    sums = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum((means * means)[::-1])[::-1]
    last = count // 2
    error = ((squares - sums * sums / left) / left**2)[: last + 1]
    cut = int(np.argmin(error))
    if cut == last:
        warnings.warn(
            f"the warm-up takes half of the {len(array)} values or more: run longer",
            ShortRunWarning,
            stacklevel=2,
        )
    return 5 * cut


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
        estimate=float(np.quantile(array, q)),
        low=float(array[lower - 1]) if lower >= 1 else -inf,
        high=float(array[upper - 1]) if upper <= count else inf,
        confidence=confidence,
    )
