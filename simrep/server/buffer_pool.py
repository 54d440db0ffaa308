"""Pages of data that are kept in memory, and the disk that others are read from."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import lru_cache
from math import log
from typing import Any, Final

from simrep.kernel.arrays import np
from simrep.kernel.clock import Clock, Event
from simrep.kernel.queues import Fifo
from simrep.kernel.streams import Stream

__all__ = ["ROWS_PER_PAGE", "BufferPool", "miss_probability"]

ROWS_PER_PAGE: Final = 65
"""Neighbouring rows on a page: 16 KiB hold so many of 250 bytes (see ``cluster.data_bytes``)."""

_GRID: Final = 4000


class BufferPool:
    """The pages that a server has in memory: one that it needs may have to be read first.

    Each page that is needed is missing with the same probability, whichever others were. A page is
    read by one of a few servers of the disk, first come, first served; the reads of a statement
    follow each other. A page that is read to be changed is written back once, which takes as long
    as a read and competes with the reads, but nobody waits for it.

    Parameters
    ----------
    clock : Clock
    line : Fifo
        The disk: how many requests it works on at a time.
    read_s : float
        How long it takes to read a page, or to write one, in seconds.
    gap : Stream
        How many pages are needed from one that is missing to the next, itself included.
    noise : callable, optional
        Factors of mean 1 by which the time of each read or write differs; none if not given.

    Notes
    -----
    Optimistic: pages that are changed in memory and not evicted (checkpoints), pages of new rows,
    the doublewrite buffer, and pages of indexes above their leaves cost no I/O; the disk of the
    logs is another; no page is found by two threads to be missing. A server that starts again has
    its pages in memory. Pessimistic: no page is read ahead; a long statement needs the
    pages of rows once more that a statement before it has locked.
    """

    __slots__ = ("_clock", "_gap", "_left", "_noise", "_read_s", "line", "written_back")

    def __init__(
        self,
        clock: Clock,
        line: Fifo,
        read_s: float,
        gap: Stream,
        noise: Callable[[], float] | None = None,
    ) -> None:
        self._clock = clock
        self.line = line
        self._read_s = read_s
        self._gap = gap
        self._noise = noise
        self._left = gap()
        self.written_back = 0

    def missing(self, pages: int) -> int:
        """How many of so many pages that are needed now are not in memory."""
        missing = 0
        self._left -= pages
        while self._left <= 0.0:
            self._left += self._gap()
            missing += 1
        return missing

    def read(
        self, pages: int, changed: bool, call: Callable[[Any], object], argument: Any = None
    ) -> None:
        """Read one page or several, one after the other, then ``call(argument)``."""
        end_s = self.line.book(self._io_s())
        if changed:
            self.line.book(self._io_s())
            self.written_back += 1
        if pages <= 1:
            self._clock.at(end_s, call, argument)
        else:
            self._clock.at(end_s, self._next, (pages - 1, changed, call, argument))

    def _io_s(self) -> float:
        return self._read_s if self._noise is None else self._read_s * self._noise()

    def _next(self, rest: tuple[int, bool, Callable[[Any], object], Any]) -> None:
        pages, changed, call, argument = rest
        self.read(pages, changed, call, argument)

    def need(self, pages: int, changed: bool) -> Generator[Event, Any, None]:
        """Wait until so many pages are in memory."""
        if missing := self.missing(pages):
            read = Event(self._clock)
            self.read(missing, changed, self._clock.fire, read)
            yield read


@lru_cache(maxsize=64)
def miss_probability(kept: float, hot: float) -> float:
    """Share of the accesses to pages that a pool with the latest ones has not in memory.

    Parameters
    ----------
    kept : float
        Share of the data that it holds, 0 to 1.
    hot : float
        Skew: the share ``hot`` of the data has ``1 - hot`` of the accesses, and the same holds
        within that share, and so on; 0.5 is even.

    Notes
    -----
    Independent references, and a pool that evicts the page which has not been used for longest:
    a page stays in memory for about the same time after its last use, whichever it is (Che).

    References
    ----------
    J. Gray et al., Quickly generating billion-record synthetic databases, SIGMOD 1994 (self-similar
    distribution). H. Che, Y. Tung and Z. Wang, Hierarchical web caching systems: modeling, design
    and experimental results, IEEE JSAC 20 (2002). S. T. Leutenegger and D. Dias, A modeling study
    of the TPC-C benchmark, SIGMOD 1993: its skew, and the misses of a pool in that order.
    """
    if kept >= 1.0:
        return 0.0
    if kept <= 0.0:
        return 1.0
    power = log(1.0 - hot) / log(hot)  # the share u of the data has u ** power of the accesses
    middle = (np.arange(_GRID) + 0.5) / _GRID
    share, weight = middle**3, 3.0 * middle**2  # of the data; most points are where it is hot
    by_data = power * share ** (power - 1.0)  # accesses to a page there
    accesses = np.minimum((1.0 - 1.0 / power) * np.log(middle), 700.0)
    by_access = power * np.exp(accesses)  # the same, of shares of the accesses
    low, high = -10.0, 60.0  # logarithm of the time that a page stays
    for _ in range(60):
        time = np.exp((low + high) / 2.0)
        if (weight * (1.0 - np.exp(-time * by_data))).mean() < kept:
            low = (low + high) / 2.0
        else:
            high = (low + high) / 2.0
    return float(np.exp(-np.exp(low) * by_access).mean())
