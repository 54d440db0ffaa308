"""How the engine finds the replication models that are installed, and which it takes."""

from __future__ import annotations

import copyreg
import warnings
from abc import ABCMeta
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import isclass
from typing import Any

from pydantic import BaseModel

from simrep.contract.model import Model, SessionTable
from simrep.errors import ScenarioError, nearest

__all__ = ["find_model", "model_names", "models_that", "usable_models"]

GROUP = "simrep.models"
_BASE = "simrep.modelling.Model"
_NONE = "none that is installed"
_REQUIRED = {"name": str, "Options": BaseModel, "Costs": BaseModel}
"""Class attributes that a model has to set, and of what kind they are; its name is that of the
entry point."""


def model_names() -> list[str]:
    """Names of all installed models."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def find_model(name: str, path: str = "cluster.model") -> type[Model]:
    """The model class of a name.

    Parameters
    ----------
    name : str
    path : str
        Where the name stands, for errors.

    Raises
    ------
    ScenarioError
        If no installed package provides such a model, or what it provides is none.

    Warns
    -----
    DeprecationWarning
        If the model is complete, but does not inherit from :class:`simrep.modelling.Model`.
    """
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            return _checked(entry, path)
    raise ScenarioError(path, f"no model {name!r}", nearest(name, model_names()))


def usable_models() -> list[type[Model]]:
    """All installed models by name, without those of which :func:`find_model` says why not."""
    found = []
    for name in model_names():
        with suppress(ScenarioError):
            found.append(find_model(name))
    return found


def models_that(test: Callable[[type[Model]], object]) -> str:
    """The names of the installed models that pass a test, as a list in words; for hints.

    >>> models_that(lambda model: "bootstrap" in model.faults)
    'galera and group_replication'
    """
    *most, last = [model.name for model in usable_models() if test(model)] or [_NONE]
    return f"{', '.join(most)} and {last}" if most else last


def _checked(entry: EntryPoint, path: str) -> type[Model]:
    """What an entry point names, if it is a model."""
    told = f"model {entry.name!r} ({entry.value})"
    given = _loaded(entry, path, told)
    model = given if issubclass(given, Model) else _adapted(given)
    if missing := list(_missing(model, entry.name)):
        problem = f"{told} is not complete: {', '.join(missing)}"
        raise ScenarioError(path, problem, f"{_BASE} says what they are")
    if model is not given:
        warnings.warn(
            f"{told} does not inherit from {_BASE}; the next minor release will refuse it",
            DeprecationWarning,
            stacklevel=3,
        )
    return model


def _loaded(entry: EntryPoint, path: str, told: str) -> Any:
    """The class that an entry point names."""
    try:
        loaded = entry.load()
    except (ImportError, AttributeError) as error:
        raise ScenarioError(path, f"{told} cannot be loaded: {error}") from error
    if not isclass(loaded):
        raise ScenarioError(path, f"{told} is no class", f"a model inherits from {_BASE}")
    return loaded


def _missing(model: type[Model], name: str) -> Iterator[str]:
    """What a class lacks of the model of a name, in words."""
    for attribute, kind in _REQUIRED.items():
        value = getattr(model, attribute, None)
        if value is None:
            yield f"it has no {attribute}"
        elif kind is str and value != name:
            yield f"its {attribute} is {value!r}"
        elif kind is BaseModel and not _is_a(value, BaseModel):
            yield f"its {attribute} is no pydantic model"
    if model.Session is not None and not _is_a(model.Session, SessionTable):
        yield "its Session is no SessionTable"
    for method in sorted(model.__abstractmethods__):
        yield f"it has no {method}()"


def _is_a(value: Any, kind: type) -> bool:
    return isclass(value) and issubclass(value, kind)


# -- classes of others that do not inherit yet -----------------------------------------------------


class _Adapted(ABCMeta):
    """The type of classes that got what they lack of ``Model``."""


@cache
def _adapted(given: Any) -> type[Model]:
    """A class that satisfies the old protocol, with the defaults of ``Model``.

    It stands for the given class: under the same name in the same module, which packs and
    versions are looked for beside.
    """
    own = {name: getattr(given, name) for name in ("__module__", "__qualname__", "__doc__")}
    adapted: Any = _Adapted(given.__name__, (given, Model), own)
    model: type[Model] = adapted
    return model


def _reduced(model: type) -> tuple[Any, ...]:
    """How another process makes it: by name alone it would find the class that was given."""
    return _adapted, (model.__mro__[1],)


copyreg.pickle(_Adapted, _reduced)
