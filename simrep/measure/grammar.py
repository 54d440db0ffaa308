"""Quantities as people write them on a command line: times, shares, sizes, ranges and values.

=========  ============================================  =========================================
a time     ``500ms``, ``2s``, ``1.5min``, ``4h``, ``2d``  without a unit in that of the option
a share    ``5%``, ``0.05``
a size     ``100K``, ``1.5M``, ``64Ki``                  K is 1000, Ki is 1024
a range    ``1..100``, ``1e1..1e3``, ``1..100:log``      with ``log`` in equal ratios
its steps  ``1..128:x2``, ``1..10:+1``, ``0..1:5``       factors, differences, so many in all
=========  ============================================  =========================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, isfinite, log10
from typing import Any

from simrep.errors import ScenarioError
from simrep.user_files import parse_toml

__all__ = [
    "Range",
    "duration",
    "number",
    "quantities",
    "range_in",
    "range_of",
    "seconds_of",
    "share",
    "written_value",
    "written_values",
]

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Units of time."""
_LONGEST_S = 366 * SECONDS["d"]

_DIGITS = r"\d+(?:_\d+)*"
_DECIMAL = rf"((?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][-+]?\d+)?)"
_DURATION = re.compile(rf"\s*{_DECIMAL}\s*({'|'.join(SECONDS)})?\s*")
_SHARE = re.compile(rf"\s*{_DECIMAL}\s*(%?)\s*")
_SIZE = re.compile(rf"\s*{_DECIMAL}\s*([kmg]?)(i?)b?\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}
_RANGE = re.compile(r"(.+?)\.\.(.+?)(?:\s*:\s*(log|[x+]?[^:]+))?")
_LARGEST = 1e15  # of a size: beyond it a number has no digit left for its unit
_TIMES = "e.g. 500ms, 2s, 30min or 4h"


def number(text: str) -> int | float | None:
    """A finite number, which is whole if it is written so; None for what is none.

    >>> number("10"), number("1e1"), number("-.5"), number("ten"), number("inf")
    (10, 10.0, -0.5, None, None)
    """
    for read in (int, partial(int, base=0), float):
        try:
            value: int | float = read(text.strip())
            return value if isfinite(value) else None
        except (ValueError, OverflowError):
            continue
    return None


def seconds_of(text: str) -> tuple[float, str] | None:
    """A time in its own unit, and that unit, which may be missing; None for what is none."""
    match = _DURATION.fullmatch(text)
    if match is None or not isfinite(value := float(match[1])):
        return None
    return value, match[2] or ""


def duration(option: str, text: str, unit: str = "s") -> float:
    """A time.

    Parameters
    ----------
    option : str
        Where it is given, for errors.
    text : str
    unit : str
        Of the time that is handed back, and of a number without a unit.

    Raises
    ------
    ScenarioError
        If it cannot be read, or is longer than a year.

    Examples
    --------
    >>> duration("--outage", "1.5h"), duration("--outage", "90"), duration("--rtt-ms", "2s", "ms")
    (5400.0, 90.0, 2000.0)
    """
    found = seconds_of(text)
    if found is None:
        raise ScenarioError(
            option, f"{text!r} is not a time", f"{_TIMES}; a number alone is in {unit}"
        )
    value, own = found
    if value * SECONDS[own or unit] > _LONGEST_S:
        raise ScenarioError(option, f"must be at most a year, given {text!r}")
    return value if own in {"", unit} else value * SECONDS[own] / SECONDS[unit]


def share(option: str, text: str) -> float:
    """A share of something; what cannot be read is refused.

    >>> share("--precision", "2%"), share("--precision", "0.02")
    (0.02, 0.02)
    """
    match = _SHARE.fullmatch(text)
    if match is None:
        raise ScenarioError(option, f"{text!r} is not a share", "e.g. 2% or 0.02")
    return float(match[1]) / (100.0 if match[2] else 1.0)


def quantities(option: str, text: str) -> list[int]:
    """Whole numbers with suffixes, between commas; what cannot be read or is not whole is refused.

    >>> quantities("--sizes", "10K, 1.5M, 64Ki")
    [10000, 1500000, 65536]
    """
    found = []
    for part in text.split(","):
        match = _SIZE.fullmatch(part)
        if match is None:
            raise ScenarioError(option, f"{part!r} is not a size", "e.g. 10K,100K,1M")
        base = 1024 if match[2] and match[3] else 1000
        size = float(match[1]) * base ** _POWERS[match[2].lower()]
        if size > _LARGEST:
            raise ScenarioError(option, f"must be at most {_LARGEST:.0e}, given {part.strip()}")
        if not size.is_integer():
            raise ScenarioError(option, f"{part.strip()} is not a whole number", "e.g. 10K,100K,1M")
        found.append(int(size))
    return found


def range_in(text: str, unit: str = "") -> tuple[Range, str] | None:
    """A range and the text of its steps, which may be missing; None for what is no range.

    >>> range_in("1..128:x2")
    (Range(low=1, high=128, geometric=False, whole=True), 'x2')
    >>> range_in("0.2..1s", "ms"), range_in("galera")
    ((Range(low=0.2, high=1000.0, geometric=False, whole=False), ''), None)
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    low, high = (_end(end, unit) for end in (match[1], match[2]))
    if low is None or high is None:
        return None
    steps = match[3] or ""
    whole = isinstance(low, int) and isinstance(high, int)
    found = Range(low, high, geometric=steps == "log", whole=whole)
    return found, "" if steps == "log" else steps.strip()


def range_of(option: str, text: str, *, unit: str = "", whole: bool = False) -> Range:
    """A range without steps, for what chooses its values itself.

    The ends of a range of times may have other units than ``unit``; ``whole``: only whole numbers
    make sense. What cannot be read is refused, with ``option`` as its place.

    >>> range_of("--within", "1e1..1e3", whole=True)
    Range(low=10, high=1000, geometric=False, whole=True)
    """
    example = "e.g. 1..100" if unit != "ms" else "e.g. 1..100 or 500us..1s; a number alone is in ms"
    found = range_in(text, unit)
    if found is None:
        raise ScenarioError(option, f"{text!r} is not a range of two numbers", example)
    limits, steps = found
    if steps:
        raise ScenarioError(option, f"{text!r} has steps, but values are chosen inside", example)
    if not whole:
        return limits
    if not (float(limits.low).is_integer() and float(limits.high).is_integer()):
        raise ScenarioError(option, f"{text!r} is not a range of two whole numbers", example)
    return Range(int(limits.low), int(limits.high), geometric=limits.geometric, whole=True)


def _end(text: str, unit: str) -> int | float | None:
    """An end of a range; with a unit of its own it is converted."""
    value = number(text)
    if value is None and unit and (found := seconds_of(text)) is not None and found[1]:
        return duration("", text, unit)
    return value


def written_value(text: str) -> Any:
    """The value of a text: TOML where it is TOML, and text otherwise.

    >>> written_value("5"), written_value("true"), written_value(" galera")
    (5, True, 'galera')
    """
    try:
        return parse_toml(f"value = {text}", "value")["value"]
    except ScenarioError:
        return text.strip()


def written_values(text: str) -> list[Any]:
    """The values of a text with commas between them.

    >>> written_values("1, 2.5"), written_values("galera,semisync"), written_values('["n1"],["*"]')
    ([1, 2.5], ['galera', 'semisync'], [['n1'], ['*']])
    """
    try:
        values: list[Any] = parse_toml(f"value = [{text}]", "value")["value"]
    except ScenarioError:
        return [written_value(part) for part in text.split(",")]
    return values


_FAR_APART = 20.0  # a range that is wider is walked in equal ratios
_STEPS = 20
_ROUND = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)


@dataclass(frozen=True, slots=True)
class Range:
    """All numbers between two."""

    low: float
    high: float
    geometric: bool = False  # equal ratios count as equally far
    whole: bool = False  # only whole numbers

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
