"""Runs in which a node was hit: what was measured of them, and how near simulated runs come."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from statistics import median
from typing import get_args

import numpy as np

from simrep.data.definition import Decided, Definition, FailuresTable, Value
from simrep.data.measurements import CsvRow
from simrep.errors import ScenarioError

__all__ = [
    "ErrorCodes",
    "FailureCell",
    "FailureFigure",
    "FailureSample",
    "FailureScores",
    "attainable",
    "failure_cells",
    "judged",
    "judged_figure",
]

FailureSample = tuple[dict[str, float], frozenset[str]]
"""Figures of a simulated run by their names, and the errors that clients met."""

_TIMERS_SHARE, _OTHERS_SHARE = 0.05, 0.25
_RANGE = (0.5, 99.5)  # percentiles
_ERROR = "err_"


@dataclass(frozen=True, slots=True)
class FailureCell:
    """All runs of an experiment with the same settings.

    Attributes
    ----------
    series : str
    factors : mapping
    settings : mapping of scenario path to value
    runs : int
    values : mapping of str to tuple of float
        What was measured, by metric; not every run has every figure.
    units : mapping of str to str
        Of the metrics.
    """

    series: str
    factors: Mapping[str, Value]
    settings: Mapping[str, object]
    runs: int
    values: Mapping[str, tuple[float, ...]]
    units: Mapping[str, str]

    @property
    def codes(self) -> frozenset[str]:
        """Errors that clients met: group, node and number."""
        names = [name.removeprefix(_ERROR) for name in self.values if name.startswith(_ERROR)]
        return frozenset(
            name.removesuffix("_n").replace("_", " ") for name in names if name.endswith("_n")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureFigure:
    """One figure of a cell, measured and simulated.

    Attributes
    ----------
    series : str
    factors : mapping
    metric, unit : str
    decided_by : str
        ``timers``, ``slow phases`` (of which timers decide how fast commits are) or ``processors``.
    measured : tuple of float
        Of every run.
    predicted : float
        Median of the simulated runs; NaN if most of them have no such figure.
    low, high : float
        Between them are 99 % of the simulated runs.
    right : bool
        The medians are within the tolerance, and of a distribution every measured value is
        between ``low`` and ``high``.
    distribution : bool
    """

    series: str
    factors: Mapping[str, Value]
    metric: str
    unit: str
    decided_by: Decided
    measured: tuple[float, ...]
    predicted: float
    low: float
    high: float
    right: bool
    distribution: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCodes:
    """The errors that clients met in a cell: group, node and number.

    Attributes
    ----------
    series : str
    factors : mapping
    measured : tuple of str
        In any run.
    predicted : mapping of str to float
        In which share of the simulated runs each was met.
    """

    series: str
    factors: Mapping[str, Value]
    measured: tuple[str, ...]
    predicted: Mapping[str, float]

    @property
    def right(self) -> bool:
        """Whether simulated clients mostly meet those that were measured, and no others."""
        return {*self.measured} == {code for code, share in self.predicted.items() if share >= 0.5}


@dataclass(frozen=True, slots=True)
class FailureScores:
    """How many figures are right, by what decides them, and of errors: right ones, and all."""

    timers: tuple[int, int]
    slow_phases: tuple[int, int]
    processors: tuple[int, int]
    codes: tuple[int, int]

    @classmethod
    def of(cls, figures: Iterable[FailureFigure], codes: Iterable[ErrorCodes]) -> FailureScores:
        """The scores: right ones, and all."""
        every = list(figures)
        kinds = [[f.right for f in every if f.decided_by == kind] for kind in get_args(Decided)]
        errors = [one.right for one in codes]
        return cls(*((sum(own), len(own)) for own in (*kinds, errors)))


def failure_cells(
    definition: Definition, rows: Sequence[CsvRow], where: str
) -> tuple[FailureCell, ...]:
    """The cells of a dataset of failures, series by series, in the order of the data."""
    groups: dict[tuple[str, tuple[Value, ...]], list[CsvRow]] = {}
    for number, row in enumerate(rows, start=1):
        if isinstance(row["value"], str):
            problem = f"value must be a number, given {row['value']!r}"
            raise ScenarioError(f"{where}: row {number}", problem)
        for series in definition.series:
            if all(row[column] == value for column, value in series.where.items()):
                factors = tuple(row[column] for column in definition.factors)
                groups.setdefault((series.name, factors), []).append(row)
    missing = {series.name for series in definition.series} - {name for name, _ in groups}
    if missing:
        raise ScenarioError(where, f"has no rows for series {min(missing)!r}")
    cells = []
    for (name, values), own in groups.items():
        factors_of = dict(zip(definition.factors, values, strict=True))
        figures: dict[str, list[float]] = {}
        for row in own:
            figures.setdefault(str(row["metric"]), []).append(float(row["value"]))
        cells.append(
            FailureCell(
                series=name,
                factors=factors_of,
                settings=definition.settings(factors_of),
                runs=len({row["run"] for row in own}),
                values={metric: tuple(found) for metric, found in sorted(figures.items())},
                units={str(row["metric"]): str(row["unit"]) for row in own},
            )
        )
    return tuple(cells)


def judged(
    table: FailuresTable, cell: FailureCell, samples: Collection[FailureSample]
) -> tuple[list[FailureFigure], ErrorCodes]:
    """The figures of a cell beside those of simulated runs."""
    figures = []
    for metric in cell.values:
        values = [own[metric] for own, _ in samples if metric in own]
        predicted = median(values) if 2 * len(values) >= len(samples) else nan
        low, high = np.percentile(values, _RANGE).tolist() if values else (nan, nan)
        figures.append(judged_figure(table, cell, metric, predicted, (low, high)))
    met = sorted({code for _, codes in samples for code in codes})
    shares = {code: sum(code in codes for _, codes in samples) / len(samples) for code in met}
    errors = ErrorCodes(
        series=cell.series,
        factors=cell.factors,
        measured=tuple(sorted(cell.codes)),
        predicted=shares,
    )
    return figures, errors


def judged_figure(
    table: FailuresTable,
    cell: FailureCell,
    metric: str,
    predicted: float,
    span: tuple[float, float],
) -> FailureFigure:
    """One figure of a cell beside the median of simulated runs, and where 99 % of them are."""
    measured, (low, high) = cell.values[metric], span
    name = f"{' '.join(map(str, [cell.series, *cell.factors.values()]))}/{metric}"
    decided_by, chance = table.decided_by(name), table.by_chance(name)
    allowed = _OTHERS_SHARE * abs(median(measured))
    if decided_by == "timers":
        least = (1e3 if cell.units[metric] == "ms" else 1.0) * table.tolerance_s
        allowed = max(least, _TIMERS_SHARE * abs(median(measured)))
    right = bool(abs(predicted - median(measured)) <= allowed)
    if chance:
        right = right and low <= min(measured) and max(measured) <= high
    return FailureFigure(
        series=cell.series,
        factors=cell.factors,
        metric=metric,
        unit=cell.units[metric],
        decided_by=decided_by,
        measured=measured,
        predicted=predicted,
        low=low,
        high=high,
        right=right,
        distribution=chance,
    )


def attainable(table: FailuresTable, cell: FailureCell, samples: Sequence[FailureSample]) -> float:
    """How many figures that timers decide would be right if simulated runs had been measured.

    Not all are, even of an exact simulation: medians and extremes of a few runs differ by chance.
    As many successive samples as there are measured runs take the place of these, and are judged
    beside the rest; every sample is once the first of them.

    Returns
    -------
    float
        In the mean; NaN if there are less than twice as many samples as measured runs.
    """
    if len(samples) < 2 * cell.runs:
        return nan
    right = 0
    for first in range(len(samples)):
        turned = [*samples[first:], *samples[:first]]
        values = dict(cell.values)
        for metric, measured in cell.values.items():
            drawn = [own[metric] for own, _ in turned[: cell.runs] if metric in own]
            values[metric] = tuple(drawn[: len(measured)]) or measured
        figures, _ = judged(table, replace(cell, values=values), turned[cell.runs :])
        right += sum(figure.right for figure in figures if figure.decided_by == "timers")
    return right / len(samples)
