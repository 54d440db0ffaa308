"""ALTER TABLE and LOCK TABLES on one server; replicas apply the first again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from functools import partial
from typing import Any, Final, Protocol

from simrep.modelling import (
    Access,
    ChangeCosts,
    Claim,
    DdlTable,
    Event,
    Holder,
    Lap,
    LongTransaction,
    MetadataLocks,
    OpenTransaction,
    Operation,
    Parts,
    Process,
    ScenarioError,
    TableChange,
    Transaction,
)
from simrep.modelling.watching import HELD, describe

from .global_read_lock import GlobalReadLock
from .options import ServerCosts, ServerOptions

__all__ = ["TableChanges", "TableStatement", "check_table_change"]

_STATEMENT_BYTES: Final = 120  # text, and the header and the post-header of a query event
_DEADLOCK: Final = "1213 deadlock"
_ONLINE: Final = ("mysql-5.6", "mysql-5.7", "mariadb")

Begin = Callable[[Transaction], Generator[Event, Any, str | None]]
Call = Callable[[Any], object]


class TableStatement(LongTransaction):
    """An ALTER TABLE as it stands in a binary log: it has no rows.

    Attributes
    ----------
    told : DdlTable
        What the scenario says of it.
    """

    def __init__(self, told: DdlTable, node: int) -> None:
        super().__init__(0, node, told.text, (), (), 0, _STATEMENT_BYTES, autocommit=False)
        self.told = told


class _Server(Protocol):
    """The server whose tables they are."""

    alive: bool
    read_lock: GlobalReadLock | None

    def owner_of(self, transaction: Transaction) -> OpenTransaction:
        """What owns the row locks of an open transaction."""

    def commit(
        self, transaction: Transaction, owner: OpenTransaction
    ) -> Generator[Event, Any, bool]:
        """Commit, as far as the product allows it."""


class TableChanges:
    """What its tables are, who uses them and who changes them.

    Parameters
    ----------
    server : _Server
    parts : Parts
    options : ServerOptions
    costs : ServerCosts

    Attributes
    ----------
    locks : MetadataLocks
    fits : callable
        ``fits(change)``: rows that an applier has in hand are those of the table. If not, it has
        stopped, and the server with it.
    """

    def __init__(
        self, server: _Server, parts: Parts, options: ServerOptions, costs: ServerCosts
    ) -> None:
        cluster = parts.cluster
        self._server = server
        self._index = parts.index
        self._name = parts.name
        self._clock = parts.clock
        self._host = cluster.hosts[parts.index]
        self._timeline = cluster.timeline
        self._costs = ChangeCosts(
            definition_s=costs.ddl_ms * 1e-3,
            row_s=costs.ddl_row_us * 1e-6,
            copied_row_s=costs.ddl_copied_row_us * 1e-6,
            byte_s=costs.ddl_byte_ns * 1e-9,
        )
        self._log_bytes = options.innodb_online_alter_log_max_size
        self._changes: dict[TableChange, TableStatement] = {}
        self._applied: dict[Hashable, TableChange] = {}  # by what the appliers have in hand
        self._furthest = 0  # the highest place of the order that ever used a table
        self._entered: set[TableStatement] = set()  # of operators, and not ended
        self._locked: dict[Claim, str] = {}  # LOCK TABLES that somebody holds or waits for
        # Transactions that wait for a statement, and a statement that waits for them.
        self._line = parts.line("metadata lock", self._holder, lap=Lap.LOCK_WAIT)
        self._own_line = parts.line("metadata lock of ALTER TABLE", self._user)
        self.locks = MetadataLocks(parts.clock)
        self.fits: Callable[[Any], bool] = lambda _: True

    # -- transactions of clients -------------------------------------------------------------------

    def before(self, begin: Begin | None) -> Begin:
        """What holds up the begin of a transaction: what a product has, and then these locks."""

        def before(transaction: Transaction) -> Generator[Event, Any, str | None]:
            if begin is not None:
                error = yield from begin(transaction)
                if error is not None:
                    return error
            return (yield from self._enter(transaction))

        return before

    def _enter(self, transaction: Transaction) -> Generator[Event, Any, str | None]:
        granted = Event(self._clock)
        writes = transaction.rows > 0
        if self.locks.enter(transaction, transaction.kind, self._grant, granted, writes=writes):
            return None
        owner = self._server.owner_of(transaction)
        owner.lock_granted = granted
        self._line.wait(transaction)
        yield granted
        self._line.go(transaction)
        owner.lock_granted = None
        owner.mark(Lap.LOCK_WAIT)
        if owner.aborted or owner.error:
            return owner.error or _DEADLOCK
        return None

    def _grant(self, granted: Event) -> None:
        if not granted.triggered:
            self._clock.fire(granted)

    def leave(self, user: Hashable) -> None:
        """A transaction has ended, or a change is committed."""
        if self._awaited()[:1] == [user]:
            self._own_line.cut()
        self.locks.leave(user)

    def wrote(self, transaction: Transaction) -> None:
        """A transaction is committed: an ALTER TABLE that goes on meanwhile logs its rows."""
        for change in self._changes:
            change.wrote(transaction.kind, transaction.rows, transaction.size_bytes)

    def _holder(self) -> Holder:
        """For which statement transactions wait."""
        statement = next(iter(self._changes.values()), None)
        if statement is None:
            return Holder(next(iter(self._locked.values()), "ALTER TABLE"))
        return Holder(statement.kind, ((self._name, statement),), doing="changing the table")

    def _awaited(self) -> list[Hashable]:
        """For whom statements wait, the oldest first."""
        return [
            user
            for change in self._changes
            if change.claim.waits
            for user in self.locks.users(change.claim)
        ]

    def _user(self) -> Holder:
        """For which transaction a statement waits: the oldest that uses its table."""
        users = self._awaited()
        if not users:
            return Holder("transactions that use the table")
        first = users[0]
        owner = self._server.owner_of(first) if isinstance(first, Transaction) else first
        return describe(self._name, owner, HELD)

    # -- the statement of an operator --------------------------------------------------------------

    def alter(self, told: DdlTable) -> None:
        """An operator enters the statement now; in vain, if the server is not there."""
        if not self._server.alive:
            self._note(TableStatement(told, self._index), "fails")
            return
        change = self._change(TableStatement(told, self._index))
        stops = self._server.read_lock
        if stops is None:
            self._begin(change)
        else:
            stops.change(self._begin, change)

    def _begin(self, change: TableChange) -> None:
        self._entered.add(self._changes[change])
        change.begin(partial(self._write, change))

    def _change(self, statement: TableStatement) -> TableChange:
        told = statement.told
        change = TableChange(
            self._clock,
            self._host,
            self.locks,
            self._costs,
            kind=told.kind,
            rows=told.rows,
            size_bytes=told.size_bytes,
            kinds=told.classes,
            log_bytes=self._log_bytes,
            note=partial(self._note, statement),
        )
        self._changes[change] = statement
        return change

    def _note(self, statement: TableStatement, word: str) -> None:
        told = statement.told
        if word == "waits":
            self._own_line.wait(statement)
        elif word == "locks":
            self._own_line.go(statement)
        elif word in {"ends", "fails"} and statement in self._entered:
            self._entered.remove(statement)
            if self._server.read_lock is not None:
                self._server.read_lock.ended()
        if self._timeline is not None:
            self._timeline.note(self._index, f"ddl-{word}", how=told.name or told.path)

    def _write(self, change: TableChange) -> None:
        """The table is changed: commit that, and so write the statement to the binary log."""
        if self._server.alive:
            Process(self._clock, self._commit(change, self._changes[change]))

    def _commit(
        self, change: TableChange, statement: TableStatement
    ) -> Generator[Event, Any, None]:
        owner = OpenTransaction(self._clock)
        owner.transaction = statement
        committed = yield from self._server.commit(statement, owner)
        self._end(change, committed=committed)

    def _end(self, change: TableChange, *, committed: bool = True) -> None:
        self._line.cut()
        self._changes.pop(change, None)
        if committed:
            change.end()
        else:
            change.fail()

    # -- appliers ----------------------------------------------------------------------------------

    def replay(self, change: Any, applied: Call) -> None:
        """Apply the statement of another server: ``applied(change)`` when it is to be committed."""
        own = self._change(change.transaction)
        self._applied[change] = own
        own.begin(partial(applied, change))

    def replayed(self, change: Any) -> None:
        """What the appliers had in hand is committed."""
        own = self._applied.pop(change, None)
        if own is None:
            self.leave(change)
        else:
            self._end(own)

    def enter_applier(self, change: Any, call: Call, argument: Any) -> bool:
        """An applier begins to use a table; ``call(argument)`` if not at once.

        One that comes before another applier in the order of commits does not queue up behind a
        statement that waits for that other one: else all of them would wait for ever.
        """
        kind, passes = change.transaction.kind, change.seqno < self._furthest
        self._furthest = max(self._furthest, change.seqno)
        return self.locks.enter(change, kind, call, argument, writes=True, passes=passes)

    # -- LOCK TABLES -------------------------------------------------------------------------------

    def lock(self, claim: Claim, text: str, *, shared: bool, call: Callable[[], object]) -> None:
        """Lock tables; ``call()`` when nobody uses them, or nobody writes if it is ``shared``."""
        self._locked[claim] = text
        access = Access.READS if shared else Access.NONE
        self.locks.claim(claim, lambda _: self.locks.ask(claim, access, lambda _: call()))

    def unlock(self, claim: Claim) -> None:
        """Give the lock back, or wait for it no more."""
        self._line.cut()
        del self._locked[claim]
        self.locks.drop(claim)

    def die(self) -> None:
        """The server ends: nothing goes on."""
        for change in self._changes:
            change.stop()

    def counters(self) -> dict[str, float]:
        """Waits for metadata locks; no status variables."""
        locks = self.locks
        return {"metadata_lock_waits": locks.waits, "metadata_lock_wait_s": locks.wait_s}


def check_table_change(
    operation: Operation,
    options: ServerOptions,
    read_only: str = "",
    *,
    many_write: bool = False,
) -> DdlTable:
    """What an operator wants to change; refused where the server has no such statement.

    Parameters
    ----------
    operation : Operation
    options : ServerOptions
    read_only : str
        The name of the server, if it is read-only now.
    many_write : bool
        Several servers take writes, whose rows others apply.
    """
    told = operation.told
    assert isinstance(told, DdlTable)
    if told.method is not None:
        raise ScenarioError(f"{told.path}.method", "is of Galera alone", "leave it out")
    if not (told.compatible or many_write):
        raise ScenarioError(
            f"{told.path}.compatible",
            "changes nothing: in a binary log all rows come before the statement or after it",
            "leave it out",
        )
    online = options.commit_pipeline in _ONLINE
    if told.kind != "copy" and not (online and (told.kind == "inplace" or _is_new(options))):
        raise ScenarioError(
            f"{told.path}.kind",
            f"{told.kind!r} does not exist in this version",
            'inplace came with MySQL 5.6, instant with 8.0.12 and MariaDB 10.3; take "copy"',
        )
    if read_only:
        raise ScenarioError(
            f"{told.path}.node",
            f"{read_only!r} is read-only at {operation.at_s:g} s",
            "issue it where transactions are written: it is replicated from there",
        )
    return told


def _is_new(options: ServerOptions) -> bool:
    """Whether a server is of MySQL 8.0 or later, or of MariaDB."""
    return options.crash_safety in {"mysql-8.0", "mariadb"}
