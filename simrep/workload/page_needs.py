"""Which pages of data a statement needs."""

from __future__ import annotations

from simrep.server.buffer_pool import ROWS_PER_PAGE
from simrep.workload.transaction import Statement, Transaction

__all__ = ["pages_needed", "pages_of"]


def pages_of(rows: int) -> int:
    """Pages on which so many neighbouring rows are."""
    return (rows + ROWS_PER_PAGE - 1) // ROWS_PER_PAGE


def pages_needed(transaction: Transaction, statement: Statement) -> int:
    """Pages that must be in memory for a short statement: of rows that it reads or locks.

    Rows that it inserts are appended to pages that are there. Rows that a statement before it has
    locked (``SELECT ... FOR UPDATE``) are there, too. A statement may say it itself: rows that
    are not neighbours have a page each, and those of a small table are always there.
    """
    if statement.pages is not None:
        return statement.pages
    pages = pages_of(statement.rows_read)
    locks, written = statement.locks, statement.rows_written
    if locks and written and not _locked_before(transaction, statement):
        pages += pages_of(written)
    return pages


def _locked_before(transaction: Transaction, statement: Statement) -> bool:
    for other in transaction.statements:
        if other is statement:
            return False
        if other.locks is statement.locks:
            return True
    return False
