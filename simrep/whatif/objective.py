"""What an answer has to meet: ``tps>=500,p99<=250ms``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from simrep.errors import ScenarioError, nearest
from simrep.measure import units
from simrep.measure.grammar import duration, seconds_of

__all__ = ["Condition", "Objective"]

_NAMES = {
    "tps": "throughput_tps",
    "mean": "latency_s.mean",
    "p50": "latency_s.p50",
    "p95": "latency_s.p95",
    "p99": "latency_s.p99",
    "max": "latency_s.max",
    "stall": "stall_max_s",
    "aborted": "aborted",
    "makespan": "makespan_s",
}
_EXAMPLE = "e.g. tps>=500,p99<=250ms"
_CONDITION = re.compile(r"\s*([\w.-]+)\s*(<=|>=|<|>)\s*(.*?)(tps)?\s*")


@dataclass(frozen=True, slots=True)
class Condition:
    """A bound of one figure.

    Attributes
    ----------
    figure : str
        Its path in a result.
    at_most : bool
        An upper bound; else a lower one.
    limit : float
        In the unit of the figure.
    """

    figure: str
    at_most: bool
    limit: float

    def met(self, value: float) -> bool:
        """Whether a value keeps the bound; what is not a number does not."""
        return value <= self.limit if self.at_most else value >= self.limit

    def spare(self, value: float) -> float:
        """How much better than the limit a value is, as a share of the limit; negative: worse."""
        if not self.limit:
            return 0.0 if self.met(value) else float("-inf")
        apart = value / self.limit - 1.0
        return -apart if self.at_most else apart

    @property
    def name(self) -> str:
        """The figure as an objective names it."""
        return next((name for name, path in _NAMES.items() if path == self.figure), self.figure)

    def text(self, value: float) -> str:
        """A value of the figure with its unit."""
        return units.duration(value) if units.unit_of(self.figure) == "s" else units.number(value)

    def __str__(self) -> str:
        return f"{self.name} {'<=' if self.at_most else '>='} {self.text(self.limit)}"


@dataclass(frozen=True, slots=True)
class Objective:
    """Conditions that all have to be met.

    Attributes
    ----------
    conditions : tuple of Condition
    """

    conditions: tuple[Condition, ...]

    @classmethod
    def of(cls, objective: str | Objective, path: str = "objective") -> Objective:
        """Read an objective.

        Parameters
        ----------
        objective : str or Objective
            Conditions between commas. A figure goes by a short name (``tps``, ``mean``, ``p50``,
            ``p95``, ``p99``, ``max``, ``stall``, ``makespan``, ``aborted``) or by its path in a
            result; times have a unit.
        path : str
            Where it stands, for errors.

        Raises
        ------
        ScenarioError
            If it cannot be read.

        Examples
        --------
        >>> print(Objective.of("tps>=500,p99<=250ms"))
        tps >= 500 and p99 <= 250 ms
        """
        if isinstance(objective, Objective):
            return objective
        return cls(tuple(_condition(part, path) for part in objective.split(",")))

    @property
    def figures(self) -> tuple[str, ...]:
        """Paths of the figures, each once."""
        return tuple(dict.fromkeys(one.figure for one in self.conditions))

    def met(self, values: Sequence[float]) -> bool:
        """Whether values, in the order of the conditions, keep all bounds."""
        return all(one.met(value) for one, value in zip(self.conditions, values, strict=True))

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))


def _condition(text: str, path: str) -> Condition:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ScenarioError(path, f"{text!r} is not of the form FIGURE<=VALUE", _EXAMPLE)
    name, sign, given, rate = match.groups()
    figure = _NAMES.get(name, name)
    if figure == name and "." not in name and units.unit_of(name) is None:
        raise ScenarioError(path, f"no figure {name!r}", nearest(name, _NAMES))
    found = seconds_of(given)
    if found is None:
        raise ScenarioError(path, f"{text!r} has no value to compare with", _EXAMPLE)
    value, unit = found
    if units.unit_of(figure) != "s":
        if unit:
            raise ScenarioError(path, f"{name} is not given in {unit!r}", "leave the unit out")
    elif rate or not (unit or figure == name):
        raise ScenarioError(
            path, f"{name} is a time, given {text.strip()!r}", "e.g. 250ms or 0.25s"
        )
    else:
        value = duration(path, given)
    return Condition(figure, sign.startswith("<"), value)
