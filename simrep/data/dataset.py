"""Datasets: folders with measured cells, and scenarios that are set to simulate each of them.

A dataset is a folder with ``dataset.toml``, a CSV file with a row per measurement, and a scenario
for each measured system. Rows with equal factors are repetitions of one cell. Rows may also state
what is computed from several cells, which are then simulated whether they were measured or not.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import chain
from pathlib import Path

from pydantic import ValidationError

from simrep.data.curves import new_tables
from simrep.data.definition import Definition, DerivedTable, MetricTable, SeriesTable, Show
from simrep.data.failures import FailureCell, failure_cells
from simrep.data.measurements import (
    PASSED,
    CsvRow,
    DatasetCell,
    MeasuredCell,
    grid_cells,
    measured_cells,
    read_rows,
)
from simrep.data.statements import Statement, Systems
from simrep.errors import DatasetWarning, ScenarioError, nearest
from simrep.measure.units import spellings, unit_of
from simrep.scenario.problems import combined, problems
from simrep.user_files import is_file, parse_toml, read_text

__all__ = ["Dataset", "dataset_folder", "datasets", "load_dataset"]

DEFINITION = "dataset.toml"
_KINDS = ("published", "measured")


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
    simulated, sustained : mapping of series name to tuple of DatasetCell
        Cells to simulate besides, and systems whose sustained rate is sought: for derived metrics.
    stated : tuple of Statement
        Rows that state derived metrics, in the order of the data.
    failures : tuple of FailureCell
        Runs in which a node was hit, instead of all these.
    """

    name: str
    folder: Path
    definition: Definition
    cells: Mapping[str, tuple[MeasuredCell, ...]]
    simulated: Mapping[str, tuple[DatasetCell, ...]]
    sustained: Mapping[str, tuple[DatasetCell, ...]]
    stated: tuple[Statement, ...] = ()
    failures: tuple[FailureCell, ...] = ()

    @property
    def systems(self) -> Systems | None:
        """The systems that derived metrics are computed from; None without such metrics."""
        definition = self.definition
        if definition.derived is None:
            return None
        cells = [cell for own in (self.cells, self.simulated) for cell in chain(*own.values())]
        return Systems.of(definition, definition.derived, cells, chain(*self.sustained.values()))

    def check_measured(self) -> None:
        """Refuse a dataset whose rows are no cells with figures of a whole run."""
        if not self.definition.metrics:
            kind = "derived metrics" if self.definition.failures is None else "failures"
            problem = f"states {kind} and no measured cells"
            raise ScenarioError(self.name, problem, "simrep reproduce simulates it")

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
    where_defined = f"{own_name}/{DEFINITION}"
    every = definition.series
    if definition.failures is not None:
        nothing: dict[str, tuple[()]] = {series.name: () for series in every}
        found = failure_cells(definition, rows, where)
        return Dataset(own_name, folder, definition, nothing, nothing, nothing, failures=found)
    cells = {series.name: measured_cells(definition, series, rows, where) for series in every}
    for series in every:
        _check_extras(series, cells[series.name], where_defined)
    simulated = {s.name: grid_cells(definition, s, "simulate", where_defined) for s in every}
    for system, measured in cells.items():
        known = [cell.factors for cell in measured]
        simulated[system] = tuple(c for c in simulated[system] if c.factors not in known)
    sustained = {s.name: grid_cells(definition, s, "sustained", where_defined) for s in every}
    dataset = Dataset(own_name, folder, definition, cells, simulated, sustained)
    for metric in definition.metrics:
        if not any(metric.column in cell.values for cell in chain(*cells.values())):
            raise ScenarioError(where, f"{metric.column} is empty in all rows")
    systems = dataset.systems
    if systems is None:
        return dataset
    stated = tuple(
        systems.statement(row, where)
        for row in rows
        if definition.states(row) and row.get(PASSED, 1) != 0
    )
    if not definition.metrics and definition.fit_where and not any(r.used_in_fit for r in stated):
        raise ScenarioError(f"{where_defined}: fit_where", f"no row of {where} is meant")
    return replace(dataset, stated=stated)


def dataset_folder(name: str | Path) -> Path:
    """The folder of a dataset, by its name or path."""
    shipped = _shipped().get(str(name))
    folder = shipped or Path(name)
    if not is_file(folder / DEFINITION):
        raise ScenarioError(
            str(name), f"neither a dataset nor a folder with {DEFINITION}", _known(name)
        )
    return shipped or folder.resolve()


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


def _definition(folder: Path) -> Definition:
    where = f"{folder.name}/{DEFINITION}"
    try:
        content = parse_toml(read_text(folder / DEFINITION, where), where)
        definition = Definition.model_validate(new_tables(content, where))
    except ValidationError as error:
        raise combined(problems(error, Definition), where) from None
    for key in (definition.show.x, definition.show.by):
        if key and key not in definition.factors:
            raise ScenarioError(
                f"{where}: show", f"{key!r} is no factor", nearest(key, definition.factors)
            )
    for metric in definition.metrics:
        _check_unit(metric, where)
    if definition.derived is not None:
        _check_factors(definition, definition.derived, where)
    _check_timeline(definition, where)
    return definition


def _check_factors(definition: Definition, derived: DerivedTable, where: str) -> None:
    allowed = {"along": list(definition.factors), "baseline": list(definition.systems_by)}
    for place, names in (("along", [derived.along]), ("baseline", derived.baseline)):
        for name in names:
            if name not in allowed[place]:
                hint = nearest(name, allowed[place])
                raise ScenarioError(f"{where}: derived.{place}", f"{name!r} is no factor", hint)


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


def _check_extras(series: SeriesTable, cells: Sequence[MeasuredCell], where: str) -> None:
    """Refuse further columns of a fit that are wanted of cells which are not there."""
    for extra in series.fit.extra if series.fit else ():
        place = f"{where}: series {series.name!r}: fit.extra.where"
        for name, values in extra.where.items():
            known = {cell.factors[name] for cell in cells if name in cell.factors}
            if not known:
                raise ScenarioError(
                    place,
                    f"has no factor {name!r}",
                    nearest(name, cells[0].factors if cells else ()),
                )
            for value in values:
                if value not in known:
                    raise ScenarioError(
                        place,
                        f"no cell has {name} = {value!r}",
                        nearest(str(value), map(str, known)),
                    )


def _shown(definition: Definition, rows: Sequence[CsvRow]) -> Show:
    """How it is shown, with the factors that vary most where it does not say."""
    show = definition.show
    if show.x or not definition.metrics:
        return show
    names = [name for name in definition.factors if name in rows[0]]
    values = {name: {row[name] for row in rows} - {""} for name in names}
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
