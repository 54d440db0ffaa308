"""A server whose process may end, with all that its clients have open on it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from simrep.modelling import (
    Binlog,
    Clock,
    Event,
    Killable,
    OpenTransaction,
    Parts,
    ProcessExit,
    RedoLog,
    Transaction,
)
from simrep.models.mysql.channel import Call, Channel, Committing, RelayedTransaction
from simrep.models.mysql.durability import Durability, FollowedBinlog, FollowedRedoLog
from simrep.models.mysql.options import ServerCosts, ServerOptions
from simrep.models.mysql.server import BeforeBegin, BinlogTransaction, MysqlServer

from .global_read_lock import GlobalReadLock
from .table_changes import TableChanges, TableStatement

__all__ = [
    "CONNECTION_LOST",
    "CONNECTION_REFUSED",
    "GRACE_S",
    "SHUTTING_DOWN",
    "EndingChannel",
    "EndingServer",
]

_LOCK_TABLES = frozenset({"ddl", "lock-tables"})
_STOP_COMMITS = frozenset({"flush-tables-with-read-lock", "backup"})
CONNECTION_LOST = "2013 lost connection to the server"
CONNECTION_REFUSED = "2003 connection refused"
SHUTTING_DOWN = "1053 server shutdown in progress"
GRACE_S = 2.0  # "Giving ... client threads a chance to die gracefully": sleep(2)


class EndingServer(Killable, MysqlServer):
    """One server up to its end; one that is started again is another.

    What it still has under way when it ends has no effect any more. Its clients lose their
    connections, when the kernel of its machine closes them if it is killed; whoever connects is
    refused by that kernel, or hears nothing if that is gone as well.

    Attributes
    ----------
    alive : bool
        Its process is there.
    silent : bool
        Its machine is gone, too: nobody answers for it.
    on_fail : callable
        ``on_fail(owner)`` wakes a transaction that waits before its commit, as it has failed.
    durability : Durability
        What is on its disk; set from outside, as that outlasts the process.
    tables : TableChanges or None
        Who uses and who changes its tables; None where nobody will change or lock one.
    read_lock : GlobalReadLock or None
        Who stops all commits on it; None where nobody will.
    """

    durability: Durability

    def __init__(
        self, parts: Parts, options: ServerOptions, costs: ServerCosts, **how: Any
    ) -> None:
        self.alive = True
        self.silent = False
        self._dismisses = False
        mysql = options.commit_pipeline != "mariadb"
        self._exit_s = costs.exit_wait_ms * 1e-3 * mysql, costs.exit_ms * 1e-3
        self.on_fail: Callable[[OpenTransaction], object] = _ignore
        self._open: dict[Transaction, OpenTransaction] = {}
        self._begins: Transaction | None = None
        self._commits: dict[OpenTransaction, None] = {}
        self._errors: dict[OpenTransaction, str] = {}  # of those that were made to fail
        self._quiet: list[Callable[[], object]] = []
        self._awaited: list[tuple[set[OpenTransaction], Callable[[], object]]] = []
        self.tables: TableChanges | None = None
        self.read_lock: GlobalReadLock | None = None
        operations = frozenset(parts.cluster.operations)
        if operations & _LOCK_TABLES:
            self.tables = TableChanges(self, parts, options, costs)
            how["before_begin"] = self.tables.before(how.get("before_begin"))
        if operations & _STOP_COMMITS:
            self.read_lock = GlobalReadLock(self, parts)
            how["before_begin"] = _first(self.read_lock.begin, how.get("before_begin"))
        super().__init__(parts, options, costs, begin=self._begin, **how)

    def _log_kinds(self) -> tuple[Callable[..., RedoLog], Callable[..., Binlog]]:
        return partial(FollowedRedoLog, self), partial(FollowedBinlog, self)

    # -- clients -------------------------------------------------------------------------------

    def connect(self) -> Generator[Event, Any, str | None]:
        """Open a connection; the kernel of a machine whose server is gone refuses it."""
        if self.alive and not self._dismisses:
            return self.sessions.connect()
        if self.closing:
            return self._cut_off(self.clock, CONNECTION_LOST)
        return self._unanswered() if self.silent else self.sessions.refused(CONNECTION_REFUSED)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction, up to the end of the server."""
        if self._dismisses and self.alive:
            return self.turn_away(transaction, SHUTTING_DOWN)
        return self._follow(transaction) if self.alive else self.lose(transaction)

    def turn_away(self, transaction: Transaction, error: str) -> Generator[Event, Any, bool]:
        """Answer a transaction with an error at once, as it cannot be served here now."""
        transaction.unserved = True
        yield from self.sessions.turn_away(transaction, error)
        return False

    def lose(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """The connection of the client has ended."""
        if self.silent:
            yield from self._unanswered()
        if self.closing:
            yield self._closed(self.clock)
        transaction.unserved = True
        transaction.error = yield from self.sessions.refused(CONNECTION_LOST)
        return False

    def _unanswered(self) -> Generator[Event, Any, None]:
        """Nobody answers, ever."""
        yield Event(self.clock)

    def _follow(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        self._begins = transaction
        committed = yield from self.sessions.transact(transaction)
        if self.tables is not None:
            self.tables.leave(transaction)
        self._open.pop(transaction, None)
        if self._awaited:
            self._look_who_ended()
        if self.silent:
            yield from self._unanswered()
        if self.closing and not committed:
            yield self._closed(self.clock)
        return committed

    def _begin(self, clock: Clock) -> OpenTransaction:
        owner = OpenTransaction(clock)
        assert self._begins is not None
        self._open[self._begins] = owner
        self._begins = None
        return owner

    def commit(
        self, transaction: Transaction, owner: OpenTransaction
    ) -> Generator[Event, Any, bool]:
        """Commit what no session has executed."""
        return self._commit(transaction, owner)

    def _commit(
        self, transaction: Transaction, owner: OpenTransaction
    ) -> Generator[Event, Any, bool]:
        stops = self.read_lock if transaction.rows else None
        if stops is not None:
            why = yield from stops.begin_commit(transaction, owner)
            if why is not None:
                owner.error = why
                return False
        self._commits[owner] = None
        committed = yield from super()._commit(transaction, owner)
        del self._commits[owner]
        if stops is not None:
            stops.ended()
        error = self._errors.pop(owner, "")
        if error:
            owner.error = error
            committed = False
        if self._quiet and not self._commits:
            self._call_quiet()
        return committed

    # -- what is open --------------------------------------------------------------------------

    @property
    def open_transactions(self) -> int:
        """How many are open: those that only read, and those that commit, among them."""
        return len(self._open)

    def owner_of(self, transaction: Transaction) -> OpenTransaction:
        """What owns the row locks of an open transaction."""
        return self._open[transaction]

    def when_quiet(self, call: Callable[[], object]) -> None:
        """``call()`` when none of the transactions of its clients is in its commit."""
        self._quiet.append(call)
        if not self._commits:
            self._call_quiet()

    def _call_quiet(self) -> None:
        calls, self._quiet = self._quiet, []
        for call in calls:
            call()

    def fail(self, owner: OpenTransaction, error: str) -> None:
        """Make an open transaction fail; one in its commit may be committed elsewhere."""
        if owner.error:  # it has failed already, and is being rolled back
            return
        transaction = owner.transaction
        transaction.unserved = True
        owner.error = error
        owner.aborted = True
        owner.retry = False
        self.locks.give_up(owner)
        if owner in self._commits:
            transaction.outcome_unknown = True
            self._errors[owner] = error
            if owner.done.callbacks:
                self.clock.fire(owner.done)
            else:
                self.on_fail(owner)
        elif owner.lock_granted is not None:
            if not owner.lock_granted.triggered:
                self.clock.fire(owner.lock_granted)
        else:
            self.on_fail(owner)

    def disconnect_all(self, *, committing: bool = True) -> None:
        """All connections of its clients end, or only those that are not in a commit."""
        for owner in list(self._open.values()):
            if committing or owner not in self._commits:
                self.fail(owner, CONNECTION_LOST)
        self._look_who_ended()

    def dismiss(self, call: Callable[[], object]) -> None:
        """Have all clients go, as a server of MySQL does that shuts down; ``call()`` then.

        It takes no connection any more. Who executes a statement, or comes with another one, is
        told so; a commit that waits for other servers does not notice. After 2 s the connections
        are closed that are left. Simplified: it sleeps these 2 s also where no thread is left, and
        its own replicas, which a source of MySQL waits 8 s for, have no part in it.

        References
        ----------
        sql/mysqld.cc, close_connections.
        """
        self._dismisses = True
        for owner in list(self._open.values()):
            if owner not in self._commits:
                self.fail(owner, SHUTTING_DOWN)
        self.clock.at(self.clock.now + GRACE_S, self._close_connections, call)

    def _close_connections(self, call: Callable[[], object]) -> None:
        if self.alive:
            call()
            self.disconnect_all()

    def when_ended(
        self, call: Callable[[], object], among: Callable[[Transaction], bool] | None = None
    ) -> list[Transaction]:
        """``call()`` when all transactions that are open now have ended, or some of them.

        Returns
        -------
        list of Transaction
            Who they are.
        """
        awaited = [one for one in self._open if among is None or among(one)]
        self._awaited.append(({self._open[one] for one in awaited}, call))
        self._look_who_ended()
        return awaited

    def _look_who_ended(self) -> None:
        there = {owner for owner in self._open.values() if not owner.error}
        awaited, self._awaited = self._awaited, []
        for owners, call in awaited:
            if owners & there:
                self._awaited.append((owners & there, call))
            else:
                call()

    def disconnect_uncommitted(self) -> None:
        """The connections end on which no commit is under way."""
        for owner in list(self._open.values()):
            if owner not in self._commits:
                self.fail(owner, CONNECTION_LOST)

    def fail_writers(self, error: str) -> None:
        """Transactions fail that write, and whose commit is not under way."""
        for transaction, owner in list(self._open.items()):
            if transaction.rows and owner not in self._commits:
                self.fail(owner, error)

    def die(self, *, silent: bool = False, killed: bool = True) -> None:
        """The process ends; if it is ``silent``, its machine as well: no client learns of it.

        One that is not ``killed`` has closed its connections itself.
        """
        self.alive = False
        self.silent = silent
        self.trace = None
        if killed and not silent:
            self._exit = ProcessExit(self.parts.cluster.clock, self.host, *self._exit_s)
        if self.tables is not None:
            self.tables.die()
        self.disconnect_all()

    # -- what is under way when it ends ------------------------------------------------------------

    def _committed(self, entry: BinlogTransaction) -> None:
        if self.alive:
            self.durability.committed(entry)
            super()._committed(entry)
            if self.tables is not None:
                self.tables.wrote(entry.transaction)

    def set_durability(self, options: ServerOptions) -> None:
        """Operators set when logs are flushed, from the next commit on; a restart forgets it."""
        self.redo.level = options.innodb_flush_log_at_trx_commit
        self.binlog.sync_period = options.sync_binlog
        self.durability.set_flush(options.innodb_flush_log_at_trx_commit)

    def counters(self) -> dict[str, float]:
        """See ``MysqlServer.counters``; where tables are changed, who had to wait for that, too."""
        more = {} if self.tables is None else self.tables.counters()
        return super().counters() | more

    def _durable(self, entry: BinlogTransaction) -> None:
        if self.alive and entry.owner.done.callbacks is not None:
            super()._durable(entry)


class EndingChannel(Channel):
    """A channel of such a server: its appliers stop with it."""

    server: EndingServer
    _covered = 0  # of the relay log, by the fsync under way

    def write(self, change: RelayedTransaction, written: Call) -> None:
        """See ``Channel.write``."""
        if self.server.alive:
            self.server.durability.relay.append(change)
            super().write(change, written)

    def _sync(self, work: tuple[RelayedTransaction, Call]) -> None:
        if not self.server.alive:
            return
        relay = self.server.durability.relay
        relay.synced(self._covered)
        syncs = self.relay_syncs
        super()._sync(work)
        if self.relay_syncs > syncs:
            self._covered = relay.end

    def apply(self, change: RelayedTransaction, applied: Call) -> None:
        """See ``Channel.apply``."""
        if not self.server.alive:
            return
        if self.server.read_lock is None:
            self._apply((change, applied))
        else:
            self.server.read_lock.apply(change.seqno, self._apply, (change, applied))

    def _apply(self, work: tuple[RelayedTransaction, Call]) -> None:
        change, applied = work
        tables = self.server.tables
        if not self.server.alive:
            return
        if tables is None:
            super().apply(change, applied)
        elif isinstance(change.transaction, TableStatement):
            if self.server.trace is not None:
                self.server.trace.record(self.server.index, "apply", change.seqno)
            tables.replay(change, partial(self._changed, applied))
        elif tables.enter_applier(change, self._has_table, (change, applied)):
            self._apply_rows(change, applied)

    def _changed(self, applied: Call, change: RelayedTransaction) -> None:
        """A table is changed, which is to be committed."""
        if self._after_apply is None:
            applied(change)
        else:
            self._hold((change, applied))

    def _has_table(self, work: tuple[RelayedTransaction, Call]) -> None:
        """Nobody changes the table any more that a change has waited for."""
        if self.server.alive:
            self._apply_rows(*work)

    def _apply_rows(self, change: RelayedTransaction, applied: Call) -> None:
        tables = self.server.tables
        if tables is None or tables.fits(change):
            super().apply(change, applied)

    def commit(self, change: RelayedTransaction, queued: Call, committed: Call) -> None:
        """See ``Channel.commit``."""
        work = change, queued, committed
        if not self.server.alive:
            return
        if self.server.read_lock is None:
            self._commit(work)
        else:
            self.server.read_lock.commit(change.seqno, self._commit, work)

    def _commit(self, work: tuple[RelayedTransaction, Call, Call]) -> None:
        if self.server.alive:
            super().commit(*work)

    def _in_memory(self, entry: Committing) -> None:
        if self.server.alive:
            self.server.durability.committed(entry)
            super()._in_memory(entry)
            if self.server.tables is not None:
                self.server.tables.wrote(entry.transaction)
                self.server.tables.replayed(entry.change)

    def _durable(self, entry: Committing) -> None:
        if self.server.alive:
            super()._durable(entry)
            if self.server.read_lock is not None:
                self.server.read_lock.ended()


def _first(first: BeforeBegin, then: BeforeBegin | None) -> BeforeBegin:
    """One after the other holds up the begin of a transaction."""
    if then is None:
        return first

    def both(transaction: Transaction) -> Generator[Event, Any, str | None]:
        error = yield from first(transaction)
        if error is not None:
            return error
        return (yield from then(transaction))

    return both


def _ignore(*_: Any) -> None:
    pass
