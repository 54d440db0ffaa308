"""A first-come-first-served mutual exclusion that can be paused from outside."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from simrep.kernel.clock import Clock

__all__ = ["PausableMutex"]

Call = Callable[[Any], object]


def _at_once(call: Call, argument: Any) -> None:
    call(argument)


class PausableMutex:
    """One holder at a time, in the order of arrival; while paused nobody enters.

    Galera's send monitor is one, paused by flow control.

    Parameters
    ----------
    clock : Clock
    hand_over : callable, optional
        ``hand_over(call, argument)`` wakes a waiter whose turn it is, and has ``call(argument)``
        run as the holder when it has woken; by default at once.
    """

    __slots__ = (
        "_clock", "_hand_over", "_held", "_paused_at", "_waiting", "paused", "paused_s",
    )  # fmt: skip

    def __init__(
        self, clock: Clock, hand_over: Callable[[Call, Any], object] | None = None
    ) -> None:
        self._clock = clock
        self._hand_over = hand_over or _at_once
        self._waiting: deque[tuple[Call, Any]] = deque()
        self._held = False
        self._paused_at = 0.0
        self.paused = False
        self.paused_s = 0.0

    def enter(self, call: Call, argument: Any = None) -> None:
        """Run ``call(argument)`` as the holder, now or when it is its turn."""
        if self._held or self.paused or self._waiting:
            self._waiting.append((call, argument))
        else:
            self._held = True
            call(argument)

    def leave(self) -> None:
        """The holder leaves."""
        self._held = False
        self._admit()

    def withdraw(self, argument: Any) -> bool:
        """Take a waiter back out of the queue; whether it was there."""
        for entry in self._waiting:
            if entry[1] is argument:
                self._waiting.remove(entry)
                return True
        return False

    def pause(self) -> None:
        """Let nobody enter until ``resume``."""
        if not self.paused:
            self.paused = True
            self._paused_at = self._clock.now

    def resume(self) -> None:
        """End the pause."""
        if self.paused:
            self.paused = False
            self.paused_s += self._clock.now - self._paused_at
            self._admit()

    def paused_until_now_s(self) -> float:
        """Total time paused, the present pause included."""
        return self.paused_s + (self._clock.now - self._paused_at if self.paused else 0.0)

    def _admit(self) -> None:
        while self._waiting and not self._held and not self.paused:
            self._held = True
            self._hand_over(*self._waiting.popleft())

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)
