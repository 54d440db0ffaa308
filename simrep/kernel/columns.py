"""The few operations on rows of numbers that a run needs, where NumPy is not to be had.

A `Column` behaves as a one-dimensional ``numpy.ndarray`` as far as simulations use one, and the
functions have the names, arguments and results of NumPy's, to the last bit: sums are added in the
same order. Other operations are not there, and an attempt at one is an error.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from itertools import pairwise as _pairwise
from typing import Any, SupportsIndex

__all__ = [
    "Column", "append", "arange", "argmax", "argmin", "array", "asarray", "concatenate",
    "count_nonzero", "cumsum", "diff", "exp", "flatnonzero", "full", "isin", "isnan", "log",
    "maximum", "mean", "minimum", "ones", "pad", "quantile", "searchsorted", "std", "sum", "where",
    "zeros",
]  # fmt: skip

float64 = float
intp = int64 = int32 = int
bool_ = bool
str_ = str


class Column:
    """Numbers (or texts) in a row."""

    __slots__ = ("_items",)
    __hash__ = None  # type: ignore[assignment]
    ndim = 1

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = list(items)

    @property
    def shape(self) -> tuple[int]:
        """How many, as NumPy tells it."""
        return (len(self._items),)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __bool__(self) -> bool:
        raise ValueError("whether a column is true is ambiguous: use any() or all()")

    def __repr__(self) -> str:
        return f"Column({self._items!r})"

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, SupportsIndex):
            return self._items[place]
        if isinstance(place, slice):
            return Column(self._items[place])
        chosen = list(place)
        if chosen and isinstance(chosen[0], bool):
            if len(chosen) != len(self):
                raise IndexError(f"{len(chosen)} flags for {len(self)} items")
            return Column(item for item, keep in zip(self._items, chosen, strict=True) if keep)
        return Column(self._items[one] for one in chosen)

    def __setitem__(self, place: SupportsIndex, value: Any) -> None:
        self._items[place] = value

    def _with(self, other: Any, call: Callable[[Any, Any], Any]) -> Column:
        if isinstance(other, (Column, list, tuple)):
            return Column(call(a, b) for a, b in zip(self._items, other, strict=True))
        return Column(call(a, other) for a in self._items)

    def __add__(self, other: Any) -> Column:
        return self._with(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Column:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Column:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Column:
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Column:
        return self._with(other, operator.truediv)

    def __pow__(self, other: Any) -> Column:
        return self._with(other, operator.pow)

    def __and__(self, other: Any) -> Column:
        return self._with(other, operator.and_)

    def __or__(self, other: Any) -> Column:
        return self._with(other, operator.or_)

    def __neg__(self) -> Column:
        return Column(-item for item in self._items)

    def __invert__(self) -> Column:
        return Column(not item for item in self._items)

    def __eq__(self, other: object) -> Any:
        return self._with(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._with(other, operator.ne)

    def __lt__(self, other: Any) -> Column:
        return self._with(other, operator.lt)

    def __le__(self, other: Any) -> Column:
        return self._with(other, operator.le)

    def __gt__(self, other: Any) -> Column:
        return self._with(other, operator.gt)

    def __ge__(self, other: Any) -> Column:
        return self._with(other, operator.ge)

    def tolist(self) -> list[Any]:
        """The numbers as a list."""
        return list(self._items)

    def round(self, decimals: int = 0) -> Column:
        """Rounded, halves to even ones; floats as before.

        As NumPy does it: scaled, rounded to whole numbers and scaled back.
        """
        scale = float(10**decimals)
        return Column(
            float(round(item * scale)) / scale if math.isfinite(item) else item
            for item in self._items
        )

    def copy(self) -> Column:
        """The same once more."""
        return Column(self._items)

    def astype(self, kind: Callable[[Any], Any]) -> Column:
        """As whole numbers, floats or truth values."""
        return Column(map(kind, self._items))

    def any(self) -> bool:
        """Whether one is true."""
        return any(self._items)

    def all(self) -> bool:
        """Whether all are true."""
        return all(self._items)

    def min(self) -> Any:
        """The least."""
        return min(self._items)

    def max(self, initial: float = -math.inf) -> Any:
        """The greatest, ``initial`` if that is greater or there are none."""
        if not self._items and initial == -math.inf:
            raise ValueError("nothing has no greatest")
        return max((initial, *self._items)) if initial > -math.inf else max(self._items)

    def argmax(self) -> int:
        """Where the first of the greatest stands."""
        return self._items.index(max(self._items))

    def argmin(self) -> int:
        """Where the first of the least stands."""
        return self._items.index(min(self._items))

    def argsort(self, kind: str) -> Column:
        """Where the least stands, the next one, and so on; equal ones in their order."""
        if kind != "stable":
            raise ValueError("only stable sorting is there")
        return Column(sorted(range(len(self)), key=self._items.__getitem__))

    def sum(self) -> Any:
        """The sum, added as NumPy does."""
        if any(isinstance(item, float) for item in self._items):
            return _pairwise_sum(self._items, 0, len(self))
        return _in_turn(self._items) if self._items else 0

    def mean(self) -> float:
        """The mean; NaN of nothing."""
        total = _pairwise_sum([float(item) for item in self._items], 0, len(self))
        return total / len(self) if self._items else math.nan

    def std(self, ddof: int = 0) -> float:
        """The standard deviation."""
        middle = self.mean()
        squares = [(item - middle) * (item - middle) for item in self._items]
        return math.sqrt(_pairwise_sum(squares, 0, len(self)) / (len(self) - ddof))

    def reshape(self, rows: int, width: int) -> _Rows:
        """Rows of equal width, which know their means and no more."""
        if rows * width != len(self):
            raise ValueError(f"{len(self)} items do not make {rows} rows of {width}")
        return _Rows(self._items, width)

    def searchsorted(self, values: Any, side: str = "left") -> Any:
        """Where values would have to be inserted."""
        place = bisect_left if side == "left" else bisect_right
        if isinstance(values, (Column, list, tuple)):
            return Column(place(self._items, value) for value in values)
        return place(self._items, values)


class _Rows:
    def __init__(self, items: list[Any], width: int) -> None:
        self._items, self._width = items, width

    def mean(self, axis: int) -> Column:
        if axis != 1:
            raise ValueError("only rows have means")
        width = self._width
        starts = range(0, len(self._items), width)
        return Column(_pairwise_sum(self._items, at, width) / width for at in starts)


_BLOCK = 128
_LANES = 8


def _pairwise_sum(items: list[float], first: int, count: int) -> float:
    """Eight sums side by side, and halves of more than 128 numbers."""
    if count < _LANES:
        total = -0.0
        for item in items[first : first + count]:
            total += item
        return total + 0.0 if count else 0.0
    if count <= _BLOCK:
        whole = first + count - count % _LANES
        a, b, c, d, e, f, g, h = (
            _in_turn(items[first + lane : whole : _LANES]) for lane in range(_LANES)
        )
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
        for item in items[whole : first + count]:
            total += item
        return total
    half = count // 2
    half -= half % _LANES
    return _pairwise_sum(items, first, half) + _pairwise_sum(items, first + half, count - half)


def _in_turn(items: list[float]) -> float:
    """Newer Pythons correct the error of ``sum``."""
    total = items[0]
    for item in items[1:]:
        total += item
    return total


def exp(value: Any) -> Any:
    """The exponential function of a number, or of each."""
    return math.exp(value) if isinstance(value, float) else Column(map(math.exp, value))


def log(value: Any) -> Any:
    """The natural logarithm likewise."""
    return math.log(value) if isinstance(value, float) else Column(map(math.log, value))


def array(items: Iterable[Any], kind: Callable[[Any], Any] | None = None) -> Column:
    """A new column of these."""
    return Column(items if kind is None else map(kind, items))


asarray = array


def zeros(count: int, kind: Callable[[Any], Any] = float) -> Column:
    """So many zeros."""
    return Column([kind(0)] * count)


def ones(count: int, kind: Callable[[Any], Any] = float) -> Column:
    """So many ones."""
    return Column([kind(1)] * count)


def full(count: int, value: Any) -> Column:
    """The same so many times."""
    return Column([value] * count)


def arange(*bounds: int, dtype: Callable[[Any], Any] = int) -> Column:
    """Whole numbers one after the other."""
    return Column(map(dtype, range(*bounds)))


def append(items: Iterable[Any] | float, more: Iterable[Any] | float) -> Column:
    """The second behind the first."""
    return concatenate([one if isinstance(one, Iterable) else (one,) for one in (items, more)])


def concatenate(parts: Sequence[Iterable[Any]]) -> Column:
    """One behind the other."""
    return Column(item for part in parts for item in part)


def pad(items: Iterable[float], widths: tuple[int, int]) -> Column:
    """Zeros before and behind."""
    before, behind = widths
    return Column([0.0] * before + list(items) + [0.0] * behind)


def where(flags: Iterable[bool], these: Any, those: Any) -> Column:
    """Item by item one or the other."""
    flags = list(flags)
    columns = [one if isinstance(one, Iterable) else [one] * len(flags) for one in (these, those)]
    return Column(a if flag else b for flag, a, b in zip(flags, *columns, strict=True))


def minimum(items: Any, other: Any) -> Column:
    """Item by item the lesser."""
    return Column(items)._with(other, lambda a, b: b if b < a else a)


def maximum(items: Any, other: Any) -> Column:
    """Item by item the greater."""
    return Column(items)._with(other, lambda a, b: b if b > a else a)


def diff(items: Iterable[Any]) -> Column:
    """Differences of neighbours."""
    return Column(b - a for a, b in _pairwise(items))


def cumsum(items: Iterable[Any]) -> Column:
    """Running sums."""
    return Column(accumulate(items))


def isin(items: Iterable[Any], those: Iterable[Any]) -> Column:
    """Whether each is one of those."""
    those = set(those)
    return Column(item in those for item in items)


def isnan(items: Iterable[float]) -> Column:
    """Whether each is no number."""
    return Column(map(math.isnan, items))


def flatnonzero(items: Iterable[Any]) -> Column:
    """Where items are not 0."""
    return Column(place for place, item in enumerate(items) if item)


def count_nonzero(items: Iterable[Any]) -> int:
    """How many are not 0."""
    return len([item for item in items if item])


def argmax(items: Iterable[Any]) -> int:
    """Where the first of the greatest stands."""
    return Column(items).argmax()


def argmin(items: Iterable[Any]) -> int:
    """Where the first of the least stands."""
    return Column(items).argmin()


def searchsorted(items: Iterable[Any], values: Any, side: str = "left") -> Any:
    """Where values would have to be inserted."""
    return Column(items).searchsorted(values, side)


def mean(items: Sequence[Any], axis: int | None = None) -> Any:
    """The mean; of several columns with ``axis`` 0 their mean item by item."""
    if axis is None:
        return Column(items).mean()
    return Column(_in_turn(list(column)) / len(items) for column in zip(*items, strict=True))


def sum(items: Iterable[Any]) -> Any:  # noqa: A001
    """The sum."""
    return Column(items).sum()


def std(items: Iterable[Any], ddof: int = 0) -> float:
    """The standard deviation."""
    return Column(items).std(ddof)


def quantile(items: Iterable[float], share: float) -> float:
    """A quantile, interpolated between neighbours."""
    ordered = sorted(items)
    place = share * (len(ordered) - 1)
    below = int(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    part, step = place - below, high - low
    return high - step * (1.0 - part) if part >= 0.5 else low + step * part


nextafter = math.nextafter
