"""What a sweep varies: values of the scenario by their paths, as lists, steps or ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import exp, log
from typing import Any

from simrep.errors import ScenarioError
from simrep.scenario.written import written_values

__all__ = ["Factor", "Level", "Span", "factors", "parse"]

Given = str | Sequence[Any] | Mapping[Any, Mapping[str, Any]]
"""Levels as Python gives them; a text is what the command line takes."""

_NUMBER = r"\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*"
_RANGE = re.compile(rf"{_NUMBER}\.\.{_NUMBER}(?::(log|[x+]{_NUMBER}))?")
_EXAMPLES = "e.g. 1,10,50 or 1..128:x2 or 1..10:+1"
_MOST_LEVELS = 10_000
_ALSO_CALLED = {"workload.clients": "workload.threads"}


@dataclass(frozen=True, slots=True)
class Level:
    """One value of a factor.

    Attributes
    ----------
    label : value
        What tables and plots call it.
    settings : mapping of str to value
        What it changes, by path.
    """

    label: Any
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """All numbers between two, for designs that choose some of them.

    Attributes
    ----------
    low, high : float
    logarithmic : bool
        Equal ratios count as equally far.
    whole : bool
        Only whole numbers.
    """

    low: float
    high: float
    logarithmic: bool
    whole: bool

    def at(self, share: float) -> float | int:
        """The number at this share of the way from one end to the other."""
        value = self.low + (self.high - self.low) * share
        if self.logarithmic:
            value = exp(log(self.low) + log(self.high / self.low) * share)
        value = min(max(value, self.low), self.high)
        return round(value) if self.whole else value


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that a sweep varies.

    Attributes
    ----------
    name : str
        Path of a value of the scenario, or a name for levels that change several.
    levels : tuple of Level
        Empty for a span.
    span : Span or None
    """

    name: str
    levels: tuple[Level, ...] = ()
    span: Span | None = None

    def level(self, share: float) -> Level:
        """The level at a share from 0 to 1: each of several has an equal part."""
        if self.span is not None:
            value = self.span.at(share)
            return Level(value, {_path(self.name): value})
        return self.levels[min(int(share * len(self.levels)), len(self.levels) - 1)]


def parse(texts: Sequence[str]) -> dict[str, str]:
    """Levels by path of ``path=levels`` arguments.

    Raises
    ------
    ScenarioError
        If one is not of that form, or a path is there twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        path, equals, levels = text.partition("=")
        path = path.strip()
        if not equals or not path:
            raise ScenarioError("--over", f"{text!r} is not of the form path=levels", _EXAMPLES)
        if path in found:
            raise ScenarioError("--over", f"{path} is there twice", "give all its levels at once")
        found[path] = levels
    return found


def factors(over: Mapping[str, Given]) -> tuple[Factor, ...]:
    """The factors of a sweep.

    Parameters
    ----------
    over : mapping of str to levels
        Levels by path: values, or a text as the command line takes it. Levels that are a mapping
        of labels to settings may change several values each; the name of the factor is then free.

    Raises
    ------
    ScenarioError
        If there is none, or one has no levels or the same twice.
    """
    if not over:
        raise ScenarioError("over", "there is nothing to vary", "e.g. network.rtt_ms=1,10,50")
    return tuple(_factor(name, given) for name, given in over.items())


def _factor(name: str, given: Given) -> Factor:
    if isinstance(given, Mapping):
        return Factor(name, _checked(name, [Level(label, dict(s)) for label, s in given.items()]))
    values: Sequence[Any] = given
    if isinstance(given, str):
        match = _RANGE.fullmatch(given.strip())
        if match is not None and (match[3] is None or match[3] == "log"):
            return Factor(name, span=_span(name, match))
        values = written_values(given) if match is None else list(_steps(name, match))
    path = _path(name)
    return Factor(name, _checked(name, [Level(value, {path: value}) for value in values]))


def _path(name: str) -> str:
    return _ALSO_CALLED.get(name, name)


def _checked(name: str, levels: Sequence[Level]) -> tuple[Level, ...]:
    if not levels:
        raise ScenarioError(name, "has no levels", _EXAMPLES)
    labels = [repr(level.label) for level in levels]
    for label in labels:
        if labels.count(label) > 1:
            raise ScenarioError(name, f"{label} is there twice")
    return tuple(levels)


def _ends(name: str, match: re.Match[str]) -> tuple[Decimal, Decimal]:
    low, high = Decimal(match[1]), Decimal(match[2])
    if low >= high:
        raise ScenarioError(name, f"{match[0]!r} has its ends in the wrong order", _EXAMPLES)
    return low, high


def _span(name: str, match: re.Match[str]) -> Span:
    low, high = _ends(name, match)
    logarithmic = match[3] == "log"
    if logarithmic and low <= 0:
        raise ScenarioError(name, f"a logarithmic range begins above 0, given {low}")
    whole = _is_whole(match[1]) and _is_whole(match[2])
    return Span(float(low), float(high), logarithmic, whole)


def _steps(name: str, match: re.Match[str]) -> Iterator[float | int]:
    """Numbers from one end to the other, exactly as decimals."""
    low, high = _ends(name, match)
    times, step = match[3][0] == "x", Decimal(match[4])
    if times and (low <= 0 or step <= 1):
        raise ScenarioError(name, f"{match[0]!r} does not grow: it begins above 0 and xF above 1")
    if not times and step <= 0:
        raise ScenarioError(name, f"{match[0]!r} does not grow: +S is above 0")
    whole = _is_whole(match[1]) and _is_whole(match[4])
    value, count = low, 0
    while value <= high:
        count += 1
        if count > _MOST_LEVELS:
            raise ScenarioError(name, f"{match[0]!r} has more than {_MOST_LEVELS:,} levels")
        yield int(value) if whole else float(value)
        value = value * step if times else value + step


def _is_whole(text: str) -> bool:
    return text.lstrip("+-").isdigit()
