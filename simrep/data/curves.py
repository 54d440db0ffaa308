"""What a dataset of curves is: systems swept over one axis, and stated quantities read off them.

Some publications state no measured cells but what their charts show: a ratio of two maxima, a mean
gap between two curves. Such a dataset is a folder with ``dataset.toml``, which says how each curve
is simulated, and a CSV file with a row per stated quantity and the range that it was stated with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from simrep.data.curve_quantities import QUANTITIES, common
from simrep.data.dataset import (
    DEFINITION,
    Dataset,
    dataset_folder,
    has_curves,
    load_dataset,
    read_definition,
)
from simrep.data.definition import Information, Value
from simrep.data.measurements import read_rows
from simrep.errors import ScenarioError, nearest

__all__ = [
    "Curve",
    "CurveDataset",
    "CurveDefinition",
    "CurveFactor",
    "CurveTable",
    "Quantity",
    "Stated",
    "load_curve_dataset",
    "open_dataset",
]

Key = tuple[Value, ...]
"""Which curve: a value for every factor, in the order of the definition."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Axis(_Table):
    """What a curve is swept over."""

    path: str = Field(description="scenario path that takes the value")
    name: str = Field(description="what it is called, with its unit at the end if it has one")
    values: tuple[float, ...] = Field(min_length=1, description="points of every curve")


