"""A first-come-first-served mutual exclusion that can be paused from outside."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from simrep.kernel.clock import Clock
from simrep.kernel.watch import Line

__all__ = ["PausableMutex", "WatchedMutex"]

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


class WatchedMutex(PausableMutex):
    """A mutex that tells a line who waits.

    Parameters
    ----------
    clock : Clock
    line : Line
        What it waits for is the ``holder``, or the end of the pause.
    hand_over : callable, optional

    Attributes
    ----------
    holder : object
        The argument of who holds it; None when nobody does.
    """

    __slots__ = ("_line", "_wake", "holder")

    def __init__(
        self, clock: Clock, line: Line, hand_over: Callable[[Call, Any], object] | None = None
    ) -> None:
        super().__init__(clock, self._turn)
        self._wake = hand_over or _at_once
        self._line = line
        self.holder: Any = None

    def enter(self, call: Call, argument: Any = None) -> None:
        """See ``PausableMutex.enter``."""
        if self._held or self.paused or self._waiting:
            self._line.wait(argument)
        else:
            self.holder = argument
        super().enter(call, argument)

    def _turn(self, call: Call, argument: Any) -> None:
        self._line.go(argument)
        self.holder = argument
        self._wake(call, argument)

    def leave(self) -> None:
        """See ``PausableMutex.leave``."""
        self._line.cut()
        self.holder = None
        super().leave()

    def withdraw(self, argument: Any) -> bool:
        """See ``PausableMutex.withdraw``."""
        self._line.go(argument)
        return super().withdraw(argument)

    def resume(self) -> None:
        """See ``PausableMutex.resume``."""
        if self.holder is None:
            self._line.cut()
        super().resume()
