"""A short lock that all threads of a storage engine take again and again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from simrep.kernel.clock import Clock
from simrep.kernel.queues import Fifo

__all__ = ["Latch"]


class Latch:
    """A spin lock in memory that threads hold for a short time, one after the other.

    InnoDB guards its lock system, its list of transactions and the order of its log with such
    latches. A thread that finds one taken reads it again and again, and sleeps after a while. The
    holder's writes invalidate the copies that all waiting processors have of it, and a thread
    that leaves wakes all that sleep: so each turn takes the longer the more threads wait, and the
    throughput of a server falls when more threads are added.

    Parameters
    ----------
    clock : Clock
    hold_s : float
        How long a turn takes if nobody else waits, in seconds.
    waiter_s : float
        How much longer for each thread that waits.
    name : str

    Notes
    -----
    Simplified: one latch stands for all; the turns of a statement follow each other; those who
    wait take no core from others; the number of those who wait is that at the arrival.

    References
    ----------
    T. E. Anderson, The performance of spin lock alternatives for shared-memory multiprocessors,
    IEEE Transactions on Parallel and Distributed Systems 1 (1990): the cost of a turn grows
    linearly with the number of processors that spin. MySQL 8.0,
    storage/innobase/include/ib0mutex.h (TTASEventMutex) and os/os0event.cc (os_event::set wakes
    all that wait).
    """

    __slots__ = ("_clock", "_ends_s", "_hold_s", "_waiter_s", "line")

    def __init__(self, clock: Clock, hold_s: float, waiter_s: float = 0.0, name: str = "") -> None:
        self._clock = clock
        self._hold_s = hold_s
        self._waiter_s = waiter_s
        self.line = Fifo(clock, 1, name)
        self._ends_s: deque[float] = deque()  # of the turns that are booked and not over

    def take(self, turns: int, call: Callable[[Any], object]) -> None:
        """``call(None)`` when a thread that comes now has had so many turns."""
        ends_s, now = self._ends_s, self._clock._now
        while ends_s and ends_s[0] <= now:
            ends_s.popleft()
        end_s = self.line.book(turns * (self._hold_s + len(ends_s) * self._waiter_s))
        ends_s.append(end_s)
        self._clock.at(end_s, call)
