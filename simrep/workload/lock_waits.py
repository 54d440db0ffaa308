"""Waits for row locks that end after a while, whether or not the lock was granted."""

from __future__ import annotations

from collections import deque
from math import inf

from simpy.events import Event

from simrep.kernel.clock import Clock
from simrep.server.locks import LockTable
from simrep.workload.open_transaction import LOCK_WAIT_TIMEOUT, OpenTransaction

__all__ = ["LockWaits"]


class LockWaits:
    """The lock wait timeout of a server (``innodb_lock_wait_timeout``).

    All waits may last equally long, so they expire in the order in which they began: one callback
    at a time watches over all of them.

    Parameters
    ----------
    clock : Clock
    timeout_s : float
        In seconds; infinite for no timeout.
    locks : LockTable

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
