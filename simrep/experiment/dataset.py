"""What a dataset is: measured cells, and how a scenario is set to simulate each of them.

A dataset is a folder with ``dataset.toml``, a CSV file with a row per measurement, and a scenario for
each measured system. Rows with equal factors are repetitions of one cell.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from simrep.errors import ScenarioError, nearest
from simrep.experiment.measured import MeasuredCell, Value, measured_cells, read_rows
from simrep.scenario.problems import combined, problems

__all__ = [
    "DEFINITION",
    "Definition",
    "Factor",
    "MeasuredCell",
    "Metric",
    "Series",
    "Dataset",
    "Value",
    "load_dataset",
    "read_rows",
    "datasets",
    "dataset_folder",
]

DEFINITION = "dataset.toml"
D = TypeVar("D", bound=BaseModel)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _path_alone(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


def _one_or_several(value: Any) -> Any:
    return (value,) if isinstance(value, dict) else value


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

    column: str = Field(description="CSV column; a cell where it is empty has no such figure")
    result: str = Field(description='figure of a result, e.g. "makespan_s" or "latency_s.p95"')
    unit: str
    label: str
    absolute: float | None = Field(
        None,
        gt=0,
        description="tolerance in the unit: differences are judged by it and not by their "
        "relative size, and a measured 0 is allowed",
    )
    relative: float | None = Field(
        None, gt=0, description="beside `absolute`: a relative error that is tolerated as well"
    )
    missing: float | None = Field(None, description="what stands in the column for no figure")
    fitted: bool = Field(
        False, description="the fit knows it in all cells, also in those that it does not use"
    )

    def tolerates(self, measured: float, predicted: float) -> bool | None:
        """Whether a difference is within the tolerance; None if it is judged by its size."""
        if self.absolute is None:
            return None
        allowed = max(self.absolute, (self.relative or 0.0) * measured)
        return abs(predicted - measured) <= allowed + 1e-9  # figures may be whole intervals


class Bands(_Table):
    """Which metrics are drawn beside the time series, by the names of their columns."""

    before: str | None = Field(None, description="a rate before the scheduled transaction")
    during: str | None = Field(None, description="a rate while it is executed, or until `until`")
    execution: str | None = Field(None, description="how long that takes, in seconds")
    until: str | None = Field(
        None, description="where the level `during` ends, in seconds; default: `execution`"
    )
    stall: str | None = Field(None, description="the longest stall, in seconds")


class Show(_Table):
    """Which factors make the axis and the colours of the plot, the rows and blocks of the table."""

    x: str
    by: str | None = Field(None, description="default: one line and one block of each system")
    breakdown: bool = Field(
        False, description="also print where the time of a transaction goes in each system"
    )
    timeline: bool = Field(
        False,
        description="the plot shows commits over time, a panel per cell, with the marks of the "
        "scheduled transaction",
    )
    bands: Bands = Field(Bands(), description="what the timeline shows of the measurement")
    panels: dict[str, str] = Field(
        {}, description="what a panel of the timeline is called, by the value of `x`"
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
    absolute: float | None = Field(
        None,
        gt=0,
        description="standard deviation in the unit of the column, beside `noise`: differences "
        "and not ratios are compared, and a measured 0 is allowed",
    )


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
    scenario: str = Field(description="scenario file beside dataset.toml")
    where: dict[str, Value] = Field({}, description="columns and values that select its rows")
    what_if: tuple[WhatIf, ...] = ()
    fit: Fit | None = None


class Definition(_Table):
    """The content of ``dataset.toml``."""

    title: str
    source: str
    data: str = Field("data.csv", description="CSV file beside dataset.toml")
    replications: int = Field(5, ge=1)
    seed: int = Field(1, ge=0)
    metrics: Annotated[tuple[Metric, ...], BeforeValidator(_one_or_several)] = Field(
        alias="metric", min_length=1, description="what was measured; the plot shows the first"
    )
    factors: dict[str, Annotated[Factor, BeforeValidator(_path_alone)]] = Field(min_length=1)
    fit_where: dict[str, tuple[Value, ...]] = Field(
        {}, description="columns and values of the cells that a fit may use"
    )
    show: Show
    series: tuple[Series, ...] = Field(min_length=1)

    @property
    def metric(self) -> Metric:
        """The first of the metrics."""
        return self.metrics[0]

    @property
    def scheduled(self) -> str | None:
        """Name of the scheduled transaction that the metrics are about, if they are."""
        paths = (metric.result.split(".") for metric in self.metrics)
        return next((path[1] for path in paths if path[0] == "scheduled"), None)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as read from its folder.

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


def datasets() -> list[str]:
    """Names of the datasets that ship with the package."""
    return sorted(path.parent.name for path in _shipped().glob(f"*/{DEFINITION}"))


def load_dataset(name: str | Path) -> Dataset:
    """Read a dataset.

    Parameters
    ----------
    name : str or Path
        Name of a dataset that ships with the package, or a folder with a ``dataset.toml``.

    Raises
    ------
    ScenarioError
        When there is no such dataset, or it contradicts itself or its data.
    """
    folder = dataset_folder(name)
    definition = _definition(folder)
    where = f"{folder.name}/{definition.data}"
    rows = read_rows(folder / definition.data, where)
    cells = {
        series.name: measured_cells(definition, series, rows, where) for series in definition.series
    }
    return Dataset(folder.name, folder, definition, cells)


def dataset_folder(name: str | Path) -> Path:
    """The folder of a dataset, by its name or path."""
    folder = _shipped() / name if str(name) in datasets() else Path(name)
    if not (folder / DEFINITION).is_file():
        raise ScenarioError(
            str(name), f"neither a dataset nor a folder with {DEFINITION}", _known(name)
        )
    return folder


def _shipped() -> Path:
    return Path(str(files("simrep") / "datasets"))


def _known(name: str | Path) -> str:
    return nearest(str(name), datasets())


def has_curves(folder: Path) -> bool:
    """Whether a dataset is one of curves and not of cells."""
    return "curve" in _toml(folder)


def read_definition(folder: Path, kind: type[D]) -> D:
    """The ``dataset.toml`` of a folder.

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
            where, "is a dataset of curves, not of cells", "simrep reproduce simulates it"
        )
    definition = read_definition(folder, Definition)
    for key in (definition.show.x, definition.show.by):
        if key is not None and key not in definition.factors:
            raise ScenarioError(
                f"{where}: show", f"{key!r} is no factor", nearest(key, definition.factors)
            )
    _check_timeline(definition, where)
    return definition


def _check_timeline(definition: Definition, where: str) -> None:
    columns = [metric.column for metric in definition.metrics]
    for band, column in definition.show.bands:
        if column is not None and column not in columns:
            raise ScenarioError(
                f"{where}: show.bands.{band}", f"no metric {column!r}", nearest(column, columns)
            )
    if definition.show.timeline and definition.scheduled is None:
        raise ScenarioError(
            f"{where}: show.timeline", "needs a metric of a scheduled transaction",
            'result = "scheduled.NAME.execution_s"',
        )  # fmt: skip
