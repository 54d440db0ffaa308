"""A replica that is made the source by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from simrep.modelling import Cluster

from .failover.servers import Servers
from .member import Member

__all__ = ["Promotion", "ReachedServers"]

Call = Callable[[], object]

_AGAIN_S = 1.0  # so often an operator looks whether a replica is back


class ReachedServers(Servers, Protocol):
    """Servers, and whom an operator reaches."""

    @property
    def service(self) -> int:
        """Position of the source that clients are to write on."""

    def others_of(self, node: int) -> Sequence[int]:
        """Positions of all other nodes."""

    def reaches(self, place: int, node: int) -> bool:
        """Whether whoever is beside a node reaches the server of another one."""

    def stop_io(self, node: int) -> None:
        """Let a replica receive no more (``STOP REPLICA IO_THREAD``)."""

    def drain(self, node: int, call: Call) -> None:
        """Wait until all is committed that a replica has received."""


class Promotion:
    """What an operator does, who is beside the server that is promoted.

    If the source is there, this is a switch-over: it takes no more writes, the server that is
    promoted gets and applies all that it has, and the source becomes a replica. Else that server
    applies what it has received, and the source stays away, as it may have more. All others follow
    the new source as soon as they are reached.

    Attributes
    ----------
    node : int
        Position of the server that is promoted.

    Notes
    -----
    Simplified: the statements of the operator take no time, and who is reached is known at once.
    """

    def __init__(
        self,
        changes: ReachedServers,
        cluster: Cluster,
        members: Sequence[Member[Any, Any]],
        node: int,
    ) -> None:
        self._changes = changes
        self._clock = cluster.clock
        self._members = members
        self.node = node
        self._member = members[node]
        self._over = False
        self._left: set[int] = set()  # those who do not follow it yet
        self._old: int | None = None if changes.service == node else changes.service
        old = self._old
        if old is not None and changes.reaches(node, old):
            self._left.add(old)
            changes.set_read_only(old, True, self._quiet)
        else:
            self._old = None
            self._drain()

    def gone(self, node: int) -> None:
        """A server has ended meanwhile."""
        if node == self.node:
            self._over = True
        elif node == self._old:
            self._left.discard(node)
            self._old = None
            self._drain()

    def supersede(self) -> None:
        """Somebody else decides now."""
        self._over = True

    def _quiet(self) -> None:
        """The source takes no more writes: get all that it has."""
        if self._over or self._old is None:
            return
        position = self._members[self._old].log.end
        replica = self._member.replica
        if replica is None or replica.target != self._old:
            self._drain()
        else:
            replica.when_executed(position, self._promote)

    def _drain(self) -> None:
        if not self._over:
            self._changes.stop_io(self.node)
            self._changes.drain(self.node, self._promote)

    def _promote(self) -> None:
        if not self._over:
            self._changes.promote(self.node, self._promoted)

    def _promoted(self) -> None:
        changes = self._changes
        for other in changes.others_of(self.node):
            # A source that is away is left alone: it may have what nobody else has.
            if self._members[other].target is not None:
                self._left.add(other)
            elif not self._members[other].alive:
                continue
            elif changes.reaches(self.node, other):
                self._left.add(other)
        self._repoint(None)

    def _repoint(self, _: None) -> None:
        if self._over:
            return
        for other in sorted(self._left):
            if self._changes.reaches(self.node, other):
                self._left.discard(other)
                if self._members[other].target != self.node:
                    self._changes.repoint(other, self.node, _nothing)
        if self._left:
            self._clock.at(self._clock.now + _AGAIN_S, self._repoint)


def _nothing() -> None:
    pass
