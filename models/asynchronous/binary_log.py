"""The binary log of a server as a file: it outlasts the process that writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from simrep.models.mysql.server import BinlogTransaction

__all__ = ["BinaryLog", "Line"]


class Line:
    """One history of transactions, by position from 1 on; others may fork from it.

    Servers have the same transactions up to the position at which their lines fork. That is what
    their sets of GTIDs tell each other.

    Parameters
    ----------
    origin : Line, optional
        What it forks from.
    fork : int
        Up to this position it has all of that.
    """

    def __init__(self, origin: Line | None = None, fork: int = 0) -> None:
        self.origin = origin
        self.fork = fork
        self._released: int = 0 if origin is None else origin._released
        self._entries: list[BinlogTransaction] = []
        if origin is not None:
            self._entries = origin._entries[: fork - origin._released]

    @property
    def end(self) -> int:
        """Position of the last transaction."""
        return self._released + len(self._entries)

    def append(self, written: BinlogTransaction) -> None:
        """Go on with a transaction, which has its position."""
        self._entries.append(written)

    def __getitem__(self, position: int) -> BinlogTransaction:
        return self._entries[position - self._released - 1]

    def between(self, after: int, last: int) -> Sequence[BinlogTransaction]:
        """Those behind a position, up to another one."""
        return self._entries[after - self._released : last - self._released]

    def shared(self, other: Line) -> float:
        """Up to which position it is the same as another one; infinite: it is that."""
        lengths = dict(self._origins())
        return max(
            (min(lengths[line], length) for line, length in other._origins() if line in lengths),
            default=0,
        )

    def _origins(self) -> Iterator[tuple[Line, float]]:
        """It, and all lines that it comes from, each with how much of it that is."""
        line: Line | None = self
        length = inf
        while line is not None:
            yield line, length
            length = min(length, line.fork)
            line = line.origin

    def release(self, position: float) -> None:
        """Nobody reads up to this position any more."""
        if position > self._released:
            last = min(int(position), self.end) if position < inf else self.end
            del self._entries[: last - self._released]
            self._released = last


class BinaryLog:
    """What is in the binary log of one server.

    Attributes
    ----------
    line : Line
        The history that it is part of.
    end : int
        Position of the last transaction.
    readable : int
        Up to here dump threads may read; with ``sync_binlog = 1`` that is on the disk.
    uncommitted : dict
        By position, those that the storage engine has not committed.
    extras : list
        What is in the file, and of another line: errant transactions.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        self.extras: list[BinlogTransaction] = []
        self.end = self.readable = 0
        self.uncommitted: dict[int, BinlogTransaction] = {}

    def __getitem__(self, position: int) -> BinlogTransaction:
        return self.line[position]

    def append(self, written: BinlogTransaction) -> None:
        """Write a transaction of a client at the end."""
        self.line.append(written)
        self.end = written.seqno
        self.uncommitted[written.seqno] = written

    def applied(self, line: Line, position: int) -> None:
        """A replica has committed everything up to a position of a line."""
        self.line = line
        self.end = self.readable = position

    def fork(self) -> None:
        """Go on alone from its end."""
        self.line = Line(self.line, self.end)

    def cut(self) -> None:
        """Lose what dump threads could not read yet: it was not on the disk."""
        for position in range(self.readable + 1, self.end + 1):
            del self.uncommitted[position]
        self.end = self.readable
        self.fork()

    def recover(self) -> Sequence[BinlogTransaction]:
        """Let the storage engine commit all that is in the file, and tell which it had not."""
        recovered = list(self.uncommitted.values())
        self.uncommitted.clear()
        self.readable = self.end
        return recovered
