"""The source of asynchronous replication: its binary log, and the threads that send it."""

from __future__ import annotations

from simrep.modelling import Cluster
from simrep.models.mysql.commit import Group
from simrep.models.mysql.dependencies import (
    CommitOrder,
    CommitParents,
    GroupOrder,
    RowOrder,
    WritesetOrder,
)
from simrep.models.mysql.dump import Dump, DumpThread
from simrep.models.mysql.server import BinlogHooks, BinlogTransaction

from .options import AsynchronousCosts, AsynchronousOptions

__all__ = ["BinlogSource"]

_US = 1e-6


class BinlogSource(BinlogHooks):
    """Adds to the binary log what replicas need, and tells a dump thread per replica to send it.

    Parameters
    ----------
    cluster : Cluster
    index : int
        Position of the source; all other nodes are its replicas.
    options : AsynchronousOptions
    costs : AsynchronousCosts
    """

    def __init__(
        self, cluster: Cluster, index: int, options: AsynchronousOptions, costs: AsynchronousCosts
    ) -> None:
        super().__init__()
        self._cluster = cluster
        self._host = cluster.hosts[index]
        self._index = index
        self._parents = _parents(options)
        self._send_s = costs.send_us * _US
        self._dumps = [self._dump(replica) for replica in range(cluster.size) if replica != index]

    def _dump(self, replica: int) -> Dump:
        """The thread that sends to a replica."""
        sending = self._host.routine(self._send_s)
        return DumpThread(self._host, sending, self._transmit, replica)

    def after_flush(self, group: Group) -> None:
        """Note what every transaction depends on: their order is final."""
        super().after_flush(group)
        trace = self._cluster.trace
        now = self._cluster.clock.now
        for entry in group:
            written: BinlogTransaction = entry.argument
            transaction = written.transaction
            rows, ranges = (*transaction.keys, *transaction.shared_keys), transaction.ranges
            written.parent = self._parents.parent(
                written.seqno, written.prepared_after, rows, ranges
            )
            written.written_s = now
            if trace is not None:
                trace.record(self._index, "binlog", written.seqno, written.parent, (*rows, *ranges))
        self._parents.end_group(self.commits)

    def readable(self, group: Group) -> None:
        """Every dump thread sends the group, one transaction after the other."""
        for entry in group:
            journal = entry.argument.transaction.journal
            if journal is not None:
                journal.replicate()
        for dump in self._dumps:
            for entry in group:
                dump.send(entry.argument)

    def _transmit(self, replica: int, written: BinlogTransaction) -> bool:
        cluster = self._cluster
        cluster.network.send(self._index, replica, written.size_bytes, written, cluster.clock.now)
        return False


def _parents(options: AsynchronousOptions) -> CommitParents:
    """How the source says what may be applied in parallel."""
    history_size = options.binlog_transaction_dependency_history_size
    if options.commit_pipeline == "mariadb":
        if options.slave_parallel_mode == "conservative":
            return GroupOrder()
        return RowOrder(history_size)
    if options.binlog_transaction_dependency_tracking == "WRITESET":
        return WritesetOrder(history_size)
    return CommitOrder()
