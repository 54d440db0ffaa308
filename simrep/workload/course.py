"""Load that varies: a rate, or a number of clients, over simulated time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import count, pairwise
from math import cos, inf, pi, sin

__all__ = ["Burst", "Course", "Wave"]

_PER_PERIOD = 128  # straight lines that stand for a period of a wave where clients are counted


@dataclass(frozen=True, slots=True)
class Wave:
    """Ups and downs around a level: it is multiplied with ``1 + amplitude * cos(...)``.

    Attributes
    ----------
    period_s : float
        From peak to peak in seconds.
    amplitude : float
        Above 0, at most 1: share of the level by which the peak lies above it.
    peak_s : float
        Time of a peak in simulated seconds.
    """

    period_s: float
    amplitude: float
    peak_s: float

    def factor(self, at_s: float) -> float:
        """What the level is multiplied with at a time."""
        return 1.0 + self.amplitude * cos(2.0 * pi * (at_s - self.peak_s) / self.period_s)


@dataclass(frozen=True, slots=True)
class Burst:
    """A while in which the level is multiplied; times in simulated seconds.

    Attributes
    ----------
    at_s, for_s : float
        Its begin and its length.
    factor : float
    every_s : float or None
        It begins again after so long, endlessly; None: it comes once.
    name : str
    """

    at_s: float
    for_s: float
    factor: float
    every_s: float | None = None
    name: str = "burst"

    def edges(self) -> Iterator[float]:
        """Begins and ends in the order of time."""
        for number in count():
            begin_s = self.at_s + number * (self.every_s or 0.0)
            yield begin_s
            yield begin_s + self.for_s
            if self.every_s is None:
                return

    def holds(self, at_s: float) -> bool:
        """Whether it is under way at a time."""
        since_s = at_s - self.at_s
        if self.every_s is not None and since_s >= 0.0:
            since_s %= self.every_s
        return 0.0 <= since_s < self.for_s


@dataclass(frozen=True, slots=True)
class _Piece:
    """A time without a step: a straight line between two levels, and a wave on it."""

    from_s: float
    to_s: float
    low: float  # level at the begin
    high: float  # level at the end
    wave: Wave | None

    def level(self, at_s: float) -> float:
        if self.high == self.low:  # it may last for ever
            level = self.low
        else:
            share = (at_s - self.from_s) / (self.to_s - self.from_s)
            level = self.low + share * (self.high - self.low)
        return level if self.wave is None else level * self.wave.factor(at_s)

    @property
    def most(self) -> float:
        """No level in it is higher."""
        top = max(self.low, self.high)
        return top if self.wave is None else top * (1.0 + self.wave.amplitude)

    @property
    def flat(self) -> bool:
        return self.wave is None and self.high == self.low

    def integral(self, from_s: float, to_s: float) -> float:
        """Of the level over a part of it."""
        length = to_s - from_s
        slope = 0.0 if self.high == self.low else (self.high - self.low) / (self.to_s - self.from_s)
        first = self.low + slope * (from_s - self.from_s) if slope else self.low
        last = first + slope * length
        area = 0.5 * (first + last) * length
        if self.wave is None:
            return area
        turn = 2.0 * pi / self.wave.period_s
        begin, end = (turn * (at_s - self.wave.peak_s) for at_s in (from_s, to_s))
        swing = (last * sin(end) - first * sin(begin)) / turn
        swing += slope * (cos(end) - cos(begin)) / turn**2
        return area + self.wave.amplitude * swing


@dataclass(frozen=True, slots=True)
class Course:
    """A level over simulated time: straight lines, a wave on them, and bursts.

    Attributes
    ----------
    knots : tuple of (float, float)
        Times in seconds and levels, in the order of time; two at one time are a step. Before the
        first and after the last the level stays.
    wave : Wave or None
    bursts : tuple of Burst
    phases : tuple of (float, str)
        Begins of parts that have a name.
    """

    knots: tuple[tuple[float, float], ...]
    wave: Wave | None = None
    bursts: tuple[Burst, ...] = ()
    phases: tuple[tuple[float, str], ...] = ()

    @property
    def peak(self) -> float:
        """No level is higher."""
        top = max(level for _, level in self.knots)
        if self.wave is not None:
            top *= 1.0 + self.wave.amplitude
        for burst in self.bursts:
            top *= max(1.0, burst.factor)
        return top

    def _pieces(self) -> Iterator[_Piece]:
        """Everything from 0 on, in the order of time; the last piece may have no end."""
        begin_s = 0.0
        last_s, last = self.knots[-1]
        edges = [burst.edges() for burst in self.bursts]
        for edge_s in merge([at_s for at_s, _ in self.knots], *edges):
            if edge_s > begin_s:
                yield self._piece(begin_s, edge_s)
                begin_s = edge_s
                if edge_s >= last_s and last == 0.0:
                    break
        yield self._piece(begin_s, inf)

    def _piece(self, from_s: float, to_s: float) -> _Piece:
        middle_s = from_s + 1.0 if to_s == inf else 0.5 * (from_s + to_s)
        factor = 1.0
        for burst in self.bursts:
            if burst.holds(middle_s):
                factor *= burst.factor
        position = bisect_right(self.knots, middle_s, key=lambda knot: knot[0])
        if position in {0, len(self.knots)}:
            low = high = self.knots[min(position, len(self.knots) - 1)][1]
        else:
            (left_s, left), (right_s, right) = self.knots[position - 1 : position + 1]
            low, high = (
                left + (right - left) * (at_s - left_s) / (right_s - left_s)
                for at_s in (from_s, to_s)
            )
        return _Piece(from_s, to_s, factor * low, factor * high, self.wave)

    def means(self, edges_s: Sequence[float]) -> list[float]:
        """Mean levels between neighbouring times in seconds, which never go back."""
        areas = [0.0] * (len(edges_s) - 1)
        position = 0
        for piece in self._pieces():
            while position < len(areas) and edges_s[position] < piece.to_s:
                begin_s = max(edges_s[position], piece.from_s)
                areas[position] += piece.integral(begin_s, min(edges_s[position + 1], piece.to_s))
                if edges_s[position + 1] > piece.to_s:
                    break  # the next piece goes on with it
                position += 1
            if position == len(areas):
                break
        lengths = [end_s - begin_s for begin_s, end_s in pairwise(edges_s)]
        return [
            area / length if length else 0.0 for area, length in zip(areas, lengths, strict=True)
        ]

    def arrivals(self, unit: Callable[[], float], chance: Callable[[], float]) -> Iterator[float]:
        """Times of a Poisson stream whose rate is the level, in simulated seconds.

        Each piece is thinned from a stream of its highest rate, so that the rate is met exactly.

        Parameters
        ----------
        unit, chance : callable
            Exponential numbers of mean 1, and uniform ones from 0 to 1.

        References
        ----------
        P. A. W. Lewis, G. S. Shedler: Simulation of nonhomogeneous Poisson processes by thinning.
        Naval Research Logistics Quarterly 26 (1979), 403-413, doi:10.1002/nav.3800260304.
        """
        rest = unit()  # of the way to the next candidate, in expected arrivals
        for piece in self._pieces():
            most, at_s = piece.most, piece.from_s
            if most <= 0.0:
                continue
            while at_s + rest / most < piece.to_s:
                at_s += rest / most
                rest = unit()
                if piece.flat or chance() * most < piece.level(at_s):
                    yield at_s
            rest -= (piece.to_s - at_s) * most

    def counts(self) -> Iterator[tuple[float, int]]:
        """Whole numbers next to the level, and the time in seconds from which each holds."""
        for piece in self._pieces():
            for line in _straight(piece):
                yield line.from_s, _whole(line.low)
                if line.high == line.low:
                    continue
                step = 1 if line.high > line.low else -1
                for number in range(_whole(line.low), _whole(line.high), step):
                    edge = number + 0.5 * step  # halfway to the next whole number
                    share = (edge - line.low) / (line.high - line.low)
                    yield line.from_s + share * (line.to_s - line.from_s), number + step


def _whole(level: float) -> int:
    return int(level + 0.5)


def _straight(piece: _Piece) -> Iterator[_Piece]:
    """The piece in straight lines, which a wave is nearly made of."""
    if piece.wave is None:
        yield piece
        return
    step_s = piece.wave.period_s / _PER_PERIOD
    begin_s = piece.from_s
    while begin_s < piece.to_s:
        end_s = min(begin_s + step_s, piece.to_s)
        yield _Piece(begin_s, end_s, piece.level(begin_s), piece.level(end_s), None)
        begin_s = end_s
