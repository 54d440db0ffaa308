"""When transactions should begin: what a closed and an open loop intend."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import inf
from threading import Lock

__all__ = ["ClosedLoop", "OpenLoop"]


class ClosedLoop:
    """A client submits when its last transaction has ended.

    Parameters
    ----------
    each : int, optional
        Transactions of a client; without it, until the time is over.
    until_s : float
        No transaction begins later.
    """

    def __init__(self, each: int | None = None, until_s: float = inf) -> None:
        self._each = each
        self._until_s = until_s

    def intended(self, submitted: int, previous_end_s: float) -> float | None:
        """When the next transaction of a client should begin; None if there is none.

        Parameters
        ----------
        submitted : int
            By this client so far.
        previous_end_s : float
            When its last transaction ended; 0 before the first.
        """
        if (self._each is not None and submitted >= self._each) or previous_end_s >= self._until_s:
            return None
        return previous_end_s

    def stop(self, at_s: float) -> None:
        """No transaction begins after that."""
        self._until_s = min(self._until_s, at_s)


class OpenLoop:
    """Poisson arrivals in one line, which the clients take in their order.

    An arrival that finds all clients busy keeps its time: its latency counts from there.

    Parameters
    ----------
    rate_tps : float
        Arrivals a second.
    generator : random.Random
    until_s : float
        No arrival is later.
    """

    def __init__(self, rate_tps: float, generator: random.Random, until_s: float = inf) -> None:
        self._until_s = until_s
        self._line = self._arrivals(rate_tps, generator)
        self._turn = Lock()

    def _arrivals(self, rate_tps: float, generator: random.Random) -> Iterator[float]:
        now = 0.0
        while True:
            now += generator.expovariate(rate_tps)
            yield now

    def intended(self, _submitted: int, _previous_end_s: float) -> float | None:
        """When the next transaction should begin; None if there is none."""
        with self._turn:
            arrival = next(self._line)
            return arrival if arrival < self._until_s else None

    def stop(self, at_s: float) -> None:
        """What arrives after that is not submitted; what waits in line still is."""
        self._until_s = min(self._until_s, at_s)
