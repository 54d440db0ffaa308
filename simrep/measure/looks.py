"""Looks at a growing number of replications, and how sure each of them has to be.

Who looks again and again and stops as soon as an answer seems clear is wrong more often than with
a single look. Here the looks share the error that is allowed, so that the intervals of all of them
hold together, whatever makes one stop (repeated confidence intervals, by Bonferroni): the interval
at which one stops misses the truth with no more than that error.

References
----------
C. Jennison, B. W. Turnbull: Interim analyses: the repeated confidence interval approach. Journal
of the Royal Statistical Society B 51 (1989), 305-361.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Look", "looks"]

_LAST = 0.5  # of the error: most questions that are not clear at once need all replications


@dataclass(frozen=True, slots=True)
class Look:
    """One look.

    Attributes
    ----------
    count : int
        Replications that there are.
    confidence : float
        Of the intervals that are looked at.
    """

    count: int
    confidence: float


def looks(least: int, most: int, confidence: float) -> tuple[Look, ...]:
    """Looks at this many replications, then at twice as many, and at last at all of them.

    Parameters
    ----------
    least, most : int
        Replications of the first look and of the last.
    confidence : float
        That the intervals of all looks hold the truth.

    Examples
    --------
    >>> [(look.count, round(look.confidence, 4)) for look in looks(3, 10, 0.95)]
    [(3, 0.9875), (6, 0.9875), (10, 0.975)]
    """
    if least >= most:
        return (Look(most, confidence),)
    counts = [least]
    while counts[-1] < most:
        counts.append(min(2 * counts[-1], most))
    error = 1.0 - confidence
    *early, last = counts
    each = 1.0 - (1.0 - _LAST) * error / len(early)
    return (*(Look(count, each) for count in early), Look(last, 1.0 - _LAST * error))
