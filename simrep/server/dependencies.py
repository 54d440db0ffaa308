"""What a source writes into its binary log about which transactions may be applied in parallel."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

__all__ = ["CommitOrder", "CommitParents", "GroupOrder", "RowOrder", "WritesetOrder"]


class CommitParents(Protocol):
    """Decides, in the order of the binary log, what every transaction depends on."""

    def parent(self, seqno: int, prepared_after: int, rows: Sequence[Hashable]) -> int:
        """The last transaction that must be committed before this one may start.

        Parameters
        ----------
        seqno : int
            Position of the transaction, counted from 1 without gaps.
        prepared_after : int
            Latest transaction that was committed when this one was prepared.
        rows : sequence of hashable
            Rows that it wrote or referred to.
        """

    def end_group(self, last: int) -> None:
        """The group of transactions up to ``last`` is complete."""


class CommitOrder:
    """``COMMIT_ORDER``: what was committed when it prepared; the others held their locks with it.

    References
    ----------
    sql/rpl_trx_tracking.cc, Commit_order_trx_dependency_tracker (MySQL 8.4).
    """

    def parent(self, seqno: int, prepared_after: int, rows: Sequence[Hashable]) -> int:
        """See ``CommitParents.parent``."""
        return prepared_after

    def end_group(self, last: int) -> None:
        """Groups do not matter."""


class RowOrder:
    """The last transaction with one of the rows, and nothing else.

    MariaDB's optimistic mode: everything starts at once, and rows keep conflicts apart.

    Parameters
    ----------
    history_size : int
        Rows that are remembered; when there would be more, all are forgotten and what follows
        depends on everything before.

    Notes
    -----
    Optimistic: a transaction that meets a row of an earlier one waits for it. MariaDB may find
    the later one in possession of the row, and has to roll it back and start it again.
    """

    def __init__(self, history_size: int) -> None:
        self._size = history_size
        self._last: dict[Hashable, int] = {}
        self._start = 0

    def parent(self, seqno: int, prepared_after: int, rows: Sequence[Hashable]) -> int:
        """See ``CommitParents.parent``."""
        last = self._last
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
            self._start = seqno
            last.clear()
        return parent

    def end_group(self, last: int) -> None:
        """Groups do not matter."""


class WritesetOrder(RowOrder):
    """``WRITESET``: by rows, where that allows more than commit order.

    ``history_size`` is ``binlog_transaction_dependency_history_size``.

    Notes
    -----
    Left out: what schema changes do. Tables without usable keys, for which MySQL falls back to
    commit order, are expected to share one key between all their rows.

    References
    ----------
    sql/rpl_trx_tracking.cc, Writeset_trx_dependency_tracker (MySQL 8.4).
    """

    def parent(self, seqno: int, prepared_after: int, rows: Sequence[Hashable]) -> int:
        """See ``CommitParents.parent``."""
        return min(super().parent(seqno, prepared_after, rows), prepared_after)


class GroupOrder:
    """MariaDB's conservative mode: those that the source committed as one group are independent.

    References
    ----------
    MariaDB Knowledge Base, Parallel Replication; the commit id of a GTID event.
    """

    def __init__(self) -> None:
        self._before = 0

    def parent(self, seqno: int, prepared_after: int, rows: Sequence[Hashable]) -> int:
        """See ``CommitParents.parent``."""
        return self._before

    def end_group(self, last: int) -> None:
        """What follows depends on all of it."""
        self._before = last
