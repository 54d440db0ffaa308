"""A first-come-first-served station with k servers, as one booking per visit."""

from __future__ import annotations

from heapq import heapreplace

from simrep.kernel.clock import Clock

__all__ = ["Fifo"]


class Fifo:
    """k identical servers behind one queue, non-preemptive, first come first served.

    A visit is booked on arrival: its start is the earliest time at which a server is free, so its
    departure is known at once and costs one event (Lindley's recursion; Kiefer-Wolfowitz for k
    servers). This is exact as long as visits are booked in the order of their arrival, which
    booking at the current time guarantees.

    Parameters
    ----------
    clock : Clock
    servers : int
        Number of servers k, at least 1.
    name : str
        Name under which the station is reported.
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
