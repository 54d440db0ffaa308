"""How long each program used the cores of a machine while it was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from simrep.kernel.clock import Clock

__all__ = ["ProcessorWatch"]


class _Program(Protocol):
    busy_s: float


class ProcessorWatch:
    """Remembers what programs had used when measuring started, to report the difference.

    Parameters
    ----------
    clock : Clock
    programs : mapping of str to sequence of program
        By the names under which they are reported together; each counts in ``busy_s`` for how long
        its threads have used cores, in seconds.
    start_s : float
        When measuring starts.
    """

    def __init__(
        self, clock: Clock, programs: Mapping[str, Sequence[_Program]], start_s: float
    ) -> None:
        self._programs = dict(programs)
        self._before = dict.fromkeys(self._programs, 0.0)
        if self._programs and start_s > clock.now:
            clock.at(start_s, self._mark)

    def _mark(self, _: object) -> None:
        self._before = self._total_s()

    def _total_s(self) -> dict[str, float]:
        return {name: sum(one.busy_s for one in own) for name, own in self._programs.items()}

    def used_s(self) -> dict[str, float]:
        """Seconds from the start of measuring until now, over all cores, by name."""
        return {name: total_s - self._before[name] for name, total_s in self._total_s().items()}
