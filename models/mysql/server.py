"""One MySQL or MariaDB server: transactions of its clients, row locks, logs and their commit."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable
from functools import partial
from math import ceil
from typing import Any

from simpy.events import Event

from simrep.modelling import (
    Binlog,
    Decided,
    Disk,
    Lap,
    OpenTransaction,
    Parts,
    Station,
    Transaction,
)
from simrep.models.mysql.binlog import GroupCommit, MariadbCommit, RedoCommit, SerialCommit
from simrep.models.mysql.commit import CommitHooks, CommitPipeline, Engine, Group

from .binlog_cache import FullCache
from .options import LARGEST_CACHE, ServerCosts, ServerOptions

__all__ = ["ENVELOPE_BYTES", "BinlogHooks", "BinlogTransaction", "MysqlServer"]

BeforeBegin = Callable[[Transaction], Generator[Event, Any, None]]
BeforeCommit = Callable[["BinlogTransaction"], Generator[Event, Any, bool]]

# Events around those of the rows: GTID (79 bytes), BEGIN (about 75), Xid (31).
ENVELOPE_BYTES = 185
_ENVELOPE_EVENTS = 3
# A statement has a table map, and its rows in events that are closed when they have so many bytes
# (binlog_row_event_max_size): a row is never cut.
_ROWS_EVENT_BYTES = 8192

_US = 1e-6


class BinlogTransaction(Decided):
    """A transaction from its prepare on: in the commit pipeline, and from there to replicas.

    Attributes
    ----------
    seqno : int
        Position in the binary log, counted from 1; without one, in the order of the commits.
    prepared_after : int
        Latest position that was committed when it was prepared.
    parent : int
        A replica may start it when everything up to this position is committed there.
    written_s : float
        When it was written to the binary log (``original_commit_timestamp``).
    size_bytes, events : int
        Size and number of its events in the binary log.
    order : int
        Its number in the order of a group, in group replication.
    locks, scans : tuple
        Rows for which clients of an asynchronous replica may compete: none, they do not write.
    """

    __slots__ = (
        "events", "order", "owner", "parent", "prepared_after", "seqno", "size_bytes",
        "transaction", "written_s",
    )  # fmt: skip
    locks: tuple[Hashable, ...] = ()
    scans: tuple[range, ...] = ()

    def __init__(
        self, transaction: Transaction, owner: OpenTransaction, prepared_after: int
    ) -> None:
        writing = sum(statement.rows_written > 0 for statement in transaction.statements)
        self.transaction = transaction
        self.owner = owner
        self.prepared_after = prepared_after
        self.size_bytes = transaction.size_bytes + ENVELOPE_BYTES
        rows_events = min(transaction.rows, ceil(transaction.size_bytes / _ROWS_EVENT_BYTES))
        self.events = _ENVELOPE_EVENTS + writing + max(writing, rows_events)
        self.seqno = 0
        self.parent = 0
        self.written_s = 0.0
        self.order = 0


class BinlogHooks(CommitHooks):
    """Numbers the transactions in the order of the binary log, and counts them.

    Replication products add to it what they do at the points of a commit.
    """

    def __init__(self) -> None:
        self.commits = 0
        self.groups = 0

    def in_engine(self, entry: Any) -> None:
        """A transaction is committed in the storage engine; its row locks go next."""

    def answered(self, entry: Any) -> None:
        """The server has told the client of a transaction that it is committed."""

    def after_flush(self, group: Group) -> None:
        """See ``CommitHooks.after_flush``."""
        self.groups += 1
        for entry in group:
            self.commits += 1
            entry.argument.seqno = self.commits


class MysqlServer:
    """One server.

    Parameters
    ----------
    parts : Parts
        Of its node.
    options : ServerOptions
    costs : ServerCosts
    log_bin : bool
        Whether what it commits is written to a binary log.
    hooks : BinlogHooks, optional
        What replication does at the points of a commit.
    before_begin : callable, optional
        ``before_begin(transaction)`` is a generator that holds up a transaction's begin.
    before_commit : callable, optional
        ``before_commit(entry)`` is a generator that returns whether the transaction, which is
        executed and prepared, may go on into the commit pipeline.
    prepare : callable, optional
        ``prepare(transaction)``: CPU in seconds that goes before that.

    Attributes
    ----------
    pipeline : CommitPipeline
    max_committed : int
        Latest position in the binary log that is committed in the engine.
    """

    def __init__(
        self,
        parts: Parts,
        options: ServerOptions,
        costs: ServerCosts,
        *,
        log_bin: bool,
        hooks: BinlogHooks | None = None,
        before_begin: BeforeBegin | None = None,
        before_commit: BeforeCommit | None = None,
        prepare: Callable[[Transaction], float] | None = None,
    ) -> None:
        cluster, index = parts.cluster, parts.index
        clock, host, name = cluster.clock, cluster.hosts[index], parts.name
        self.parts = parts
        self.index = index
        self.name = name
        self.clock = clock
        self.host = host
        self.trace = cluster.trace
        self.log_bin = log_bin
        self.locks = parts.locks()
        self.switch_s = costs.switch_us * _US
        self.disk = Disk(
            clock, costs.fsync_us * _US, costs.disk_mb_per_s * 1e6, flusher=host.flusher, name=name
        )
        self._redo = parts.redo_log(
            self.disk,
            flush_at_commit=options.innodb_flush_log_at_trx_commit,
            write_s=costs.log_write_us * _US,
        )
        self._binlog = Binlog(
            host,
            self.disk,
            sync_period=options.sync_binlog,
            write_s=costs.binlog_write_us * _US,
            switch_s=self.switch_s,
            bytes_per_s=1e9 / costs.binlog_byte_ns if costs.binlog_byte_ns else float("inf"),
        )
        self.hooks = hooks or BinlogHooks()
        engine = Engine(host, self._redo, commit_s=costs.commit_us * _US, switch_s=self.switch_s)
        self.pipeline: CommitPipeline = (
            _with_binlog(parts, options, engine, self._binlog, self.hooks)
            if log_bin
            else RedoCommit(engine)
        )
        # What is left when the engine has committed: an fsync of the redo log, or to be woken.
        flushes_last = isinstance(self.pipeline, (RedoCommit, SerialCommit))
        self._last_lap = Lap.FLUSH if flushes_last else Lap.COMMIT
        self.sessions = parts.sessions(
            self.locks,
            costs.of_sessions(),
            commit=self._commit,
            prepare=prepare,
            before_begin=before_begin,
            streaming=partial(_cache_of, options.max_binlog_cache_size)
            if log_bin and options.max_binlog_cache_size < LARGEST_CACHE
            else None,
            lock_wait_timeout_s=options.innodb_lock_wait_timeout,
        )
        self._before_commit = before_commit
        self._prepare = prepare
        self.max_committed = 0
        self.commits = 0

    def _commit(
        self, transaction: Transaction, owner: OpenTransaction
    ) -> Generator[Event, Any, bool]:
        entry = BinlogTransaction(transaction, owner, self.max_committed)
        if self._before_commit is not None:
            if self._prepare is not None and not transaction.autocommit:
                yield self.host.work(self._prepare(transaction))
                if owner.lost():
                    return False
                owner.mark(Lap.EXECUTE)
            if not (yield from self._before_commit(entry)):
                return False
        self.pipeline.commit(entry.size_bytes, self._committed, self._durable, entry)
        yield owner.done
        return True

    def _committed(self, entry: BinlogTransaction) -> None:
        """Visible to others: the row locks go to those who wait for them."""
        entry.owner.mark(Lap.COMMIT)
        self.commits += 1
        if not self.log_bin:
            entry.seqno = self.commits
        if entry.seqno > self.max_committed:
            self.max_committed = entry.seqno
        self.hooks.in_engine(entry)
        if entry.transaction.journal is not None:
            entry.transaction.journal.committed(self.index)
        if self.trace is not None:
            self.trace.record(self.index, "commit", entry.seqno, entry.transaction.client)
        self.locks.release_all(entry.owner)

    def _durable(self, entry: BinlogTransaction) -> None:
        """The client's thread goes on."""
        entry.owner.mark(self._last_lap)
        self.hooks.answered(entry)
        self.clock.fire(entry.owner.done)

    def stations(self) -> Iterable[Station]:
        """Logs and disk; the machine is the engine's."""
        return [*self.pipeline.stages, self.disk.transfer]

    def counters(self) -> dict[str, float]:
        """Status variables (``SHOW GLOBAL STATUS``)."""
        locks = self.locks
        wait_mean_s = locks.wait_s / locks.waits if locks.waits else 0.0
        return {
            "Handler_commit": self.commits,
            "Handler_rollback": self.sessions.rollbacks,
            "Binlog_commits": self.hooks.commits,
            "Binlog_group_commits": self.hooks.groups,
            "Binlog_bytes_written": self._binlog.bytes,
            "Binlog_fsyncs": self._binlog.syncs,
            "Innodb_os_log_fsyncs": self._redo.syncs,
            "Innodb_row_lock_waits": locks.waits,
            "Innodb_row_lock_time": locks.wait_s * 1e3,
            "Innodb_row_lock_time_avg": wait_mean_s * 1e3,
            "Innodb_row_lock_time_max": locks.wait_max_s * 1e3,
            "Innodb_deadlocks": locks.deadlocks,
            **self.sessions.rollback_counters("1197", "1205", "1213"),
        }


