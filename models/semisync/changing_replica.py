"""A replica of semi-synchronous replication that comes and goes."""

from __future__ import annotations

from typing import ClassVar

from simrep.models.asynchronous.changing_replica import QUERIES, ChangingReplica
from simrep.models.asynchronous.connection import Events, Kind, Packet
from simrep.models.mysql.channel import RelayedTransaction

from .replica import REPLY_BYTES, SemisyncReplica

__all__ = ["ChangingSemisyncReplica"]


class ChangingSemisyncReplica(ChangingReplica, SemisyncReplica):
    """See the module: it acknowledges on the connection on which it was asked to.

    References
    ----------
    plugin/semisync/semisync_replica_plugin.cc of MySQL 9, repl_semi_slave_request_dump: it asks
    whether the source has semi-synchronous replication, and says that it takes part.
    """

    _queries: ClassVar[int] = QUERIES + 2

    def _arrived(self, events: Events) -> None:
        self.receive((events.written, events.wanted))

    def _acknowledge(self, change: RelayedTransaction) -> None:
        if self.alive:
            super()._acknowledge(change)

    def _send_reply(self, reply: tuple[int, int]) -> None:
        if self.connected:
            packet = Packet(self.target, self.server.index, self.number, Kind.REPLY, reply)
            self.port.send(packet, REPLY_BYTES)
