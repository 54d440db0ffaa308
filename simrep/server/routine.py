"""What it costs a process to run a piece of its code."""

from __future__ import annotations

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Stream

__all__ = ["Routine"]

_AVERAGED_S = 1e-3


class Routine:
    """A piece of code of one process, with the time it takes.

    A run after a pause is slower, because code and data have left the caches: by ``cold_factor``
    after a long pause, by half of that excess after ``cold_after_s``. Made by ``Host.routine``.

    Of a variable part that takes longer than a millisecond only the first millisecond varies.
    """

    __slots__ = ("_chill", "_clock", "_half", "_last", "_noise", "seconds")

    def __init__(
        self,
        clock: Clock,
        seconds: float,
        cold_factor: float,
        cold_after_s: float,
        noise: Stream | None,
    ) -> None:
        self._clock = clock
        self._chill = cold_factor - 1.0
        self._half = cold_after_s
        self._noise = noise
        self._last = -1e9
        self.seconds = seconds

    def cost(self, more_s: float = 0.0) -> float:
        """The time of the run that begins now; ``more_s`` is its variable part (rows, bytes)."""
        seconds = self.seconds + more_s
        if self._chill:
            now = self._clock._now
            pause = now - self._last
            self._last = now
            # The variable part is a loop: it is warm after its first turn.
            seconds = self.seconds * (1.0 + self._chill * (pause / (pause + self._half))) + more_s
        noise = self._noise
        if noise is None:
            return seconds
        if more_s > _AVERAGED_S:  # a long loop varies turn by turn, and hardly as a whole
            return (seconds - more_s + _AVERAGED_S) * noise() + (more_s - _AVERAGED_S)
        return seconds * noise()
