"""Where the warm-up of a simulation ends. Knows nothing of simulation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simrep.errors import ShortRunWarning

__all__ = ["mser5"]


def mser5(values: Sequence[float] | NDArray[np.float64]) -> int:
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
            f"the warm-up takes half of the {len(array)} values or more: run longer",
            ShortRunWarning,
            stacklevel=2,
        )
    return 5 * cut
