"""How far away the nodes may be."""

from __future__ import annotations

from typing import Unpack

from simrep.errors import ScenarioError
from simrep.scenario import Scenario, with_value
from simrep.whatif.objective import Objective
from simrep.whatif.plan.search import Grid
from simrep.whatif.plan.threshold import SearchOptions, Threshold, Varied, threshold

__all__ = ["largest_rtt"]

_RTT = "network.rtt_ms"


def largest_rtt(
    scenario: Scenario,
    *,
    objective: str | Objective,
    within: tuple[float, float] = (1.0, 500.0),
    path: str = _RTT,
    **options: Unpack[SearchOptions],
) -> Threshold:
    """The largest round trip at which an objective is met.

    Parameters
    ----------
    scenario : Scenario
    objective : str or Objective
        Such as ``p99<=250ms``.
    within : (float, float)
        Range of the search, in milliseconds.
    path : str
        What is varied, if the round trips of the scenario are not all equal: for instance
        ``network.egress.0.delay_ms`` or ``network.path.0.rtt_ms``.
    **options
        See :func:`simrep.plan`.
    """
    network = scenario.network
    if path == _RTT and (network.preset is not None or network.paths or network.egress):
        raise ScenarioError(
            _RTT,
            "is not the only delay of this scenario",
            "say which one to vary: path = network.path.0.rtt_ms, network.egress.0.delay_ms ...",
        )
    name = "round trip" if path == _RTT else path
    varied = Varied(name, "ms", largest=True, grid=Grid(*within))
    wanted = Objective.of(objective)
    return threshold(scenario, wanted, varied, lambda ms: with_value(scenario, path, ms), **options)
