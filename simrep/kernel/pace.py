"""How fast something works over time: what is slowed down, or stands still, for a while."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from math import inf
from typing import NamedTuple

__all__ = ["Pace", "Spell", "merged"]


class Spell(NamedTuple):
    """A time in seconds during which work takes ``factor`` times as long; infinite: it stands."""

    from_s: float
    to_s: float
    factor: float = inf


class Pace:
    """How long work takes that begins at a given time, where its speed is known for all times.

    So work can be booked ahead: a spell that begins while it is under way counts.

    Parameters
    ----------
    factor : float
        How many times as long work takes outside the spells.
    spells : iterable of Spell
        They may overlap: factors multiply.
    """

    __slots__ = ("_factors", "_times")

    def __init__(self, factor: float = 1.0, spells: Iterable[Spell] = ()) -> None:
        spells = tuple(spells)
        times = sorted({time for spell in spells for time in spell[:2] if time < inf})
        self._times = times  # the factor changes at
        self._factors = [factor]  # before the first of them, and from each of them on
        for time in times:
            here = factor
            for spell in spells:
                if spell.from_s <= time < spell.to_s:
                    here *= spell.factor
            self._factors.append(here)

    def end(self, start_s: float, work_s: float) -> float:
        """When work is done that takes ``work_s`` at full speed; infinite if it never is."""
        times, factors = self._times, self._factors
        position = bisect_right(times, start_s)
        while position < len(times):
            if factors[position] < inf:
                end_s = start_s + work_s * factors[position]
                if end_s <= times[position]:
                    return end_s
                work_s -= (times[position] - start_s) / factors[position]
            start_s = times[position]
            position += 1
        return start_s + work_s * factors[position] if factors[position] < inf else inf

    def done(self, start_s: float, end_s: float) -> float:
        """How much work is done from the one time to the other, in seconds at full speed."""
        total_s = 0.0
        position = bisect_right(self._times, start_s)
        while start_s < end_s:
            last = position == len(self._times)
            until_s = end_s if last else min(end_s, self._times[position])
            total_s += (until_s - start_s) / self._factors[position]
            start_s = until_s
            position += 1
        return total_s


def merged(spells: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Times as such that neither overlap nor touch, in their order."""
    joined: list[tuple[float, float]] = []
    for from_s, to_s in sorted(spells):
        if joined and from_s <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(to_s, joined[-1][1]))
        else:
            joined.append((from_s, to_s))
    return joined
