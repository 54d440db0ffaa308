"""Inverse questions with one number for an answer: how far apart, how many clients."""

from __future__ import annotations

from typing import Unpack

from simrep.errors import ScenarioError
from simrep.measure.range import Range
from simrep.scenario import Scenario, with_value
from simrep.whatif.objective import Objective
from simrep.whatif.plan.threshold import SearchOptions, Threshold, Varied, threshold

__all__ = ["fewest_clients", "largest_rtt"]

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
    varied = Varied(name, "ms", largest=True, within=Range(*within))
    wanted = Objective.of(objective)
    return threshold(scenario, wanted, varied, lambda ms: with_value(scenario, path, ms), **options)


def fewest_clients(
    scenario: Scenario,
    *,
    objective: str | Objective,
    within: tuple[int, int] = (1, 256),
    **options: Unpack[SearchOptions],
) -> Threshold:
    """The fewest clients of a closed loop with which an objective is met.

    Parameters
    ----------
    scenario : Scenario
        With ``workload.threads``; the number of transactions must not be fixed, since every
        client would have fewer of them.
    objective : str or Objective
        Such as ``tps>=500``; a second condition, as ``p99<=250ms``, may end what the first begins.
    within : (int, int)
        Range of the search.
    **options
        See :func:`simrep.plan`.
    """
    workload = scenario.workload
    if workload.open_loop:
        raise ScenarioError(
            "workload.rate_tps", "an open loop has no clients to count", "set workload.threads"
        )
    if workload.groups:
        raise ScenarioError(
            "workload.group", "clients are given node by node", "set workload.threads and nodes"
        )
    if workload.queries is not None:
        raise ScenarioError(
            "workload.queries",
            "divides a fixed number of transactions among the clients",
            "set run.duration_s, or workload.transactions_per_client",
        )
    limits = Range(*within, whole=True)
    varied = Varied("number of clients", "clients", largest=False, within=limits, points=9)

    def vary(clients: float) -> Scenario:
        return with_value(scenario, "workload.threads", int(clients))

    return threshold(scenario, Objective.of(objective), varied, vary, **options)
