"""Lanes for spans that overlap: within one lane, each ends before the next begins."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["in_lanes"]


def in_lanes(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The lane of each span, from 0; the fewest that will do.

    Parameters
    ----------
    spans : sequence of (float, float)
        Begin and end, in any order; what ends where another begins does not overlap it.

    Examples
    --------
    >>> in_lanes([(0, 3), (1, 2), (2, 5)])
    [0, 1, 1]
    """
    ends: list[float] = []
    found = [0] * len(spans)
    for position in sorted(range(len(spans)), key=lambda one: spans[one]):
        began, ended = spans[position]
        free = next((lane for lane, end in enumerate(ends) if end <= began), len(ends))
        ends[free : free + 1] = [ended]
        found[position] = free
    return found
