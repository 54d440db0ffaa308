"""Causal reads: what begins on a server waits until it sees all that others have been told.

After ``wsrep_sync_wait`` (``sql/wsrep_mysqld.cc``) and ``ReplicatorSMM::causal_read``: the server
asks its group for the place in the order up to which any member may have delivered, and then waits
until everything up to there has left its apply monitor. Galera 3 waits at the commit monitor, which
is left at the same time here. In a transaction of several statements only ``BEGIN`` waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from functools import partial
from typing import Any

from simrep.modelling import Clock, Event, Sessions, Transaction

from .gcomm.causal import LocalCausal
from .node import GaleraNode
from .options import GaleraOptions, GaleraSession
from .state_exchange import StateExchange

__all__ = ["SyncWait"]

_READ, _CHANGE, _INSERT = 1, 2, 4  # bits of wsrep_sync_wait; 8, SHOW, has no meaning here
# As the server numbers a wait that took longer than repl.causal_read_timeout.
_TOO_LONG = Sessions.errors_told[0]


class SyncWait:
    """The waits of one server.

    Attributes
    ----------
    asked : int
        How often it has asked its group (``wsrep_causal_reads``).
    """

    def __init__(
        self,
        clock: Clock,
        node: GaleraNode,
        group: LocalCausal | StateExchange,
        options: GaleraOptions,
    ) -> None:
        self._clock = clock
        self._node = node
        self._group = group
        self._options = options
        self._waiting: deque[tuple[float, Event]] = deque()  # until when
        self._armed = False
        self.asked = 0

    def begin(self, transaction: Transaction) -> Generator[Event, Any, str | None]:
        """Hold up a transaction; the error with which it fails, if there is one."""
        options, session = self._options, transaction.session
        bits = options.sync_wait
        if isinstance(session, GaleraSession) and session.sync_wait is not None:
            bits = session.sync_wait
        if not bits & _kind(transaction):
            return None
        if options.dirty_reads and not transaction.rows:
            return None
        self.asked += 1
        waited = Event(self._clock)
        self._watch(waited)
        self._group.causal(partial(self._node.in_order, self._numbered, waited))
        error: str | None = yield waited
        return error

    def release(self) -> None:
        """The server serves nobody any more: those who wait fail for that."""
        waiting, self._waiting = self._waiting, deque()
        for _, waited in waiting:
            self._end(waited)

    def _numbered(self, waited: Event) -> None:
        """The thread that receives wakes the client's, which waits for the apply monitor."""
        node = self._node
        node.host.run(node.switch_s, self._wait, (node.certifier.ordered, waited))

    def _wait(self, work: tuple[int, Event]) -> None:
        seqno, waited = work
        if seqno <= self._node.last_committed:
            self._end(waited)
        else:
            self._node.apply_monitor.when_left(seqno, self._left, waited)

    def _left(self, waited: Event) -> None:
        self._node.host.run(self._node.switch_s, self._end, waited)

    def _end(self, waited: Event, error: str | None = None) -> None:
        if not waited.triggered:
            self._clock.fire(waited, error)

    # -- the timeout: all waits may last equally long, so they expire in their order ---------------

    def _watch(self, waited: Event) -> None:
        waiting = self._waiting
        while waiting and waiting[0][1].triggered:
            waiting.popleft()
        waiting.append((self._clock.now + self._options.causal_read_timeout_s, waited))
        if not self._armed:
            self._armed = True
            self._clock.at(waiting[0][0], self._expire)

    def _expire(self, _: None) -> None:
        self._armed = False
        waiting = self._waiting
        while waiting and (waiting[0][1].triggered or waiting[0][0] <= self._clock.now):
            self._end(waiting.popleft()[1], _TOO_LONG)
        if waiting:
            self._armed = True
            self._clock.at(waiting[0][0], self._expire)


def _kind(transaction: Transaction) -> int:
    """Which bit its first statement, or its ``BEGIN``, asks for."""
    statement = transaction.statements[0]
    if not transaction.autocommit or not statement.rows_written:
        return _READ
    return _CHANGE if statement.locks or statement.scan is not None else _INSERT
