"""Statistics of simulation output: intervals, and where the warm-up ends."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

from simrep.errors import ShortRunWarning
from simrep.kernel.arrays import NDArray, np
from simrep.measure.student import student_quantile

__all__ = ["Interval", "difference_interval", "mean_interval", "mser5", "ratio_interval"]

Values = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes
    ----------
    low, high : float
        Bounds.
    mean : float
        The estimate: a mean, or a difference or ratio of means.
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
    return (
        student_quantile(count - 1, 0.5 + confidence / 2.0) * float(array.std(ddof=1)) / sqrt(count)
    )


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
    """An interval for mean(a) - mean(b) of pairs, such as replications with equal streams."""
    first, second = _pairs(a, b, confidence)
    return mean_interval(first - second, confidence)


def ratio_interval(a: Values, b: Values, confidence: float = 0.95) -> Interval:
    """An interval for mean(a) / mean(b) of pairs of values whose means are positive.

    By the delta method, on the logarithm of the ratio, which keeps the bounds positive.

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


def mser5(values: Sequence[float] | NDArray[np.float64]) -> int:
    """How many values at the beginning are warm-up, a multiple of 5: the MSER-5 rule.

    The series (at least 10 values) is averaged in fives; the cut is where the standard error of the
    mean of the rest is least. Only the first half is searched, as near the end the rule locks on to
    a few values that happen to be alike. A ``ShortRunWarning`` tells when the cut falls on its end:
    the run holds little or nothing beyond its warm-up.

    References
    ----------
    K. P. White, M. J. Cobb, S. C. Spratt, A comparison of five steady-state truncation
    heuristics for simulation, Proceedings of the 2000 Winter Simulation Conference, 755-760.
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or len(array) < 10:
        raise ValueError(f"needs at least 10 values in one dimension, given {array.shape}")
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
            f"the warm-up takes half of the {len(array)} values or more: lengthen "
            "run.duration_s, or set run.warmup_s",
            ShortRunWarning,
            stacklevel=2,
        )
    return 5 * cut
