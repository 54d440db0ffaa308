"""The design of a sweep: values of the scenario that it varies, and the points that it visits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any

from simrep.errors import ScenarioError
from simrep.kernel.streams import Streams
from simrep.measure.grammar import Range, number, range_in, written_values
from simrep.user_files import check_content

__all__ = [
    "ALSO_CALLED",
    "Factor",
    "Level",
    "Setting",
    "factors",
    "grid",
    "latin_hypercube",
    "parse",
]

Given = str | Sequence[Any] | Mapping[Any, Mapping[str, Any]]
"""Levels as Python gives them; a text is what the command line takes."""

_EXAMPLES = "e.g. 1,10,50 or 1..128:x2 or 1..10:+1 or 0..1:5"
_MOST_LEVELS = 10_000
ALSO_CALLED = {"workload.clients": "workload.threads"}


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


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of a design.

    Attributes
    ----------
    labels : mapping of str to value
        The level of every factor.
    settings : mapping of str to value
        What that changes in the scenario, by path.
    """

    labels: Mapping[str, Any]
    settings: Mapping[str, Any]


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


def grid(factors: Sequence[Factor]) -> list[Setting]:
    """All combinations of the levels; those of the last factor change fastest.

    Raises
    ------
    ScenarioError
        If a factor is a range without steps.
    """
    for factor in factors:
        if factor.range is not None:
            raise ScenarioError(
                factor.name,
                "is a range without steps",
                "give steps, e.g. 1..128:x2, or --samples for a Latin hypercube",
            )
    return [_setting(factors, levels) for levels in product(*(f.levels for f in factors))]


def latin_hypercube(factors: Sequence[Factor], samples: int, seed: int) -> list[Setting]:
    """So many points, spread evenly over every factor; levels of a list are met equally often.

    Parameters
    ----------
    factors : sequence of Factor
    samples : int
    seed : int
        Equal seeds give equal points.

    References
    ----------
    M. D. McKay, R. J. Beckman, W. J. Conover: A comparison of three methods for selecting values
    of input variables in the analysis of output from a computer code. Technometrics 21 (1979),
    239-245, doi:10.2307/1268522.
    """
    from scipy.stats.qmc import LatinHypercube

    if samples < 1:
        raise ScenarioError("samples", f"must be at least 1, given {samples}")
    generator = Streams(seed).generator("sweep/latin hypercube")
    shares = LatinHypercube(len(factors), seed=generator).random(samples)
    return [
        _setting(factors, [f.level(share) for f, share in zip(factors, row, strict=True)])
        for row in shares.tolist()
    ]


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
    return ALSO_CALLED.get(name, name)


def _checked(name: str, levels: Sequence[Level]) -> tuple[Level, ...]:
    if not levels:
        raise ScenarioError(name, "has no levels", _EXAMPLES)
    check_content({name: [level.label for level in levels]}, "over")
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


def _setting(factors: Sequence[Factor], levels: Sequence[Level]) -> Setting:
    settings: dict[str, Any] = {}
    for factor, level in zip(factors, levels, strict=True):
        for path, value in level.settings.items():
            if path in settings:
                raise ScenarioError(factor.name, f"{path} is set by another factor, too")
            settings[path] = value
    labels = {factor.name: level.label for factor, level in zip(factors, levels, strict=True)}
    return Setting(labels, settings)
