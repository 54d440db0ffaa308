"""What one Galera server does for a statement that changes a table, such as ALTER TABLE.

In total order isolation (TOI) the statement itself is replicated. On every node it waits for all
that is ordered before it, and then holds the commit monitor until it is executed there: no
transaction of any table commits on the node meanwhile. Transactions of its clients that use the
table lose against it. Nodes end it each for itself; one that is slower falls behind the others, and
its receive queue may stop the cluster. Non-blocking operations (NBO) hold the monitor only for the
time of two changes of definitions. Between them they have the table, and every node works for
itself; when the last has ended, all end. A rolling schema upgrade (``rolling_upgrade``) replicates
nothing.

The work takes a core, and the disk beside it.

Simplified: the table is taken at the begin and at the end, by brute force each time, as a metadata
lock is; those who use it are known by their class, from the begin of a transaction on. Streaming
transactions that other nodes have begun keep their rows. If a node leaves during an NBO, the others
end it as soon as they know.

References
----------
codership/galera 26.4 ``galera/src/replicator_smm.cpp``: ``to_isolation_begin``, ``wait_nbo_end``,
``pause``; MariaDB 11.8 ``sql/wsrep_mysqld.cc``: ``wsrep_TOI_begin``, ``wsrep_handle_mdl_conflict``;
PXC 8.0.25, non-blocking operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from simrep.modelling import DdlTable, Event, Parts, Transaction

from .altering_node import AlteringNode
from .options import GaleraCosts
from .rolling_upgrade import RollingUpgrade
from .schema_change import Phase, SchemaChange
from .table_locks import TableLock, TableLocks
from .writeset import LocalTransaction, Ordered

__all__ = ["TableChanges"]

Done = Callable[[], object]


class TableChanges:
    """The statements of one server.

    Parameters
    ----------
    parts : Parts
    node : AlteringNode
    tables : TableLocks
    costs : GaleraCosts
    open : callable
        Transactions of its clients.

    Attributes
    ----------
    done : int
        Statements that were executed here.
    held_s : float
        How long they held the commit monitor, in seconds.
    victims : int
        Transactions of its clients that lost against them.
    queue : int
        Writesets in the receive queue when the last of them was done.
    """

    def __init__(
        self,
        parts: Parts,
        node: AlteringNode,
        tables: TableLocks,
        costs: GaleraCosts,
        open_ones: Callable[[], Iterable[LocalTransaction]],
    ) -> None:
        self._cluster = parts.cluster
        self._clock = parts.clock
        self._node = node
        self._tables = tables
        self._costs = costs
        self._open = open_ones
        self._closed: dict[int, TableLock] = {}  # of non-blocking operations, by their begin
        self._ended: dict[int, set[int]] = {}  # nodes that have done their work, in the same way
        self._begun: dict[int, SchemaChange] = {}
        self._members: Collection[int] = range(parts.cluster.size)
        self.done = self.victims = self.queue = 0
        self.held_s = 0.0
        node.executes = self._execute
        node.keeps_state = self._works

    def begin(self, told: DdlTable, then: Done | None = None) -> None:
        """A client of this server issues a statement; ``then()`` when a node is synced again."""
        if told.method == "RSU":
            RollingUpgrade(self, told, then)
            return
        phase = Phase.BEGIN if told.method == "NBO" else Phase.WHOLE
        self._replicate(told, phase)

    def _replicate(self, told: DdlTable, phase: int, begun: int = 0) -> None:
        local = LocalTransaction(self._clock)
        local.transaction = _transaction(self._node.index, told)
        change = SchemaChange(local, told.classes, told, phase, begun)
        assert local.done.callbacks is not None
        if phase == Phase.WHOLE:
            local.done.callbacks.append(partial(self._answered, told))
        self._node.replicate(change)

    def _answered(self, told: DdlTable, _: Event | None = None) -> None:
        self.note("ddl-answers", told.text)

    # -- at its place in the order: the commit monitor is held ---------------------------------

    def _execute(self, ordered: Ordered) -> None:
        change = ordered.writeset
        assert isinstance(change, SchemaChange)
        told, since_s = change.told, self._clock.now
        assert isinstance(told, DdlTable)
        if change.phase == Phase.END:
            self._end(ordered, change)
            return
        self.note("ddl-begins", told.text)
        self.take(TableLock(told.kind != "copy", told.classes))
        if change.phase == Phase.BEGIN:
            lock = self._closed[ordered.seqno] = TableLock(False, told.classes)
            self._tables.close(lock)
            self._ended[ordered.seqno] = set()
            self._begun[ordered.seqno] = change
            self._define(partial(self._has_begun, ordered, told, since_s))
            return
        lock = TableLock(False, told.classes)
        if told.kind == "copy":
            self._tables.close(lock)
        self.work(told, partial(self._changed, ordered, told, since_s, lock))

    def _changed(self, ordered: Ordered, told: DdlTable, since_s: float, lock: TableLock) -> None:
        self.take(TableLock(True, told.classes))
        self.altered(told)
        self._tables.unlock(lock)
        self._leave(ordered, since_s)

    def _leave(self, ordered: Ordered, since_s: float) -> None:
        self.held_s += self._clock.now - since_s
        self._node.left(ordered)

    def take(self, lock: TableLock) -> None:
        """Whoever uses the table on this node loses, unless its end is decided."""
        for local in self._tables.users(lock, self._open()):
            decided = local.protected or local.done.triggered or local.passed is not None
            if not (decided or local.aborted or local.error):
                self.victims += 1
                self._node.locks.abort(local)

    def altered(self, told: DdlTable) -> None:
        """The table is another one here."""
        self.done += 1
        self.queue = self._node.recv_queue
        self.note("ddl-ends", told.text)

    # -- the work ------------------------------------------------------------------------------

    def work(self, told: DdlTable, done: Done) -> None:
        """Change the table; ``done()`` when that is over, if the server still runs then."""
        if told.kind == "instant":
            self._define(done)
            return
        costs = self._costs
        row_us = costs.ddl_copied_row_us if told.kind == "copy" else costs.ddl_row_us
        wait = _Both(partial(self._define, done))
        written_s = self._clock.now + costs.ddl_byte_ns * 1e-9 * told.size_bytes
        self._clock.at(written_s, wait.one)
        self._node.host.run(row_us * 1e-6 * told.rows, wait.one)

    def _define(self, done: Done) -> None:
        """Change the definition."""
        if self._node.alive:
            at_s = self._clock.now + self._costs.ddl_ms * 1e-3
            self._clock.at(at_s, self._if_alive, done)

    def _if_alive(self, done: Done) -> None:
        if self._node.alive:
            done()

    # -- non-blocking operations ---------------------------------------------------------------

    def _has_begun(self, ordered: Ordered, told: DdlTable, since_s: float) -> None:
        self._leave(ordered, since_s)
        self.work(told, partial(self._worked, ordered.seqno, told))

    def _worked(self, begun: int, told: DdlTable) -> None:
        self._replicate(told, Phase.END, begun)

    def _end(self, ordered: Ordered, change: SchemaChange) -> None:
        ended = self._ended.get(change.begun)
        if ended is None:  # it is over already
            self._node.left(ordered)
            return
        ended.add(change.origin)
        if ended.issuperset(self._members):
            self._define(partial(self._finish, change.begun, ordered, self._clock.now))
        else:
            self._node.left(ordered)

    def _finish(self, begun: int, ordered: Ordered | None, since_s: float) -> None:
        """The table is free."""
        if begun not in self._ended:
            return
        del self._ended[begun]
        change = self._begun.pop(begun)
        told = change.told
        assert isinstance(told, DdlTable)
        self.take(TableLock(True, told.classes))
        self.altered(told)
        self._tables.unlock(self._closed.pop(begun))
        if change.origin == self._node.index:
            self._answered(told)
        if ordered is not None:
            self._leave(ordered, since_s)

    def see(self, members: Collection[int]) -> None:
        """The members of the component are others now."""
        self._members = [one for one in members if one not in self._cluster.arbitrators]
        for begun, ended in list(self._ended.items()):
            if ended and ended.issuperset(self._members):
                self._finish(begun, None, self._clock.now)

    def _works(self) -> bool:
        """Whether a non-blocking operation is not over yet."""
        return bool(self._ended)

    # -- others --------------------------------------------------------------------------------

    @property
    def node(self) -> AlteringNode:
        """Where it happens."""
        return self._node

    @property
    def tables(self) -> TableLocks:
        """Who waits for tables."""
        return self._tables

    def committing(self) -> bool:
        """Whether a client of this server waits in its commit."""
        return any(
            local.lock_granted is None and bool(local.done.callbacks) for local in self._open()
        )

    def users(self) -> Iterable[LocalTransaction]:
        """Transactions of its clients."""
        return self._open()

    def note(self, what: str, how: str = "") -> None:
        """A line of the time line."""
        if self._cluster.timeline is not None and self._node.alive:
            self._cluster.timeline.note(self._node.index, what, (), how)

    def counters(self) -> dict[str, float]:
        """What it has done; none of it is a status variable."""
        return {
            "ddl_done": self.done,
            "ddl_held_s": self.held_s,
            "ddl_victims": self.victims,
            "ddl_recv_queue": self.queue,
        }


class _Both:
    """Calls when two things have happened."""

    def __init__(self, call: Done) -> None:
        self._call = call
        self._left = 2

    def one(self, _: Any) -> None:
        """One of them has."""
        self._left -= 1
        if not self._left:
            self._call()


def _transaction(node: int, told: DdlTable) -> Transaction:
    """What explanations tell of it."""
    return Transaction(-1, node, told.text, (), (), told.rows, told.size_bytes)
