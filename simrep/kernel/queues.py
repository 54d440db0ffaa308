"""Queues for what serves one at a time: in the order of arrival, in a given order, with a pause."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapreplace
from typing import Any

from simrep.kernel.clock import Clock
from simrep.kernel.deque import deque
from simrep.kernel.watch import Line

__all__ = ["Fifo", "OrderedGate", "PausableMutex", "WatchedGate", "WatchedMutex"]


class Fifo:
    """k identical servers behind one queue, non-preemptive, first come first served.

    A visit is booked on arrival: its start is the earliest time at which a server is free, so its
    departure is known at once and costs one event (Lindley's recursion; Kiefer-Wolfowitz for k
    servers). This is exact as long as visits are booked in the order of their arrival, which
    booking at the current time guarantees.
    """

    __slots__ = ("_clock", "_free", "busy_s", "name", "servers", "visits", "wait_max_s", "wait_s")

    def __init__(self, clock: Clock, servers: int = 1, name: str = "") -> None:
        if servers < 1:
            raise ValueError(f"servers must be at least 1, given {servers}")
        self._clock = clock
        self._free = [0.0] * servers
        self.name = name
        self.servers = servers
        self.visits = 0
        self.busy_s = 0.0
        self.wait_s = 0.0
        self.wait_max_s = 0.0

    def book(self, demand_s: float) -> float:
        """Book a visit that arrives now; returns its departure time in seconds."""
        now = self._clock._now
        free = self._free
        start = free[0]
        self.visits += 1
        self.busy_s += demand_s
        if start <= now:
            end = now + demand_s
        else:
            wait = start - now
            self.wait_s += wait
            if wait > self.wait_max_s:
                self.wait_max_s = wait
            end = start + demand_s
        heapreplace(free, end)
        return end

    def book_at(self, now: float, demand_s: float) -> float:
        """``book`` for whoever alone books, and is at ``now``."""
        start = self._free[0]
        wait = start - now
        if wait <= 0.0:
            start, wait = now, 0.0
        self.visits += 1
        self.busy_s += demand_s
        self.wait_s += wait
        if wait > self.wait_max_s:
            self.wait_max_s = wait
        heapreplace(self._free, start + demand_s)
        return start + demand_s


class OrderedGate:
    """One position at a time, in the order of the positions, whenever each of them arrives.

    Galera's local and commit monitors are such gates: position p enters when p - 1 has left.

    Parameters
    ----------
    first : int
        The position that may enter first.

    Attributes
    ----------
    next : int
        The position that holds the gate, or whose turn it is.
    """

    def __init__(self, first: int = 1) -> None:
        self.next = first
        self._waiting: dict[int, tuple[Callable[[Any], object], Any]] = {}
        self._draining = False

    def enter(self, position: int, call: Callable[[Any], object], argument: Any = None) -> None:
        """Run ``call(argument)`` when it is the turn of ``position``: now, or in a ``leave``."""
        if position == self.next and not self._draining:
            call(argument)
        else:
            self._waiting[position] = (call, argument)

    def enter_local(
        self, position: int, call: Callable[[Any], object], argument: Any = None
    ) -> None:
        """Gates that know exceptions from the order let some positions enter at once."""
        if position == self.next and not self._draining:
            call(argument)
        else:
            self._waiting[position] = (call, argument)

    def passes(self, position: int) -> bool:
        """Enter and leave at once if nobody can tell: whether that is so."""
        if position != self.next or self._draining or position + 1 in self._waiting:
            return False
        self.next = position + 1
        return True

    def leave(self, _position: int = 0) -> None:
        """The holder leaves: the next position may enter."""
        self.next += 1
        if not self._waiting or self._draining:  # draining: the loop below goes on
            return
        self._draining = True
        try:
            while (entry := self._waiting.pop(self.next, None)) is not None:
                position = self.next
                entry[0](entry[1])
                if self.next == position:  # the new holder stays inside
                    break
        finally:
            self._draining = False

    def skip(self, position: int = 0) -> None:
        """Those that know exceptions may tell who leaves without having done anything."""
        self.leave(position)

    def __len__(self) -> int:
        """How many are waiting."""
        return len(self._waiting)


class WatchedGate(OrderedGate):
    """A gate that tells a line which positions wait.

    Parameters
    ----------
    line : Line
        What it waits for is the position that is ``next``; if it has a ``doing``, who has entered
        does that until it leaves.
    first : int
    """

    def __init__(self, line: Line, first: int = 1) -> None:
        super().__init__(first)
        self._line = line

    def enter(self, position: int, call: Callable[[Any], object], argument: Any = None) -> None:
        """See ``OrderedGate.enter``."""
        if position == self.next and not self._draining:
            self._begin(position, call, argument)
        else:
            self._line.wait(position)
            super().enter(position, self._turn, (position, call, argument))

    def _turn(self, entry: tuple[int, Callable[[Any], object], Any]) -> None:
        self._line.go(entry[0])
        self._begin(*entry)

    def _begin(self, position: int, call: Callable[[Any], object], argument: Any) -> None:
        """Let a position enter; those that tell more say what it does now."""
        if self._line.doing:
            self._line.serve([position])
        call(argument)

    def enter_local(
        self, position: int, call: Callable[[Any], object], argument: Any = None
    ) -> None:
        """See ``OrderedGate.enter_local``."""
        self.enter(position, call, argument)

    def leave(self, _position: int = 0) -> None:
        """See ``OrderedGate.leave``."""
        if self._line.doing:
            self._line.leave()
        else:
            self._line.cut()
        super().leave()


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
        waiting = self._waiting
        if not waiting or self.paused:
            self._held = False
        else:
            call, argument = waiting.popleft()
            self._hand_over(call, argument)

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
            call, argument = self._waiting.popleft()
            self._hand_over(call, argument)

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
