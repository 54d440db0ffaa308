"""``FLUSH TABLES WITH READ LOCK``, and the last lock of a backup: nobody commits on one server."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from simrep.modelling import Event, Holder, Lap, OpenTransaction, Parts, Transaction

__all__ = ["Freeze", "GlobalReadLock"]

Call = Callable[[Any], object]

_DEADLOCK: Final = "1213 deadlock"


@dataclass(eq=False)
class Freeze:
    """Somebody who holds the lock, or waits for it.

    Parameters
    ----------
    text : str
        The statement.
    writes : bool
        Also keep writers from beginning; else only commits are held up.

    Attributes
    ----------
    commits : bool
        Nobody commits by now.
    reads : collection of str
        Kinds of transactions that may not begin to read: an older reader of their tables is there.
    """

    text: str
    writes: bool = True
    commits: bool = False
    reads: Collection[str] = field(default_factory=frozenset)

    def bars(self, transaction: Transaction) -> bool:
        """Whether a transaction may not begin."""
        return self.writes if transaction.rows else transaction.kind in self.reads


class _Server(Protocol):
    """The server that it stops."""

    alive: bool

    def owner_of(self, transaction: Transaction) -> OpenTransaction:
        """What owns the row locks of an open transaction."""

    def when_ended(
        self, call: Callable[[], object], among: Callable[[Transaction], bool]
    ) -> Collection[Transaction]:
        """``call()`` when those of the open transactions have ended; who they are."""


class GlobalReadLock:
    """All that hold up the commits of one server, and who waits for them.

    It is had in three steps. New writers wait, and running statements that write end. Then all
    tables are closed: it waits for statements that read, and whoever wants to read the same tables
    queues up behind it, so that one long query holds up everybody. Then commits that are under way
    end, and new ones wait. Appliers of a replica wait like clients.

    Parameters
    ----------
    server : _Server
    parts : Parts

    Notes
    -----
    Simplified: a transaction of several statements is held up at its begin and at its commit, not
    at each statement that writes; it does not hold up the lock, as if it were between two
    statements. ``lock_wait_timeout`` never ends a wait.

    References
    ----------
    sql/sql_reload.cc of MySQL 8.4, handle_reload_request; sql/lock.cc, Global_read_lock;
    sql/handler.cc, ha_commit_trans (the COMMIT metadata lock).
    """

    def __init__(self, server: _Server, parts: Parts) -> None:
        self._server = server
        self._clock = parts.clock
        self._freezes: list[Freeze] = []
        self._asked: list[tuple[Freeze, Callable[[], object]]] = []
        self._clients: list[tuple[Transaction, Event, bool]] = []  # whether it commits
        self._appliers: list[tuple[int, Call, Any, bool]] = []
        self._under_way = 0  # commits, and statements that change tables
        self._line = parts.line("global read lock", self._holder, lap=Lap.LOCK_WAIT)

    def _holder(self) -> Holder:
        return Holder(self._freezes[0].text if self._freezes else "UNLOCK TABLES")

    # -- whoever wants to go on --------------------------------------------------------------------

    def begin(self, transaction: Transaction) -> Generator[Event, Any, str | None]:
        """Hold up the begin of a transaction of a client."""
        while any(one.bars(transaction) for one in self._freezes):
            owner = self._server.owner_of(transaction)
            error = yield from self._wait(transaction, owner, commits=False)
            if error is not None:
                return error
        return None

    def begin_commit(
        self, transaction: Transaction, owner: OpenTransaction
    ) -> Generator[Event, Any, str | None]:
        """Hold up the commit of a transaction of a client; ``ended`` has to follow it."""
        while any(one.commits for one in self._freezes):
            error = yield from self._wait(transaction, owner, commits=True)
            if error is not None:
                return error
        self._under_way += 1
        return None

    def _wait(
        self, transaction: Transaction, owner: OpenTransaction, *, commits: bool
    ) -> Generator[Event, Any, str | None]:
        granted = Event(self._clock)
        self._clients.append((transaction, granted, commits))
        owner.lock_granted = granted
        self._line.wait(transaction)
        yield granted
        self._line.go(transaction)
        owner.lock_granted = None
        owner.mark(Lap.LOCK_WAIT)
        if owner.aborted or owner.error:
            return owner.error or _DEADLOCK
        return None

    def apply(self, seqno: int, call: Call, argument: Any) -> None:
        """``call(argument)`` when an applier may begin to write."""
        if any(one.writes for one in self._freezes):
            self._appliers.append((seqno, call, argument, False))
        else:
            call(argument)

    def commit(self, seqno: int, call: Call, argument: Any) -> None:
        """``call(argument)`` when an applier may commit; ``ended`` has to follow it."""
        if any(one.commits for one in self._freezes):
            self._appliers.append((seqno, call, argument, True))
        else:
            self._under_way += 1
            call(argument)

    def change(self, call: Call, argument: Any) -> None:
        """``call(argument)`` when a statement may change a table; ``ended`` has to follow it."""
        if any(one.writes for one in self._freezes):
            self._appliers.append((0, self._change, (call, argument), False))
        else:
            self._under_way += 1
            call(argument)

    def _change(self, work: tuple[Call, Any]) -> None:
        self.change(*work)

    def ended(self) -> None:
        """A commit is over, or a statement that changes a table."""
        self._under_way -= 1
        self._grant()

    # -- whoever stops them ------------------------------------------------------------------------

    def lock(self, freeze: Freeze, call: Callable[[], object]) -> None:
        """Stop them; ``call()`` when nothing is under way."""
        self._freezes.append(freeze)

        def closed() -> None:
            if freeze in self._freezes:
                freeze.reads = frozenset()
                freeze.commits = True
                self._asked.append((freeze, call))
                self._go_on()
                self._grant()

        def written() -> None:
            if freeze in self._freezes:
                readers = self._server.when_ended(closed, self._reads)
                if not freeze.commits:
                    freeze.reads = frozenset(one.kind for one in readers)

        if freeze.writes:
            self._server.when_ended(written, self._writes)
        else:
            closed()

    def _writes(self, transaction: Transaction) -> bool:
        """Whether a statement of an open transaction writes now."""
        return transaction.rows > 0 and transaction.autocommit and not self._waits(transaction)

    def _reads(self, transaction: Transaction) -> bool:
        return not transaction.rows and not self._waits(transaction)

    def _waits(self, transaction: Transaction) -> bool:
        return any(one is transaction for one, *_ in self._clients)

    def _grant(self) -> None:
        if not self._under_way:
            asked, self._asked = self._asked, []
            for freeze, call in asked:
                if freeze in self._freezes:
                    call()

    def unlock(self, freeze: Freeze) -> None:
        """Give it back, or wait for it no more."""
        if freeze in self._freezes:
            self._line.cut()
            self._freezes.remove(freeze)
            self._go_on()

    def _go_on(self) -> None:
        """Wake those whom nothing holds up any more, in order."""
        commits = any(one.commits for one in self._freezes)
        clients, self._clients = self._clients, []
        for client in clients:
            transaction, granted, committing = client
            if granted.triggered:
                continue
            if commits if committing else any(one.bars(transaction) for one in self._freezes):
                self._clients.append(client)
            else:
                self._clock.fire(granted)
        appliers, self._appliers = self._appliers, []
        for seqno, call, argument, committing in sorted(appliers, key=_position):
            (self.commit if committing else self.apply)(seqno, call, argument)


def _position(waiting: tuple[int, Call, Any, bool]) -> int:
    return waiting[0]
