"""Locks of whole tables on one server: its clients and its appliers wait for them.

``LOCK TABLES`` is granted when all who use the tables have ended. From when it is asked for, nobody
else begins to use them. An applier that meets it waits: brute force does not reach a lock that was
taken explicitly (``wsrep_handle_mdl_conflict``). It keeps its thread, so that the receive queue
grows behind it. ``FLUSH TABLES WITH READ LOCK`` lets nobody begin to write; its appliers stop in
the local monitor (``maintenance``).

Simplified: a lock is asked for by one statement, and nobody waits for it too long
(``lock_wait_timeout``: a day); clients use a table from the begin of their transaction on. An
applier whose writeset comes before one that uses the tables already gets in: else both would wait
for ever.

References
----------
MariaDB ``sql/mdl.cc``, ``wsrep_handle_mdl_conflict`` ("BF thread waiting for victim to release
explicit locks"); MDEV-9224.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from simrep.modelling import Clock, Event, Host, Transaction

from .monitors import ApplyMonitor
from .row_writer import RowWriter
from .writeset import LocalTransaction, Ordered

__all__ = ["TableLock", "TableLocks"]


@dataclass(eq=False)
class TableLock:
    """Who has to wait for it.

    Attributes
    ----------
    reads : bool
        Also those who only read.
    classes : collection of str, optional
        Of transactions that use the tables; None: all.
    """

    reads: bool
    classes: Collection[str] | None = None
    granted: bool = False
    lets_in: float = inf  # appliers up to this place of the order; all, as long as clients use it
    waits_for: set[LocalTransaction] = field(default_factory=set)

    def covers(self, transaction: Transaction) -> bool:
        """Whether a transaction has to wait for it."""
        uses = self.classes is None or transaction.kind in self.classes
        return uses and (self.reads or transaction.rows > 0)


class TableLocks:
    """All locks of tables that somebody holds or waits for on a server.

    Parameters
    ----------
    clock : Clock
    host : Host
    switch_s : float
        What it takes to wake a thread.
    monitor : ApplyMonitor
    writer : RowWriter
        What appliers do with a writeset.
    """

    def __init__(
        self, clock: Clock, host: Host, switch_s: float, monitor: ApplyMonitor, writer: RowWriter
    ) -> None:
        self._clock = clock
        self._host = host
        self._switch_s = switch_s
        self._monitor = monitor
        self._apply = writer.begin
        writer.begin = self.apply
        self._locks: list[TableLock] = []
        self._clients: list[tuple[Transaction, Event]] = []
        self._appliers: list[Ordered] = []
        self._calls: dict[TableLock, Callable[[], object]] = {}
        self._applied = 0  # the highest place of the order of those that ever used the tables

    # -- whoever uses tables -------------------------------------------------------------------

    def wait(self, transaction: Transaction) -> Generator[Event, Any, None]:
        """Hold up a transaction until nobody has locked what it uses."""
        while any(lock.covers(transaction) for lock in self._locks):
            free = Event(self._clock)
            self._clients.append((transaction, free))
            yield free

    def apply(self, ordered: Ordered) -> None:
        """Apply a writeset, as soon as nobody has locked what it uses."""
        for lock in self._locks:
            if ordered.seqno > lock.lets_in and lock.covers(ordered.transaction):
                self._appliers.append(ordered)
                return
        self._applied = max(self._applied, ordered.seqno)
        self._apply(ordered)

    def ended(self, local: LocalTransaction) -> None:
        """A transaction of a client uses its tables no more."""
        for lock in self._locks:
            if local in lock.waits_for:
                lock.waits_for.discard(local)
                self._left(lock)

    # -- whoever locks them --------------------------------------------------------------------

    def lock(
        self, lock: TableLock, using: Iterable[LocalTransaction], call: Callable[[], object]
    ) -> None:
        """Lock tables; ``call()`` when nobody of those who use them is left."""
        self._calls[lock] = call
        lock.waits_for = set(self.users(lock, using))
        self._locks.append(lock)
        self._left(lock)

    def users(self, lock: TableLock, using: Iterable[LocalTransaction]) -> list[LocalTransaction]:
        """Who of those would have to end before a lock can be had, and does not wait itself."""
        waiting = {id(transaction) for transaction, free in self._clients if not free.triggered}
        return [
            local
            for local in using
            if lock.covers(local.transaction) and id(local.transaction) not in waiting
        ]

    def _left(self, lock: TableLock) -> None:
        if not lock.waits_for:
            lock.lets_in = self._applied
            self._monitor.when_left(self._applied, self._grant, lock)

    def _grant(self, lock: TableLock) -> None:
        if lock in self._locks:
            lock.granted = True
            self._calls.pop(lock)()

    def close(self, lock: TableLock) -> None:
        """Let nobody begin what a lock covers, without waiting for those who have begun."""
        self._locks.append(lock)

    def unlock(self, lock: TableLock) -> None:
        """Give a lock back: whoever waited for it goes on."""
        if lock not in self._locks:
            return
        self._locks.remove(lock)
        clients, self._clients = self._clients, []
        for _, free in clients:
            self._clock.fire(free)
        appliers, self._appliers = self._appliers, []
        for ordered in sorted(appliers, key=lambda one: one.seqno):
            self._host.run(self._switch_s, self.apply, ordered)

    def release(self) -> None:
        """The server is gone."""
        for lock in list(self._locks):
            self.unlock(lock)
