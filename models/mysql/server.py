"""One MySQL or MariaDB server: transactions of its clients, row locks, logs and their commit."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from functools import partial
from math import ceil, floor
from typing import Any, Final

from simrep.modelling import (
    Binlog,
    Clock,
    Event,
    Lap,
    OpenTransaction,
    Parts,
    RedoLog,
    Sessions,
    Station,
    Transaction,
)
from simrep.models.mysql.binlog import GroupCommit, MariadbCommit, RedoCommit, SerialCommit
from simrep.models.mysql.commit import Commit, CommitHooks, CommitPipeline, Engine, Group

from .background import start_background
from .options import LARGEST_CACHE, ServerCosts, ServerOptions

__all__ = [
    "ENVELOPE_BYTES",
    "ERRORS",
    "BeforeBegin",
    "BinlogHooks",
    "BinlogTransaction",
    "MysqlServer",
]

Call = Callable[[Any], object]
BeforeBegin = Callable[[Transaction], Generator[Event, Any, str | None]]
BeforeCommit = Callable[["BinlogTransaction"], Generator[Event, Any, bool]]

# Events around those of the rows: GTID (79 bytes), BEGIN (about 75), Xid (31).
ENVELOPE_BYTES: Final = 185
# The redo of an insert grows by 590 to 720 bytes, the row among them (MySQL 9.7). Its files are
# allocated (fallocate) and written over only when all 32 of them have been used.
_REDO_BYTES: Final = 350
_ENVELOPE_EVENTS: Final = 3
# A statement has a table map, and its rows in events that are closed when they have so many bytes
# (binlog_row_event_max_size): a row is never cut.
_ROWS_EVENT_BYTES: Final = 8192

# As MySQL and MariaDB number it (ER_TRANS_CACHE_FULL).
_CACHE_FULL: Final = "1197 more than max_binlog_cache_size bytes of storage required"
ERRORS: Final = (_CACHE_FULL, *Sessions.errors_told)
"""Why transactions fail on any server."""

_US: Final = 1e-6


class BinlogTransaction(Commit):
    """A transaction from its prepare on: in the commit pipeline, and from there to replicas."""

    __slots__ = (
        "barrier", "events", "order", "parent", "prepared_after", "rows", "transaction", "waited",
        "written_s",
    )  # fmt: skip
    # Rows for which clients of an asynchronous replica may compete: none, they do not write.
    locks: tuple[Hashable, ...] = ()
    scans: tuple[range, ...] = ()

    def __init__(
        self,
        transaction: Transaction,
        owner: OpenTransaction,
        prepared_after: int,
        committed: Call,
        done: Call,
    ) -> None:
        size_bytes = transaction.size_bytes
        self.size_bytes = size_bytes + ENVELOPE_BYTES
        self.committed = committed
        self.done = done
        self.owner = owner
        self.seqno = 0
        self.sleeper = None
        self.transaction: Any = transaction
        self.rows = transaction.rows
        self.prepared_after = prepared_after  # latest that was committed then
        writing = 0
        for statement in transaction.statements:
            if statement.rows_written > 0:
                writing += 1
        rows_events = writing
        if size_bytes > _ROWS_EVENT_BYTES:
            full = min(transaction.rows, ceil(size_bytes / _ROWS_EVENT_BYTES))
            rows_events = max(writing, full)
        self.events = _ENVELOPE_EVENTS + writing + rows_events
        self.barrier = 0  # not even on trial before all up to this position is committed there
        self.parent = 0  # a replica may start it when all up to this position is committed there
        self.written_s = 0.0  # when it was written to the binary log (original_commit_timestamp)
        self.order = 0  # its number in the order of a group, in group replication
        self.waited = False  # for a row lock, before it was written (MariaDB: FL_WAITED)


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
            entry.seqno = self.commits


class MysqlServer:
    """One server, and where a replication product steps in.

    ``hooks`` are those of a commit. ``before_begin(transaction)`` is a generator that holds up a
    begin; ``before_commit(entry)`` is one that returns whether the transaction, which is executed
    and prepared, may go on into the pipeline; ``begin_before_commit(entry)`` begins the same for
    an autocommit statement, and has it commit or fires ``owner.done``: false if it has failed at
    once; ``prepare(transaction)`` is CPU in seconds before it.
    ``begin(clock)`` makes what owns the row locks of a transaction.
    """

    alive = True  # its process is there

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
        begin_before_commit: Callable[[BinlogTransaction], bool] | None = None,
        prepare: Callable[[Transaction], float] | None = None,
        begin: Callable[[Clock], OpenTransaction] = OpenTransaction,
    ) -> None:
        cluster, index = parts.cluster, parts.index
        clock, host, name = parts.clock, cluster.hosts[index], parts.name
        self.parts = parts
        self.index = index
        self.name = name
        self.clock = clock
        self.host = host
        if options.commit_pipeline == "mysql-5.7":
            host.follow_wakers()
            host.tell_threads()
        self.trace = cluster.trace
        self.log_bin = log_bin
        self.locks = parts.locks()
        self.switch_s = costs.switch_us * _US
        self.disk = parts.disk(
            costs.fsync_us * _US,
            costs.disk_mb_per_s * 1e6,
            work_s=costs.fsync_work_us * _US,
            name=name,
        )
        redo_kind, binlog_kind = self._log_kinds()
        self.redo = parts.redo_log(
            self.disk,
            redo_kind,
            flush_at_commit=options.innodb_flush_log_at_trx_commit,
            write_s=costs.log_write_us * _US,
            new_bytes=_REDO_BYTES if host.tells_threads else 0,
        )
        self.binlog = binlog_kind(
            host,
            self.disk,
            sync_period=options.sync_binlog,
            write_s=costs.binlog_write_us * _US,
            switch_s=self.switch_s,
            bytes_per_s=1e9 / costs.binlog_byte_ns if costs.binlog_byte_ns else float("inf"),
            journal_s=costs.journal_us * _US,
        )
        self.hooks = hooks or BinlogHooks()
        self.commit_s = costs.commit_us * _US
        engine = Engine(host, self.redo, commit_s=self.commit_s, switch_s=self.switch_s)
        self.pipeline: CommitPipeline = (
            _with_binlog(parts, options, engine, self.binlog, self.hooks)
            if log_bin
            else RedoCommit(engine)
        )
        # What is left when the engine has committed: an fsync of the redo log, or to be woken.
        flushes_last = isinstance(self.pipeline, (RedoCommit, SerialCommit))
        self._last_lap = Lap.FLUSH if flushes_last else Lap.COMMIT
        self.sessions = parts.sessions(
            self.locks,
            costs.of_sessions(),
            begin=begin,
            commit=self._commit,
            begin_commit=None
            if parts.cluster.changes or (before_commit and not begin_before_commit)
            else self._begin_commit,
            prepare=prepare,
            before_begin=before_begin,
            streaming=partial(_cache_of, options.max_binlog_cache_size)
            if log_bin and options.max_binlog_cache_size < LARGEST_CACHE
            else None,
            lock_wait_timeout_s=options.innodb_lock_wait_timeout,
            pool_bytes=options.innodb_buffer_pool_size,
        )
        # Made once: every entry that waits for a replica keeps them.
        self.pool_bytes = options.innodb_buffer_pool_size
        self._when_committed: Call = self._committed
        self._when_durable: Call = self._durable
        self._before_commit = before_commit
        self._begin_before_commit = begin_before_commit
        self._prepare = prepare
        self.max_committed = 0  # latest position in the binary log that the engine has committed
        self.commits = 0
        if host.tells_threads and options.crash_safety == "mysql-8.0":
            start_background(self, persists=log_bin)

    def _log_kinds(self) -> tuple[Callable[..., RedoLog], Callable[..., Binlog]]:
        """What its redo log and its binary log are."""
        return RedoLog, Binlog

    def _commit(
        self, transaction: Transaction, owner: OpenTransaction
    ) -> Generator[Event, Any, bool]:
        entry = BinlogTransaction(
            transaction, owner, self.max_committed, self._when_committed, self._when_durable
        )
        self.redo.append()
        if self._before_commit is not None:
            if self._prepare is not None and not transaction.autocommit:
                yield self.host.work(self._prepare(transaction))
                if owner.lost():
                    return False
                owner.mark(Lap.EXECUTE)
            if not (yield from self._before_commit(entry)):
                return False
        self.pipeline.commit(entry)
        yield owner.done
        return True

    def _begin_commit(self, transaction: Transaction, owner: OpenTransaction) -> bool:
        entry = BinlogTransaction(
            transaction, owner, self.max_committed, self._when_committed, self._when_durable
        )
        self.redo.append()
        if self._begin_before_commit is not None:
            return self._begin_before_commit(entry)
        self.pipeline.commit(entry)
        return True

    def _committed(self, entry: BinlogTransaction) -> None:
        """Visible to others: the row locks go to those who wait for them."""
        owner: OpenTransaction = entry.owner
        now = self.clock._now
        owner.seconds[Lap.COMMIT] += now - owner.marked_s  # OpenTransaction.mark
        owner.marked_s = now
        self.commits += 1
        if not self.log_bin:
            entry.seqno = self.commits
        if entry.seqno > self.max_committed:
            self.max_committed = entry.seqno
        if entry.transaction.journal is not None:  # before those who wait for it read
            entry.transaction.journal.committed(self.index)
        self.hooks.in_engine(entry)
        if self.trace is not None:
            self.trace.record(self.index, "commit", entry.seqno, entry.transaction.client)
        self.locks.release_all(owner)

    def _durable(self, entry: BinlogTransaction) -> None:
        """The client's thread goes on."""
        owner: OpenTransaction = entry.owner
        owner.mark(self._last_lap)
        self.hooks.answered(entry)
        self.clock.fire(owner.done, True)

    def stations(self) -> Iterable[Station]:
        """Logs, disk, latch and page reads; the machine is the engine's."""
        return [*self.pipeline.stages, self.disk.transfer, *self.sessions.stations()]

    def counters(self) -> dict[str, float]:
        """Status variables (``SHOW GLOBAL STATUS``)."""
        locks = self.locks
        wait_mean_s = locks.wait_s / locks.waits if locks.waits else 0.0
        return {
            "Handler_commit": self.commits,
            "Handler_rollback": self.sessions.rollbacks,
            "Binlog_commits": self.hooks.commits,
            "Binlog_group_commits": self.hooks.groups,
            "Binlog_bytes_written": self.binlog.bytes,
            "Binlog_fsyncs": self.binlog.syncs,
            "Innodb_os_log_fsyncs": self.redo.syncs,
            "Innodb_row_lock_waits": locks.waits,
            "Innodb_row_lock_time": locks.wait_s * 1e3,
            "Innodb_row_lock_time_avg": wait_mean_s * 1e3,
            "Innodb_row_lock_time_max": locks.wait_max_s * 1e3,
            "Innodb_deadlocks": locks.deadlocks,
            **self.sessions.rollback_counters("1197", "1205", "1213"),
        }


