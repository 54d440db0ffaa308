"""The least scenario, changed at will, for tests of what a scenario may say."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.scenario import load

__all__ = ["problem", "small"]


def small(**tables: Any) -> dict[str, Any]:
    """The least that can be run, with some tables changed."""
    content: dict[str, Any] = {"cluster": {"model": "galera"}, "workload": {"queries": 10}}
    for name, table in tables.items():
        both = isinstance(table, dict) and isinstance(content.get(name), dict)
        content[name] = content[name] | table if both else table
    return content


def problem(content: dict[str, Any]) -> ScenarioError:
    """The error that planning the scenario ends with."""
    with pytest.raises(ScenarioError) as caught:
        setup_of(load(content))
    return caught.value
