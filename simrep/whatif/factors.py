"""What a sweep varies: values of the scenario by their paths, as lists, steps or ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from simrep.errors import ScenarioError
from simrep.measure.grammar import number, range_in, written_values
from simrep.measure.range import Range

__all__ = ["Factor", "Level", "factors", "parse"]

Given = str | Sequence[Any] | Mapping[Any, Mapping[str, Any]]
"""Levels as Python gives them; a text is what the command line takes."""

_EXAMPLES = "e.g. 1,10,50 or 1..128:x2 or 1..10:+1 or 0..1:5"
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
class Factor:
    """Something that a sweep varies.

    Attributes
    ----------
    name : str
        Path of a value of the scenario, or a name for levels that change several.
    levels : tuple of Level
        Empty for a range.
    range : Range or None
        All numbers of it, for designs that choose some.
    """

    name: str
    levels: tuple[Level, ...] = ()
    range: Range | None = None

    def level(self, share: float) -> Level:
        """The level at a share from 0 to 1: each of several has an equal part."""
        if self.range is not None:
            value = self.range.at(share)
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
        written = range_in(given)
        if written is not None:
            limits, steps = written
            _check_range(name, given, limits)
            if not steps:
                return Factor(name, range=limits)
            values = _steps(name, given.strip(), limits, steps)
        else:
            values = written_values(given)
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


def _check_range(name: str, given: str, limits: Range) -> None:
    if limits.low >= limits.high:
        raise ScenarioError(name, f"{given.strip()!r} has its ends in the wrong order", _EXAMPLES)
    if limits.geometric and limits.low <= 0:
        raise ScenarioError(name, f"a logarithmic range begins above 0, given {limits.low}")


def _steps(name: str, given: str, limits: Range, steps: str) -> list[Any]:
    """Numbers from one end to the other, exactly as decimals."""
    by = number(steps.lstrip("x+"))
    if by is None:
        raise ScenarioError(name, f"{given!r} has no steps", _EXAMPLES)
    low, high, step = (Decimal(str(value)) for value in (limits.low, limits.high, by))
    if steps[0] == "x" and (low <= 0 or step <= 1):
        raise ScenarioError(name, f"{given!r} does not grow: it begins above 0 and xF above 1")
    if steps[0] == "+" and step <= 0:
        raise ScenarioError(name, f"{given!r} does not grow: +S is above 0")
    values = [low]
    if steps[0] in "x+":
        whole = isinstance(limits.low, int) and isinstance(by, int)
        while values[-1] <= high:
            if len(values) > _MOST_LEVELS:
                raise ScenarioError(name, f"{given!r} has more than {_MOST_LEVELS:,} levels")
            values.append(values[-1] * step if steps[0] == "x" else values[-1] + step)
        del values[-1]
    else:
        if not isinstance(by, int) or not 2 <= by <= _MOST_LEVELS:
            raise ScenarioError(name, f"{given!r} needs a number of levels from 2 on", _EXAMPLES)
        values += [low + (high - low) * position / (by - 1) for position in range(1, by)]
        whole = limits.whole and all(value == value.to_integral_value() for value in values)
    return [int(value) if whole else float(value) for value in values]
