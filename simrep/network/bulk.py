"""A TCP connection of its own for many bytes, beside what else is sent on the same path."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from simrep.kernel.clock import Clock
from simrep.network.network import Network

__all__ = ["BulkStream"]


class BulkStream:
    """Pieces of a file or a stream, one after the other, from one node to another.

    The connection has a window of its own, and nothing waits for what is lost on another one. They
    share the bandwidth of the path: what is sent meanwhile comes behind the piece that is being
    sent, and the next piece behind that.

    Parameters
    ----------
    clock : Clock
    network : Network
    source, target : int
        Positions of the nodes.
    """

    def __init__(self, clock: Clock, network: Network, source: int, target: int) -> None:
        self._clock = clock
        self._path = network.link(source, target)
        self._link = self._path.another()
        there, back = network.paths[source, target], network.paths[target, source]
        self.round_trip_s = there.latency.base_s + back.latency.base_s

    def send(self, size_bytes: int, call: Callable[[Any], object], argument: Any) -> float:
        """Send a piece now; ``call(argument)`` when it has arrived.

        Returns when its last byte has left, infinite if it never does: then the next may follow.
        """
        arrival, left_s = self._link.beside(self._path, size_bytes, self._clock.now)
        if arrival == inf:
            return inf
        self._clock.at(arrival, call, argument)
        return left_s
