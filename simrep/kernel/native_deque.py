"""The queue of a compiled simrep: ``collections.deque`` would be called by way of Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic, TypeVar

__all__ = ["Deque"]

T = TypeVar("T")

_MOST_GONE: Final = 64  # places at the front that are kept although nothing is there any more


class Deque(Generic[T]):
    """What simrep needs of a ``collections.deque``."""

    __slots__ = ("_first", "_items")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: list[Any] = list(items)
        self._first = 0  # its place in the list

    def append(self, item: T) -> None:
        """Add one to the right end."""
        self._items.append(item)

    def appendleft(self, item: T) -> None:
        """Add one to the left end."""
        if self._first > 0:
            self._first -= 1
            self._items[self._first] = item
        else:
            self._items.insert(0, item)

    def extend(self, items: Iterable[T]) -> None:
        """Add several to the right end."""
        self._items.extend(items)

    def __iadd__(self, items: Iterable[T]) -> Deque[T]:
        self._items.extend(items)
        return self

    def popleft(self) -> T:
        """Take that at the left end."""
        items, first = self._items, self._first
        if first >= len(items):
            raise IndexError("pop from an empty deque")
        item: T = items[first]
        first += 1
        if first == len(items):
            items.clear()
            first = 0
        elif first > _MOST_GONE and 2 * first > len(items):
            del items[:first]
            first = 0
        else:
            items[first - 1] = None
        self._first = first
        return item

    def pop(self) -> T:
        """Take that at the right end."""
        if len(self._items) <= self._first:
            raise IndexError("pop from an empty deque")
        item: T = self._items.pop()
        return item

    def clear(self) -> None:
        """Take all."""
        self._items.clear()
        self._first = 0

    def copy(self) -> Deque[T]:
        """Another one with the same items."""
        return Deque(self._items[self._first :])

    def remove(self, item: T) -> None:
        """Take the first that is equal."""
        del self._items[self._items.index(item, self._first)]

    def __len__(self) -> int:
        return len(self._items) - self._first

    def __bool__(self) -> bool:
        return len(self._items) > self._first

    def __getitem__(self, place: int) -> T:
        item: T
        if place >= 0:
            item = self._items[self._first + place]
        elif place < self._first - len(self._items):
            raise IndexError("deque index out of range")
        else:
            item = self._items[place]
        return item

    def __contains__(self, item: object) -> bool:
        return item in self._items[self._first :]

    def __iter__(self) -> Iterator[T]:
        return iter(self._items[self._first :])

    def __reversed__(self) -> Iterator[T]:
        items: list[T] = self._items[self._first :]
        return reversed(items)
