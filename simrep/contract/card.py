"""What a model offers, as data: options with their defaults by version, costs, packs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from simrep.contract.model import Model
from simrep.contract.registry import find_model, model_names
from simrep.scenario.options import by_spelling, versions
from simrep.scenario.pack import load_pack, pack_names
from simrep.scenario.prior import prior_of
from simrep.scenario.problems import spellings

__all__ = ["model_card", "model_cards", "package_of", "unit_of"]

_UNITS = {
    "mb_per_s": "MB/s", "us": "us", "ms": "ms", "ns": "ns", "s": "s", "bytes": "bytes",
}  # fmt: skip
_BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def package_of(model: type[Model]) -> str:
    """The package a model lies in, which holds its versions and packs too."""
    return model.__module__.rpartition(".")[0]


def model_cards() -> dict[str, dict[str, Any]]:
    """Descriptions of all installed models, by name; see :func:`model_card` for their keys.

    >>> sorted(model_cards())[:2]
    ['asynchronous', 'galera']
    """
    return {name: model_card(find_model(name)) for name in model_names()}


def model_card(model: type[Model]) -> dict[str, Any]:
    """A description of a model that JSON can hold; options are under the product's own spelling."""
    package = package_of(model)
    known = versions(package, model.name)
    by_version = {
        version: by_spelling(model.Options, overrides) for version, overrides in known.items()
    }
    packs = [
        name for name in pack_names(package) if load_pack(name, package).card.model == model.name
    ]
    return {
        "name": model.name,
        "summary": _summary(model),
        "versions": list(known),
        "packs": packs,
        "faults": sorted(model.faults),
        "operations": sorted(model.operations),
        "options": _options(model.Options, by_version),
        "costs": _costs(model.Costs),
    }


def _summary(model: type[Model]) -> str:
    """The first paragraph about the file: it holds one model, which may have several classes."""
    text = inspect.getdoc(inspect.getmodule(model)) or inspect.getdoc(model) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _options(
    table: type[BaseModel], by_version: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    described = {}
    for field_name, field in table.model_fields.items():
        name, *others = spellings(field_name, field)
        described[name] = {
            "default": field.get_default(call_default_factory=True),
            "by_version": {
                version: overrides[name]
                for version, overrides in by_version.items()
                if name in overrides
            },
            "allowed": _allowed(field),
            "also_spelled": others,
            "description": field.description or "",
        }
    return described


def _costs(table: type[BaseModel]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "default": field.get_default(call_default_factory=True),
            "unit": unit_of(name),
            "description": field.description or "",
            "range": None if (known := prior_of(field)) is None else [known.low, known.high],
            "source": "" if known is None else known.source,
        }
        for name, field in table.model_fields.items()
    }


def unit_of(name: str) -> str:
    """The unit that the name of a cost ends with; empty if it has none."""
    return next((unit for end, unit in _UNITS.items() if name.endswith(f"_{end}")), "")


def _allowed(field: FieldInfo) -> str:
    kind = field.annotation
    if kind is bool:
        return "true, false"
    choices = [argument for argument in get_args(kind) if isinstance(argument, (str, int))]
    if choices:
        return ", ".join(map(str, choices))
    bounds = [
        f"{sign} {getattr(constraint, name)}"
        for constraint in field.metadata
        for name, sign in _BOUNDS.items()
        if hasattr(constraint, name)
    ]
    return ", ".join(bounds)
