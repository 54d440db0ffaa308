"""Pages of ``mysql.wsrep_streaming_log``: what removing stored fragments reads from the disk.

A fragment that is longer than half a page has pages of its own. Its transaction fills the buffer
pool with these, with the pages of its rows and with those of their undo log, in turn. When more
than fits has been written, the oldest have left memory. The end of the transaction removes its
fragments in the order of their age, and the server reads each one before it marks it as deleted: a
page that is read evicts the next page in the order of age, so that more must be read than had left.

References
----------
MariaDB ``sql/wsrep_schema.cc``, ``remove_fragment``: a row is looked up by its key and deleted.
InnoDB ``row0sel.cc``: a row is read with its long columns. ``buf0lru.cc``: eviction.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from .options import GaleraCosts
from .writeset import StreamPart

__all__ = ["PAGE_BYTES", "StoredFragments", "pages_of"]

PAGE_BYTES: Final = 16_384
_LONGEST_ROW: Final = 8_126  # a longer one keeps its long columns on pages of their own
_COLUMNS: Final = 80  # of a stored fragment beside itself: node, transaction, number, flags
_PART: Final = 16_330  # of a long column on one page
_FRAMES: Final = 0.99  # of a buffer pool are pages; the rest describes them
_FREE: Final = 1_024  # pages that are kept free for new ones (innodb_lru_scan_depth)

_US: Final = 1e-6


def pages_of(fragment_bytes: int) -> int:
    """Pages of its own that a stored fragment of so many bytes has."""
    if fragment_bytes + _COLUMNS <= _LONGEST_ROW:
        return 0
    return ceil(fragment_bytes / _PART)


class StoredFragments:
    """What it takes a node to remove the stored fragments of a transaction.

    Simplified: the rows of a transaction and their undo log take as many bytes of the buffer pool
    as their row events; nothing else needs it; fragments that share pages are read ahead in time.

    Parameters
    ----------
    pool_bytes : int or None
        Size of the buffer pool; None: nothing leaves it.
    costs : GaleraCosts
    """

    __slots__ = ("_page_read_s", "_pool_pages", "removal_s")

    def __init__(self, pool_bytes: int | None, costs: GaleraCosts) -> None:
        self._pool_pages = (
            None if pool_bytes is None else max(0.0, _FRAMES * pool_bytes / PAGE_BYTES - _FREE)
        )
        self._page_read_s = costs.page_read_us * _US
        self.removal_s = costs.log_removal_us * _US  # CPU for each of them

    def pages_to_read(self, part: StreamPart) -> int:
        """How many pages of fragments before this part have left memory when they are removed."""
        kept, pages = self._pool_pages, part.pages
        if kept is None or not pages:
            return 0
        others = part.other_bytes / PAGE_BYTES
        gone = pages + others - kept
        if gone <= 0.0:
            return 0
        # Of the pages that reads evict, some are of fragments that are still to be read.
        return ceil(pages * min(1.0, gone / others)) if others else pages

    def read_s(self, part: StreamPart) -> float:
        """How long it waits for the disk, one page after the other, in seconds."""
        return self._page_read_s * self.pages_to_read(part)
