"""How many events a run may take: it always ends, and says early if it would not."""

from __future__ import annotations

from math import inf, sqrt
from typing import Final

from simrep.errors import SimrepError

__all__ = ["MOST_EVENTS", "Budget"]

MOST_EVENTS: Final = 10**9
"""A replication takes at most so many events: about an hour of a processor."""

# Looked up when they are read, in either build: tests take fewer.
_LOOK = 10**5  # events after which is looked at how many there were, and how far they led
_STANDSTILL = 10**6  # events at one instant: more than the most clients that begin together


class Budget:
    """The events of one clock, and how far they have led."""

    __slots__ = ("_moved",)

    def __init__(self) -> None:
        self._moved = 0  # how many events there were until time last went on

    def look_after(self, most: int) -> int:
        """After how many more events to look, if there may be ``most`` in all."""
        return min(_LOOK, most)

    def look(self, before_s: float, now_s: float, end_s: float, events: int, most: int) -> None:
        """Stop what does not end, or not in time: time had come to ``before_s`` a look ago.

        How many events there will be in all follows from how far those until now have led. As a
        run may be busier at its begin, a forecast is believed when it is beyond the limit by more
        than the square root of how many times as long the run may still go on: 100 times at the
        first look, and 3 times after a tenth of the limit.

        Raises
        ------
        SimrepError
            If there are more than ``most`` events, if it is clear that there will be, or if a
            million happen at one instant.
        """
        if now_s > before_s:
            self._moved = events
        elif events - self._moved >= _STANDSTILL:
            raise SimrepError(
                f"time stands still at {now_s:g} simulated seconds, {events - self._moved:,} "
                "events have happened there: give statements a cost, or set think_time_ms"
            )
        shorter = "shorten run.duration_s, or lower the load"
        if events >= most:
            raise SimrepError(
                f"stopped after {events:,} events at {now_s:g} simulated seconds: a replication "
                f"takes at most {most:,}; {shorter}"
            )
        if 0.0 < now_s < end_s < inf and events * end_s > now_s * most * sqrt(most / events):
            raise SimrepError(
                f"a replication takes at most {most:.0e} events, and this one would take about "
                f"{events * end_s / now_s:.0e}: the first {events:,} have led to "
                f"{now_s:g} of {end_s:g} simulated seconds; {shorter}"
            )
