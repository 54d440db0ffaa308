"""What a client and its server do for a transaction up to its commit: the same for every model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from math import inf
from typing import Any, ClassVar, Final, Generic, TypeVar

from simrep.kernel.clock import Clock, Event
from simrep.kernel.queues import Fifo
from simrep.server.buffer_pool import BufferPool
from simrep.server.host import Host
from simrep.server.latch import Latch
from simrep.server.locks import LockTable
from simrep.workload.first_reads import FirstReads
from simrep.workload.interpreters import Interpreters
from simrep.workload.laps import Lap, LapClock
from simrep.workload.open_transaction import (
    DEADLOCK,
    LOCK_WAIT_TIMEOUT,
    LockWaits,
    OpenTransaction,
    Streaming,
)
from simrep.workload.page_needs import pages_needed, pages_of
from simrep.workload.rollback import Rollback
from simrep.workload.served import Resume, Served, driven, failure, waited
from simrep.workload.session_costs import SessionCosts
from simrep.workload.snapshots import Wait, telling
from simrep.workload.transaction import Statement, Transaction

__all__ = ["STEP_ROWS", "Sessions"]

_GIVEN_UP: Final = "2013 its client has closed the connection"

# Of every mark on the way of a transaction: a global name is cheaper than an attribute.
_CLIENT: Final = Lap.CLIENT
_EXECUTE: Final = Lap.EXECUTE


T = TypeVar("T", bound=OpenTransaction)
STEP_ROWS: Final = 1000
"""A long statement takes its locks, and may be aborted, in steps of so many rows."""


class Sessions(Generic[T]):
    """The client connections of one server.

    Parameters
    ----------
    clock : Clock
    host, client_host : Host
        Where the server runs and where its clients run.
    delay_s : float
        One-way delay between them in seconds.
    locks : LockTable
        Row locks of the server.
    costs : SessionCosts
    begin : callable
        ``begin(clock)`` makes the owner of a transaction's locks.
    commit : callable
        ``commit(transaction, owner)`` is a generator that returns whether it committed; if it
        did, it has released the locks. It marks its stages on the way.
    begin_commit : callable, optional
        ``begin_commit(transaction, owner)`` begins the same for a short autocommit statement, if
        that needs no generator: ``owner.done`` fires with whether it committed, and its locks are
        released then. It returns whether it has begun; else the commit has failed.
    prepare : callable, optional
        ``prepare(transaction)``: CPU in seconds of the commit before it waits for anybody, which
        an autocommit statement goes straight on to.
    before_begin : callable, optional
        ``before_begin(transaction)`` is a generator that holds up a transaction, reading or
        writing, before its first statement; it may return an error, with which that fails.
    streaming : callable, optional
        ``streaming(transaction, owner)``: how the transaction is replicated while it is executed,
        or None.
    streams_all : bool
        Whether any transaction may be; else only those with session variables or XA.
    refuse : callable, optional
        ``refuse(rows)``: the error of a long transaction that has written so many; empty if it
        may go on.
    lock_wait_timeout_s : float
        ``innodb_lock_wait_timeout``, in seconds.
    retries : int
        How often the server itself repeats an autocommit statement that could not commit.
    pool : BufferPool, optional
        The pages that it has in memory; without one, all data are.
    interpreters : Interpreters, optional
        What runs its clients, if they are threads that cannot run at once.

    Attributes
    ----------
    errors_told : tuple of str
        What they tell clients of themselves; a model has more.
    victims : int
        Attempts that were aborted by brute force.
    rollbacks : int
        Attempts that were rolled back for whatever reason.
    errors : dict of str to int
        How often an attempt failed, by what its client was told.
    """

    errors_told: ClassVar[tuple[str, ...]] = (LOCK_WAIT_TIMEOUT, DEADLOCK)

    def __init__(
        self,
        clock: Clock,
        host: Host,
        client_host: Host,
        delay_s: float,
        locks: LockTable,
        costs: SessionCosts,
        *,
        begin: Callable[[Clock], T],
        commit: Callable[[Transaction, T], Generator[Event, Any, bool]],
        begin_commit: Callable[[Transaction, T], bool] | None = None,
        prepare: Callable[[Transaction], float] | None = None,
        before_begin: Wait | None = None,
        streaming: Callable[[Transaction, T], Streaming | None] | None = None,
        streams_all: bool = True,
        refuse: Callable[[int], str] | None = None,
        lock_wait_timeout_s: float = inf,
        retries: int = 0,
        pool: BufferPool | None = None,
        interpreters: Interpreters | None = None,
        name: str = "",
    ) -> None:
        self._clock = clock
        self._host = host
        self._client_host = client_host
        self._delay_s = delay_s
        self._locks = locks
        self._begin = begin
        self._commit = commit
        self._begin_commit = begin_commit
        self._prepare = prepare
        self._before_begin = before_begin
        self._streaming = streaming
        self._streams_all = streams_all
        self._refuse = refuse
        self._idle: list[Served] = []  # sessions that wait for a transaction
        self._lock_waits = LockWaits(clock, lock_wait_timeout_s, locks)
        self._retries = retries
        self._pool = pool
        self._latch: Latch | None = None
        if costs.latch_s or costs.latch_waiter_s:
            self._latch = Latch(clock, costs.latch_s, costs.latch_waiter_s, f"{name}/latch")
        self._connect_s = costs.connect_s
        self._row_s = costs.row_s
        self._row_read_s = costs.row_read_s
        self._client = client_host.routine(costs.client_s)
        self._interpreters = interpreters
        self._statement = host.routine(costs.statement_s)
        self._step = host.routine(0.0)
        self._rollback = Rollback(clock, host, locks, costs)
        # Who waits for a victim of brute force does not wait for its client.
        self.undo = self._rollback.at_once
        self._undo = self.undo if locks.waits_for_victims else None
        self._requests_cost = bool(costs.client_s or delay_s)
        self._one_core = client_host is host and not delay_s
        self._laps = clock.laps if isinstance(clock, LapClock) else None
        self._stopwatch = clock.stopwatch if isinstance(clock, LapClock) else None
        # Before the first statement, on its server: of autocommit transactions, and of others.
        self._before_only, self._before_first = before_begin, None
        if isinstance(clock, LapClock) and clock.snapshots is not None:
            self._before_only, self._before_first = telling(clock.snapshots, before_begin)
        reads = FirstReads(self._client, self._statement, costs.row_read_s, self._host.slice_s)
        self._first_reads = reads
        # Whether nothing comes between the reads with which a transaction begins, and its BEGIN.
        self._reads_in_one = (
            self._one_core
            and self._client.plain
            and self._statement.plain
            and self._before_first is None
            and before_begin is None
            and refuse is None
            and pool is None
        )
        self.errors: dict[str, int] = {}

    def stations(self) -> Iterable[Fifo]:
        """What its transactions queue up for, besides cores and row locks."""
        return [one.line for one in (self._latch, self._pool) if one is not None]

    @property
    def victims(self) -> int:
        """See the class."""
        return self._rollback.undone.victims

    @property
    def rollbacks(self) -> int:
        """See the class."""
        return self._rollback.undone.attempts

    @property
    def now_s(self) -> float:
        """The time in simulated seconds."""
        return self._clock.now

    def rollback_counters(self, *errors: str) -> dict[str, float]:
        """What was written for nothing, and how often by the number of the error.

        Parameters
        ----------
        *errors : str
            Numbers of the errors that a server of this model may answer.

        Returns
        -------
        dict
            ``rolled_back_rows``; ``rolled_back_s``, from the begin of each such attempt to the
            end of its rollback in seconds; ``errors.1205`` and so on. None of them is a status
            variable. A short statement counts when it has been executed.
        """
        return self._rollback.undone.counters(errors, self.errors)

    def connect(self) -> Generator[Event, Any, None]:
        """Open a connection: handshake, authentication, a thread on the server."""
        if self._delay_s:  # two round trips: TCP handshake, then greeting and authentication
            yield self._clock.until(self._clock.now + 4 * self._delay_s)
        yield self._host.work(self._connect_s)

    def refused(self, error: str) -> Generator[Event, Any, str]:
        """A kernel answers in the place of the server, which is gone: a round trip, and an error.

        A client on the machine itself takes the time of a statement on it to learn of it.
        """
        if self._delay_s:
            yield self._clock.until(self._clock.now + 2 * self._delay_s)
        else:
            yield self._clock.timeout(self._statement.seconds)
        return error

    def turn_away(self, transaction: Transaction, error: str) -> Generator[Event, Any, None]:
        """Answer the first statement of a transaction with an error, and do nothing else."""
        if self._delay_s:
            yield self._sent()
        yield self._host.work(self._statement.cost())
        if self._delay_s:
            yield self._answered()
        transaction.error = error
        self.errors[error] = self.errors.get(error, 0) + 1

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction to its end, as its client sees it; returns whether it committed."""
        idle = self._idle
        served = idle.pop() if idle else self._new_served(self._serve)
        served.transaction = transaction
        served.steps = None
        return served

    def _new_served(self, serve: Callable[[Served], Generator[None, Any, None]]) -> Served:
        """What serves transactions, one after the other."""
        served = Served(self._clock)
        steps = serve(served)
        served.resume = steps.send
        next(steps)
        return served

    def _serve(self, served: Served) -> Generator[None, Any, None]:
        """The thread of a connection: what it does for one transaction after the other.

        The server repeats an autocommit statement without a new request of the client. The way of
        an answer is marked with the next request: both are the client's.
        """
        clock, host, resume, delay_s = self._clock, self._host, served.resume, self._delay_s
        latch, locks, pool, undo = self._latch, self._locks, self._pool, self._undo
        row_s, row_read_s, cost = self._row_s, self._row_read_s, self._statement.cost
        while True:
            yield
            transaction = served.transaction
            autocommit = transaction.autocommit
            retries = self._retries if autocommit else 0
            again = committed = False
            if served.retries is not None:  # there was an attempt before
                retries, again = served.retries, True
                served.retries = None
            while True:
                owner = self._open(transaction)
                began_s = owner.marked_s
                streaming = None
                if self._streaming is not None and (self._streams_all or transaction.special):
                    streaming = self._streaming(transaction, owner)
                always_long = streaming is not None or self._refuse is not None
                pause_s, first = transaction.pause_s, True
                written = 0  # by short statements; long ones count as they go
                error = None
                done = 0  # statements
                if autocommit:
                    before = self._before_only
                elif (
                    self._reads_in_one
                    and streaming is None
                    and (parts := self._first_reads.parts_of(transaction))
                ):
                    before = None
                    host.go_on_through(parts, resume)
                    yield
                    done = self._first_reads.mark(owner, parts)
                else:  # BEGIN: a round trip, whose work on the server is next to nothing
                    before = self._before_first
                    yield from self._request(owner, resume)
                    if self._before_begin is not None:
                        error = yield from driven(self._before_begin(transaction), resume)
                        owner.mark(Lap.CONSISTENCY)
                    if delay_s and error is None:
                        yield from waited(self._answered(), resume)
                executed = error is None
                for statement in transaction.statements[done:] if executed else ():
                    executed = False
                    if pause_s and not first:
                        yield from waited(clock.timeout(pause_s), resume)
                        owner.mark(_CLIENT)
                    first = False
                    client_s = 0.0
                    if self._requests_cost and not again:
                        if self._one_core and not statement.locks:
                            client_s = self._client.cost()  # they take turns on one core
                        else:
                            yield from self._request(owner, resume)
                    if before is not None:
                        error = yield from driven(before(transaction), resume)
                        before = None
                        owner.mark(Lap.CONSISTENCY)
                        if error is not None:
                            break
                        if transaction.awaited is not None and not transaction.awaited.triggered:
                            owner.lock_granted = transaction.awaited  # fires if its server ends
                            yield from waited(transaction.awaited, resume)
                            owner.lock_granted = None
                            owner.mark(Lap.CONSISTENCY)
                    if transaction.abandoned and not autocommit:  # nobody sends a further one
                        error = _GIVEN_UP
                        break
                    if owner.aborted:  # while its client thought or the answer travelled
                        break
                    if statement.rows_written or statement.locks:
                        owner.undo = None
                    if (
                        always_long
                        or statement.scan is not None
                        or statement.rows_written > STEP_ROWS
                    ):
                        steps = self._execute_long(
                            transaction, statement, owner, streaming, client_s
                        )
                        if not (yield from driven(steps, resume)):
                            break
                    else:
                        if (
                            statement.locks
                            and (left := locks.take_all(owner, statement.locks))
                            and not (yield from driven(self._lock(owner, left), resume))
                        ):
                            break
                        rows = statement.rows_written
                        written += rows
                        rows_s = row_s * rows + row_read_s * statement.rows_read
                        seconds = client_s + cost(rows_s)
                        if autocommit and self._prepare is not None:
                            seconds += self._prepare(transaction)
                        if seconds > 0.0:
                            host.go_on_as(served.sleeper, seconds, resume)
                            yield
                        else:
                            yield from waited(host.work(seconds), resume)
                        if pool is not None and (
                            missing := pool.missing(pages_needed(transaction, statement))
                        ):
                            pool.read(missing, bool(statement.locks), resume)
                            yield
                        if rows and latch is not None:
                            latch.take(rows, resume)
                            yield
                        if owner.lost():
                            break
                        marked_s = owner.marked_s
                        if client_s:
                            owner.seconds[_CLIENT] += client_s
                            marked_s += client_s
                        owner.marked_s = now = clock._now
                        owner.seconds[_EXECUTE] += now - marked_s
                    if not autocommit:
                        served.sleeper = host.doze()
                        owner.undo = undo
                    if delay_s and not autocommit:  # else the answer is the commit's
                        yield from waited(self._answered(), resume)
                    executed = True
                if error is not None:
                    owner.error = error
                undone = written + (owner.written or 0)
                if executed and not owner.aborted:
                    undone = transaction.rows
                    if transaction.journal is not None:
                        transaction.journal.executed()
                    if self._requests_cost and not autocommit:  # COMMIT is a statement of its own
                        yield from self._request(owner, resume)
                    if transaction.abandoned and not autocommit:  # nobody sends a COMMIT
                        owner.error = _GIVEN_UP
                    elif owner.undone is not None:  # while its client thought
                        pass
                    elif transaction.rows:
                        owner.undo = None
                        steps = self._commit(transaction, owner)
                        try:  # ``driven``, without a generator of its own
                            event: Any = steps.send(None)  # of SimPy's own, too
                            while True:
                                if event.callbacks is not None:
                                    event.callbacks.append(resume)
                                    yield
                                event = (
                                    steps.send(event._value)
                                    if event._ok
                                    else steps.throw(failure(event))
                                )
                        except StopIteration as end:
                            committed = bool(end.value)
                        if owner.marked_s != clock._now:  # the rest, if the model has not said
                            owner.mark(Lap.COMMIT)
                    else:
                        committed = True
                        self._locks.release_all(owner)
                    if committed:
                        if delay_s:
                            yield from waited(self._answered(), resume)
                            owner.mark(_CLIENT)
                        if transaction.whole is not None or transaction.journal is not None:
                            self._tell_laps(transaction, owner)
                        elif self._laps is not None and not transaction.abandoned:
                            self._laps(transaction.kind, owner.seconds)
                        break
                if streaming is not None:
                    streaming.rolled_back()
                yield from self._roll_back(owner, began_s, undone, resume)
                if not retries or not owner.retry:
                    if delay_s:
                        yield from waited(self._answered(), resume)
                    break
                retries -= 1
                again = True
            served.sleeper = host.doze()
            served.end(committed)
            self._idle.append(served)

    def _roll_back(
        self, owner: T, began_s: float, undone: int, resume: Resume
    ) -> Generator[None, Any, None]:
        """An attempt that has begun then has failed, after it had written so many rows."""
        yield from self._rollback.of(owner, began_s, undone, resume)
        error = owner.transaction.error = owner.error or DEADLOCK
        self.errors[error] = self.errors.get(error, 0) + 1

    def _open(self, transaction: Transaction) -> T:
        """Begin an attempt: who owns its locks, with the time that has passed before."""
        owner = self._begin(self._clock)
        owner.transaction = transaction
        whole = transaction.whole
        if whole is not None and whole.stages is not None:
            owner.seconds = whole.stages.copy()
        elif self._stopwatch is not None:
            owner.seconds = self._stopwatch(whole or transaction)
        if owner.marked_s != transaction.started_s:
            self._add_waits(transaction, owner)
        return owner

    def _add_waits(self, transaction: Transaction, owner: T) -> None:
        """It waited in line, or there were attempts before."""
        waited_s = transaction.waited_s
        owner.seconds[_CLIENT] += transaction.queued_s
        owner.seconds[Lap.CONSISTENCY] += waited_s
        owner.seconds[Lap.RETRIES] += (
            owner.marked_s - transaction.started_s - transaction.queued_s - waited_s
        )

    def _tell_laps(self, transaction: Transaction, owner: T) -> None:
        """It is committed: tell of its stages, if it is one that figures of a run count."""
        whole = transaction.whole
        if whole is not None and not transaction.last_part:
            whole.stages = owner.seconds
        elif (
            self._laps is not None
            and ((told := transaction.journal) is None or told.counted)
            and not (whole or transaction).abandoned
        ):
            self._laps(transaction.kind, owner.seconds)

    def _sent(self) -> Event:
        """Fires when what a client sends now arrives at the server."""
        return self._clock.until(self._clock._now + self._delay_s)

    def _answered(self) -> Event:
        """Fires when what the server sends now arrives at its client."""
        return self._clock.until(self._clock._now + self._delay_s)

    def _request(self, owner: T, resume: Resume) -> Generator[None, Any, None]:
        """The client makes a request, and it reaches the server."""
        if self._client.seconds:
            if self._interpreters is None:
                self._client_host.go_on(self._client.cost(), resume)
            else:
                self._interpreters.work(owner.transaction.client, self._client.cost(), resume)
            yield
        if self._delay_s:
            yield from waited(self._sent(), resume)
        owner.mark(_CLIENT)

    def _execute_long(
        self,
        transaction: Transaction,
        statement: Statement,
        owner: T,
        streaming: Streaming | None,
        client_s: float,
    ) -> Generator[Event, Any, bool]:
        """A statement that takes its locks as it goes, and may be replicated on the way."""
        left, scan, listed = statement.rows_written, statement.scan, statement.locks
        seconds = client_s + self._statement.cost(self._row_read_s * statement.rows_read)
        owner.written = owner.written or 0
        while True:
            rows = min(left, STEP_ROWS if streaming is None else min(STEP_ROWS, streaming.room()))
            locked: Sequence[Hashable] = ()
            if scan is not None:
                locked = part = scan[:rows]
                if not (yield from self._lock_range(owner, part)):
                    return False
                scan = scan[rows:]
            elif listed:
                locked = single = listed[:rows]
                if not (yield from self._lock(owner, single)):
                    return False
                listed = listed[rows:]
            yield self._host.work(seconds + self._step.cost(self._row_s * rows))
            if self._pool is not None:
                before, said = statement.rows_written - left, statement.pages
                if not before:
                    needed = pages_of(statement.rows_read) if said is None else said
                    yield from self._pool.need(needed, said is not None and bool(locked))
                if locked and said is None:  # others are appended
                    yield from self._pool.need(pages_of(before + rows) - pages_of(before), True)
            seconds = 0.0
            left -= rows
            owner.written += rows
            if owner.aborted:
                return False
            owner.mark(_EXECUTE)
            if self._refuse is not None and (error := self._refuse(owner.written)):
                owner.error = error
                return False
            due = streaming is not None and streaming.written(rows, locked)
            if due and streaming is not None and not (yield from streaming.replicate()):
                return False
            if not left:
                break
        if streaming is not None:
            # An autocommit statement is committed before anybody asks whether it has ended.
            ended = statement.rows_written and not transaction.autocommit
            if ended and streaming.statement_ended():
                return (yield from streaming.replicate())
        elif transaction.autocommit and self._prepare is not None:
            yield self._host.work(self._prepare(transaction))
            owner.mark(_EXECUTE)
        return not owner.aborted

    def _lock_range(self, owner: T, rows: range) -> Generator[Event, Any, bool]:
        """Lock neighbouring rows; False as for ``_lock``."""
        rest = self._locks.take_range(owner, rows)
        while rest:
            if not (yield from self._lock(owner, (rest[0],))):
                return False
            rest = self._locks.take_range(owner, rest[1:])
        return True

    def _lock(self, owner: T, rows: tuple[Hashable, ...]) -> Generator[Event, Any, bool]:
        """Lock rows one after the other; False if it may not have one of them.

        That is so in a deadlock, when brute force comes, or when it has waited too long.
        """
        locks = self._locks
        for row in rows:
            if not locks.take(owner, row):
                granted = owner.lock_granted = Event(self._clock)
                if not locks.acquire(owner, row, self._clock.fire, granted):
                    owner.lock_granted = None
                    return False
                self._lock_waits.watch(owner)
                yield granted
                owner.lock_granted = None
                owner.mark(Lap.LOCK_WAIT)
                if owner.aborted or owner.error:
                    return False
        return True
