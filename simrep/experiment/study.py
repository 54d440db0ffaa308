"""What a study is: measured cells, and how a scenario is set to simulate each of them.

A study is a folder with ``study.toml``, a CSV file with a row per measurement, and a scenario for
each measured system. Rows with equal factors are repetitions of one cell.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from simrep.errors import ScenarioError, nearest
from simrep.scenario.problems import combined, problems

__all__ = [
    "DEFINITION",
    "Definition",
    "Factor",
    "MeasuredCell",
    "Series",
    "Study",
    "Value",
    "load_study",
    "read_rows",
    "studies",
    "study_folder",
]

Value = int | float | str
DEFINITION = "study.toml"
D = TypeVar("D", bound=BaseModel)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _path_alone(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class Factor(_Table):
    """Where the values of a CSV column go in the scenario; a string is the path alone."""

    path: str = Field(description="scenario path that takes the value")
    at: dict[str, dict[str, Any]] = Field(
        {}, description="per value of the column: scenario paths set instead of or besides `path`"
    )

    def settings(self, value: Value) -> dict[str, Any]:
        """Scenario paths and what they are set to for a value of the column."""
        return {self.path: value, **self.at.get(str(value), {})}


class Metric(_Table):
    """What was measured and what a result calls it."""

    column: str = Field(description="CSV column")
    result: str = Field(description='figure of a result, e.g. "makespan_s" or "latency_s.p95"')
    unit: str
    label: str


class Show(_Table):
    """Which factors make the axis and the colours of the plot, the rows and blocks of the table."""

    x: str
    by: str
    breakdown: bool = Field(
        False, description="also print where the time of a transaction goes in each system"
    )


class WhatIf(_Table):
    """A variant that is simulated beside the measured system and not scored."""

    name: str
    set: dict[str, Any] = Field(description="scenario paths and their values")


class Parameter(_Table):
    """A cost that a fit may change, with what is known about it beforehand."""

    name: str = Field(description="field of the model's costs, or machine.TRAIT")
    prior: float = Field(gt=0, description="most plausible value before the fit")
    sigma: float = Field(0.7, gt=0, description="standard deviation of its logarithm")
    low: float | None = Field(None, gt=0, description="lower bound")
    high: float | None = Field(None, gt=0, description="upper bound")

    @property
    def path(self) -> str:
        """Where it stands in a scenario."""
        return f"cluster.{self.name}" if "." in self.name else f"cluster.costs.{self.name}"


class Extra(_Table):
    """A further measured column that a fit has to explain."""

    column: str
    result: str
    noise: float = Field(0.2, gt=0, description="relative standard deviation of a measurement")


class Fit(_Table):
    """How local costs are fitted to the cells that `fit_where` names."""

    parameter: tuple[Parameter, ...] = Field(min_length=1)
    noise: float = Field(0.05, gt=0, description="relative standard deviation of a measurement")
    extra: tuple[Extra, ...] = ()
    replications: int = Field(3, ge=1)
    seed: int = Field(1, ge=0)


class Series(_Table):
    """One measured system: its rows of the data and the scenario that stands for it."""

    name: str
    title: str
    scenario: str = Field(description="scenario file beside study.toml")
    where: dict[str, Value] = Field({}, description="columns and values that select its rows")
    what_if: tuple[WhatIf, ...] = ()
    fit: Fit | None = None


class Definition(_Table):
    """The content of ``study.toml``."""

    title: str
    source: str
    data: str = Field("data.csv", description="CSV file beside study.toml")
    replications: int = Field(5, ge=1)
    seed: int = Field(1, ge=0)
    metric: Metric
    factors: dict[str, Annotated[Factor, BeforeValidator(_path_alone)]] = Field(min_length=1)
    fit_where: dict[str, tuple[Value, ...]] = Field(
        {}, description="columns and values of the cells that a fit may use"
    )
    show: Show
    series: tuple[Series, ...] = Field(min_length=1)


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
        Medians over the repetitions; columns that are not numbers are left out.
    repetitions : int
    used_in_fit : bool
    """

    factors: Mapping[str, Value]
    settings: Mapping[str, Any]
    values: Mapping[str, float]
    repetitions: int
    used_in_fit: bool


@dataclass(frozen=True, slots=True)
class Study:
    """A study as read from its folder.

    Attributes
    ----------
    name : str
        Name of the folder.
    folder : Path
    definition : Definition
    cells : mapping of series name to tuple of MeasuredCell
        In the order of the factors' values.
    """

    name: str
    folder: Path
    definition: Definition
    cells: Mapping[str, tuple[MeasuredCell, ...]]

    def scenario_path(self, series: Series) -> Path:
        """The scenario file of a series."""
        return self.folder / series.scenario


