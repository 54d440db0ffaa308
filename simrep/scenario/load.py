"""Reading scenarios, and variants of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simrep.errors import ScenarioError
from simrep.scenario.problems import Step, combined, dotted, problems
from simrep.scenario.schema import Scenario

__all__ = ["load", "with_value", "with_values"]

_STEP = re.compile(r'"([^"]*)"|\'([^\']*)\'|([^."\']+)')


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
        return _checked(dict(scenario), "scenario")
    if isinstance(scenario, str) and "\n" in scenario:
        return _checked(_parsed(scenario, "scenario"), "scenario")
    path = Path(scenario)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(str(scenario), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(str(scenario), f"is not UTF-8 text: {error}") from error
    return _checked(_parsed(text, str(scenario)), str(scenario), path.parent)


def with_value(scenario: Scenario, path: str, value: Any) -> Scenario:
    """The scenario with one value changed; see :func:`with_values`."""
    return with_values(scenario, {path: value})


def with_values(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """A scenario with some values changed, all of them before it is checked again.

    Parameters
    ----------
    scenario : Scenario
    values : mapping of str to value
        By dotted path: ``network.rtt_ms``, ``network.egress.0.delay_ms``,
        ``cluster.options."evs.send_window"`` (the quotes may be left out there).

    Raises
    ------
    ScenarioError
        If a path leads nowhere or the result is not valid.

    Examples
    --------
    >>> one = load({"cluster": {"model": "galera"}, "workload": {"queries": 100}})
    >>> with_value(one, "workload.threads", 8).workload.threads
    8
    """
    content, complete = scenario.source, scenario.to_dict()
    for path, value in values.items():
        # A copy: a later path may lead into it.
        _put(content, complete, _steps(path), deepcopy(value))
    return _checked(content, "scenario", scenario.folder)


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(where, f"is not valid TOML: {error}") from error


def _checked(content: dict[str, Any], where: str, folder: Path | None = None) -> Scenario:
    try:
        scenario = Scenario.model_validate(content)
    except ValidationError as error:
        raise combined(problems(error, Scenario), where) from error
    scenario._folder = folder
    return scenario


def _steps(path: str) -> list[Step]:
    """The names of a dotted path; positions in lists are numbers."""
    steps: list[Step] = []
    end = 0
    for match in _STEP.finditer(path):
        if path[end : match.start()] != ("." if steps else ""):
            break
        plain = match[3]
        steps.append(int(plain) if plain and plain.isdigit() else match[match.lastindex or 0])
        end = match.end()
    if end != len(path) or not steps:
        raise ScenarioError(path or "''", "is not a dotted path", "e.g. network.rtt_ms")
    # Options and costs have no tables inside: what follows is one name, quoted or not.
    if steps[:1] == ["cluster"] and len(steps) > 2 and steps[1] in {"options", "costs"}:
        steps[2:] = [".".join(map(str, steps[2:]))]
    return steps


def _put(content: Any, complete: Any, steps: list[Step], value: Any) -> None:
    """Set a value in what was written; lists that only defaults describe are copied first."""
    for position, step in enumerate(steps[:-1]):
        here = steps[: position + 1]
        inner = _get(complete, step, here)
        if isinstance(content, list):
            content = _get(content, step, here)
        else:
            if content.get(step) is None:
                content[step] = inner if isinstance(inner, list) else {}
            content = content[step]
        if not isinstance(content, (dict, list)):
            raise ScenarioError(dotted(steps), f"{dotted(here)} is not a table")
        complete = inner
    last = steps[-1]
    if isinstance(content, list):
        _get(content, last, steps)
        content[int(last)] = value
    else:
        content[str(last)] = value


def _get(table: Any, step: Step, path: list[Step]) -> Any:
    if isinstance(table, list):
        if not isinstance(step, int):
            raise ScenarioError(
                dotted(path),
                "is a position in a list, counted from 0",
                f"0 to {len(table) - 1}" if table else "the list is empty",
            )
        if step >= len(table):
            raise ScenarioError(dotted(path), f"there are only {len(table)} entries")
        return table[step]
    return table.get(step, {}) if isinstance(table, dict) else {}
