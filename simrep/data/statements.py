"""Rows of the data that state a figure of several cells, and the systems that they are about.

Some publications state no measured cells but a ratio of two maxima, or a mean gap between two
charts, each with a range.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from simrep.data.definition import Definition, DerivedMetric, DerivedTable, Value
from simrep.data.measurements import CsvRow, DatasetCell, written
from simrep.errors import ScenarioError, nearest

__all__ = ["Statement", "SystemKey", "Systems"]

_RANGE = re.compile(r"([0-9]{1,15})-([0-9]{1,15})")
SystemKey = tuple[Value, ...]
"""Which simulated system: a value for each name in ``Definition.systems_by``."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A row of the data that states a derived metric.

    Attributes
    ----------
    factors : mapping of str to value
        As in the file; the row holds for each value of ``a-b``, and for the mean over ``a+b``.
    quantity : str
        Name of the metric.
    low, high : float
    unit : str
        ``ratio`` or ``ms``.
    groups : tuple of tuple of SystemKey
        Systems to average: a group for each value that the row holds for.
    used_in_fit : bool
    """

    factors: Mapping[str, Value]
    quantity: str
    low: float
    high: float
    unit: str
    groups: tuple[tuple[SystemKey, ...], ...]
    used_in_fit: bool


@dataclass(frozen=True, slots=True)
class Systems:
    """The simulated systems of a dataset: what rows may be about."""

    definition: Definition
    derived: DerivedTable  # that of the definition
    # Values of ``along`` that a system is simulated at.
    places: Mapping[SystemKey, Collection[float]]
    sustained: Collection[SystemKey]  # those whose sustained rate is sought

    @classmethod
    def of(
        cls,
        definition: Definition,
        derived: DerivedTable,
        cells: Iterable[DatasetCell],
        sustained: Iterable[DatasetCell],
    ) -> Systems:
        """The systems of all cells, and of those whose sustained rate is sought; each only once."""
        places: dict[SystemKey, list[float]] = {}
        for cell in cells:
            place = cell.factors[derived.along]
            if isinstance(place, str):
                continue
            own = places.setdefault(definition.system(cell.factors), [])
            if place in own:
                problem = f"two cells are {written(cell.factors)}"
                raise ScenarioError("series", problem, "tell them apart by `where`")
            own.append(place)
        return cls(definition, derived, places, [definition.system(c.factors) for c in sustained])

    def statement(self, row: CsvRow, where: str) -> Statement:
        """A row that states a derived metric, with the simulated systems that it is about."""
        definition, places = self.definition, self.places
        name, low, high = str(row["quantity"]), row["low"], row["high"]
        if name not in self.derived.metric:
            raise ScenarioError(where, f"no quantity {name!r}", nearest(name, self.derived.metric))
        where, metric = f"{where}: {name}", self.derived.metric[name]
        if isinstance(low, str) or isinstance(high, str) or not low <= high:
            raise ScenarioError(where, f"low..high is no range, given {low}..{high}")
        if row["unit"] != metric.unit:
            problem = f"unit {row['unit']!r} does not fit {metric.kind}"
            raise ScenarioError(where, problem, f"write {metric.unit!r}")
        of_rate = metric.kind == "sustained_ratio"
        groups = self._groups(row, self.sustained if of_rate else places, metric)
        if not groups:
            kind, place = ("sustained rate", "sustained") if of_rate else ("cell", "simulate")
            system = ", ".join(f"{factor} {row[factor]}" for factor in definition.systems_by)
            raise ScenarioError(where, f"no {kind} for {system}", f"see `{place}` of [[series]]")
        for key in (key for group in groups for key in group):
            base = self.baseline(key)
            if base not in places:
                raise ScenarioError(where, f"no cell for the baseline {base}")
            if not of_rate and not metric.shared(places[key], places[base]):
                at = f"at {metric.at:g}" if metric.at is not None else "to take the mean of"
                problem = f"{key} and its baseline have no {self.derived.along} in common {at}"
                raise ScenarioError(where, problem, "simulate both there")
        return Statement(
            factors={factor: row[factor] for factor in row if factor in definition.systems_by},
            quantity=name,
            low=float(low),
            high=float(high),
            unit=metric.unit,
            groups=groups,
            used_in_fit=definition.fits(row),
        )

    def _groups(
        self, row: CsvRow, keys: Iterable[SystemKey], metric: DerivedMetric
    ) -> tuple[tuple[SystemKey, ...], ...]:
        """Systems of a row: a mean over those of a group, and a statement for every group."""
        meanings = [_meaning(row[name]) for name in self.definition.systems_by]
        groups: dict[SystemKey, list[SystemKey]] = {}
        for key in sorted(keys, key=lambda key: [(isinstance(v, str), v) for v in key]):
            both = list(zip(meanings, key, strict=True))
            if all(meant(value) for (meant, _), value in both):
                each = tuple(value for (_, alone), value in both if alone)
                whole = metric.kind == "maximum_ratio_drop"
                groups.setdefault(() if whole else each, []).append(key)
        return tuple(map(tuple, groups.values()))

    def baseline(self, key: SystemKey) -> SystemKey:
        """The system that a system is compared with."""
        names = self.definition.systems_by
        own = dict(zip(names, key, strict=True)) | self.derived.baseline
        return tuple(own[name] for name in names)


def _meaning(cell: Value) -> tuple[Callable[[Value], bool], bool]:
    """Which values a cell such as 2, "2-9" or "a+b" means, and whether it is about each alone."""
    if not isinstance(cell, str):
        return lambda value: value == cell, False
    if (ends := _RANGE.fullmatch(cell)) is not None:
        low, high = map(int, ends.groups())
        return lambda value: not isinstance(value, str) and low <= value <= high, True
    names = cell.split("+")
    return lambda value: str(value) in names, False
