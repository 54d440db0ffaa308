"""The binary log of a source as a file: it outlasts the process that writes it."""

from __future__ import annotations

from collections.abc import Sequence

from simrep.models.mysql.server import BinlogTransaction

__all__ = ["BinaryLog"]


class BinaryLog:
    """What is in the binary log, by position from 1 on.

    Attributes
    ----------
    end : int
        Position of the last transaction.
    readable : int
        Up to here dump threads may read; with ``sync_binlog = 1`` that is on the disk.
    uncommitted : dict
        By position, those that the storage engine has not committed.
    """

    def __init__(self) -> None:
        self._entries: list[BinlogTransaction] = []
        self._released = 0
        self.end = self.readable = 0
        self.uncommitted: dict[int, BinlogTransaction] = {}

    def append(self, written: BinlogTransaction) -> None:
        """Write a transaction at the end."""
        self._entries.append(written)
        self.end = written.seqno
        self.uncommitted[written.seqno] = written

    def __getitem__(self, position: int) -> BinlogTransaction:
        return self._entries[position - self._released - 1]

    def between(self, after: int, last: int) -> Sequence[BinlogTransaction]:
        """Those behind a position, up to another one."""
        return self._entries[after - self._released : last - self._released]

    def cut(self) -> None:
        """Lose what dump threads could not read yet: it was not on the disk."""
        for position in range(self.readable + 1, self.end + 1):
            del self.uncommitted[position]
        del self._entries[self.readable - self._released :]
        self.end = self.readable

    def recover(self) -> Sequence[BinlogTransaction]:
        """Let the storage engine commit all that is in the file, and tell which it had not."""
        recovered = list(self.uncommitted.values())
        self.uncommitted.clear()
        self.readable = self.end
        return recovered

    def release(self, position: int) -> None:
        """Nobody reads up to this position any more."""
        if position > self._released:
            del self._entries[: position - self._released]
            self._released = position
