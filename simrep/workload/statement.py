"""One statement of a transaction.

Interpreted in every build: the statements of a test may be objects of its own.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

__all__ = ["Statement"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: what it reads, writes and locks.

    Parameters
    ----------
    rows_read, rows_written : int
        Rows touched.
    locks : tuple of hashable
        Existing rows that it locks for writing. Rows it inserts under fresh keys are not listed:
        nobody else can want them.
    scan : range or None
        Existing neighbouring rows that it locks as it comes to them, too many to list in
        ``locks``.
    pages : int or None
        Pages of data that it needs; None: those of ``rows_read`` and ``locks``, if all of them
        are neighbours.
    """

    rows_read: int = 0
    rows_written: int = 1
    locks: tuple[Hashable, ...] = ()
    scan: range | None = None
    pages: int | None = None
