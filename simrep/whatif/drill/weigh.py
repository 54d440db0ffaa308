"""Whether a scenario keeps an RTO and an RPO: what other answers ask of a drill."""

from __future__ import annotations

from concurrent.futures import Executor

from simrep.scenario import Scenario
from simrep.whatif.drill.ask import drill
from simrep.whatif.drill.demand import Demand

__all__ = ["weigh"]

_FAULTS = ("kill writer", "power loss writer", "cut site of writer")
"""The writer dies, or its machine, and its site is cut off."""
_REPLICATIONS = 5


def weigh(
    demand: Demand, scenario: Scenario, seed: int, executor: Executor | None
) -> tuple[bool, str]:
    """Whether a scenario keeps a demand when it loses its writer or the site of that, in words."""
    played = drill(
        scenario, faults=_FAULTS, replications=_REPLICATIONS, seed=seed, executor=executor,
        progress=False,
    )  # fmt: skip
    return demand.kept(played.cells), demand.verdict(played.cells)