def _cache_of(
    most_bytes: int, transaction: Transaction, owner: OpenTransaction
) -> FullCache | None:
    """How a transaction fails that does not fit into its binary log cache."""
    if transaction.size_bytes <= most_bytes:
        return None
    return FullCache(transaction, owner, most_bytes)


def _with_binlog(
    parts: Parts, options: ServerOptions, engine: Engine, binlog: Binlog, hooks: CommitHooks
) -> CommitPipeline:
    """The pipeline of the server's generation."""
    generation = options.commit_pipeline
    if generation == "mariadb":
        return MariadbCommit(
            parts,
            engine,
            binlog,
            wait_s=options.binlog_commit_wait_usec * _US,
            wait_count=options.binlog_commit_wait_count,
            hooks=hooks,
        )
    if generation in {"mysql-5.1", "mysql-5.5"}:
        return SerialCommit(parts, engine, binlog, whole=generation == "mysql-5.1", hooks=hooks)
    return GroupCommit(
        parts,
        engine,
        binlog,
        redo_at_prepare=generation == "mysql-5.6",
        order_commits=options.binlog_order_commits,
        sync_delay_s=options.binlog_group_commit_sync_delay * _US,
        sync_no_delay_count=options.binlog_group_commit_sync_no_delay_count,
        hooks=hooks,
    )
