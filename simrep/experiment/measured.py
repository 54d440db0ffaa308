"""What was measured: the rows of a study's CSV file, joined to cells."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from simrep.errors import ScenarioError, nearest

if TYPE_CHECKING:
    from simrep.experiment.study import Definition, Metric, Series

__all__ = ["MeasuredCell", "Value", "measured_cells", "read_rows"]

Value = int | float | str


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """One measured cell.

    Attributes
    ----------
    factors : mapping
        What tells the cell from others: the columns that select the series, and the factors.
    settings : mapping of scenario path to value
        What the scenario of the series is changed to.
    values : mapping of column to float
        Medians over the repetitions; what is empty or not a number is left out.
    repetitions : int
    used_in_fit : bool
    """

    factors: Mapping[str, Value]
    settings: Mapping[str, Any]
    values: Mapping[str, float]
    repetitions: int
    used_in_fit: bool


def read_rows(path: Path, where: str) -> list[dict[str, Value]]:
    """The rows of a CSV file; texts that are numbers become numbers."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        raise ScenarioError(where, "is missing: the definition names it as its data") from None
    if not rows:
        raise ScenarioError(where, "has no rows")
    return [{name: _number(text) for name, text in row.items()} for row in rows]


def _number(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def measured_cells(
    definition: Definition, series: Series, rows: list[dict[str, Value]], where: str
) -> tuple[MeasuredCell, ...]:
    """The cells of a series, in the order of the factors' values.

    Rows whose column ``passed`` is 0 are left out, if there is one; an empty factor sets nothing.

    Raises
    ------
    ScenarioError
        If a column or all rows of the series are missing, or a figure cannot be compared.
    """
    columns = list(definition.factors)
    metrics = definition.metrics
    wanted = [*series.where, *columns, *definition.fit_where]
    wanted += [metric.column for metric in metrics]
    if series.fit is not None:
        wanted += [extra.column for extra in series.fit.extra]
    for column in wanted:
        if column not in rows[0]:
            raise ScenarioError(where, f"has no column {column!r}", nearest(column, rows[0]))
    groups: dict[tuple[Value, ...], list[dict[str, Value]]] = {}
    for row in rows:
        if row.get("passed", 1) == 0:
            continue  # a measurement that was spoiled
        if all(row[column] == value for column, value in series.where.items()):
            groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    if not groups:
        raise ScenarioError(where, f"has no rows for series {series.name!r}: {series.where}")
    ordered = sorted(groups, key=lambda key: [_rank(value) for value in key])
    for metric in metrics:
        for key in ordered:
            for row in groups[key]:
                _check(metric, row, dict(zip(columns, key, strict=True)), where)
    cells = tuple(_cell(definition, series, groups[key]) for key in ordered)
    for cell in cells:
        if not any(metric.column in cell.values for metric in metrics):
            raise ScenarioError(where, f"nothing was measured: {cell.factors}")
    return cells


def _check(metric: Metric, row: Mapping[str, Value], factors: Any, where: str) -> None:
    """Refuse what is neither empty nor a figure that a simulated one can be compared with."""
    value = row[metric.column]
    if value in {"", metric.missing}:
        return
    if isinstance(value, str) or not (value > 0.0 or (metric.absolute and value == 0.0)):
        least = "a number of at least 0" if metric.absolute else "a positive number"
        raise ScenarioError(where, f"{metric.column} must be {least}: {factors}")


def _rank(value: Value) -> tuple[int, float, str]:
    """Numbers by size and before texts."""
    return (1, 0.0, value) if isinstance(value, str) else (0, float(value), "")


def _cell(definition: Definition, series: Series, rows: list[dict[str, Value]]) -> MeasuredCell:
    first = rows[0]
    factors = {column: first[column] for column in definition.factors}
    settings: dict[str, Any] = {}
    for column, factor in definition.factors.items():
        if first[column] != "":  # what does not concern this cell
            settings |= factor.settings(first[column])
    fit_where = definition.fit_where
    return MeasuredCell(
        factors={**series.where, **factors},
        settings=settings,
        values=_medians(rows, {metric.column: metric.missing for metric in definition.metrics}),
        repetitions=len(rows),
        used_in_fit=bool(fit_where)
        and all(first[column] in values for column, values in fit_where.items()),
    )


def _medians(
    rows: Iterable[Mapping[str, Value]], missing: Mapping[str, float | None]
) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for row in rows:
        for column, value in row.items():
            if not isinstance(value, str) and value != missing.get(column):
                columns.setdefault(column, []).append(value)
    return {column: float(median(values)) for column, values in columns.items()}
