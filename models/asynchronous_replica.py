"""A replica: relay log, appliers, and its own commit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from simrep.measure.moments import Moments
from simrep.measure.stations import Station
from simrep.server.appliers import Appliers
from simrep.server.storage import Stage

from .asynchronous_options import AsynchronousCosts, AsynchronousOptions
from .mysql_server import BinlogTransaction, MysqlServer

__all__ = ["Replica"]

Call = Callable[[BinlogTransaction], object]

_US = 1e-6


class _Commit:
    """A transaction of the source in the commit pipeline of a replica."""

    __slots__ = ("change", "done", "queued", "seqno")

    def __init__(self, change: BinlogTransaction, queued: Call, done: Call) -> None:
        self.change = change
        self.queued = queued
        self.done = done
        self.seqno = 0  # in the replica's own binary log


class Replica:
    """Receives the binary log of the source and applies it.

    Parameters
    ----------
    server : MysqlServer
        The server that it is; what it applies goes through its commit pipeline.
    options : AsynchronousOptions
    costs : AsynchronousCosts

    Attributes
    ----------
    received, applied : int
        Transactions.
    lag : Moments
        Time in seconds from the source's binary log to the commit here.
    """

    def __init__(
        self, server: MysqlServer, options: AsynchronousOptions, costs: AsynchronousCosts
    ) -> None:
        host, name = server.host, server.name
        self.server = server
        self._receipt = host.routine(costs.receive_us * _US)
        self._byte_s = costs.byte_ns * 1e-9
        self._application = host.routine(costs.apply_us * _US)
        self._apply_row_s = costs.apply_row_us * _US
        self._io_thread = Stage(server.clock, self._write, f"{name}/io thread", largest=1)
        self._sync_relay_log = options.sync_relay_log
        self._unsynced_events = 0
        self._unsynced_bytes = 0
        mariadb = options.commit_pipeline == "mariadb"
        workers = options.parallel_workers
        if workers and options.parallel_type == "DATABASE":
            workers = 1
        self._appliers = Appliers(
            host,
            self,
            workers=workers,
            ordered=options.preserve_commit_order,
            workers_wait=mariadb and options.slave_parallel_mode == "optimistic",
            schedule_s=costs.schedule_us * _US,
            switch_s=costs.switch_us * _US,
            name=f"{name}/appliers",
        )
        self._pending: deque[BinlogTransaction] = deque()
        self.relay_log_bytes = 0
        self.received = 0
        self.applied = 0
        self.relay_syncs = 0
        self.lag = Moments()

    # -- the IO thread -------------------------------------------------------------------------

    def receive(self, change: BinlogTransaction) -> None:
        """The events of a transaction have arrived."""
        self._io_thread.join(change)

    def _write(self, changes: list[BinlogTransaction]) -> None:
        (change,) = changes
        seconds = self._receipt.cost(self._byte_s * change.size_bytes)
        self.server.host.go_on(seconds, self._written, change)

    def _written(self, change: BinlogTransaction) -> None:
        self._unsynced_events += change.events
        self._unsynced_bytes += change.size_bytes
        self._sync(change)

    def _sync(self, change: BinlogTransaction) -> None:
        """One fsync for every full period of events: a short period costs a transaction several."""
        period = self._sync_relay_log
        if period and self._unsynced_events >= period:
            self._unsynced_events -= period
            size, self._unsynced_bytes = self._unsynced_bytes, 0
            self.relay_syncs += 1
            self.server.disk.sync(size, self._sync, change)
            return
        self.received += 1
        self.relay_log_bytes += change.size_bytes
        self._pending.append(change)
        self._io_thread.leave()
        self._appliers.submit(change)

    # -- the appliers --------------------------------------------------------------------------

    def apply(self, change: BinlogTransaction, applied: Call) -> None:
        """Change the rows; those that other workers change at the same time are different ones."""
        if self.server.trace is not None:
            self.server.trace.record(self.server.index, "apply", change.seqno)
        seconds = self._application.cost(self._apply_row_s * change.transaction.rows)
        self.server.host.go_on(seconds, applied, change)

    def commit(self, change: BinlogTransaction, queued: Call, committed: Call) -> None:
        """Commit as the server does.

        The next in order may follow when this one has its place in the queue of the binary log;
        so those that are ready form a group. Without a binary log there is no such queue.
        """
        entry = _Commit(change, queued, committed)
        self.server.pipeline.commit(change.size_bytes, self._in_memory, self._durable, entry)
        if self.server.log_bin:
            queued(change)

    def _in_memory(self, entry: _Commit) -> None:
        change, server = entry.change, self.server
        self.applied += 1
        server.commits += 1
        self.lag.add(server.clock.now - change.written_s)
        if server.trace is not None:
            server.trace.record(server.index, "commit", change.seqno, change.transaction.client)
        if not server.log_bin:
            entry.queued(change)

    def _durable(self, entry: _Commit) -> None:
        change = entry.change
        entry.done(change)
        self.relay_log_bytes -= change.size_bytes
        pending = self._pending
        while pending and pending[0].seqno <= self._appliers.low_water:
            pending.popleft()

    # -- figures -------------------------------------------------------------------------------

    def stations(self) -> Iterable[Station]:
        """The threads of replication."""
        return [self._io_thread, self._appliers]

    def counters(self) -> dict[str, float]:
        """Of ``SHOW REPLICA STATUS``; the GTID sets as the number of transactions in them.

        ``Seconds_Behind_Source`` is that of the end, from the oldest transaction which was
        received but is not committed; mean and maximum are taken at every commit.
        """
        lag = self.lag
        behind_s = self.server.clock.now - self._pending[0].written_s if self._pending else 0.0
        return {
            "Retrieved_Gtid_Set": self.received,
            "Executed_Gtid_Set": self.applied,
            "Relay_Log_Space": self.relay_log_bytes,
            "Relay_log_fsyncs": self.relay_syncs,
            "Seconds_Behind_Source": behind_s,
            "Seconds_Behind_Source_avg": lag.mean,
            "Seconds_Behind_Source_max": lag.maximum if lag.count else 0.0,
        }