def _path_alone(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class CurveFactor(_Table):
    """What a factor changes in the scenario; a string is the path alone."""

    path: str | None = Field(None, description="scenario path that takes the value, if any")
    at: dict[str, dict[str, Any]] = Field(
        {}, description="per value: scenario paths set besides `path`"
    )

    def settings(self, value: Value) -> dict[str, Any]:
        """Scenario paths and what they are set to for a value."""
        own = {} if self.path is None else {self.path: value}
        return own | self.at.get(str(value), {})


def _listed(value: Any) -> Any:
    return {
        name: one if isinstance(one, list) else [one] for name, one in value.items()
    }  # a value alone is a list of one


class CurveTable(_Table):
    """Curves, or sustained rates, of one scenario: every combination of its factors' values."""

    scenario: str = Field(description="scenario file beside dataset.toml")
    factors: Annotated[dict[str, tuple[Value, ...]], BeforeValidator(_listed)] = Field(
        description="values of every factor; one alone or a list"
    )
    values: tuple[float, ...] | None = Field(
        None, min_length=1, description="values of the axis, instead of the dataset's"
    )


class Quantity(_Table):
    """A quantity that rows may state."""

    kind: Literal[
        "maximum_ratio",
        "maximum_gap",
        "maximum_ratio_drop",
        "mean_gap",
        "gap_at",
        "mean_latency_increase",
        "mean_latency_added_ms",
        "sustained_ratio",
    ] = Field(description="how it is computed; see simrep.data.curve_quantities")
    at: float | None = Field(None, description="of gap_at: the value of the axis")
    up_to: float | None = Field(None, description="of means: the largest value of the axis to use")


class CurveShow(_Table):
    """How the figure is laid out."""

    facet: str = Field(description="factor with a row of charts per value")
    across: str = Field(description="numeric factor on the horizontal axis of the first chart")
    by: str = Field(description="factor that tells the systems apart")


class CurveDefinition(Information):
    """The content of ``dataset.toml`` of a dataset of curves."""

    replications: int = Field(1, ge=1, description="of the simulation")
    axis: Axis = Field(description="what curves are swept over")
    factors: dict[str, Annotated[CurveFactor, BeforeValidator(_path_alone)]] = Field(
        min_length=1, description="what tells curves apart"
    )
    baseline: dict[str, Value] = Field(
        description="factors that a curve is changed in to find the one it is compared with"
    )
    show: CurveShow = Field(description="how the figure is laid out")
    quantity: dict[str, Quantity] = Field(min_length=1, description="what rows may state")
    fit_where: tuple[dict[str, Value], ...] = Field(
        (), description="columns and values of the rows that costs were fitted to"
    )
    precision: float = Field(0.05, ge=0.01, le=0.5, description="of a sustained rate, relative")
    curve: tuple[CurveTable, ...] = Field(min_length=1, description="what is simulated")
    sustained: tuple[CurveTable, ...] = Field((), description="whose sustained rate is sought")


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve to simulate, or one system whose sustained rate is sought.

    Attributes
    ----------
    key : tuple of value
        A value for every factor.
    scenario : Path
    settings : mapping of scenario path to value
    values : tuple of float
        Of the axis.
    """

    key: Key
    scenario: Path
    settings: Mapping[str, Any]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Stated:
    """One row of the data: a quantity, and the range that it was stated with.

    Attributes
    ----------
    factors : mapping of str to value
        As in the file; ``a-b`` means everything from a to b, ``a+b`` the mean of both.
    quantity : str
    low, high : float
    unit : str
        ``ratio`` or ``ms``.
    groups : tuple of tuple of key
        What has to be averaged: one group for each value that the row holds for.
    used_in_fit : bool
    """

    factors: Mapping[str, Value]
    quantity: str
    low: float
    high: float
    unit: str
    groups: tuple[tuple[Key, ...], ...]
    used_in_fit: bool


@dataclass(frozen=True, slots=True)
class CurveDataset:
    """A dataset of curves as read from its folder.

    Attributes
    ----------
    name : str
        Name of the folder.
    folder : Path
    definition : CurveDefinition
    curves, sustained : tuple of Curve
        What is to be simulated.
    rows : tuple of Stated
        In the order of the data.
    """

    name: str
    folder: Path
    definition: CurveDefinition
    curves: tuple[Curve, ...]
    sustained: tuple[Curve, ...]
    rows: tuple[Stated, ...]

    def baseline(self, key: Key) -> Key:
        """The curve that a curve is compared with."""
        names = self.definition.factors
        own = dict(zip(names, key, strict=True)) | self.definition.baseline
        return tuple(own[name] for name in names)


def open_dataset(name: str | Path) -> Dataset | CurveDataset:
    """A dataset of either kind, by its name or folder."""
    return load_curve_dataset(name) if has_curves(dataset_folder(name)) else load_dataset(name)


def load_curve_dataset(name: str | Path) -> CurveDataset:
    """Read a dataset of curves.

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
    where = f"{folder.name}/{DEFINITION}"
    definition = read_definition(folder, CurveDefinition)
    _check_names(definition, where)
    curves = tuple(_expanded(definition, definition.curve, folder))
    sustained = tuple(_expanded(definition, definition.sustained, folder))
    data = f"{folder.name}/{definition.data}"
    rows = read_rows(folder / definition.data, data)
    dataset = CurveDataset(folder.name, folder, definition, curves, sustained, ())
    stated = tuple(_stated(dataset, row, data) for row in rows)
    for position, wanted in enumerate(definition.fit_where):
        if not any(wanted.items() <= row.items() for row in rows):
            raise ScenarioError(f"{where}: fit_where.{position}", f"no row of {data} is meant")
    return CurveDataset(folder.name, folder, definition, curves, sustained, stated)


def _check_names(definition: CurveDefinition, where: str) -> None:
    factors = definition.factors
    show = definition.show
    for place, names in (
        ("show", (show.facet, show.across, show.by)),
        ("baseline", tuple(definition.baseline)),
    ):
        for name in names:
            if name not in factors:
                raise ScenarioError(
                    f"{where}: {place}", f"{name!r} is no factor", nearest(name, factors)
                )
    for kind in ("curve", "sustained"):
        for position, table in enumerate(getattr(definition, kind)):
            if table.factors.keys() != factors.keys():
                raise ScenarioError(
                    f"{where}: {kind}.{position}.factors",
                    f"needs a value for each of {', '.join(factors)}, "
                    f"given {', '.join(table.factors) or 'none'}",
                )
    for name, quantity in definition.quantity.items():
        uses = QUANTITIES[quantity.kind].uses
        for option, value in (("at", quantity.at), ("up_to", quantity.up_to)):
            if value is not None and option != uses:
                problem = f"has no meaning for {quantity.kind}"
                raise ScenarioError(f"{where}: quantity.{name}.{option}", problem)
        if uses == "at" and quantity.at is None:
            raise ScenarioError(f"{where}: quantity.{name}.at", "is required")


def _expanded(
    definition: CurveDefinition, tables: tuple[CurveTable, ...], folder: Path
) -> Iterator[Curve]:
    for table in tables:
        for values in product(*(table.factors[name] for name in definition.factors)):
            settings: dict[str, Any] = {}
            for (_, factor), value in zip(definition.factors.items(), values, strict=True):
                settings |= factor.settings(value)
            yield Curve(
                values, folder / table.scenario, settings, table.values or definition.axis.values
            )


def _stated(dataset: CurveDataset, row: Mapping[str, Value], where: str) -> Stated:
    definition = dataset.definition
    for column in (*definition.factors, "quantity", "low", "high", "unit"):
        if column not in row:
            raise ScenarioError(where, f"has no column {column!r}", nearest(column, row))
    name, low, high = str(row["quantity"]), row["low"], row["high"]
    if name not in definition.quantity:
        raise ScenarioError(where, f"no quantity {name!r}", nearest(name, definition.quantity))
    if isinstance(low, str) or isinstance(high, str) or not low <= high:
        raise ScenarioError(where, f"{name}: low..high is no range, given {low}..{high}")
    quantity = definition.quantity[name]
    of_sustained = quantity.kind == "sustained_ratio"
    available = dataset.sustained if of_sustained else dataset.curves
    groups = _groups(
        definition, row, [curve.key for curve in available], QUANTITIES[quantity.kind].whole_range
    )
    if not groups or not all(groups):
        raise ScenarioError(
            where,
            f"{name}: no {'sustained rate' if of_sustained else 'curve'} for "
            + ", ".join(f"{factor} {row[factor]}" for factor in definition.factors),
        )
    axes = {curve.key: curve.values for curve in dataset.curves}
    uses = QUANTITIES[quantity.kind].uses
    for key in (key for group in groups for key in group):
        base = dataset.baseline(key)
        if base not in axes:
            raise ScenarioError(where, f"{name}: no curve for the baseline {base}")
        shared = common(axes[key], axes[base], quantity.up_to) if uses else []
        if (uses == "at" and quantity.at not in shared) or (uses and not shared):
            wanted = f"at {quantity.at:g}" if quantity.at is not None else "to take the mean of"
            raise ScenarioError(
                where,
                f"{name}: curve {key} and its baseline have no point in common {wanted}",
                "add the value to their axes",
            )
    return Stated(
        factors={factor: row[factor] for factor in definition.factors},
        quantity=name,
        low=float(low),
        high=float(high),
        unit=str(row["unit"]),
        groups=groups,
        used_in_fit=any(
            all(row.get(column) == value for column, value in wanted.items())
            for wanted in definition.fit_where
        ),
    )


def _groups(
    definition: CurveDefinition,
    row: Mapping[str, Value],
    keys: list[Key],
    whole_range: bool,
) -> tuple[tuple[Key, ...], ...]:
    """Keys that a row is about: a mean over those of a group, a statement for every group."""
    across = list(definition.factors).index(definition.show.across)
    wanted = [_matcher(row[factor]) for factor in definition.factors]
    own = [key for key in keys if all(fits(value) for fits, value in zip(wanted, key, strict=True))]
    own.sort(key=lambda key: [(isinstance(value, str), value) for value in key])
    if whole_range:
        return (tuple(own),)
    return tuple(
        tuple(key for key in own if key[across] == value)
        for value in dict.fromkeys(key[across] for key in own)
    )


def _matcher(cell: Value) -> Any:
    """Whether a factor's value is meant by a cell such as 2, "2-9" or "a+b"."""
    if not isinstance(cell, str):
        return lambda value: value == cell
    first, dash, last = cell.partition("-")
    if dash and first.isdigit() and last.isdigit():
        return lambda value: not isinstance(value, str) and int(first) <= value <= int(last)
    names = cell.split("+")
    return lambda value: str(value) in names
