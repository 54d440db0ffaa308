"""Latencies, and other numbers, of any number of transactions in a fixed amount of memory."""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, repeat
from math import fsum, inf, isfinite, nan, sqrt
from operator import rshift

from simrep.kernel.arrays import NDArray, np

__all__ = ["BLOCK", "LatencyHistogram", "Moments"]

# A bucket is named by the leading bits of its values: the exponent and the first 9 bits of the
# mantissa of an IEEE 754 double. That makes 512 buckets per factor of two, each at most
# 1/512 = 0.195 % wide, and needs no logarithm, so counts are equal on every platform.
_SHIFT = 52 - 9
_LOWEST_S = 2.0**-20  # 0.95 us; anything shorter is counted in the first bucket
_FIRST: int = struct.unpack("=q", struct.pack("=d", _LOWEST_S))[0] >> _SHIFT
BLOCK = 8192
"""So many values are sorted into the buckets at a time; sums are rounded once for each block."""


class LatencyHistogram:
    """Counts in buckets of a constant relative width, with exact sums and extremes.

    Adding a value costs a list append; full blocks are sorted into buckets. From 1 us to an
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
        self._used = array("i")  # numbers of buckets, in order
        self._counts = array("q")  # of each of these
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
            self._take_in(dict(zip(other._used, other._counts, strict=True)))
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
        values = self._buffer
        low, high = min(values), max(values)
        # fsum rounds once, so sums depend neither on the order of a block nor on vector units.
        total = fsum(values) if -inf < low and high < inf else nan
        if not (low >= 0.0 and isfinite(total)):  # min and max may pass over NaN
            bad = next(value for value in values if not 0.0 <= value < inf)
            raise ValueError(f"a latency must be a finite number of seconds >= 0, given {bad}")
        bits = memoryview(array("d", values)).cast("B").cast("q").tolist()
        self._take_in(Counter(map(rshift, bits, repeat(_SHIFT))), _FIRST)
        self._sum += total
        self._min = min(self._min, low)
        self._max = max(self._max, high)
        self._count += len(values)
        values.clear()

    def _take_in(self, counts: Mapping[int, int], first: int = 0) -> None:
        """Add counts by bucket, of which ``first`` is the first and takes what is below it."""
        total = dict(zip(self._used, self._counts, strict=True))
        for bucket, count in counts.items():
            place = bucket - first if bucket > first else 0
            total[place] = total.get(place, 0) + count
        used = sorted(total)
        self._used = array("i", used)
        self._counts = array("q", [total[bucket] for bucket in used])

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
        upto = list(accumulate(self._counts))
        place = bisect_right(upto, rank)
        bucket, inside = self._used[place], self._counts[place]
        position = rank - upto[place] + inside + 0.5
        low, high = _edges((bucket, bucket + 1))
        value = low + position / inside * (high - low)
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
        return np.array(_edges(self._used)), np.array(self._counts, np.int64)

    def cdf(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Points of the cumulative distribution: seconds, and the fraction not above them."""
        self._fold()
        if not self._count:
            return np.zeros(0), np.zeros(0)
        upper = _edges([bucket + 1 for bucket in self._used])
        seconds = [self._min, *(min(edge, self._max) for edge in upper)]
        shares = [0.0, *(upto / self._count for upto in accumulate(self._counts))]
        return np.array(seconds), np.array(shares)

    def __repr__(self) -> str:
        return f"LatencyHistogram(count={self.count}, mean_s={self.mean_s:.4g})"


def _edges(buckets: Sequence[int]) -> list[float]:
    """Lower edges in seconds of buckets given by number."""
    bits = array("q", [(bucket + _FIRST) << _SHIFT for bucket in buckets])
    return list(struct.unpack(f"={len(bits)}d", bits))


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
