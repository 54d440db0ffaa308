"""Sessions that know a shorter way for the most usual transaction: one autocommit statement."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final, TypeVar

from simrep.kernel.clock import Event
from simrep.workload.laps import Lap
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.page_needs import pages_needed
from simrep.workload.served import Resume, Served, driven
from simrep.workload.session import STEP_ROWS, Sessions
from simrep.workload.transaction import Statement, Transaction

__all__ = ["StatementSessions"]

_CLIENT: Final = Lap.CLIENT
_EXECUTE: Final = Lap.EXECUTE
_COMMIT: Final = Lap.COMMIT


T = TypeVar("T", bound=OpenTransaction)


class StatementSessions(Sessions[T]):
    """Short autocommit statements of clients on the machine of the server, for whom nobody waits.

    All is as by the long way of ``Sessions``, which other transactions go, to the last bit. It is
    the whole way on machines where work takes as long as it costs, if nothing holds a transaction
    up before it begins, and nothing may follow it from its first row on.
    """

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._idle_statements: list[Served] = []
        self._short = (
            self._one_core
            and self._client.plain
            and self._statement.plain
            and self._statement.seconds > 0.0
            and self._before_only is None
            and self._refuse is None
            and self._stopwatch is None
            and not (self._streaming is not None and self._streams_all)
        )

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """See ``Sessions.transact``."""
        if (
            self._short
            and transaction.autocommit
            and transaction.__class__ is Transaction
            and transaction.rows <= STEP_ROWS
            and transaction.statements[0].scan is None
        ):
            idle = self._idle_statements
            served = idle.pop() if idle else self._new_served(self._serve_statement)
            served.transaction = transaction
            served.steps = None
            return served
        return super().transact(transaction)

    def _serve_statement(self, served: Served) -> Generator[None, Any, None]:
        """The thread of a connection for one such transaction after the other."""
        clock, host, resume, laps = self._clock, self._host, served.resume, self._laps
        begin, prepare, begin_commit = self._begin, self._prepare, self._begin_commit
        statement_s, row_s, row_read_s = self._statement.seconds, self._row_s, self._row_read_s
        latch, pool = self._latch, self._pool
        while True:
            yield
            transaction = served.transaction
            statement = transaction.statements[0]
            owner = begin(clock)
            owner.transaction = transaction
            began_s = owner.marked_s
            if began_s != transaction.started_s:
                self._add_waits(transaction, owner)
            client_s = self._client.seconds
            committed = False
            undone = 0
            if owner.aborted:
                locked = False
            elif statement.locks:
                locked = yield from self._request_rows(owner, statement, resume)
                client_s = 0.0
            else:
                locked = True
            if locked:
                undone = rows = statement.rows_written
                seconds = client_s + (
                    statement_s + (row_s * rows + row_read_s * statement.rows_read)
                )
                if prepare is not None:
                    seconds += prepare(transaction)
                host.go_on(seconds, resume)
                yield
                if pool is not None and (
                    missing := pool.missing(pages_needed(transaction, statement))
                ):
                    pool.read(missing, bool(statement.locks), resume)
                    yield
                if latch is not None and rows:
                    latch.take(rows, resume)
                    yield
                if not owner.aborted:
                    marked_s = owner.marked_s
                    if client_s:
                        owner.seconds[_CLIENT] += client_s
                        marked_s += client_s
                    owner.marked_s = now = clock._now
                    owner.seconds[_EXECUTE] += now - marked_s
                    undone = transaction.rows
                    if not undone:
                        committed = True
                        self._locks.release_all(owner)
                    else:
                        if begin_commit is None:
                            steps = self._commit(transaction, owner)
                            committed = yield from driven(steps, resume)
                        elif begin_commit(transaction, owner):
                            done = owner.done
                            if done.callbacks is not None:
                                done.callbacks.append(resume)
                                yield
                            committed = done._value
                            if committed and statement.locks:
                                self._locks.release_all(owner)
                        if owner.marked_s != clock._now:  # the rest, if the model has not said
                            owner.mark(_COMMIT)
            if not committed:
                committed = yield from self._repeat(owner, began_s, undone, resume)
            elif laps is not None:
                laps(transaction.kind, owner.seconds)
            served.end(committed)
            self._idle_statements.append(served)

    def _request_rows(
        self, owner: T, statement: Statement, resume: Resume
    ) -> Generator[None, Any, bool]:
        """The client sends a statement that locks rows; False if it may not have one of them."""
        if self._requests_cost:
            yield from self._request(owner, resume)
        if owner.aborted:
            return False
        left = self._locks.take_all(owner, statement.locks)
        return not left or (yield from driven(self._lock(owner, left), resume))

    def _repeat(
        self, owner: T, began_s: float, undone: int, resume: Resume
    ) -> Generator[None, Any, bool]:
        """It has failed: the server repeats it the long way, if it may; whether that committed."""
        yield from self._roll_back(owner, began_s, undone, resume)
        if not self._retries or not owner.retry:
            return False
        served = super().transact(owner.transaction)
        assert isinstance(served, Served)
        served.retries = self._retries - 1
        committed = served.start(resume)
        if committed is None:
            committed = yield
        return bool(committed)
