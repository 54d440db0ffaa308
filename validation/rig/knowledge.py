"""What the simulation knows of a server: its options, its version, and its defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from simrep.contract.card import package_of
from simrep.contract.registry import find_model
from simrep.errors import ScenarioError
from simrep.rig.server import Option
from simrep.scenario.options import resolve, version_defaults, versions
from simrep.scenario.problems import spellings

__all__ = ["differences", "known_options", "model_version", "simulated", "unknown_options"]

_NUMBERS = re.compile(r"\d+(?:\.\d+)*(?:-\d+(?:\.\d+)*)?")
_FAMILIES = {"percona": "pxc"}
_SWITCH = {"on": 1.0, "yes": 1.0, "true": 1.0, "off": 0.0, "no": 0.0, "false": 0.0}
_PERIOD = re.compile(r"pt(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_PROVIDER = "wsrep_provider_options"


@cache
def known_options(model: str) -> frozenset[str]:
    """Options of a model, in all spellings."""
    fields = find_model(model).Options.model_fields
    return frozenset(one for name, field in fields.items() for one in spellings(name, field))


def simulated(model: str, options: Mapping[str, Option]) -> dict[str, Option]:
    """Those of the options that the model has."""
    return {name: value for name, value in options.items() if name in known_options(model)}


def unknown_options(model: str, options: Mapping[str, Option]) -> list[str]:
    """Names of the others."""
    return [name for name in options if name not in known_options(model)]


def model_version(model: str, server: str, version: str) -> str | None:
    """The version of a model whose defaults come nearest to those of a server.

    Parameters
    ----------
    model : str
    server : str
        ``mariadb``, ``mysql`` or ``percona``.
    version : str
        As ``SELECT VERSION()`` gives it, e.g. ``11.8.9-MariaDB-4``.

    Returns
    -------
    str or None
        The newest of the same product that is not newer than the server, else the oldest; the
        newest one for a version that is no number. None if the model knows none of the product.
    """
    family = _FAMILIES.get(server, server)
    found = find_model(model)
    known = {
        _numbers(name.partition("-")[2]): name
        for name in versions(package_of(found), found.name)
        if name.partition("-")[0] == family
    }
    if not known:
        return None
    own = _numbers(version)
    older = [one for one in known if not own or one <= own]
    return known[max(older) if older else min(known)]


def _numbers(version: str) -> tuple[int, ...]:
    found = _NUMBERS.match(version)
    return tuple(int(part) for part in re.split(r"[.-]", found[0])) if found else ()


def differences(
    model: str, version: str | None, options: Mapping[str, Option], variables: Mapping[str, str]
) -> dict[str, str]:
    """Options that a server has, and that are simulated with another value.

    Parameters
    ----------
    model : str
    version : str or None
        Of the model.
    options : mapping of option to value
        That the server was started with.
    variables : mapping of name to text
        All that it has.
    """
    found = find_model(model)
    try:
        defaults = version_defaults(package_of(found), found.name, version)
        layers = {"version": defaults}
        ours = resolve(found.Options, "options", layers, simulated(model, options))
    except ScenarioError as error:
        return {"options": str(error)}
    theirs = {**variables, **_provider_options(variables.get(_PROVIDER, ""))}
    unequal = {}
    for name, field in found.Options.model_fields.items():
        value = getattr(ours, name)
        for spelling in spellings(name, field):
            if spelling in theirs and _plain(theirs[spelling]) != _plain(value):
                unequal[spelling] = f"{theirs[spelling]}, simulated with {value}"
    return unequal


def _provider_options(text: str) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in text.split(";"))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def _plain(value: Any) -> float | str:
    """A value such that equal settings are equal, however they are written."""
    text = str(value).strip().lower()
    if text in _SWITCH:
        return _SWITCH[text]
    period = _PERIOD.fullmatch(text)
    if period and any(period.groups()):
        return 60.0 * float(period[1] or 0) + float(period[2] or 0)
    try:
        return float(text)
    except ValueError:
        return text
