"""The source of asynchronous replication: its binary log, and the threads that send it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from simrep.modelling import Host, Lap, Parts, Routine
from simrep.models.mysql.commit import Group
from simrep.models.mysql.dependencies import (
    CommitOrder,
    CommitParents,
    GroupOrder,
    RowOrder,
    WritesetOrder,
)
from simrep.models.mysql.server import BinlogHooks, BinlogTransaction

from .ahead import AheadDump, AheadIO
from .options import AsynchronousCosts, AsynchronousOptions

__all__ = ["SOURCE", "BinlogSource", "Dump", "DumpThread", "StopAndWaitDump"]

SOURCE: Final = 0
"""Position of the source when a run begins; all other nodes are its replicas then."""

_US: Final = 1e-6

Transmit = Callable[[int, BinlogTransaction], bool]
"""Puts a transaction on the network to a replica; whether that replica is to acknowledge it."""


class Dump(Protocol):
    """Sends transactions to one replica in the order of the binary log."""

    def send(self, group: list[BinlogTransaction]) -> None:
        """The binary log has more transactions that may be read."""


class DumpThread:
    """Sends whatever may be read, one transaction after the other."""

    __slots__ = ("_busy", "_host", "_replica", "_sending", "_sleeper", "_transmit", "_unsent")

    def __init__(self, host: Host, sending: Routine, transmit: Transmit, replica: int) -> None:
        self._host = host
        self._sleeper: Any = None
        self._sending = sending
        self._transmit = transmit
        self._replica = replica
        self._unsent: deque[tuple[float, BinlogTransaction]] = deque()
        self._busy = False

    def send(self, group: list[BinlogTransaction]) -> None:
        """See ``Dump.send``."""
        unsent = self._unsent
        cost = self._sending.cost
        for written in group:
            unsent.append((cost(), written))
        if not self._busy:
            self._busy = True
            self._host.rouse(self._sleeper, unsent[0][0], self._sent)

    def _sent(self, _: None = None) -> None:
        unsent = self._unsent
        self._transmit(self._replica, unsent.popleft()[1])
        while unsent:
            seconds = unsent[0][0]
            if seconds > 0.0:
                self._host.go_on(seconds, self._sent)
                return
            self._transmit(self._replica, unsent.popleft()[1])
        self._busy = False
        self._sleeper = self._host.doze()


class StopAndWaitDump:
    """The dump thread of MySQL 5.5 and 5.6 with semi-synchronous replication.

    It reads the acknowledgement itself: after a transaction that is to be acknowledged it sends
    nothing until the replica has answered. So it sends one transaction per round trip, however
    many clients wait.

    References
    ----------
    plugin/semisync/semisync_master.cc (readSlaveReply) and sql/rpl_master.cc (mysql_binlog_send)
    of MySQL 5.6.
    """

    __slots__ = ("_busy", "_host", "_replica", "_sending", "_transmit", "_unsent")

    def __init__(self, host: Host, sending: Routine, transmit: Transmit, replica: int) -> None:
        self._host = host
        self._sending = sending
        self._transmit = transmit
        self._replica = replica
        self._unsent: deque[BinlogTransaction] = deque()
        self._busy = False

    def send(self, group: list[BinlogTransaction]) -> None:
        """See ``Dump.send``."""
        self._unsent += group
        if not self._busy:
            self._busy = True
            self._host.run(self._sending.cost(), self._sent)

    def answered(self) -> None:
        """The replica has acknowledged: the thread, which has read that, goes on."""
        if self._unsent:
            self._host.go_on(self._sending.cost(), self._sent)
        else:
            self._busy = False

    def _sent(self, _: None = None) -> None:
        if not self._transmit(self._replica, self._unsent.popleft()):
            self.answered()  # nothing to wait for


class BinlogSource(BinlogHooks):
    """Adds to the binary log what replicas need, and has a dump thread send it to each of them."""

    def __init__(
        self, parts: Parts, options: AsynchronousOptions, costs: AsynchronousCosts
    ) -> None:
        super().__init__()
        self._cluster = cluster = parts.cluster
        index = parts.index
        self._host = cluster.hosts[index]
        self._index = index
        self._parents = _parents(options)
        self._tells_waits = options.commit_pipeline == "mariadb" and options.workers > 0
        self._send_s = costs.send_us * _US
        self._keeps_transactions = True
        self._barrier = 0  # position of the last statement that has changed a table
        self._dumps: list[Dump] = [
            self._dump(replica) for replica in range(cluster.size) if replica != index
        ]

    def work_ahead(self, replicas: Mapping[int, AheadIO], *, quiet: bool) -> None:
        """Have threads that work ahead, for IO threads that do so, of replicas all ``quiet``."""
        self._keeps_transactions = not quiet
        self._dumps = [self._dump_ahead(replica, thread) for replica, thread in replicas.items()]

    def _dump_ahead(self, replica: int, thread: AheadIO) -> Dump:
        link = self._cluster.network.direct(self._index, replica)
        assert link is not None
        return AheadDump(self._host, self._host.routine(self._send_s), link, thread)

    def _dump(self, replica: int) -> Dump:
        """The thread that sends to a replica."""
        sending = self._host.routine(self._send_s)
        return DumpThread(self._host, sending, self._transmit, replica)

    def after_flush(self, group: Group) -> None:
        """Note what every transaction depends on: their order is final."""
        super().after_flush(group)
        trace = self._cluster.trace
        now = self._cluster.clock.now
        for written in group:
            assert isinstance(written, BinlogTransaction)
            transaction = written.transaction
            rows, ranges = (*transaction.keys, *transaction.shared_keys), transaction.ranges
            if written.rows:
                written.parent = self._parents.parent(
                    written.seqno, written.prepared_after, rows, ranges
                )
                written.barrier = self._barrier
            else:
                written.parent = self._parents.barrier(written.seqno, written.prepared_after)
                written.barrier = written.seqno - 1
                self._barrier = written.seqno
            written.written_s = now
            if self._tells_waits:
                written.waited = written.owner.seconds[Lap.LOCK_WAIT] > 0.0
            if trace is not None:
                trace.record(self._index, "binlog", written.seqno, written.parent, (*rows, *ranges))
        self._parents.end_group(self.commits)

    def answered(self, entry: BinlogTransaction) -> None:
        """See ``BinlogHooks.answered``; a replica that lags behind keeps the entry for long."""
        entry.owner = None
        if not self._keeps_transactions:
            entry.transaction = None

    def readable(self, group: Group) -> None:
        """Every dump thread sends the group, one transaction after the other."""
        writes: list[BinlogTransaction] = []
        for entry in group:
            assert isinstance(entry, BinlogTransaction)
            writes.append(entry)
            if entry.transaction.journal is not None:
                entry.transaction.journal.replicate()
        for dump in self._dumps:
            dump.send(writes)

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
