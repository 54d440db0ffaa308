"""Certification of ordered transactions, and what a member has committed."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Final, NamedTuple

from simrep.models.mysql.latest import Latest

__all__ = ["NOTHING", "Certifier", "Executed", "Snapshot"]


class Snapshot(NamedTuple):
    """A set of transactions, by their numbers: all up to ``low``, and those ``above``."""

    low: int
    above: frozenset[int]

    def has(self, order: int) -> bool:
        """Whether it contains a transaction."""
        return order <= self.low or order in self.above

    def changed(self, gone: Collection[int], more: Collection[int]) -> Snapshot:
        """Without some transactions, and with some more."""
        low = min([self.low, *(order - 1 for order in gone)])
        above = {*range(low + 1, self.low + 1), *self.above}.difference(gone).union(more)
        while low + 1 in above:
            low += 1
        return Snapshot(low, frozenset(order for order in above if order > low))


_NO_ORDERS: frozenset[int] = frozenset()
NOTHING: Final = Snapshot(0, _NO_ORDERS)
"""No transactions."""


class Executed:
    """``GTID_EXECUTED`` of a member, by the numbers that transactions have in the order.

    Members commit their own transactions when they are certified, even if earlier ones of others
    are not applied yet: the set has holes.
    """

    __slots__ = ("_above", "_snapshot", "low")

    def __init__(self) -> None:
        self.low = 0
        self._above: set[int] = set()
        self._snapshot: Snapshot | None = NOTHING

    def add(self, order: int) -> None:
        """A transaction was committed."""
        self._snapshot = None
        above = self._above
        if order != self.low + 1:
            above.add(order)
            return
        self.low = order
        while above and self.low + 1 in above:
            self.low += 1
            above.discard(self.low)

    def start_after(self, snapshot: Snapshot) -> None:
        """Begin with what is on the disk."""
        self.low = snapshot.low
        self._above = set(snapshot.above)
        self._snapshot = snapshot

    @property
    def count(self) -> int:
        """How many are committed."""
        return self.low + len(self._above)

    def has(self, order: int) -> bool:
        """Whether a transaction is committed."""
        return order <= self.low or order in self._above

    def snapshot(self) -> Snapshot:
        """What is committed now."""
        snapshot = self._snapshot
        if snapshot is None:
            above = frozenset(self._above) if self._above else _NO_ORDERS
            snapshot = self._snapshot = Snapshot(self.low, above)
        return snapshot


class Certifier:
    """Certification info of one member: who wrote which row last.

    Of two concurrent transactions that touch a row, the first ordered wins: a transaction fails
    if the last writer of one of its rows is not in its snapshot. In single-primary mode this is
    not checked, but rows are noted all the same, to find what may be applied in parallel.

    Notes
    -----
    Simplified: the real check is whether the whole snapshot of the last writer, with itself, is
    contained in that of the transaction. It differs only if the origin had the writer but not yet
    something the writer had seen, which its commit order prevents but for the moment in which its
    own clients commit.

    References
    ----------
    plugin/group_replication/src/certifier.cc: Certifier::certify, garbage_collect (8.0, 9).
    """

    def __init__(self, *, detects_conflicts: bool) -> None:
        self._detects_conflicts = detects_conflicts
        self._writers: Latest[tuple[int, int]] = Latest()  # (order, position in the channel)
        self._barrier = 0
        self.conflicts = 0  # transactions that failed
        self.collected = 0  # items that were removed as garbage

    def certify(
        self,
        order: int,
        seqno: int,
        snapshot: Snapshot,
        items: tuple[Hashable, ...],
        ranges: tuple[range, ...] = (),
    ) -> int:
        """Certify the next transaction, whose number is ``order`` if it passes.

        ``seqno`` is its position in the applier channel of this member; that of the last
        transaction in it for the member's own. Gives the position there of the latest transaction
        that it depends on; -1 if it fails.
        """
        if ranges or self._writers.ranges.starts:
            return self._certify_among_ranges((order, seqno), snapshot, items, ranges)
        writers = self._writers.points
        parent = self._barrier
        for item in items:
            writer = writers.get(item)
            if writer is not None:
                if self._detects_conflicts and not snapshot.has(writer[0]):
                    self.conflicts += 1
                    return -1
                if writer[1] > parent:
                    parent = writer[1]
        mark = (order, seqno)
        for item in items:
            writers[item] = mark
        return parent

    def _certify_among_ranges(
        self,
        mark: tuple[int, int],
        snapshot: Snapshot,
        items: tuple[Hashable, ...],
        ranges: tuple[range, ...],
    ) -> int:
        """The same where ranges are involved."""
        parent = self._barrier
        for order, seqno in self._writers.of(items, ranges):
            if self._detects_conflicts and not snapshot.has(order):
                self.conflicts += 1
                return -1
            if seqno > parent:
                parent = seqno
        self._writers.note(items, ranges, mark)
        return parent

    def collect(self, stable: int, seqno: int) -> None:
        """Forget rows whose last writer is committed on every member.

        What comes later depends on everything before: nobody knows any more who wrote its rows.
        """
        before = len(self)
        self._writers.remove(lambda writer: writer[0] <= stable)
        self.collected += before - len(self)
        self._barrier = seqno

    def forget(self, seqno: int) -> None:
        """Forget all rows (preemptive garbage collection, when no conflicts are looked for)."""
        self.collected += len(self)
        self._writers.clear()
        self._barrier = seqno

    def detect_conflicts(self, *, on: bool) -> None:
        """Look for conflicts from now on, or do not."""
        self._detects_conflicts = on

    def copy(self) -> Certifier:
        """The same for a member that joins, whose channel has nothing of it."""
        copy = Certifier(detects_conflicts=self._detects_conflicts)
        copy._writers = self._writers.mapped(lambda writer: (writer[0], 0))
        copy.conflicts, copy.collected = self.conflicts, self.collected
        return copy

    def begin_after(self, seqno: int) -> None:
        """All that comes depends on what the channel has up to here."""
        self._barrier = seqno

    def __len__(self) -> int:
        """Rows in the certification info (COUNT_TRANSACTIONS_ROWS_VALIDATING)."""
        return len(self._writers)
