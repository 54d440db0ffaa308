"""What is varied to see what it moves: costs, delays, and any number of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError
from simrep.kernel.streams import Streams
from simrep.measure.grammar import Range
from simrep.scenario import Scenario, with_values
from simrep.scenario.prior import prior_of
from simrep.scenario.problems import spellings

__all__ = ["DELAYS", "Input", "given_input", "nudged", "usual_inputs", "varied"]

DELAYS = "network.delays"
"""All delays between nodes together, as a multiple of what the scenario says."""

_FASTER, _SLOWER = 0.5, 2.0
_HAIR = 1e-3


@dataclass(frozen=True, slots=True)
class Input:
    """A number of a scenario, and the range in which it is varied.

    Parameters
    ----------
    path : str
        Where it stands in the scenario, or ``network.delays``.
    range : Range
        In equal ratios where both ends are positive: costs vary by factors.
    """

    path: str
    range: Range

    @classmethod
    def within(cls, path: str, low: float, high: float, *, whole: bool = False) -> Input:
        """Between two numbers."""
        return cls(path, Range(low, high, geometric=low > 0.0, whole=whole))


def usual_inputs(setup: Setup) -> tuple[Input, ...]:
    """Costs of the model with a usual range, and half to twice the delays; not rare ones."""
    costs = [
        Input.within(f"cluster.costs.{spellings(name, field)[0]}", prior.low, prior.high)
        for name, field in type(setup.costs).model_fields.items()
        if (prior := prior_of(field)) is not None and not prior.rare
    ]
    delays = [Input.within(DELAYS, _FASTER, _SLOWER)] if setup.paths else []
    return (*costs, *delays)


def given_input(scenario: Scenario, path: str, low: float, high: float) -> Input:
    """An input of one's own.

    Raises
    ------
    ScenarioError
        If the range is none, or the scenario has no such number.
    """
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ScenarioError(
            path, f"{low:g}..{high:g} is no range", "give LOW..HIGH, LOW below HIGH"
        )
    if path == DELAYS and low < 0.0:
        raise ScenarioError(path, f"delays cannot be negative, given {low:g}")
    found = Input.within(path, low, high)
    if (
        float(low).is_integer()
        and float(high).is_integer()
        and not _takes(scenario, low + 0.5, path)
    ):
        found = Input.within(path, int(low), int(high), whole=True)
    for end in (found.range.low, found.range.high):
        varied(scenario, {path: end})
    return found


def _takes(scenario: Scenario, value: float, path: str) -> bool:
    try:
        varied(scenario, {path: value})
    except ScenarioError:
        return False
    return True


def varied(scenario: Scenario, values: Mapping[str, float]) -> Setup:
    """The setup of a scenario with some numbers changed, by their paths.

    Raises
    ------
    ScenarioError
        If a path leads nowhere, or a value is not allowed there.
    """
    given = {path: value for path, value in values.items() if path != DELAYS}
    setup = setup_of(with_values(scenario, given) if given else scenario)
    times = values.get(DELAYS, 1.0)
    return setup if times == 1.0 else _slower(setup, times)


def nudged(setup: Setup, seed: int, number: int) -> Setup:
    """The setup with all costs and delays a thousandth off, at most.

    That moves no answer by itself; but clients may fall into step in another way, as with other
    random numbers.
    """
    uniform = Streams(seed, number).uniform("sensitivity/nudge")

    def factor() -> float:
        return 1.0 + _HAIR * (2.0 * uniform() - 1.0)

    costs = {
        name: value * factor()
        for name, value in setup.costs
        if isinstance(value, float) and _varies(setup, name)
    }
    costs = {name: max(value, _least(setup, name)) for name, value in costs.items()}
    return _slower(replace(setup, costs=setup.costs.model_copy(update=costs)), factor())


def _varies(setup: Setup, name: str) -> bool:
    prior = prior_of(type(setup.costs).model_fields[name])
    return prior is not None and not prior.rare


def _least(setup: Setup, name: str) -> float:
    prior = prior_of(type(setup.costs).model_fields[name])
    return prior.least if prior is not None and prior.least is not None else 0.0


def _slower(setup: Setup, times: float) -> Setup:
    return replace(
        setup,
        paths={
            pair: replace(path, latency=replace(path.latency, base_s=times * path.latency.base_s))
            for pair, path in setup.paths.items()
        },
    )
