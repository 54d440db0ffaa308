"""What a client and its server do for a transaction up to its commit: the same for every model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from simpy.events import Event

from simrep.kernel.clock import Clock
from simrep.server.host import Host
from simrep.server.locks import LockTable
from simrep.workload.laps import LAPS, Lap, LapClock
from simrep.workload.transaction import Transaction

__all__ = ["OpenTransaction", "SessionCosts", "Sessions"]


_NO_LAPS = [0.0] * len(LAPS)
# Of every mark on the way of a transaction: a global name is cheaper than an attribute.
_CLIENT, _EXECUTE = Lap.CLIENT, Lap.EXECUTE


class OpenTransaction:
    """A transaction on the server that executes it, from its first statement to its end.

    It owns its row locks; until it is ``protected``, brute force may take them away and abort it.

    Attributes
    ----------
    marked_s : float
        Time of the last mark.
    seconds : list of float
        How long it has been in every stage until then, in the order of ``LAPS``.
    transaction : Transaction
        What it is an attempt at; set by the session.
    """

    __slots__ = (
        "_clock", "aborted", "done", "lock_granted", "marked_s", "protected", "retry", "seconds",
        "transaction",
    )  # fmt: skip
    transaction: Transaction

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.aborted = False
        self.protected = False
        self.retry = False  # it failed in a conflict with another node, which the server may repeat
        self.lock_granted: Event | None = None
        self.done = Event(clock)
        self.marked_s = clock._now
        self.seconds = _NO_LAPS.copy()

    def mark(self, lap: int) -> None:
        """Everything since the last mark was spent in this stage (see ``Lap``)."""
        now = self._clock._now
        self.seconds[lap] += now - self.marked_s
        self.marked_s = now

    def lost(self) -> bool:
        """Whether it was aborted."""
        return self.aborted

    def abort(self) -> None:
        """Somebody with more right takes a row of this transaction."""
        self.aborted = self.retry = True
        if self.lock_granted is not None:
            self._clock.fire(self.lock_granted)


@dataclass(frozen=True, slots=True)
class SessionCosts:
    """CPU in seconds.

    Parameters
    ----------
    connect_s : float
        To open a connection.
    statement_s, row_s, row_read_s : float
        Per statement, per row written and per row read, on the server.
    client_s : float
        Per statement, on the client.
    rollback_s : float
        To roll back; every row costs ``row_s`` once more.
    """

    connect_s: float
    statement_s: float
    row_s: float
    row_read_s: float
    client_s: float
    rollback_s: float


T = TypeVar("T", bound=OpenTransaction)


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
    prepare : callable, optional
        ``prepare(transaction)``: CPU in seconds of the commit before it waits for anybody, which
        an autocommit statement goes straight on to.
    before_begin : callable, optional
        ``before_begin(transaction)`` is a generator that holds up a transaction, reading or
        writing, before its first statement.
    retries : int
        How often the server itself repeats an autocommit statement that could not commit.

    Attributes
    ----------
    victims : int
        Attempts that were aborted by brute force.
    rollbacks : int
        Attempts that were rolled back for whatever reason.
    """

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
        prepare: Callable[[Transaction], float] | None = None,
        before_begin: Callable[[Transaction], Generator[Event, Any, None]] | None = None,
        retries: int = 0,
    ) -> None:
        self._clock = clock
        self._host = host
        self._client_host = client_host
        self._delay_s = delay_s
        self._locks = locks
        self._begin = begin
        self._commit = commit
        self._prepare = prepare
        self._before_begin = before_begin
        self._retries = retries
        self._connect_s = costs.connect_s
        self._row_s = costs.row_s
        self._row_read_s = costs.row_read_s
        self._client = client_host.routine(costs.client_s)
        self._statement = host.routine(costs.statement_s)
        self._rollback = host.routine(costs.rollback_s)
        self._requests_cost = bool(costs.client_s or delay_s)
        self._one_core = client_host is host and not delay_s
        self._laps = clock.laps if isinstance(clock, LapClock) else None
        self.victims = 0
        self.rollbacks = 0

    def connect(self) -> Generator[Event, Any, None]:
        """Open a connection: handshake, authentication, a thread on the server."""
        if self._delay_s:  # two round trips: TCP handshake, then greeting and authentication
            yield self._clock.until(self._clock.now + 4 * self._delay_s)
        yield self._host.work(self._connect_s)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction to its end, as its client sees it; returns whether it committed."""
        autocommit = transaction.autocommit
        retries = self._retries if autocommit else 0
        again = False
        while True:
            owner = self._begin(self._clock)
            owner.transaction = transaction
            if owner.marked_s != transaction.started_s:  # there were attempts before
                owner.seconds[Lap.RETRIES] = owner.marked_s - transaction.started_s
            if (yield from self._execute(transaction, owner, again=again)):
                if self._requests_cost and not autocommit:  # COMMIT is a statement of its own
                    yield from self._request(owner)
                if transaction.rows:
                    committed = yield from self._commit(transaction, owner)
                    if owner.marked_s != self._clock._now:  # the rest, if the model has not said
                        owner.mark(Lap.COMMIT)
                else:
                    committed = True
                    self._locks.release_all(owner)
                if committed:
                    if self._delay_s:
                        yield self._clock.until(self._clock._now + self._delay_s)
                        owner.mark(_CLIENT)
                    if self._laps is not None:
                        self._laps(transaction.kind, owner.seconds)
                    return True
            if owner.aborted:
                self.victims += 1
            self.rollbacks += 1
            yield self._host.work(self._rollback.cost(self._row_s * transaction.rows))
            self._locks.release_all(owner)
            if not retries or not owner.retry:
                if self._delay_s:
                    yield self._clock.until(self._clock._now + self._delay_s)
                return False
            retries -= 1
            again = True

    def _execute(
        self, transaction: Transaction, owner: T, *, again: bool
    ) -> Generator[Event, Any, bool]:
        """All statements; False if one of them failed, its answer not yet sent.

        The server repeats a statement (``again``) without a new request of the client. The way
        of an answer is marked with the next request: both are the client's.
        """
        clock, host, autocommit = self._clock, self._host, transaction.autocommit
        if not autocommit:  # BEGIN: a round trip, whose work on the server is next to nothing
            yield from self._request(owner)
            if self._before_begin is not None:
                yield from self._before_begin(transaction)
                owner.mark(Lap.CONSISTENCY)
            if self._delay_s:
                yield clock.until(clock._now + self._delay_s)
        for statement in transaction.statements:
            client_s = 0.0
            if self._requests_cost and not again:
                if self._one_core and not statement.locks:
                    client_s = self._client.cost()  # client and server take turns on one core
                else:
                    yield from self._request(owner)
            if autocommit and self._before_begin is not None:
                yield from self._before_begin(transaction)
                owner.mark(Lap.CONSISTENCY)
            if owner.lost():  # while its client thought or the answer travelled
                return False
            if statement.locks and not (yield from self._lock(owner, statement.locks)):
                return False
            rows_s = self._row_s * statement.rows_written + self._row_read_s * statement.rows_read
            seconds = client_s + self._statement.cost(rows_s)
            if autocommit and self._prepare is not None:
                seconds += self._prepare(transaction)
            yield host.work(seconds)
            if owner.aborted:
                return False
            if client_s:
                owner.seconds[_CLIENT] += client_s
                owner.marked_s += client_s
            owner.mark(_EXECUTE)
            if self._delay_s and not autocommit:  # else the answer is the commit's
                yield clock.until(clock._now + self._delay_s)
        return not owner.aborted

    def _request(self, owner: T) -> Generator[Event, Any, None]:
        """The client makes a request, and it reaches the server."""
        if self._client.seconds:
            yield self._client_host.work(self._client.cost())
        if self._delay_s:
            yield self._clock.until(self._clock._now + self._delay_s)
        owner.mark(_CLIENT)

    def _lock(self, owner: T, rows: tuple[Hashable, ...]) -> Generator[Event, Any, bool]:
        """Lock rows one after the other; False if that was a deadlock or brute force came."""
        locks = self._locks
        for row in rows:
            if not locks.take(owner, row):
                owner.lock_granted = Event(self._clock)
                if not locks.acquire(owner, row, self._clock.fire, owner.lock_granted):
                    owner.lock_granted = None
                    return False
                yield owner.lock_granted
                owner.lock_granted = None
                owner.mark(Lap.LOCK_WAIT)
                if owner.aborted:
                    return False
        return True
