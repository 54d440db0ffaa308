"""How many replications a figure needs: sequential stopping at a precision."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from simrep.measure.confidence import mean_interval

__all__ = ["LEAST", "MOST", "replications_wanted"]

LEAST = 10
"""With fewer replications their spread is too uncertain to decide by."""
MOST = 1000


def replications_wanted(
    values: Sequence[float], precision: float, *, most: int = MOST, confidence: float = 0.95
) -> int:
    """How many replications there must be before their interval is looked at (again).

    Every look may stop too early by luck, so looks are few: after the first replications, then
    at as many as their spread asks for, at least a tenth more and at most twice as many.

    Parameters
    ----------
    values : sequence of float
        The figure of every replication so far.
    precision : float
        Half width of the interval that is wanted, as a share of the mean.
    most : int
        Replications at which the search ends whatever the interval is.
    confidence : float
        Of the interval.

    Returns
    -------
    int
        As many as there are if that is enough.

    References
    ----------
    A. M. Law: Simulation Modeling and Analysis. 5th ed., McGraw-Hill 2015, section 9.4.1.

    Examples
    --------
    >>> replications_wanted([], 0.02), replications_wanted([1.0] * 10, 0.02)
    (10, 10)
    """
    count = len(values)
    if count < LEAST or count >= most:
        return min(LEAST, most) if count < most else count
    found = mean_interval(values, confidence).relative
    if found <= precision:
        return count
    needed = ceil(min(2.0, (found / precision) ** 2) * count)
    return min(most, max(needed, count + ceil(count / 10)))
