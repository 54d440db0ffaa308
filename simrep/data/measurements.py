"""What was measured: the rows of a dataset's CSV file, joined to cells."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite, sqrt
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, Literal

from simrep.data.definition import Definition, MetricTable, SeriesTable, Value
from simrep.errors import DatasetWarning, ScenarioError
from simrep.user_files import csv_rows, read_text

__all__ = [
    "PASSED",
    "CsvRow",
    "DatasetCell",
    "MeasuredCell",
    "grid_cells",
    "measured_cells",
    "read_rows",
    "written",
]

CsvRow = Mapping[str, Value]

PASSED = "passed"
"""Column that is 0 in rows that must not be used."""
_EXACT = 2.0**63  # whole numbers below it are not rounded
_RUN = ("run", "attempt")
"""Columns by which the rig names the file with the transactions of a row."""


@dataclass(frozen=True, slots=True)
class DatasetCell:
    """What a series is simulated with.

    Attributes
    ----------
    factors : mapping
        What tells the cell from others: the columns that select the series, and the factors.
    settings : mapping of scenario path to value
        What the scenario of the series is changed to.
    """

    factors: Mapping[str, Value]
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MeasuredCell(DatasetCell):
    """One measured cell.

    Attributes
    ----------
    factors, settings
        See ``DatasetCell``.
    values : mapping of column to float
        Medians over the repetitions; gaps are left out.
    repetitions : int
    used_in_fit : bool
    standard_errors : mapping of column to float
        Of the values of metrics: from their column of standard errors, or from the spread of
        the repetitions; without those that only one measurement tells.
    runs : tuple of str
        Names of the files that may hold the recorded transactions of the repetitions.
    """

    values: Mapping[str, float]
    repetitions: int
    used_in_fit: bool
    standard_errors: Mapping[str, float]
    runs: tuple[str, ...]


def written(factors: Mapping[str, object]) -> str:
    """Factors in words, as packs name the cells that they were fitted to."""
    return ", ".join(f"{name} {value}" for name, value in factors.items())


def read_rows(path: Path, where: str) -> list[dict[str, Value]]:
    """The rows of a CSV file; texts that are numbers become numbers."""
    if not path.exists():
        raise ScenarioError(where, "is missing: the definition names it as its data")
    header, *lines = csv_rows(read_text(path, where), where) or [[]]
    if not lines:
        raise ScenarioError(where, "has no rows")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise ScenarioError(where, f"has several columns {', '.join(map(repr, twice))}")
    for number, line in enumerate(lines, start=1):
        if len(line) != len(header):
            problem = f"row {number} has {len(line)} fields, the header {len(header)}"
            raise ScenarioError(where, problem)
    return [dict(zip(header, map(_number, line), strict=True)) for line in lines]


def _number(text: str) -> Value:
    try:
        number = float(text)
    except ValueError:
        return text
    try:
        return int(text) if abs(number) < _EXACT else number
    except ValueError:
        return number


def measured_cells(
    definition: Definition, series: SeriesTable, rows: Sequence[CsvRow], where: str
) -> tuple[MeasuredCell, ...]:
    """The cells of a series, in the order of the factors' values.

    Rows whose column ``passed`` is 0 are left out, if there is one, and so are rows that state a
    derived metric; an empty optional factor sets nothing. A warning names figures that are missing
    and that the definition does not call optional.
    """
    columns = list(definition.factors)
    groups: dict[tuple[Value, ...], list[CsvRow]] = {}
    for number, row in enumerate(rows, start=1):
        if row.get(PASSED, 1) == 0 or definition.states(row):
            continue  # a measurement that was spoiled, or no measurement of a cell
        if all(row[column] == value for column, value in series.where.items()):
            _check_factors(definition, row, f"{where}: row {number}")
            _check_figures(definition, row, f"{where}: row {number}")
            groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    if not groups and (series.simulate or series.sustained):
        return ()
    if not groups:
        raise ScenarioError(where, f"has no rows for series {series.name!r}: {series.where}")
    _tell_of_gaps(definition, series, [row for group in groups.values() for row in group], where)
    ordered = sorted(groups, key=lambda key: [_rank(value) for value in key])
    cells = tuple(_cell(definition, series, groups[key]) for key in ordered)
    for cell in cells:
        if not any(metric.column in cell.values for metric in definition.metrics):
            raise ScenarioError(where, f"nothing was measured: {cell.factors}")
    return cells


def grid_cells(
    definition: Definition, series: SeriesTable, kind: Literal["simulate", "sustained"], where: str
) -> tuple[DatasetCell, ...]:
    """The cells, or the systems whose sustained rate is sought, to simulate besides those measured.

    Systems have no factor ``along``. ``where`` is the definition's file, for messages.
    """
    grids: Sequence[Mapping[str, tuple[Value, ...]]] = getattr(series, kind)
    where = f"{where}: series.{series.name}.{kind}"
    if grids and definition.derived is None:
        raise ScenarioError(where, "is for derived metrics", "see the table `derived`")
    along = definition.derived.along if definition.derived else ""
    names = [name for name in definition.factors if kind == "simulate" or name != along]
    cells: dict[tuple[Value, ...], DatasetCell] = {}
    for number, grid in enumerate(grids):
        if grid.keys() != set(names):
            raise ScenarioError(
                f"{where}.{number}",
                f"needs a value for each of {', '.join(names)}, given {', '.join(grid) or 'none'}",
            )
        if any(isinstance(value, str) for value in grid.get(along, ())):
            raise ScenarioError(f"{where}.{number}.{along}", "must be numbers")
        for values in product(*(grid[name] for name in names)):
            factors = dict(zip(names, values, strict=True))
            cells[values] = DatasetCell({**series.where, **factors}, definition.settings(factors))
    return tuple(cells.values())


def _check_factors(definition: Definition, row: CsvRow, where: str) -> None:
    for column, factor in definition.factors.items():
        if row[column] == "" and not factor.optional:
            raise ScenarioError(
                where,
                f"factor {column!r} is empty",
                f"give a value, or factors.{column}.optional = true to leave the scenario alone",
            )


def _check_figures(definition: Definition, row: CsvRow, where: str) -> None:
    """Refuse what is neither empty nor a figure that a simulated one can be compared with."""
    for metric in definition.metrics:
        value = row[metric.column]
        if value in {"", metric.missing} or not metric.applies(row):
            continue
        if isinstance(value, str) or not (
            isfinite(value) and (value > 0.0 or (metric.absolute and value == 0.0))
        ):
            least = "a number of at least 0" if metric.absolute else "a positive number"
            raise ScenarioError(where, f"{metric.column} must be {least}, given {value!r}")
        if metric.standard_error is not None:
            error = row[metric.standard_error]
            if error != "" and (isinstance(error, str) or not 0.0 <= error < float("inf")):
                problem = f"{metric.standard_error} must be a number of at least 0, given {error!r}"
                raise ScenarioError(where, problem)


def _tell_of_gaps(
    definition: Definition, series: SeriesTable, rows: Sequence[CsvRow], where: str
) -> None:
    for metric in definition.metrics:
        own = [row for row in rows if metric.applies(row)]
        empty = sum(row[metric.column] == "" for row in own)
        if empty and not metric.optional:
            warnings.warn(
                f"{where}: {metric.column} is empty in {empty} of {len(own)} rows of "
                f"{series.name}; if that is meant, say optional = true",
                DatasetWarning,
                stacklevel=4,
            )


def _rank(value: Value) -> tuple[int, float, str]:
    """Numbers by size and before texts."""
    return (1, 0.0, value) if isinstance(value, str) else (0, float(value), "")


def _cell(definition: Definition, series: SeriesTable, rows: Sequence[CsvRow]) -> MeasuredCell:
    first = rows[0]
    factors = {column: first[column] for column in definition.factors}
    named = all(column in first for column in _RUN)
    return MeasuredCell(
        factors={**series.where, **factors},
        settings=definition.settings(factors),
        values=_medians(definition.metrics, rows),
        repetitions=len(rows),
        used_in_fit=definition.fits(first),
        standard_errors={
            metric.column: error
            for metric in definition.metrics
            if (error := _standard_error(metric, rows)) is not None
        },
        runs=tuple(f"{row['run']}.a{row['attempt']}" for row in rows) if named else (),
    )


def _figures(metric: MetricTable, rows: Sequence[CsvRow]) -> list[float]:
    """What was measured of a metric."""
    return [
        float(value)
        for row in rows
        if metric.applies(row)
        and not isinstance(value := row[metric.column], str)
        and value != metric.missing
    ]


def _medians(metrics: Sequence[MetricTable], rows: Sequence[CsvRow]) -> dict[str, float]:
    """Of every column with numbers; those of metrics as far as they count."""
    found = {metric.column: _figures(metric, rows) for metric in metrics}
    for column in rows[0]:
        if column not in found:
            found[column] = [value for row in rows if not isinstance(value := row[column], str)]
    return {column: float(median(values)) for column, values in found.items() if values}


def _standard_error(metric: MetricTable, rows: Sequence[CsvRow]) -> float | None:
    """Of the mean of the repetitions; None if nothing tells it."""
    if metric.standard_error is not None:
        stated = [
            float(value)
            for row in rows
            if metric.applies(row) and not isinstance(value := row[metric.standard_error], str)
        ]
        return sqrt(fmean(value * value for value in stated) / len(stated)) if stated else None
    values = _figures(metric, rows)
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else None
