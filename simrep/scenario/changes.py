"""Changes of values by their dotted paths, in the content of a scenario file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from simrep.errors import ScenarioError, nearest
from simrep.scenario.problems import Step, dotted

__all__ = ["leaves", "put", "short_names", "value_at", "without_pack"]

_STEP = re.compile(r'"([^"]*)"|\'([^\']*)\'|([^."\']+)')

_POSITION = re.compile(r"[0-9]{1,9}")


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Values of a table by their dotted paths."""
    if not isinstance(value, Mapping):
        yield path, value
        return
    for key, inner in value.items():
        yield from leaves(f"{path}.{dotted([str(key)])}", inner)


def put(content: dict[str, Any], complete: Mapping[str, Any], path: str, value: Any) -> None:
    """Set a value in what was written; lists that only defaults describe are copied first.

    ``content`` is changed in place, ``complete`` is the same with all defaults. The value is
    copied, since a later path may lead into it. A path that leads nowhere is refused.
    """
    _put(content, complete, _steps(path), deepcopy(value))


def value_at(content: Mapping[str, Any], path: str) -> Any:
    """The value at a path; None if there is none.

    >>> value_at({"fault": [{"name": "crash", "at_s": 5}]}, "fault.crash.at_s")
    5
    """
    value: Any = content
    try:
        steps = _steps(path)
        for position, step in enumerate(steps):
            here = steps[: position + 1]
            value = _get(value, _placed(value, step, here), here)
    except ScenarioError:
        return None
    return None if value == {} else value


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Each path by its last name; in full where another one ends alike.

    >>> short_names(["network.rtt_ms", "workload.threads"])
    {'network.rtt_ms': 'rtt_ms', 'workload.threads': 'threads'}
    """
    last = {path: _last(path) for path in paths}
    names = list(last.values())
    return {path: name if names.count(name) == 1 else path for path, name in last.items()}


def _last(path: str) -> str:
    try:
        return str(_steps(path)[-1])
    except ScenarioError:  # the name of levels that change several values, and no path
        return path


def _steps(path: str) -> list[Step]:
    """The names of a dotted path; positions in lists are numbers."""
    steps: list[Step] = []
    end = 0
    for match in _STEP.finditer(path):
        if path[end : match.start()] != ("." if steps else ""):
            break
        step = match[match.lastindex or 0]
        steps.append(int(step) if match[3] and _POSITION.fullmatch(step) else step)
        end = match.end()
    if end != len(path) or not steps:
        raise ScenarioError(path or "''", "is not a dotted path", "e.g. network.rtt_ms")
    # Options and costs have no tables inside: what follows is one name, quoted or not.
    if steps[:1] == ["cluster"] and len(steps) > 2 and steps[1] in {"options", "costs"}:
        steps[2:] = [".".join(map(str, steps[2:]))]
    return steps


def _put(content: Any, complete: Any, steps: list[Step], value: Any) -> None:
    for position in range(len(steps) - 1):
        here = steps[: position + 1]
        entries = content if isinstance(content, list) else complete
        step = steps[position] = _placed(entries, steps[position], here)
        inner = _get(complete, step, here)
        if isinstance(steps[position + 1], int) and not isinstance(inner, list):
            name = dotted(here)
            hint = f"write [[{name}]] in the scenario first"
            raise ScenarioError(dotted(steps), f"{name} has no entries to count", hint)
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
        last = _placed(content, last, steps)
        _get(content, last, steps)
        content[int(last)] = value
    else:
        content[str(last)] = value


def _placed(entries: Any, name: Step, path: list[Step]) -> Step:
    """The step; in a list the position of the table that has this name."""
    if not isinstance(entries, list) or isinstance(name, int):
        return name
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in entries]
    if names.count(name) == 1:
        return names.index(name)
    if name in names:
        problem = f"{names.count(name)} entries are named {name!r}"
        raise ScenarioError(dotted(path), problem, f"say its position, 0 to {len(entries) - 1}")
    known = [str(known) for known in names if known is not None]
    if known:
        problem = f"no entry is named {name!r}"
        raise ScenarioError(dotted(path), problem, nearest(name, known))
    hint = f"0 to {len(entries) - 1}" if entries else "the list is empty"
    raise ScenarioError(dotted(path), "is a position in a list, counted from 0", hint)


def _get(table: Any, step: Step, path: list[Step]) -> Any:
    if isinstance(table, list):
        assert isinstance(step, int)
        if step >= len(table):
            raise ScenarioError(dotted(path), f"there are only {len(table)} entries")
        return table[step]
    return table.get(step, {}) if isinstance(table, dict) else {}


def without_pack(content: Mapping[str, Any]) -> dict[str, Any]:
    """A complete scenario of a result, to simulate it once more.

    Its costs are filled in: a pack that lay beside the scenario's file is not needed again.
    """
    cluster = {key: one for key, one in content["cluster"].items() if key != "pack"}
    return {**content, "cluster": cluster}