def studies() -> list[str]:
    """Names of the studies that ship with the package."""
    return sorted(path.parent.name for path in _shipped().glob(f"*/{DEFINITION}"))


def load_study(name: str | Path) -> Study:
    """Read a study.

    Parameters
    ----------
    name : str or Path
        Name of a study that ships with the package, or a folder with a ``study.toml``.

    Raises
    ------
    ScenarioError
        When there is no such study, or it contradicts itself or its data.
    """
    folder = study_folder(name)
    definition = _definition(folder)
    where = f"{folder.name}/{definition.data}"
    rows = read_rows(folder / definition.data, where)
    cells = {series.name: _cells(definition, series, rows, where) for series in definition.series}
    return Study(folder.name, folder, definition, cells)


def study_folder(name: str | Path) -> Path:
    """The folder of a study, by its name or path."""
    folder = _shipped() / name if str(name) in studies() else Path(name)
    if not (folder / DEFINITION).is_file():
        raise ScenarioError(
            str(name), f"neither a study nor a folder with {DEFINITION}", _known(name)
        )
    return folder


def _shipped() -> Path:
    return Path(str(files("simrep") / "studies"))


def _known(name: str | Path) -> str:
    return nearest(str(name), studies())


def has_curves(folder: Path) -> bool:
    """Whether a study is one of curves and not of cells."""
    return "curve" in _toml(folder)


def read_definition(folder: Path, kind: type[D]) -> D:
    """The ``study.toml`` of a folder.

    Raises
    ------
    ScenarioError
        When it is not TOML, or not a definition of that kind.
    """
    content = _toml(folder)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise combined(problems(error, kind), f"{folder.name}/{DEFINITION}") from None


def _toml(folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads((folder / DEFINITION).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{folder.name}/{DEFINITION}", f"is not TOML: {error}") from None


def _definition(folder: Path) -> Definition:
    where = f"{folder.name}/{DEFINITION}"
    if has_curves(folder):
        raise ScenarioError(
            where, "is a study of curves, not of cells", "simrep reproduce simulates it"
        )
    definition = read_definition(folder, Definition)
    for key in (definition.show.x, definition.show.by):
        if key not in definition.factors:
            raise ScenarioError(
                f"{where}: show", f"{key!r} is no factor", nearest(key, definition.factors)
            )
    return definition


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


def _cells(
    definition: Definition, series: Series, rows: list[dict[str, Value]], where: str
) -> tuple[MeasuredCell, ...]:
    columns = list(definition.factors)
    wanted = [*series.where, *columns, *definition.fit_where, definition.metric.column]
    if series.fit is not None:
        wanted += [extra.column for extra in series.fit.extra]
    for column in wanted:
        if column not in rows[0]:
            raise ScenarioError(where, f"has no column {column!r}", nearest(column, rows[0]))
    groups: dict[tuple[Value, ...], list[dict[str, Value]]] = {}
    for row in rows:
        if all(row[column] == value for column, value in series.where.items()):
            groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    if not groups:
        raise ScenarioError(where, f"has no rows for series {series.name!r}: {series.where}")
    ordered = sorted(groups, key=lambda key: [_rank(value) for value in key])
    cells = tuple(_cell(definition, series, groups[key]) for key in ordered)
    measured = definition.metric.column
    for cell in cells:
        if not cell.values.get(measured, 0.0) > 0.0:
            raise ScenarioError(where, f"{measured} must be a positive number: {cell.factors}")
    return cells


def _rank(value: Value) -> tuple[int, float, str]:
    """Numbers by size and before texts."""
    return (1, 0.0, value) if isinstance(value, str) else (0, float(value), "")


def _cell(definition: Definition, series: Series, rows: list[dict[str, Value]]) -> MeasuredCell:
    first = rows[0]
    factors = {column: first[column] for column in definition.factors}
    settings: dict[str, Any] = {}
    for column, factor in definition.factors.items():
        settings |= factor.settings(first[column])
    fit_where = definition.fit_where
    return MeasuredCell(
        factors={**series.where, **factors},
        settings=settings,
        values=_medians(rows),
        repetitions=len(rows),
        used_in_fit=bool(fit_where)
        and all(first[column] in values for column, values in fit_where.items()),
    )


def _medians(rows: Iterable[Mapping[str, Value]]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for row in rows:
        for column, value in row.items():
            if not isinstance(value, str):
                columns.setdefault(column, []).append(value)
    return {column: float(median(values)) for column, values in columns.items()}
