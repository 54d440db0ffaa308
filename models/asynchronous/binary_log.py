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
    reuses : bool
        Its server has lost what came behind: it gives the numbers once more.
    """

    def __init__(self, origin: Line | None = None, fork: int = 0, *, reuses: bool = False) -> None:
        self.origin = origin
        self.fork = fork
        self.reuses = reuses
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
        assert written.seqno == self.end + 1
        self._entries.append(written)

    def __getitem__(self, position: int) -> BinlogTransaction:
        assert position > self._released
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

    def confused(self, other: Line) -> bool:
        """Whether what another one has of its own has the numbers of what this one has."""
        line: Line | None = self
        while line is not None and line is not other:
            if line.reuses and line.fork == self.shared(other):
                return True
            line = line.origin
        return False

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
    purged : int
        Up to here it lacks some.
    extras : list
        What is in the file, and of another line: errant transactions.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        self.extras: list[BinlogTransaction] = []
        self.end = self.readable = self.purged = 0

    def __getitem__(self, position: int) -> BinlogTransaction:
        return self.line[position]

    def append(self, written: BinlogTransaction) -> None:
        """Write a transaction of a client at the end."""
        self.line.append(written)
        self.end = written.seqno

    def applied(self, line: Line, position: int) -> None:
        """A replica has committed everything up to a position of a line."""
        self.line = line
        self.end = self.readable = position

    def fork(self) -> None:
        """Go on alone from its end."""
        self.line = Line(self.line, self.end)

    def cut(self, end: int, purged: int = 0) -> None:
        """Lose all behind a position, and some up to another one, which the server still has."""
        self.purged = max(self.purged, purged)
        if end < self.end:
            self.end = end
            self.line = Line(self.line, end, reuses=True)

    def open(self) -> None:
        """Have all that is in the file be read."""
        self.readable = self.end
