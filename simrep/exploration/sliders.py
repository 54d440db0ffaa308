"""What can be moved in an exploration: sliders over values of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from simrep.contract import roles
from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError
from simrep.scenario import Scenario, with_values
from simrep.scenario.changes import value_at
from simrep.scenario.options import by_spelling
from simrep.whatif.design import Given as GivenLevels
from simrep.whatif.design import Level, factors
from simrep.whatif.sensitivity.inputs import given_input

__all__ = ["Given", "Slider", "sliders_of"]

Given = Mapping[str, GivenLevels]

AS_IT_IS = "as it is"
_FORMS = "give (LOW, HIGH), a list of levels, or labels with the settings of each"
_CLIENTS = "workload.threads"

_RTTS_MS = (0.2, 1, 2, 5, 10, 20, 30, 50, 80, 100, 150, 200, 300)
_THREADS = (1, 2, 4, 8, 16, 32, 64, 128)
_RATES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0)
_MOST_OPTIONS = 3


@dataclass(frozen=True, slots=True)
class Slider:
    """Something that can be moved: a value of the scenario, or several under any name."""

    name: str
    levels: tuple[Level, ...]
    first: int  # position of the level that the scenario itself has


def sliders_of(scenario: Scenario, given: Given | None) -> tuple[Slider, ...]:
    """The sliders for a scenario; those that fit its model where none are given.

    Raises
    ------
    ScenarioError
        If a path leads nowhere, or a level is not allowed there.
    """
    setup = setup_of(scenario)
    if given is None:
        offered = (_slider(scenario, setup, *one, lenient=True) for one in _usual(setup))
        return tuple(one for one in offered if len(one.levels) > 1)
    if not given:
        raise ScenarioError("sliders", "there is nothing to move", "e.g. network.rtt_ms: (1, 200)")
    return tuple(
        _slider(scenario, setup, name, levels, lenient=False) for name, levels in given.items()
    )


def _slider(scenario: Scenario, setup: Setup, name: str, given: Any, *, lenient: bool) -> Slider:
    labelled = isinstance(given, Mapping)
    levels = list(_levels(scenario, name, given))
    allowed = []
    for level in levels:
        try:
            setup_of(with_values(scenario, level.settings))
        except ScenarioError:
            if not lenient:
                raise
        else:
            allowed.append(level)
    levels, first = _with_the_first(scenario, setup, name, allowed, labelled=labelled)
    return Slider(name, tuple(levels), first)


def _levels(scenario: Scenario, name: str, given: Any) -> Sequence[Level]:
    if isinstance(given, tuple) and len(given) == 2 and all(map(_is_number, given)):
        numbers = given_input(scenario, name, *given).range.round_numbers()
        return [Level(value, {name: value}) for value in numbers]
    if not isinstance(given, (str, Sequence, Mapping)):
        raise ScenarioError(name, f"{given!r} is no range and no levels", _FORMS)
    (factor_of_sweep,) = factors({name: given})
    limits = factor_of_sweep.range
    if limits is not None:
        return _levels(scenario, name, (limits.low, limits.high))
    return factor_of_sweep.levels


def _with_the_first(
    scenario: Scenario, setup: Setup, name: str, levels: list[Level], *, labelled: bool
) -> tuple[list[Level], int]:
    """The levels with that of the scenario among them, and its position."""
    complete = setup.scenario.to_dict()
    present = None if labelled else _present(setup, name)
    for position, level in enumerate(levels):
        if present is not None and level.label == present:
            return levels, position
        if setup_of(with_values(scenario, level.settings)).scenario.to_dict() == complete:
            return levels, position
    if not _is_number(present) or not all(_is_number(level.label) for level in levels):
        label = AS_IT_IS if present is None or not isinstance(present, (bool, str)) else present
        return [Level(label, {}), *levels], 0
    levels = sorted([Level(present, {}), *levels], key=lambda level: level.label)
    return levels, next(position for position, one in enumerate(levels) if not one.settings)


def _present(setup: Setup, path: str) -> Any:
    """What the scenario has there; None if it says nothing."""
    if path == _CLIENTS:
        return setup.scenario.workload.clients
    head, _, rest = path.partition(".")
    table, _, option = rest.partition(".")
    if head == "cluster" and table in {"options", "costs"}:
        kind = setup.model.Options if table == "options" else setup.model.Costs
        (name,) = by_spelling(kind, {option.replace('"', "").replace("'", ""): None})
        return getattr(setup.scenario.cluster, table).get(name)
    value = value_at(setup.scenario.to_dict(), path)
    return value if isinstance(value, (bool, int, float, str)) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _usual(setup: Setup) -> Iterator[tuple[str, Any]]:
    """Sliders for any scenario: its longest delay, its load, and what its product has."""
    yield from _delay(setup)
    workload = setup.scenario.workload
    if workload.rate_tps is not None:
        yield "workload.rate_tps", [share * workload.rate_tps for share in _RATES]
    elif workload.variation is None and not workload.groups:
        yield _CLIENTS, _THREADS
    options = setup.model.Options
    played = [role for role in roles.ROLES if roles.spellings_of(role, options)]
    room = _MOST_OPTIONS
    if windows := _windows(options):
        room -= 1
        yield "send window", windows
    for role in played[:room]:
        levels = list(roles.levels_of(role, options))  # a tuple of two would be a range
        if role == roles.REPLICAS_WAITED_FOR:
            levels = list(range(1, len(setup.scenario.node_names)))
        yield f"cluster.options.{roles.spellings_of(role, options)[0]}", levels


def _windows(options: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """The levels of both send windows, where a product has two: one is moved with the other."""
    both = (roles.SEND_WINDOW, roles.IDLE_SEND_WINDOW)
    names = [name for role in both for name in roles.spellings_of(role, options)[:1]]
    if len(names) < len(both):
        return {}
    sizes = zip(*(roles.levels_of(role, options) for role in both), strict=False)
    return {
        "/".join(map(str, pair)): {
            f"cluster.options.{name}": size for name, size in zip(names, pair, strict=True)
        }
        for pair in sizes
    }


def _delay(setup: Setup) -> Iterator[tuple[str, Any]]:
    """The longest of the delays that the scenario names, or the one between all nodes."""
    network = setup.scenario.network
    named = [
        (2.0 * path.one_way_ms, f"network.path.{position}.one_way_ms")
        if path.one_way_ms is not None
        else (path.rtt_ms, f"network.path.{position}.rtt_ms")
        for position, path in enumerate(network.paths)
        if path.one_way_ms is not None or path.rtt_ms is not None
    ]
    named += [
        (egress.delay_ms, f"network.egress.{position}.delay_ms")
        for position, egress in enumerate(network.egress)
    ]
    if named:
        yield max(named)[1], _RTTS_MS
    elif network.preset is None and setup.paths and not setup.model.alone:
        yield "network.rtt_ms", _RTTS_MS
