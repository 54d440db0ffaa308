"""What a member does that has lost its majority (``unreachable_majority_timeout``)."""

from __future__ import annotations

from collections.abc import Callable

from simrep.modelling import Clock

__all__ = ["Partition"]

_STEP_S = 2.0


class Partition:
    """Leaves the group when no majority was reached for long; without a timeout it waits for ever.

    Parameters
    ----------
    clock : Clock
    timeout_s : float
        0: none.
    leave : callable
        ``leave(why)``.

    References
    ----------
    plugin/group_replication/src/plugin_handlers/group_partition_handling.cc,
    partition_thread_handler.
    """

    def __init__(self, clock: Clock, timeout_s: float, leave: Callable[[str], object]) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._leave = leave
        self._spells = 0  # a number for each time without a majority
        self._isolated = False

    def see(self, *, majority: bool) -> None:
        """Whether the member reaches a majority now."""
        if majority:
            self.end()
        elif not self._isolated:
            self._isolated = True
            self._spells += 1
            if self._timeout_s:
                self._wait((self._spells, self._timeout_s))

    def end(self) -> None:
        """It is in no group any more, or reaches a majority."""
        self._isolated = False

    def _wait(self, wait: tuple[int, float]) -> None:
        """The thread wakes up in steps; the last one may be longer than what is left."""
        number, left_s = wait
        if not self._isolated or number != self._spells:
            return
        if left_s <= 0.0:
            self._isolated = False
            self._leave(f"no majority for {self._timeout_s:g} s")
            return
        step_s = 1.0 if left_s == 1.0 else _STEP_S
        self._clock.at(self._clock.now + step_s, self._wait, (number, left_s - step_s))
