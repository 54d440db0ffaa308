"""Product options and costs: defaults, versions and what the scenario sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from simrep.errors import ScenarioError, nearest
from simrep.scenario.problems import Step, combined, dotted, problems, spellings
from simrep.user_files import parse_toml

__all__ = ["by_spelling", "in_product_spelling", "resolve", "version_defaults", "versions"]

M = TypeVar("M", bound=BaseModel)

_SWITCH = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}


@cache
def versions(package: str, model: str) -> Mapping[str, Mapping[str, Any]]:
    """Option overrides by product version, from the models' package; empty when there are none."""
    file = files(package) / "versions" / f"{model}.toml"
    return parse_toml(file.read_text(encoding="utf-8"), str(file)) if file.is_file() else {}


def version_defaults(package: str, model: str, version: str | None) -> Mapping[str, Any]:
    """Overrides of one version; None is the newest, which the model's own defaults describe."""
    if version is None:
        return {}
    known = versions(package, model)
    if version not in known:
        hint = nearest(version, known) or f"model {model!r} knows no versions"
        raise ScenarioError("cluster.version", f"no version {version!r}", hint)
    return known[version]


def resolve(
    table: type[M], path: str, layers: Mapping[str, Mapping[str, Any]], own: Mapping[str, Any]
) -> M:
    """Options (or costs) from several layers, above the defaults of the fields of ``table``.

    ``layers`` are named by where they come from, later ones above earlier ones; above all stands
    what the scenario sets at ``path``. Unknown names and values that are not allowed are refused,
    with their place and the nearest valid name.
    """
    merged: dict[str, Any] = {}
    origins: dict[Step, Sequence[Step]] = {}
    for where, layer in {**layers, path: own}.items():
        values = by_spelling(table, layer, where)
        merged |= values
        origins |= dict.fromkeys(values, path.split(".") if where == path else (where,))
    try:
        resolved = table.model_validate(merged, strict=True)
    except ValidationError as error:
        raise combined(problems(error, table, path.split("."), origins), path) from error
    if unbounded := list(_not_finite(resolved, path, origins)):
        raise combined(unbounded, path)
    return resolved


def _not_finite(
    values: BaseModel, path: str, origins: Mapping[Step, Sequence[Step]]
) -> Iterator[ScenarioError]:
    """Numbers without end that the table does not ask for, whatever bounds it has.

    It asks for them by ``allow_inf_nan=True``, or by a default that is one.
    """
    for name, field in type(values).model_fields.items():
        value = getattr(values, name)
        if not isinstance(value, float) or isfinite(value) or value == field.default:
            continue
        if not any(getattr(mark, "allow_inf_nan", False) for mark in field.metadata):
            spelling = spellings(name, field)[0]
            where = dotted([*origins.get(spelling, path.split(".")), spelling])
            yield ScenarioError(where, f"must be a finite number, given {value!r}")


def by_spelling(table: type[BaseModel], given: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """The same under the preferred spelling of each name; unknown names stay as they are.

    ``evs.send_window = 4`` without quotes is a table in a table to TOML; it means the same.
    """
    preferred = {
        spelling: (spellings(name, field)[0], field.annotation)
        for name, field in table.model_fields.items()
        for spelling in spellings(name, field)
    }
    result: dict[str, Any] = {}
    for name, value in _flat(given).items():
        spelling, annotation = preferred.get(name, (name, None))
        if spelling in result:
            raise ScenarioError(path, f"{name!r} is given twice", f"it is the same as {spelling!r}")
        switch = annotation is bool and isinstance(value, str)
        result[spelling] = _SWITCH.get(value.lower(), value) if switch else value
    return result


def in_product_spelling(values: BaseModel) -> dict[str, Any]:
    """All values under their preferred spelling."""
    return {
        spellings(name, field)[0]: getattr(values, name)
        for name, field in type(values).model_fields.items()
    }


def _flat(given: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
