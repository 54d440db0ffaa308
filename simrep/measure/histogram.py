"""Latencies, and other numbers, of any number of transactions in a fixed amount of memory."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, inf, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "LatencyHistogram", "Moments"]

# A bucket is named by the leading bits of its values: the exponent and the first 9 bits of the
# mantissa of an IEEE 754 double. That makes 512 buckets per factor of two, each at most
# 1/512 = 0.195 % wide, and needs no logarithm, so counts are equal on every platform.
_SHIFT = 52 - 9
_LOWEST_S = 2.0**-20  # 0.95 us; anything shorter is counted in the first bucket
_FIRST = int(np.float64(_LOWEST_S).view(np.int64)) >> _SHIFT
BLOCK = 8192
"""So many values are sorted into the buckets at a time; sums are rounded once for each block."""


class LatencyHistogram:
    """Counts in buckets of a constant relative width, with exact sums and extremes.

    Adding a value costs a list append; NumPy sorts full blocks into buckets. From 1 us to an
    hour there are at most 16,400 buckets; those that hold anything take 12 bytes each, and one
    block of values is kept beside them.

    Notes
    -----
    Percentiles are within 0.2 % of those of the full sample; count, sum, minimum and maximum
    are those of the full sample.

    References
    ----------
    The layout is that of HdrHistogram (G. Tene, http://hdrhistogram.org): linear buckets inside
    each power of two.
    """

    __slots__ = ("_buffer", "_count", "_counts", "_max", "_min", "_sum", "_used")

    def __init__(self, values: Iterable[float] = ()) -> None:
        self._buffer: list[float] = []
        self._used: NDArray[np.int32] = np.zeros(0, np.int32)  # numbers of buckets, in order
        self._counts: NDArray[np.int64] = np.zeros(0, np.int64)  # of each of these
        self._count = 0
        self._sum = 0.0
        self._min = inf
        self._max = -inf
        for value in values:
            self.add(value)

    def add(self, seconds: float) -> None:
        """Count one latency, in seconds."""
        buffer = self._buffer
        buffer.append(seconds)
        if len(buffer) >= BLOCK:
            self._fold()

    def extend(self, seconds: Iterable[float]) -> None:
        """Count up to a block of latencies, in seconds."""
        self._buffer.extend(seconds)
        if len(self._buffer) >= BLOCK:
            self._fold()

    def merge(self, other: LatencyHistogram) -> None:
        """Count everything that ``other`` has counted; ``other`` stays as it is."""
        other._fold()
        self._fold()
        if other._count == 0:
            return
        if self._count:
            counts = np.zeros(max(self._used[-1], other._used[-1]) + 1, np.int64)
            counts[other._used] = other._counts
            self._take_in(counts)
        else:
            self._used, self._counts = other._used, other._counts
        self._count += other._count
        self._sum += other._sum
        self._min = min(self._min, other._min)
        self._max = max(self._max, other._max)

    @classmethod
    def merged(cls, histograms: Iterable[LatencyHistogram]) -> LatencyHistogram:
        """A new histogram of everything in ``histograms``."""
        total = cls()
        for histogram in histograms:
            total.merge(histogram)
        return total

    def _fold(self) -> None:
        """Sort the buffered values into the buckets."""
        if not self._buffer:
            return
        values = np.array(self._buffer, dtype=np.float64)
        low, high = float(values.min()), float(values.max())
        if not (low >= 0.0 and high < inf):  # also true for NaN, which compares false
            bad = next(value for value in self._buffer if not 0.0 <= value < inf)
            raise ValueError(f"a latency must be a finite number of seconds >= 0, given {bad}")
        bucket = (np.maximum(values, _LOWEST_S).view(np.int64) >> _SHIFT) - _FIRST
        least = int(self._used[-1]) + 1 if self._count else 0
        self._take_in(np.bincount(bucket, minlength=least))
        # fsum rounds once, so sums depend neither on the order of a block nor on vector units.
        self._sum += fsum(self._buffer)
        self._min = min(self._min, low)
        self._max = max(self._max, high)
        self._count += len(self._buffer)
        self._buffer.clear()

    def _take_in(self, counts: NDArray[np.int64]) -> None:
        """Add counts of all buckets, as many as there are used ones at least."""
        counts[self._used] += self._counts
        self._used = np.flatnonzero(counts).astype(np.int32)
        self._counts = counts[self._used]

    @property
    def count(self) -> int:
        """Number of values."""
        return self._count + len(self._buffer)

    def __len__(self) -> int:
        return self.count

    @property
    def sum_s(self) -> float:
        """Sum in seconds."""
        self._fold()
        return self._sum

    @property
    def max_s(self) -> float:
        """Longest latency in seconds, NaN when empty."""
        self._fold()
        return self._max if self._count else nan

    @property
    def mean_s(self) -> float:
        """Mean in seconds, NaN when empty."""
        self._fold()
        return self._sum / self._count if self._count else nan

    def percentile(self, q: float) -> float:
        """The latency in seconds that ``q`` percent of the values do not exceed; NaN when empty.

        Ranks are interpolated as :func:`numpy.percentile` does by default; the values of one
        bucket are taken as evenly spread over it. 0 and 100 give the exact extremes.
        """
        if not 0.0 <= q <= 100.0:
            raise ValueError(f"a percentile lies between 0 and 100, given {q}")
        self._fold()
        if not self._count:
            return nan
        rank = q / 100.0 * (self._count - 1)
        below = int(rank)
        value = self._at_rank(below)
        if rank > below:
            value += (rank - below) * (self._at_rank(below + 1) - value)
        return value

    def _at_rank(self, rank: int) -> float:
        """The value with ``rank`` values before it, as far as the buckets tell."""
        if rank == 0:
            return self._min
        if rank == self._count - 1:
            return self._max
        upto = np.cumsum(self._counts)
        place = int(np.searchsorted(upto, rank, side="right"))
        bucket, inside = int(self._used[place]), int(self._counts[place])
        position = rank - int(upto[place]) + inside + 0.5
        edges = _edges(np.array((bucket, bucket + 1)))
        value = float(edges[0] + position / inside * (edges[1] - edges[0]))
        return min(max(value, self._min), self._max)

    def figures(self) -> dict[str, float]:
        """Mean, 50th, 95th and 99th percentile and maximum in seconds."""
        return {
            "mean": self.mean_s,
            "p50": self.percentile(50),
            "p95": self.percentile(95),
            "p99": self.percentile(99),
            "max": self.max_s,
        }

    def buckets(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Lower edges in seconds and counts of the buckets that hold anything."""
        self._fold()
        return _edges(self._used), self._counts.copy()

    def cdf(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Points of the cumulative distribution: seconds, and the fraction not above them."""
        self._fold()
        if not self._count:
            return np.zeros(0), np.zeros(0)
        seconds = np.concatenate(([self._min], np.minimum(_edges(self._used + 1), self._max)))
        fraction = np.concatenate(([0.0], np.cumsum(self._counts) / self._count))
        return seconds, fraction

    def __repr__(self) -> str:
        return f"LatencyHistogram(count={self.count}, mean_s={self.mean_s:.4g})"


def _edges(bucket: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Lower edges in seconds of buckets given by number."""
    return ((bucket.astype(np.int64) + _FIRST) << _SHIFT).view(np.float64)


class Moments:
    """Running moments by plain sums of the values and of their squares."""

    __slots__ = ("_squares", "_sum", "count", "maximum", "minimum")

    def __init__(self) -> None:
        self.count = 0
        self.minimum = inf
        self.maximum = -inf
        self._sum = 0.0
        self._squares = 0.0

    def add(self, value: float) -> None:
        """Count one more value."""
        self.count += 1
        self._sum += value
        self._squares += value * value
        if value < self.minimum:
            self.minimum = value
        if value > self.maximum:
            self.maximum = value

    @property
    def total(self) -> float:
        """The sum of all values."""
        return self._sum

    @property
    def mean(self) -> float:
        """The mean, 0 if there is no value."""
        return self._sum / self.count if self.count else 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation (population), 0 if there is no value."""
        if not self.count:
            return 0.0
        return sqrt(max(0.0, self._squares / self.count - self.mean**2))
