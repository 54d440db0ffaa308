"""The binary log cache of a transaction that becomes too large for it (``max_binlog_cache_size``).

What a transaction writes is kept until its commit: in memory up to ``binlog_cache_size`` (32 KB),
then in a temporary file. The file costs a copy per byte, which no commit waits for, and is never
synced; both ways are part of what a row costs to write (``row_us``) and of what a byte costs in the
binary log (``binlog_byte_ns``). So only the limit is modelled.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from math import floor
from typing import Any

from simpy.events import Event

from simrep.modelling import OpenTransaction, Transaction

__all__ = ["FullCache"]

# As MySQL and MariaDB number it (ER_TRANS_CACHE_FULL).
_CACHE_FULL = "1197 more than max_binlog_cache_size bytes of storage required"


class FullCache:
    """Follows a transaction up to the row that does not fit, where it fails (see ``Streaming``).

    Parameters
    ----------
    transaction : Transaction
        One whose row events are larger than the limit.
    owner : OpenTransaction
    most_bytes : int
        ``max_binlog_cache_size``.
    """

    def __init__(self, transaction: Transaction, owner: OpenTransaction, most_bytes: int) -> None:
        self._owner = owner
        self._left = floor(most_bytes * transaction.rows / transaction.size_bytes) + 1

    def room(self) -> int:
        """See ``Streaming.room``: rows up to the one that does not fit."""
        return max(1, self._left)

    def written(self, rows: int, locked: Sequence[Hashable]) -> bool:
        """See ``Streaming.written``."""
        self._left -= rows
        return self._left <= 0

    def statement_ended(self) -> bool:
        """See ``Streaming.statement_ended``: nothing is replicated before the commit."""
        return False

    def replicate(self) -> Generator[Event, Any, bool]:
        """See ``Streaming.replicate``: it has to roll back."""
        yield from ()  # a generator like those that do replicate
        self._owner.error = _CACHE_FULL
        return False

    def rolled_back(self) -> None:
        """See ``Streaming.rolled_back``: nobody else knows of it."""
