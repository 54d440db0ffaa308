"""Logs as files: what a server has written to them, and the kernel has on the disk.

References
----------
Documentation/admin-guide/sysctl/vm.rst of Linux: dirty_expire_centisecs (3000),
dirty_writeback_centisecs (500).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import ceil, floor
from typing import Any

from simrep.modelling import Clock

__all__ = ["WRITE_BACK_S", "LogFile", "RedoFile"]

_EXPIRE_S = 30.0  # vm.dirty_expire_centisecs: so old must be what the kernel writes back
WRITE_BACK_S = 5.0
"""vm.dirty_writeback_centisecs: so often it looks, in seconds."""


class LogFile:
    """A file that grows: what has been written to it, and is not on the disk yet.

    Parameters
    ----------
    clock : Clock
        Of the kernel.
    phase_s : float
        When the kernel looks first, in seconds.
    """

    def __init__(self, clock: Clock, phase_s: float) -> None:
        self._clock = clock
        self._phase_s = phase_s
        self._items: deque[tuple[float, Any]] = deque()  # not on the disk
        self._before = 0  # how many have been before those

    def __iter__(self) -> Iterator[Any]:
        self._write_back()
        return iter([item for _, item in self._items])

    @property
    def end(self) -> int:
        """How many have been written."""
        return self._before + len(self._items)

    def append(self, item: Any) -> None:
        """Write something behind all that is there."""
        self._write_back()
        self._items.append((self._clock.now, item))

    def synced(self, end: int) -> None:
        """An fsync has ended, which has covered so many."""
        while self._before < end and self._items:
            self._left()

    def lose(self) -> list[Any]:
        """The machine loses power: what is not on the disk is gone."""
        self._write_back()
        lost = [item for _, item in self._items]
        self._before += len(lost)
        self._items.clear()
        return lost

    def _left(self) -> None:
        self._items.popleft()
        self._before += 1

    def _write_back(self) -> None:
        """Follow what the kernel has done meanwhile: it writes a file that was dirty for long."""
        items, now = self._items, self._clock.now
        while items:
            due_s = items[0][0] + _EXPIRE_S
            at_s = self._phase_s + ceil((due_s - self._phase_s) / WRITE_BACK_S) * WRITE_BACK_S
            if at_s > now:
                return
            while items and items[0][0] <= at_s:
                self._left()


class RedoFile(LogFile):
    """The redo log: records of prepares and commits; the last of them are in the log buffer.

    Parameters
    ----------
    clock, phase_s
        See ``LogFile``.
    write_s, flush_s : float
        So often the server writes the log buffer to the file, and the file to the disk, besides
        what commits do.
    """

    def __init__(self, clock: Clock, phase_s: float, write_s: float, flush_s: float) -> None:
        super().__init__(clock, phase_s)
        self._write_s = write_s
        self._flush_s = flush_s
        self._written = 0  # how many are in the file

    def flush_every(self, flush_s: float) -> None:
        """From now on it is flushed so often, besides what commits do."""
        self._write_back()
        self._flush_s = flush_s

    def written(self, end: int) -> None:
        """So many are in the file."""
        self._written = max(self._written, end)

    def lose_buffer(self) -> list[Any]:
        """The process ends: what is not in the file is gone."""
        self._write_back()
        items, written_s = self._items, self._last(self._write_s)
        lost: list[Any] = []
        while items and self.end > self._written and items[-1][0] > written_s:
            lost.append(items.pop()[1])
        self._written = self.end
        return lost[::-1]

    def _last(self, period_s: float) -> float:
        """When it has written or flushed by itself for the last time."""
        turns = floor((self._clock.now - self._phase_s) / period_s)
        return self._phase_s + turns * period_s

    def _write_back(self) -> None:
        items, flushed_s = self._items, self._last(self._flush_s)
        while items and items[0][0] <= flushed_s:
            self._left()
