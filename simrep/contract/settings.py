"""Options that operators set on running servers: which a model has, and what they are then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simrep.contract.model import Model
from simrep.errors import ScenarioError, nearest
from simrep.scenario.options import by_spelling, in_product_spelling, resolve
from simrep.scenario.problems import spellings
from simrep.scenario.settings import SettingTable

__all__ = ["options_after"]


def options_after(
    one: SettingTable, model: type[Model], options: Any, since: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """All options when these have been set, and what has been set until then.

    Parameters
    ----------
    one : SettingTable
    model : type of Model
    options : BaseModel
        Those that servers start with.
    since : mapping of str to value
        What earlier settings have set.

    Raises
    ------
    ScenarioError
        If an option is none, cannot be set on a running server, or not to this value.
    """
    path = f"{one.path}.options"
    given = by_spelling(model.Options, one.options, path)
    known = [
        spelling
        for name, field in model.Options.model_fields.items()
        for spelling in spellings(name, field)
    ]
    for name in given:
        if name in model.dynamic:
            continue
        may = f"these can: {', '.join(sorted(model.dynamic))}"
        if name not in known:
            raise ScenarioError(
                f"{path}.{name}",
                f"model {model.name!r} has no option {name!r}",
                f"{nearest(name, sorted(model.dynamic))} {may}".strip(),
            )
        why = model.static.get(name, "")
        raise ScenarioError(
            f"{path}.{name}",
            f"cannot be set on running servers of model {model.name!r} here"
            + (f": {why}" if why else ""),
            f"set it in [cluster.options]; {may}",
        )
    whole = {**since, **given}
    return resolve(
        model.Options, path, {"cluster.options": in_product_spelling(options)}, whole
    ), whole
