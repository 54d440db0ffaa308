"""How many clients it takes."""

from __future__ import annotations

from typing import Unpack

from simrep.errors import ScenarioError
from simrep.scenario import Scenario, with_value
from simrep.whatif.objective import Objective
from simrep.whatif.plan.search import Grid
from simrep.whatif.plan.threshold import SearchOptions, Threshold, Varied, threshold

__all__ = ["fewest_clients"]


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
    low, high = within
    varied = Varied(
        "number of clients", "clients", largest=False, grid=Grid(low, high, whole=True, points=9)
    )

    def vary(clients: float) -> Scenario:
        return with_value(scenario, "workload.threads", int(clients))

    return threshold(scenario, Objective.of(objective), varied, vary, **options)
