"""Which nodes take writes in a run: as their servers would say at any time."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from simrep.contract.cluster import Cluster
    from simrep.contract.model import Model
    from simrep.kernel.timeline import Noted

__all__ = ["Writable", "WriterWatch"]

_EVERY_S = 0.05
"""Servers are asked so often, and whenever one of them notes something."""


class Writable(NamedTuple):
    """A time in which a node takes writes, in simulated seconds."""

    node: int
    from_s: float
    until_s: float
    outside: bool  # the others have gone on without it: it takes them for itself


class WriterWatch:
    """Asks every server of a cluster what ``Model.status`` tells a proxy.

    A server that is gone or stands still takes no writes, whatever it said last. Where nothing
    happens to servers they are asked once. Asking costs no simulated time, and changes nothing.

    Parameters
    ----------
    cluster : Cluster
    model : Model
    """

    def __init__(self, cluster: Cluster, model: Model) -> None:
        self._cluster = cluster
        self._model = model
        self._gone: set[int] = set(cluster.arbitrators)
        self._since: dict[int, tuple[float, bool]] = {}  # and whether outside, by node
        self._found: list[Writable] = []
        self._due = False
        clock = cluster.clock
        clock.at(clock.now, self._look)
        if cluster.timeline is not None:
            cluster.timeline.listeners.append(self._noted)
            clock.at(clock.now + _EVERY_S, self._tick)

    def node_changes(self, change: tuple[int, bool]) -> None:
        """The server of a node ends, or starts."""
        node, up = change
        if up:
            self._gone.discard(node)
        else:
            self._gone.add(node)
        self._look()

    def spells(self) -> list[Writable]:
        """In the order of their begin; those that have not ended last for ever."""
        going_on = [Writable(node, from_s, inf, out) for node, (from_s, out) in self._since.items()]
        return sorted([*self._found, *going_on], key=lambda one: (one.from_s, one.node))

    def _tick(self, _: object = None) -> None:
        self._look()
        clock = self._cluster.clock
        clock.at(clock.now + _EVERY_S, self._tick)

    def _noted(self, _: Noted) -> None:
        """A server notes something, and does the rest of it now."""
        if not self._due:
            self._due = True
            self._cluster.clock.at(self._cluster.clock.now, self._look)

    def _look(self, _: object = None) -> None:
        self._due = False
        now_s, fates = self._cluster.clock.now, self._cluster.fates
        for node in range(self._cluster.size):
            writes = self._takes_writes(node)
            outside = fates is not None and fates.is_outside(node)
            before = self._since.get(node)
            if before is not None and not (writes and before[1] is outside):
                del self._since[node]
                if now_s > before[0]:
                    self._found.append(Writable(node, before[0], now_s, before[1]))
                before = None
            if writes and before is None:
                self._since[node] = now_s, outside

    def _takes_writes(self, node: int) -> bool:
        if node in self._gone or getattr(self._cluster.hosts[node], "stopped", False):
            return False
        status = self._model.status(node)
        return status is not None and status.serves and status.writes
