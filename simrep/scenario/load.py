"""Reading scenarios, and variants of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError
from simrep.scenario.schema import Scenario

__all__ = ["load", "with_value", "with_values"]


def load(scenario: str | Path | Mapping[str, Any] | Scenario) -> Scenario:
    """Read and check a scenario.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        Path of a TOML file, its text (recognised by its line breaks), its content as a mapping,
        or a scenario, which is returned as it is.

    Raises
    ------
    ScenarioError
        With everything that is wrong with it.

    Examples
    --------
    >>> load({"cluster": {"model": "galera"}, "workload": {"queries": 100}}).node_names
    ('n1', 'n2', 'n3')
    """
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Mapping):
        return Scenario.checked(dict(scenario), "scenario")
    if isinstance(scenario, str) and "\n" in scenario:
        return Scenario.checked(_parsed(scenario, "scenario"), "scenario")
    path = Path(scenario)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(str(scenario), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(str(scenario), f"is not UTF-8 text: {error}") from error
    return Scenario.checked(_parsed(text, str(scenario)), str(scenario), path.parent)


def with_value(scenario: Scenario, path: str, value: Any) -> Scenario:
    """The scenario with one value changed; see :meth:`Scenario.replace`."""
    return scenario.replace({path: value})


def with_values(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The scenario with some values changed; see :meth:`Scenario.replace`.

    Examples
    --------
    >>> one = load({"cluster": {"model": "galera"}, "workload": {"queries": 100}})
    >>> with_values(one, {"workload.threads": 8, "network.rtt_ms": 5}).workload.threads
    8
    """
    return scenario.replace(values)


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(where, f"is not valid TOML: {error}") from error
