"""Ranges of numbers: what lies at a share of the way, equal ratios, equal steps, round numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10

__all__ = ["Range"]

_FAR_APART = 20.0  # a range that is wider is walked in equal ratios
_STEPS = 20
_ROUND = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)


@dataclass(frozen=True, slots=True)
class Range:
    """All numbers between two.

    Attributes
    ----------
    low, high : float
    geometric : bool
        Equal ratios count as equally far.
    whole : bool
        Only whole numbers.
    """

    low: float
    high: float
    geometric: bool = False
    whole: bool = False

    def at(self, share: float) -> float:
        """The number at this share of the way from one end to the other.

        >>> Range(1, 100, geometric=True).at(0.5), Range(1, 100, whole=True).at(0.75)
        (10.0, 75)
        """
        if share in {0.0, 1.0}:
            value = self.high if share else self.low
        elif self.geometric:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        value = min(max(value, self.low), self.high)
        return round(value) if self.whole else value

    def ratios(self, count: int) -> list[float]:
        """So many numbers at equal ratios, both ends among them; fewer where whole ones meet.

        >>> Range(1.0, 8.0).ratios(4)
        [1.0, 2.0, 4.0, 8.0]
        """
        if self.low == self.high:
            return [float(self.low)]
        ratio = (self.high / self.low) ** (1.0 / (count - 1))
        inner = [self.low * ratio**step for step in range(1, count - 1)]
        if self.whole:
            inner = [float(round(value)) for value in inner]
        return sorted({float(self.low), *inner, float(self.high)})

    def round_numbers(self) -> list[float]:
        """Round numbers between the ends, and these two.

        >>> Range(0.2, 10.0).round_numbers()[:6], Range(0, 10, whole=True).round_numbers()[-3:]
        ([0.2, 0.3, 0.5, 0.7, 1, 1.5], [8, 9, 10])
        """
        low, high = self.low, self.high
        if low > 0.0 and high > _FAR_APART * low:
            powers = range(floor(log10(low)), ceil(log10(high)) + 1)
            inner = [float(f"{digit}e{power}") for power in powers for digit in _ROUND]
        else:
            rough = (high - low) / _STEPS
            power = 10.0 ** floor(log10(rough))
            step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * 0.999)
            step = float(ceil(step)) if self.whole else step
            inner = [
                float(f"{number * step:.12g}")
                for number in range(ceil(low / step), floor(high / step) + 1)
            ]
        between = (value for value in inner if low < value < high)
        values = sorted({float(low), *between, float(high)})
        return [round(value) if self.whole or value.is_integer() else value for value in values]