class _FullCache:
    """Follows a transaction up to the row that does not fit, where it fails (see ``Streaming``).

    What a transaction writes is kept until its commit: in memory up to ``binlog_cache_size``, then
    in a temporary file. The file costs a copy per byte, which no commit waits for, and is never
    synced; both ways are part of what a row costs to write (``row_us``) and of what a byte costs
    in the binary log (``binlog_byte_ns``). So only the limit is modelled.
    """

    def __init__(self, transaction: Transaction, owner: OpenTransaction, most_bytes: int) -> None:
        self._owner = owner
        self._left = floor(most_bytes * transaction.rows / transaction.size_bytes) + 1

    def room(self) -> int:
        """See ``Streaming.room``: rows up to the one that does not fit."""
        return max(1, self._left)

    def written(self, rows: int, locked: Sequence[Hashable]) -> bool:
        self._left -= rows
        return self._left <= 0

    def statement_ended(self) -> bool:
        """See ``Streaming.statement_ended``: nothing is replicated before the commit."""
        return False

    def replicate(self) -> Generator[Event, Any, bool]:
        """See ``Streaming.replicate``: it has to roll back."""
        yield from ()  # a generator like those that do replicate
        self._owner.error = _CACHE_FULL
        return False

    def rolled_back(self) -> None:
        """See ``Streaming.rolled_back``: nobody else knows of it."""


def _cache_of(
    most_bytes: int, transaction: Transaction, owner: OpenTransaction
) -> _FullCache | None:
    """How a transaction fails that does not fit into its binary log cache."""
    if transaction.size_bytes <= most_bytes:
        return None
    return _FullCache(transaction, owner, most_bytes)


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
