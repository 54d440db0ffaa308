"""A rolling schema upgrade (RSU): one node changes its table, and nothing is replicated.

The node leaves flow control, waits until no client commits, and stands still while it changes the
table. What is ordered meanwhile waits in its receive queue; then it applies it, and is synced
again when the queue is short. Rows of the new table may not fit the old one of other nodes, and
the other way round (``AlteringNode``).

Simplified: it waits until transactions that use the table have ended, and stops the node then: the
product stops it first, and may wait for ever for one that wants to commit.

References
----------
codership/wsrep-lib ``src/client_state.cpp``: ``begin_rsu``; MariaDB 11.8 ``sql/wsrep_mysqld.cc``:
``wsrep_RSU_begin``, ``wsrep_wait_committing_connections_close``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from simrep.modelling import DdlTable

from .altering_node import AlteringNode
from .table_locks import TableLock, TableLocks
from .writeset import LocalTransaction

__all__ = ["RollingUpgrade"]

_LOOKS: Final = 50  # at who is committing, before it gives up: 5,000 us, every 100 us
_LOOK_S: Final = 1e-4


class _Server(Protocol):
    """The server whose table it is."""

    @property
    def node(self) -> AlteringNode:
        """Its node."""

    @property
    def tables(self) -> TableLocks:
        """Who waits for tables."""

    def committing(self) -> bool:
        """Whether a client waits in its commit."""

    def users(self) -> Iterable[LocalTransaction]:
        """Transactions of its clients."""

    def work(self, told: DdlTable, done: Callable[[], object]) -> None:
        """Change the table."""

    def altered(self, told: DdlTable) -> None:
        """The table is another one here."""

    def note(self, what: str, how: str = "") -> None:
        """A line of the time line."""


class RollingUpgrade:
    """That of one node.

    Parameters
    ----------
    server : _Server
    told : DdlTable
    then : callable, optional
        Called when the node is synced again.
    """

    def __init__(
        self, server: _Server, told: DdlTable, then: Callable[[], object] | None = None
    ) -> None:
        self._server, self._told, self._then = server, told, then
        self._node, self._clock = server.node, server.node.clock
        self._looks = _LOOKS
        self._lock = TableLock(True, told.classes)
        self._node.desync(self._desynced)

    def _desynced(self, may: bool) -> None:
        if not may:
            self._server.note("ddl-fails", "it is not synced")
        else:
            self._look(None)

    def _look(self, _: Any) -> None:
        if not self._node.alive:
            return
        if not self._server.committing():
            self._server.tables.lock(self._lock, self._server.users(), self._has_table)
        elif self._looks:
            self._looks -= 1
            self._clock.at(self._clock.now + _LOOK_S, self._look)
        else:
            self._server.note("ddl-fails", "clients are committing (1213)")
            self._node.resync()

    def _has_table(self) -> None:
        if self._node.alive:
            self._position = self._node.certifier.ordered
            self._node.stand_still(self._position)
            self._node.apply_monitor.when_left(self._position, self._stands, None)

    def _stands(self, _: Any) -> None:
        if not self._node.alive:
            return
        server, told = self._server, self._told
        server.note("ddl-begins", told.text)
        if told.kind != "copy":
            server.tables.unlock(self._lock)
        else:
            reading = TableLock(False, told.classes)
            server.tables.close(reading)
            server.tables.unlock(self._lock)
            self._lock = reading
        server.work(told, self._changed)

    def _changed(self) -> None:
        told, node = self._told, self._node
        self._server.altered(told)
        self._server.note("ddl-answers", told.text)
        self._server.tables.unlock(self._lock)
        if not told.compatible:
            node.redefine(told.path, self._position, told.classes)
        if self._then is not None:
            node.when_synced(self._then)
        node.go_on()
        node.resync()
