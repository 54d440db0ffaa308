"""A replica of semi-synchronous replication: it acknowledges what is in its relay log."""

from __future__ import annotations

from typing import Final

from simrep.modelling import Cluster
from simrep.models.asynchronous.replica import Replica
from simrep.models.asynchronous.source import SOURCE
from simrep.models.mysql.channel import RelayedTransaction
from simrep.models.mysql.server import BinlogTransaction, MysqlServer

from .options import SemisyncCosts, SemisyncOptions

__all__ = ["REPLY_BYTES", "SemisyncReplica"]

_US: Final = 1e-6

# Magic number, position, name of the file (as in "binlog.000001") and packet header.
REPLY_BYTES: Final = 26


class SemisyncReplica(Replica):
    """Its IO thread answers the source before it goes on with the next transaction."""

    def __init__(
        self, cluster: Cluster, server: MysqlServer, options: SemisyncOptions, costs: SemisyncCosts
    ) -> None:
        super().__init__(cluster, server, options, costs)
        self._cluster = cluster
        self._reply = server.host.routine(costs.reply_us * _US)
        self._wanted: set[int] = set()

    def receive(self, message: tuple[BinlogTransaction, bool]) -> None:
        """The events of a transaction, and whether their receipt is to be acknowledged."""
        change, wanted = message
        if wanted:
            self._wanted.add(change.seqno)
        self._io_thread.join(change)

    def _written(self, change: RelayedTransaction) -> None:
        """It is in the relay log, synchronised if it was its turn."""
        trace = self._cluster.trace
        if trace is not None:
            trace.record(self.server.index, "receive", change.seqno)
        if change.seqno in self._wanted:
            self._wanted.discard(change.seqno)
            self._reply.go_on(self._acknowledge, change)
        else:
            super()._written(change)

    def _acknowledge(self, change: RelayedTransaction) -> None:
        self._send_reply((self.server.index, change.seqno))
        super()._written(change)

    def _send_reply(self, reply: tuple[int, int]) -> None:
        cluster = self._cluster
        cluster.network.send(self.server.index, SOURCE, REPLY_BYTES, reply, cluster.clock.now)
