"""Count, mean, spread and extremes of a series of numbers, without keeping them."""

from __future__ import annotations

from math import inf, sqrt

__all__ = ["Moments"]


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
