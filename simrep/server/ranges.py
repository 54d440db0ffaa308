"""Values of ranges of rows: what a statement over millions of neighbouring rows needs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

__all__ = ["Ranges", "points_in"]

V = TypeVar("V")


class Ranges(Generic[V]):
    """Disjoint ranges of rows, each with a value; what is put later replaces what it covers.

    Neighbours with the same value (the same object) grow together, so a scan that advances in
    steps stays one range.

    Attributes
    ----------
    starts : list of int
        Where the ranges begin; empty when there are none, which is cheap to ask.
    """

    __slots__ = ("_ends", "_values", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self._ends: list[int] = []
        self._values: list[V] = []

    def at(self, row: Any) -> V | None:
        """The value at a row; None if no range covers it (or it is not a number)."""
        if not isinstance(row, int):
            return None
        position = bisect_right(self.starts, row) - 1
        if position >= 0 and row < self._ends[position]:
            return self._values[position]
        return None

    def over(self, rows: range) -> Iterator[tuple[range, V]]:
        """Parts of ``rows`` that are covered, in their order, each with its value."""
        low, high = rows.start, rows.stop
        for position in range(max(0, bisect_right(self.starts, low) - 1), len(self.starts)):
            start, end = self.starts[position], self._ends[position]
            if start >= high:
                return
            if end > low:
                yield range(max(start, low), min(end, high)), self._values[position]

    def put(self, rows: range, value: V) -> None:
        """Give all of ``rows`` a value."""
        low, high = rows.start, rows.stop
        if low >= high:
            return
        self._cut(low, high)
        position = bisect_right(self.starts, low)
        before = position - 1
        if before >= 0 and self._ends[before] == low and self._values[before] is value:
            self._ends[before] = high
        else:
            self.starts.insert(position, low)
            self._ends.insert(position, high)
            self._values.insert(position, value)

    def remove(self, unwanted: Callable[[V], bool]) -> list[range]:
        """Forget the ranges with such values; returns them."""
        kept, gone = [], []
        for start, end, value in zip(self.starts, self._ends, self._values, strict=True):
            if unwanted(value):
                gone.append(range(start, end))
            else:
                kept.append((start, end, value))
        self.starts = [start for start, _, _ in kept]
        self._ends = [end for _, end, _ in kept]
        self._values = [value for _, _, value in kept]
        return gone

    def mapped(self, change: Callable[[V], V]) -> Ranges[V]:
        """The same ranges with other values: what ``change(value)`` returns."""
        mapped = self.copy()
        mapped._values = [change(value) for value in self._values]
        return mapped

    def copy(self) -> Ranges[V]:
        """A copy with the same values."""
        copy: Ranges[V] = Ranges()
        copy.starts = self.starts.copy()
        copy._ends = self._ends.copy()
        copy._values = self._values.copy()
        return copy

    @property
    def rows(self) -> int:
        """How many rows are covered."""
        return sum(self._ends) - sum(self.starts) if self.starts else 0

    def __len__(self) -> int:
        """How many ranges there are."""
        return len(self.starts)

    def _cut(self, low: int, high: int) -> None:
        """Take ``low`` to ``high`` out of all ranges."""
        first = max(0, bisect_right(self.starts, low) - 1)
        last = first
        left: list[tuple[int, int, V]] = []
        while last < len(self.starts) and self.starts[last] < high:
            start, end, value = self.starts[last], self._ends[last], self._values[last]
            if start < low:
                left.append((start, min(end, low), value))
            if end > high:
                left.append((max(start, high), end, value))
            last += 1
        self.starts[first:last] = [start for start, _, _ in left]
        self._ends[first:last] = [end for _, end, _ in left]
        self._values[first:last] = [value for _, _, value in left]


def points_in(rows: range, points: Mapping[Any, V]) -> Iterable[tuple[int, V]]:
    """Those of ``points`` that lie in ``rows``, found from the smaller of the two sides."""
    if len(rows) <= len(points):
        for row in rows:
            value = points.get(row)
            if value is not None:
                yield row, value
    else:
        for point, value in points.items():
            if isinstance(point, int) and point in rows:
                yield point, value
