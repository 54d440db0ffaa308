"""A transaction on its server, from its first statement to its end, and its waits for row locks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Sequence
from math import inf
from typing import Any, Final, Protocol

from simrep.kernel.clock import Clock, Event
from simrep.server.locks import LockTable
from simrep.workload.laps import LAPS
from simrep.workload.transaction import Transaction

__all__ = ["DEADLOCK", "LOCK_WAIT_TIMEOUT", "LockWaits", "OpenTransaction", "Streaming"]

# As MySQL and MariaDB number and name them.
DEADLOCK: Final = "1213 deadlock"
LOCK_WAIT_TIMEOUT: Final = "1205 lock wait timeout exceeded"

_NO_LAPS: Final = [0.0] * len(LAPS)


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
    written : int or None
        Rows that a long statement has written so far; None: nothing of the kind.
    error : str
        Why it failed, as the product says it; empty: a deadlock or brute force.
    undo : callable or None
        ``undo(owner)`` rolls it back when it is aborted; None while its own thread will notice.
    undone : Event or None
        Fires when that is done; None: it was not begun.
    passed : Event or None
        Fires when its place in the order of commits has passed, if it has failed at one: before
        that its client is not told.
    """

    __slots__ = (
        "_clock", "aborted", "done", "error", "lock_granted", "marked_s", "passed", "protected",
        "retry", "seconds", "transaction", "undo", "undone", "written",
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
        self.seconds: Any = _NO_LAPS.copy()  # a list, or what stands for one in an explanation
        self.written: int | None = None
        self.error = ""
        self.undo: Callable[[Any], object] | None = None
        self.undone: Event | None = None
        self.passed: Event | None = None

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
        if self.undo is not None:
            self.undo(self)


class Streaming(Protocol):
    """How a transaction is replicated in fragments while it is executed."""

    def room(self) -> int:
        """How many more rows may be written before a fragment is due, at least 1."""

    def written(self, rows: int, locked: Sequence[Hashable]) -> bool:
        """So many more rows are written; whether a fragment is due.

        ``locked`` are those of them that existed: a range, or a tuple of single rows.
        """

    def statement_ended(self) -> bool:
        """A statement that writes has ended; whether a fragment is due."""

    def replicate(self) -> Generator[Event, Any, bool]:
        """Replicate what is not replicated yet; False if the transaction has to roll back."""

    def rolled_back(self) -> object:
        """The transaction rolls back; tell it to those who have fragments of it."""


class LockWaits:
    """The lock wait timeout of a server (``innodb_lock_wait_timeout``); infinite for none.

    All waits may last equally long, so they expire in the order in which they began: one callback
    at a time watches over all of them.

    Notes
    -----
    Simplified: the whole transaction fails; InnoDB rolls back only the statement unless
    ``innodb_rollback_on_timeout`` is set, and the client decides about the rest.
    """

    def __init__(self, clock: Clock, timeout_s: float, locks: LockTable) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._locks = locks
        self._line: deque[tuple[float, OpenTransaction, Event]] = deque()
        self._armed = False

    def watch(self, owner: OpenTransaction) -> None:
        """The owner begins to wait for ``owner.lock_granted``."""
        granted = owner.lock_granted
        if self._timeout_s == inf or granted is None:
            return
        line = self._line
        while line and line[0][2].triggered:  # so that it does not grow
            line.popleft()
        line.append((self._clock._now + self._timeout_s, owner, granted))
        if not self._armed:
            self._arm()

    def _arm(self) -> None:
        self._armed = True
        self._clock.at(self._line[0][0], self._expire)

    def _expire(self, _: None) -> None:
        line = self._line
        while line and (line[0][2].triggered or line[0][0] <= self._clock._now):
            _since, owner, granted = line.popleft()
            if not granted.triggered:
                owner.error = LOCK_WAIT_TIMEOUT
                self._locks.give_up(owner)
                self._clock.fire(granted)
        self._armed = False
        if line:
            self._arm()
