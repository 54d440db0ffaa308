"""Receive queues as somebody sees them who reads the status variables of servers now and then."""

from __future__ import annotations

from math import inf, nan

from simrep.contract.cluster import Cluster
from simrep.contract.model import Model

__all__ = ["QueueReadings"]


class QueueReadings:
    """Readings of all nodes at a time, in equal steps.

    Parameters
    ----------
    first_s, every_s : float
        When the first one is made, and the time between two of them, in seconds.

    Notes
    -----
    A queue that is long for less than a step may be missed, as it is by who reads a real server.
    """

    def __init__(self, first_s: float, every_s: float) -> None:
        self._first_s = first_s
        self._every_s = every_s
        self._read: list[tuple[float, list[float]]] = []

    def attend(self, cluster: Cluster, model: Model) -> None:
        """Read from the begin of a run on."""
        nodes = range(len(cluster.names))

        def read(_: None = None) -> None:
            now = cluster.clock.now
            told = [model.status(node) for node in nodes]
            self._read.append((now, [nan if one is None else float(one.queue) for one in told]))
            cluster.clock.at(now + self._every_s, read)

        cluster.clock.at(self._first_s, read)

    def longest(self, node: int, from_s: float, until_s: float = inf) -> float:
        """The longest queue of a node that was read in this time; NaN without a reading."""
        return max((queues[node] for at_s, queues in self._read if from_s <= at_s < until_s),
                   default=nan)  # fmt: skip
