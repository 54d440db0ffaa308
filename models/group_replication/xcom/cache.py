"""XCom's message cache: what members that are behind can still read from others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from .slots import Batch

__all__ = ["MessageCache"]

_MACHINE_BYTES = 200  # of a value, without its payload
_MARK_EVERY = 32  # of so many values where they end is noted, in bytes
_MIN_CACHED = 10  # message numbers that are kept whatever their size


class MessageCache:
    """What one member has learned, up to a number of bytes.

    The server keeps values until they take more than ``message_cache_size``; beyond it, it forgets
    the oldest that all members whom it has heard of lately have delivered. Whether a value would
    be there follows from the bytes since; what nobody can ask for any more is forgotten earlier
    here, which nobody can tell.

    Simplified: empty slots take no space, and what would be forgotten is known to 32 values.

    Parameters
    ----------
    limit_bytes : int

    References
    ----------
    xcom_cache.cc, can_deallocate, shrink_cache; site_def.cc, get_min_delivered_msg.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self.clear()

    def clear(self, begin: int = 0) -> None:
        """Forget everything, as a process does that ends; one that begins knows nothing before."""
        self.begin = begin
        self._values: dict[int, Batch] = {}
        self._order: deque[int] = deque()
        self._bytes = 0
        self._marks: deque[tuple[int, int]] = deque()
        self._until_mark = _MARK_EVERY
        self._kept_for: list[tuple[int, int]] = []
        self.first = 0  # slots below it would be gone

    def keep(self, slot: int, batch: Batch) -> bool:
        """Keep what was learned in a slot; True if it is time to ``forget``."""
        self._values[slot] = batch
        self._order.append(slot)
        self._bytes += batch.size_bytes + _MACHINE_BYTES
        self._until_mark -= 1
        if self._until_mark:
            return False
        self._until_mark = _MARK_EVERY
        self._marks.append((slot, self._bytes))
        return True

    def forget(self, heard: int, needed: int) -> None:
        """Forget what the server would, and what nobody needs.

        Parameters
        ----------
        heard : int
            The slot that all members heard of lately have come to.
        needed : int
            No member of the group will ask for a slot before this one.
        """
        marks = self._marks
        heard -= _MIN_CACHED << 4
        while marks and self._bytes - marks[0][1] > self._limit and marks[0][0] < heard:
            self.first = marks.popleft()[0] + 1
        needed = max(needed, self.first)
        order, values = self._order, self._values
        while order and order[0] < needed:
            slot = order.popleft()
            if slot < self.first or not any(a <= slot < b for a, b in self._kept_for):
                del values[slot]

    def keep_for(self, slots: Iterable[tuple[int, int]]) -> None:
        """Keep slots from the one to the other (excluded) for a member that has been removed."""
        self._kept_for += slots

    def get(self, slot: int) -> Batch | None:
        """What was learned in a slot that has been executed; None if it was left empty."""
        return self._values.get(slot)
