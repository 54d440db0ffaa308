"""NumPy's random numbers without NumPy: the same generator, and the same numbers bit for bit.

Where NumPy is not to be had, as in a web page, streams draw from this instead. It is plain Python
and takes twenty to sixty times as long per number. What is computed with ``exp`` and ``log`` is as
equal as the mathematical functions of two platforms are.

References
----------
M. E. O'Neill, PCG: A family of simple fast space-efficient statistically good algorithms for
random number generation, Harvey Mudd College 2014 (PCG XSL RR 128/64). M. E. O'Neill, Developing a
seed_seq alternative, 2015. D. Lemire, Fast random integer generation in an interval, ACM TOMACS 29
(2019).
G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables, ACM TOMS 26 (2000).
The order of the steps is that of numpy.random 2.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from math import ceil, exp, log, log1p, pow, sqrt  # noqa: A004
from typing import Any, Final

from simrep.kernel.columns import Column
from simrep.kernel.ziggurat import (
    EXPONENTIAL_TAIL,
    NORMAL_TAIL,
    exponential_layers,
    normal_layers,
)

__all__ = ["Pcg64", "seeded"]

_32: Final = (1 << 32) - 1
_64: Final = (1 << 64) - 1
_128: Final = (1 << 128) - 1
_MULTIPLIER: Final = 0x2360ED051FC65DA44385DF649FCCF645
_UNIT: Final = 2.0**-53
_POOL: Final = 4


def _words(number: int) -> list[int]:
    """A whole number of 0 and above in words of 32 bits, the lowest first."""
    words = [number & _32]
    while number := number >> 32:
        words.append(number & _32)
    return words


class _Hash:
    """Spreads words over all bits, with a multiplier that changes each time."""

    def __init__(self, start: int, factor: int) -> None:
        self._at, self._factor = start, factor

    def __call__(self, word: int) -> int:
        word ^= self._at
        self._at = self._at * self._factor & _32
        word = word * self._at & _32
        return word ^ word >> 16


def _mixed(one: int, other: int) -> int:
    word = 0xCA01F9DD * one - 0x4973F715 * other & _32
    return word ^ word >> 16


def seeded(entropy: Sequence[int], key: Sequence[int]) -> Pcg64:
    """The generator of ``numpy.random.SeedSequence(entropy, spawn_key=key)``."""
    words = [word for number in entropy for word in _words(number)]
    if key:
        words += [0] * (_POOL - len(words))
        words += [word for number in key for word in _words(number)]
    spread = _Hash(0x43B0D7E5, 0x931E8875)
    pool = [spread(word) for word in (words + [0] * _POOL)[:_POOL]]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = _mixed(pool[target], spread(pool[source]))
    for word in words[_POOL:]:
        for target in range(_POOL):
            pool[target] = _mixed(pool[target], spread(word))
    spread = _Hash(0x8B51F9DD, 0x58F38DED)
    state = [spread(pool[position % _POOL]) for position in range(8)]
    high, low, increment_high, increment_low = (
        state[at] | state[at + 1] << 32 for at in range(0, 8, 2)
    )
    return Pcg64(high << 64 | low, increment_high << 64 | increment_low)


class Pcg64:
    """What simulations call of ``numpy.random.Generator``, each for ``size`` numbers."""

    def __init__(self, state: int, sequence: int) -> None:
        self._increment = (sequence << 1 | 1) & _128
        self._state = (self._increment + state) * _MULTIPLIER + self._increment & _128
        self._half: int | None = None

    def _bits(self) -> int:
        """The next 64 bits."""
        self._state = state = self._state * _MULTIPLIER + self._increment & _128
        word = (state >> 64 ^ state) & _64
        turn = state >> 122
        return (word >> turn | word << (64 - turn)) & _64

    def _bits_32(self) -> int:
        """The next 32 bits: both halves of 64 are used, the lower first."""
        if self._half is not None:
            half, self._half = self._half, None
            return half
        bits = self._bits()
        self._half = bits >> 32
        return bits & _32

    def _unit(self) -> float:
        return (self._bits() >> 11) * _UNIT

    def random(self, size: int) -> Column:
        """Uniform numbers in [0, 1)."""
        bits = self._bits
        return Column([(bits() >> 11) * _UNIT for _ in repeat(None, size)])

    def uniform(self, low: float, high: float, size: int) -> Column:
        """Uniform numbers in [low, high)."""
        width = high - low
        return Column([low + width * self._unit() for _ in repeat(None, size)])

    def exponential(self, scale: float, size: int) -> Column:
        """Exponential numbers of this mean."""
        one = self._exponential()
        return Column([scale * one() for _ in repeat(None, size)])

    def normal(self, loc: float, scale: float, size: int) -> Column:
        """Normal numbers of this mean and standard deviation."""
        one = self._normal()
        return Column([loc + scale * one() for _ in repeat(None, size)])

    def lognormal(self, mean: float, sigma: float, size: int) -> Column:
        """Numbers whose logarithm is normal."""
        one = self._normal()
        return Column([exp(mean + sigma * one()) for _ in repeat(None, size)])

    def gamma(self, shape: float, scale: float, size: int) -> Column:
        """Gamma numbers of this shape and scale."""
        return Column([scale * self._gamma(shape) for _ in repeat(None, size)])

    def geometric(self, p: float, size: int) -> Column:
        """How many trials the first success takes."""
        if p >= 1.0 / 3.0:
            return Column([self._searched(p) for _ in repeat(None, size)])
        one, divisor = self._exponential(), log1p(-p)
        return Column([ceil(-one() / divisor) for _ in repeat(None, size)])

    def integers(self, low: int, high: int, size: int) -> Column:
        """Whole numbers from ``low`` to below ``high``, all alike."""
        number = high - low
        if number < 1:
            raise ValueError(f"there is no whole number from {low} to below {high}")
        if number == 1:
            return Column([low] * size)
        width = 32 if number <= 1 << 32 else 64
        bits = self._bits_32 if width == 32 else self._bits
        mask = (1 << width) - 1
        least = (mask + 1) % number  # products below it would favour some numbers
        found = []
        for _ in repeat(None, size):
            product = bits() * number
            while product & mask < least:
                product = bits() * number
            found.append(low + (product >> width))
        return Column(found)

    def choice(self, values: Sequence[Any], size: int) -> Column:
        """Any of these, all alike."""
        return Column([values[place] for place in self.integers(0, len(values), size)])

    def _searched(self, p: float) -> int:
        uniform, trials, total = self._unit(), 1, p
        share = p
        while uniform > total:
            share *= 1.0 - p
            total += share
            trials += 1
        return trials

    def _exponential(self) -> Callable[[], float]:
        sure, width, density = exponential_layers()
        bits = self._bits

        def one() -> float:
            while True:
                word = bits() >> 3
                layer = word & 0xFF
                word >>= 8
                x = word * width[layer]
                if word < sure[layer]:
                    return x
                if layer == 0:
                    return EXPONENTIAL_TAIL - log1p(-self._unit())
                below = density[layer]
                if (density[layer - 1] - below) * self._unit() + below < exp(-x):
                    return x

        return one

    def _normal(self) -> Callable[[], float]:
        sure, width, density = normal_layers()
        bits = self._bits

        def one() -> float:
            while True:
                word = bits()
                layer = word & 0xFF
                negative = word & 0x100
                word = word >> 9 & 0xFFFFFFFFFFFFF
                x = word * width[layer]
                if negative:
                    x = -x
                if word < sure[layer]:
                    return x
                if layer == 0:
                    x = self._normal_tail()
                    return -x if word & 0x100 else x
                below = density[layer]
                if (density[layer - 1] - below) * self._unit() + below < exp(-0.5 * x * x):
                    return x

        return one

    def _normal_tail(self) -> float:
        while True:
            x = -log1p(-self._unit()) / NORMAL_TAIL
            y = -log1p(-self._unit())
            if y + y > x * x:
                return NORMAL_TAIL + x

    def _gamma(self, shape: float) -> float:
        if shape == 1.0:
            return self._exponential()()
        if shape < 1.0:
            return self._small_gamma(shape)
        b = shape - 1.0 / 3.0
        c = 1.0 / sqrt(9.0 * b)
        normal = self._normal()
        while True:
            v = 0.0
            while v <= 0.0:
                x = normal()
                v = 1.0 + c * x
            v = v * v * v
            uniform = self._unit()
            if uniform < 1.0 - 0.0331 * (x * x) * (x * x):
                return b * v
            # A logarithm of 0 is minus infinity, which accepts.
            if uniform == 0.0 or log(uniform) < 0.5 * x * x + b * (1.0 - v + log(v)):
                return b * v

    def _small_gamma(self, shape: float) -> float:
        exponential = self._exponential()
        while True:
            uniform, more = self._unit(), exponential()
            if uniform <= 1.0 - shape:
                x = pow(uniform, 1.0 / shape)
                if x <= more:
                    return x
            else:
                y = -log((1.0 - uniform) / shape)
                x = pow(1.0 - shape + shape * y, 1.0 / shape)
                if x <= more + y:
                    return x
