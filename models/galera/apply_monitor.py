"""What has left a Galera node's pipeline: dependencies to wait for, and reports to the group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .writeset import Ordered

__all__ = ["ApplyMonitor"]

# A report follows more than this many keys or bytes, or this many writesets (certification.hpp).
_KEYS = 1 << 10
_BYTES = 128 << 20
_WRITESETS = 128


class ApplyMonitor:
    """Writesets leave it in any order; what depends on one waits until all up to it have left.

    Parameters
    ----------
    wake : callable
        ``wake(ordered)``: what ``ordered`` depends on has left.
    report : callable
        ``report(seqno)`` tells the group that everything up to ``seqno`` has left.

    Attributes
    ----------
    last_left : int
        Every writeset up to here has left.
    """

    __slots__ = (
        "_asked",
        "_bytes",
        "_keys",
        "_left",
        "_report",
        "_reported",
        "_waiting",
        "_wake",
        "last_left",
    )

    def __init__(self, wake: Callable[[Ordered], object], report: Callable[[int], object]) -> None:
        self._wake = wake
        self._report = report
        self._waiting: dict[int, list[Ordered]] = {}
        self._asked: dict[int, list[tuple[Callable[[Any], object], Any]]] = {}
        self._left: dict[int, Ordered] = {}
        self._keys = self._bytes = self._reported = 0
        self.last_left = 0

    def may_enter(self, ordered: Ordered) -> bool:
        """Whether it may be applied now; if not, ``wake(ordered)`` follows."""
        if ordered.depends <= self.last_left:
            return True
        self._waiting.setdefault(ordered.depends, []).append(ordered)
        return False

    def when_left(self, seqno: int, call: Callable[[Any], object], argument: Any) -> None:
        """``call(argument)`` when everything up to ``seqno`` has left."""
        if seqno <= self.last_left:
            call(argument)
        else:
            self._asked.setdefault(seqno, []).append((call, argument))

    def start_after(self, seqno: int) -> None:
        """Begin from a state that holds everything up to ``seqno``."""
        self.last_left = self._reported = seqno

    def leave(self, ordered: Ordered) -> None:
        """It is committed, or has failed certification."""
        seqno = ordered.seqno
        if seqno != self.last_left + 1:
            self._left[seqno] = ordered
            return
        while True:
            self.last_left = seqno
            writeset = ordered.writeset
            self._keys += writeset.key_count
            self._bytes += writeset.size_bytes
            if seqno - self._reported >= _WRITESETS or self._keys > _KEYS or self._bytes > _BYTES:
                self._keys = self._bytes = 0
                self._reported = seqno
                self._report(seqno)
            if self._waiting:
                for dependent in self._waiting.pop(seqno, ()):
                    self._wake(dependent)
            if self._asked:
                for call, argument in self._asked.pop(seqno, ()):
                    call(argument)
            if seqno + 1 not in self._left:
                return
            seqno += 1
            ordered = self._left.pop(seqno)
