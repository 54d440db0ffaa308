"""What was noted last for every row, whether it was listed or came in a range."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from simrep.modelling import Ranges, points_in

__all__ = ["Latest"]

V = TypeVar("V")


class Latest(Generic[V]):
    """The latest value of every row.

    Rows that come in a range cost as much as one. A row that is listed later lies above its
    range, so that the range is not cut to pieces; a range that comes later takes the place of the
    rows that were listed before it.
    """

    __slots__ = ("_above", "points", "ranges")

    def __init__(self) -> None:
        self.points: dict[Hashable, V] = {}  # rows that were listed: without ranges, all there are
        self.ranges: Ranges[V] = Ranges()
        self._above = 0  # points that lie above a range

    def of(self, keys: Iterable[Hashable], ranges: Iterable[range]) -> Iterator[V]:
        """The values of all these rows, of each at least once.

        For a range, the value below a row that was listed later may be among them, too.
        """
        points, below = self.points, self.ranges
        for key in keys:
            value = points.get(key)
            if value is None:
                value = below.at(key)
            if value is not None:
                yield value
        for rows in ranges:
            for _, value in points_in(rows, points):
                yield value
            for _, value in below.over(rows):
                yield value

    def note(self, keys: Iterable[Hashable], ranges: Iterable[range], value: V) -> None:
        """Give all these rows a value."""
        points, below = self.points, self.ranges
        for rows in ranges:
            for row, _ in list(points_in(rows, points)):
                del points[row]
                self._above -= below.at(row) is not None
            below.put(rows, value)
        for key in keys:
            if key not in points:
                self._above += below.at(key) is not None
            points[key] = value

    def remove(self, unwanted: Callable[[V], bool]) -> None:
        """Forget rows by their value; what lies below an unwanted row must be unwanted, too."""
        self.points = {key: value for key, value in self.points.items() if not unwanted(value)}
        if self.ranges.starts:
            self.ranges.remove(unwanted)
            self._above = sum(self.ranges.at(key) is not None for key in self.points)

    def mapped(self, change: Callable[[V], V]) -> Latest[V]:
        """The same rows with other values: what ``change(value)`` returns."""
        mapped: Latest[V] = Latest()
        mapped.points = {key: change(value) for key, value in self.points.items()}
        mapped.ranges = self.ranges.mapped(change)
        mapped._above = self._above
        return mapped

    def clear(self) -> None:
        """Forget everything."""
        self.points.clear()
        self.ranges = Ranges()
        self._above = 0

    def __len__(self) -> int:
        """How many rows have a value."""
        if not self.ranges.starts:
            return len(self.points)
        return len(self.points) + self.ranges.rows - self._above
