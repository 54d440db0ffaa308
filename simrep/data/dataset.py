"""Datasets: folders with measured cells, and scenarios that are set to simulate each of them.

A dataset is a folder with ``dataset.toml``, a CSV file with a row per measurement, and a scenario
for each measured system. Rows with equal factors are repetitions of one cell.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from simrep.data.definition import Definition, MetricTable, SeriesTable, Show
from simrep.data.measurements import (
    PASSED,
    CsvRow,
    MeasuredCell,
    measured_cells,
    read_rows,
)
from simrep.errors import DatasetWarning, ScenarioError, nearest
from simrep.measure.units import spellings, unit_of
from simrep.scenario.problems import combined, problems

__all__ = [
    "DEFINITION",
    "Dataset",
    "dataset_folder",
    "datasets",
    "has_curves",
    "load_dataset",
    "read_definition",
]

DEFINITION = "dataset.toml"
_KINDS = ("published", "measured")
D = TypeVar("D", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as read from its folder.

    Attributes
    ----------
    name : str
        Name of the folder; of a measured one that ships beside a published one of that name,
        with ``-measured`` behind it.
    folder : Path
    definition : Definition
    cells : mapping of series name to tuple of MeasuredCell
        In the order of the factors' values.
    """

    name: str
    folder: Path
    definition: Definition
    cells: Mapping[str, tuple[MeasuredCell, ...]]

    def scenario_path(self, series: SeriesTable) -> Path:
        """The scenario file of a series."""
        return self.folder / series.scenario


def datasets() -> list[str]:
    """Names of the datasets that ship with the package."""
    return sorted(_shipped())


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

    Warns
    -----
    DatasetWarning
        About columns that nothing uses, and figures that are missing.
    """
    folder = dataset_folder(name)
    own_name = _name(folder)
    definition = _definition(folder)
    where = f"{own_name}/{definition.data}"
    rows = read_rows(folder / definition.data, where)
    _check_columns(definition, rows, where)
    definition = definition.model_copy(update={"show": _shown(definition, rows)})
    cells = {
        series.name: measured_cells(definition, series, rows, where) for series in definition.series
    }
    for metric in definition.metrics:
        if not any(metric.column in cell.values for own in cells.values() for cell in own):
            raise ScenarioError(where, f"{metric.column} is empty in all rows")
    return Dataset(own_name, folder, definition, cells)


def dataset_folder(name: str | Path) -> Path:
    """The folder of a dataset, by its name or path."""
    folder = _shipped().get(str(name)) or Path(name).resolve()
    if not (folder / DEFINITION).is_file():
        raise ScenarioError(
            str(name), f"neither a dataset nor a folder with {DEFINITION}", _known(name)
        )
    return folder


def _shipped() -> dict[str, Path]:
    """Folders of the datasets that ship, by their names, which are unique."""
    root = Path(str(files("simrep") / "datasets"))
    found: dict[str, Path] = {}
    for kind in _KINDS:
        for path in sorted((root / kind).glob(f"*/{DEFINITION}")):
            name = path.parent.name
            found[f"{name}-{kind}" if name in found else name] = path.parent
    return found


def _name(folder: Path) -> str:
    return next((name for name, own in _shipped().items() if own == folder), folder.name)


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
        if key and key not in definition.factors:
            raise ScenarioError(
                f"{where}: show", f"{key!r} is no factor", nearest(key, definition.factors)
            )
    for metric in definition.metrics:
        _check_unit(metric, where)
    _check_timeline(definition, where)
    return definition


def _check_unit(metric: MetricTable, where: str) -> None:
    """Figures are compared as they are, so they have to be in the same unit."""
    unit = unit_of(metric.result)
    if unit is not None and metric.unit not in spellings(unit):
        raise ScenarioError(
            f"{where}: metric.{metric.column}.unit",
            f"{metric.unit!r} does not fit {metric.result}, which is in {unit or 'no unit'}",
            "write " + " or ".join(repr(spelling) for spelling in spellings(unit)),
        )


def _check_columns(definition: Definition, rows: Sequence[CsvRow], where: str) -> None:
    """Refuse columns that are not there; tell of those that nothing uses and nothing declares."""
    for column in (*sorted(definition.mapped), *definition.ignore):
        if column not in rows[0]:
            raise ScenarioError(where, f"has no column {column!r}", nearest(column, rows[0]))
    unused = rows[0].keys() - definition.mapped - set(definition.ignore) - {PASSED}
    if unused:
        names = ", ".join(column for column in rows[0] if column in unused)
        warnings.warn(
            f"{where}: nothing uses {names}; columns for information belong into ignore",
            DatasetWarning,
            stacklevel=3,
        )


def _shown(definition: Definition, rows: Sequence[CsvRow]) -> Show:
    """How it is shown, with the factors that vary most where it does not say."""
    show = definition.show
    if show.x:
        return show
    values = {name: {row[name] for row in rows} - {""} for name in definition.factors}
    numeric = {n: own for n, own in values.items() if not any(isinstance(v, str) for v in own)}
    x = max(numeric or values, key=lambda name: len(values[name]))
    others = [name for name in values if name != x and len(values[name]) > 1]
    by = show.by or max(others, key=lambda name: len(values[name]), default=None)
    return show.model_copy(update={"x": x, "by": by})


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
