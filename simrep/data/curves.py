"""Datasets of curves, the format before derived metrics: read for one more minor release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from simrep.data.definition import Grid, Value
from simrep.errors import DatasetWarning, ScenarioError
from simrep.scenario.problems import combined, problems

__all__ = ["new_tables"]


class _Axis(BaseModel):
    path: str
    name: str
    values: tuple[float, ...]


class _CurveTable(BaseModel):
    scenario: str
    factors: Grid
    values: tuple[float, ...] | None = None


def _path_alone(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class _Curves(BaseModel):
    """The tables of the old format; all others are as they were."""

    model_config = ConfigDict(extra="allow")

    axis: _Axis
    factors: dict[str, Annotated[dict[str, Any], BeforeValidator(_path_alone)]]
    baseline: dict[str, Value]
    show: dict[str, str] = {}
    quantity: dict[str, Any]
    fit_where: tuple[dict[str, Value], ...] = ()
    precision: float = 0.05
    replications: int = 1
    curve: tuple[_CurveTable, ...]
    sustained: tuple[_CurveTable, ...] = ()


def new_tables(content: dict[str, Any], where: str) -> Mapping[str, Any]:
    """The content of ``dataset.toml``; tables of curves become derived metrics, with a warning."""
    if "curve" not in content:
        return content
    warnings.warn(
        f"{where}: tables of curves are read for one more minor release; "
        "write [derived], and `simulate` of [[series]]",
        DatasetWarning,
        stacklevel=4,
    )
    try:
        old = _Curves.model_validate(content)
    except ValidationError as error:
        raise combined(problems(error, _Curves), where) from None
    derived = {
        "along": old.axis.name,
        "baseline": old.baseline,
        "precision": old.precision,
        "metric": old.quantity,
    }
    if old.axis.name in old.factors:
        raise ScenarioError(f"{where}: axis.name", f"{old.axis.name!r} is a factor")
    set_by = {name: factor for name, factor in old.factors.items() if factor}
    return {
        **(old.model_extra or {}),
        "replications": old.replications,
        "factors": set_by | {old.axis.name: {"path": old.axis.path}},
        "derived": derived,
        "series": _series(old, where),
        "fit_where": _fit_where(old, where),
    }


def _series(old: _Curves, where: str) -> list[dict[str, Any]]:
    """A series for every scenario, and for the values of factors that set nothing in it."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for kind, tables in (("simulate", old.curve), ("sustained", old.sustained)):
        for number, table in enumerate(tables):
            if table.factors.keys() != old.factors.keys():
                place = "curve" if kind == "simulate" else kind
                problem = f"needs a value for each of {', '.join(old.factors)}"
                raise ScenarioError(f"{where}: {place}.{number}.factors", problem)
            grid = {name: values for name, values in table.factors.items() if old.factors[name]}
            if kind == "simulate":
                grid[old.axis.name] = tuple(
                    int(x) if x.is_integer() else x for x in table.values or old.axis.values
                )
            bare = [name for name in old.factors if not old.factors[name]]
            for values in product(*(table.factors[name] for name in bare)):
                name = ", ".join([table.scenario.removesuffix(".toml"), *map(str, values)])
                own: dict[str, Any] = {"name": name, "title": name, "scenario": table.scenario}
                own["where"] = dict(zip(bare, values, strict=True))
                found.setdefault((table.scenario, values), own).setdefault(kind, []).append(grid)
    return list(found.values())


def _fit_where(old: _Curves, where: str) -> dict[str, list[Value]]:
    """All old tables as one, which allows every combination of the values it lists."""
    values: dict[str, list[Value]] = {}
    for table in old.fit_where:
        for column, value in table.items():
            values.setdefault(column, []).append(value)
    lists = {column: list(dict.fromkeys(own)) for column, own in values.items()}
    rows = {tuple(sorted(table.items())) for table in old.fit_where}
    every = {tuple(sorted(zip(lists, row, strict=True))) for row in product(*lists.values())}
    if rows and rows != every:
        problem = "the tables are not every combination of lists of values"
        raise ScenarioError(f"{where}: fit_where", problem, "write one table with lists")
    return lists
