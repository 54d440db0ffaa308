"""Cores that are never all in use, so that what is done on them can be booked ahead."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from simrep.kernel.arrays import np
from simrep.server.host import Call, Host

__all__ = ["BookedCores", "BookedThread"]


class BookedThread:
    """What one thread uses of the cores; booked in the order of time.

    Parameters
    ----------
    slice_s : float
        Longest use of a core in one piece, in seconds.

    Attributes
    ----------
    starts, seconds : list of float
        When it begins to use a core, and for how long, in seconds.
    visits : list of float
        When it comes to the cores anew, and does not go on with the one that it has.
    """

    __slots__ = ("seconds", "slice_s", "starts", "visits")

    def __init__(self, slice_s: float) -> None:
        self.slice_s = slice_s
        self.starts: list[float] = []
        self.seconds: list[float] = []
        self.visits: list[float] = []

    def book(self, start_s: float, seconds: float) -> float:
        """Work from ``start_s`` on for so many seconds; returns when it ends."""
        while seconds > self.slice_s:
            self.starts.append(start_s)
            self.seconds.append(self.slice_s)
            start_s += self.slice_s
            seconds -= self.slice_s
        self.starts.append(start_s)
        self.seconds.append(seconds)
        return start_s + seconds

    def end_s(self, start_s: float, seconds: float) -> float:
        """When work would end."""
        while seconds > self.slice_s:
            start_s += self.slice_s
            seconds -= self.slice_s
        return start_s + seconds

    def cancel_from(self, start_s: float) -> None:
        """Take back what begins then or later."""
        bookings, visits = bisect_left(self.starts, start_s), bisect_left(self.visits, start_s)
        del self.starts[bookings:]
        del self.seconds[bookings:]
        del self.visits[visits:]


class BookedCores:
    """The cores of a machine on which no thread ever has to wait for one.

    Whoever books says when it uses them and for how long, as early as it knows; the counts of the
    machine become what they would be if the threads had used it at those times, to the last bit.

    Parameters
    ----------
    host : Host
    threads : int
        How many there are. What they begin at the same instant counts in their order.
    """

    def __init__(self, host: Host, threads: int) -> None:
        self._host = host
        self._clock = host.clock
        self.threads = [BookedThread(host.slice_s) for _ in range(threads)]

    def settle(self) -> None:
        """Count what has begun until now."""
        now = self._clock.now
        host = self._host
        starts: list[float] = []
        used: list[float] = []
        for thread in self.threads:
            begun = bisect_left(thread.starts, now)
            starts += thread.starts[:begun]
            used += thread.seconds[:begun]
            del thread.starts[:begun], thread.seconds[:begun]
            begun = bisect_left(thread.visits, now)
            host.visits += begun
            del thread.visits[:begun]
        if starts:
            order = np.array(starts).argsort(kind="stable")
            summands = np.array(used)[order]
            summands[0] += host.busy_s
            # One after the other, as they would have been added.
            host.busy_s = float(np.cumsum(summands)[-1])

    def run(self, seconds: float, call: Call, argument: Any = None) -> None:
        """Use a core now, as the first of the threads; see ``Host.run``."""
        now = self._clock.now
        self.threads[0].visits.append(now)
        self._clock.at(self.threads[0].book(now, seconds), call, argument)
