"""What a source writes into its binary log about which transactions may be applied in parallel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence

from simrep.models.mysql.latest import Latest

__all__ = ["CommitOrder", "CommitParents", "GroupOrder", "RowOrder", "WritesetOrder"]

Rows = Sequence[Hashable]
Ranges = Sequence[range]
"""Neighbouring rows, instead of listing each; no row is named twice."""


class CommitParents(ABC):
    """Decides, in the order of the binary log, what every transaction depends on."""

    @abstractmethod
    def parent(self, seqno: int, prepared_after: int, rows: Rows, ranges: Ranges = ()) -> int:
        """The last transaction that must be committed before this one may start.

        It is the one at position ``seqno``, counted from 1 without gaps; it wrote or referred to
        these rows, and ``prepared_after`` was the latest that was committed when it was prepared.
        """

    @abstractmethod
    def barrier(self, seqno: int, prepared_after: int) -> int:
        """The same of a statement that changes a table, on which all that follows depends."""

    def end_group(self, last: int) -> None:  # noqa: B027 - most have nothing to do
        """The group of transactions up to ``last`` is complete, where groups matter."""


class CommitOrder(CommitParents):
    """``COMMIT_ORDER``: what was committed when it prepared; the others held their locks with it.

    References
    ----------
    sql/rpl_trx_tracking.cc, Commit_order_trx_dependency_tracker (MySQL 8.4).
    """

    def parent(self, seqno: int, prepared_after: int, rows: Rows, ranges: Ranges = ()) -> int:
        """See ``CommitParents.parent``."""
        return prepared_after

    def barrier(self, seqno: int, prepared_after: int) -> int:
        """See ``CommitParents.barrier``: who used the table before or after had to wait for it."""
        return prepared_after


class RowOrder(CommitParents):
    """The last transaction with one of the rows, and nothing else.

    MariaDB's optimistic mode: everything starts at once, and what conflicts waits or is rolled back
    (``optimistic_appliers``). No event tells it: it is what replicas find out.

    ``history_size`` rows are remembered, neighbouring ones that were written together as one;
    when there would be more, all are forgotten and what follows depends on everything before.
    MariaDB has no such limit: it is one of memory.
    """

    def __init__(self, history_size: int) -> None:
        self._size = history_size
        self._writers: Latest[int] = Latest()
        self._start = 0

    def parent(self, seqno: int, prepared_after: int, rows: Rows, ranges: Ranges = ()) -> int:
        """See ``CommitParents.parent``."""
        writers = self._writers
        if ranges or writers.ranges.starts:
            return self._parent_among_ranges(seqno, rows, ranges)
        last = writers.points
        full = len(last) + len(rows) > self._size
        parent = self._start
        for row in rows:
            known = last.get(row)
            if known is None:
                if not full:
                    last[row] = seqno
            elif known < seqno:
                last[row] = seqno
                if known > parent:
                    parent = known
        if full:
            self._forget(seqno)
        return parent

    def _parent_among_ranges(self, seqno: int, rows: Rows, ranges: Ranges) -> int:
        """The same where ranges are involved: what it depends on, then what is remembered."""
        writers = self._writers
        parent = max(writers.of(rows, ranges), default=0)
        parent = max(parent, self._start)
        if self._remembered() + len(rows) + self._size_of(ranges) > self._size:
            self._forget(seqno)
        else:
            writers.note(rows, ranges, seqno)
        return parent

    def barrier(self, seqno: int, prepared_after: int) -> int:
        """See ``CommitParents.barrier``: it begins when all before it is committed."""
        self._forget(seqno)
        return seqno - 1

    def _remembered(self) -> int:
        return len(self._writers.points) + len(self._writers.ranges)

    def _size_of(self, ranges: Ranges) -> int:
        """How much of the history they take."""
        return len(ranges)

    def _forget(self, seqno: int) -> None:
        self._start = seqno
        self._writers.clear()


class WritesetOrder(RowOrder):
    """``WRITESET``: by rows, where that allows more than commit order.

    ``history_size`` is ``binlog_transaction_dependency_history_size``. A transaction with more
    rows than that has no write set: it depends on what was committed when it prepared, and all
    that follows depends on it.

    Notes
    -----
    Tables without usable keys, for which MySQL falls back to
    commit order, are expected to share one key between all their rows.

    References
    ----------
    sql/rpl_trx_tracking.cc, Writeset_trx_dependency_tracker::get_dependency (can_use_writesets,
    exceeds_capacity); sql/rpl_transaction_write_set_ctx.cc, add_write_set (MySQL 8.4).
    """

    def parent(self, seqno: int, prepared_after: int, rows: Rows, ranges: Ranges = ()) -> int:
        """See ``CommitParents.parent``."""
        number = len(rows)
        if ranges:
            number += self._size_of(ranges)
        if number > self._size:
            self._forget(seqno)
            return prepared_after
        return min(super().parent(seqno, prepared_after, rows, ranges), prepared_after)

    def barrier(self, seqno: int, prepared_after: int) -> int:
        """See ``CommitParents.barrier``: it has no write set."""
        self._forget(seqno)
        return prepared_after

    def _remembered(self) -> int:
        return len(self._writers)

    def _size_of(self, ranges: Ranges) -> int:
        return sum(map(len, ranges))


class GroupOrder(CommitParents):
    """MariaDB's conservative mode: those that the source committed as one group are independent.

    References
    ----------
    MariaDB Knowledge Base, Parallel Replication; the commit id of a GTID event.
    """

    def __init__(self) -> None:
        self._before = 0

    def parent(self, seqno: int, prepared_after: int, rows: Rows, ranges: Ranges = ()) -> int:
        """See ``CommitParents.parent``."""
        return self._before

    def barrier(self, seqno: int, prepared_after: int) -> int:
        """See ``CommitParents.barrier``: it is a group of its own."""
        self._before = seqno
        return seqno - 1

    def end_group(self, last: int) -> None:
        """What follows depends on all of it."""
        self._before = last
