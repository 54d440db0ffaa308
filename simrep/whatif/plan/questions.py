"""Inverse questions with one number for an answer: how far apart, how many clients or appliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from simrep.contract.registry import find_model, models_that
from simrep.contract.roles import APPLIERS, spellings_of
from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.measure.grammar import Range
from simrep.runs.executor import in_order
from simrep.runs.sustain import probe
from simrep.scenario import Scenario, with_value
from simrep.whatif.objective import Condition, Objective
from simrep.whatif.plan.threshold import SearchOptions, Threshold, Varied, Vary, threshold

__all__ = [
    "check_clients",
    "fewest_appliers",
    "fewest_clients",
    "largest_rtt",
    "with_clients",
]

_RTT = "network.rtt_ms"
_DELAYS = {"rtt_ms": "round trip", "one_way_ms": "one-way delay", "delay_ms": "delay"}
_DRIFT = 0.025  # of the arrivals: what stays behind of them is not told from none


def largest_rtt(
    scenario: Scenario,
    *,
    objective: str | Objective,
    within: tuple[float, float] = (1.0, 500.0),
    path: str | None = None,
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
    path : str, optional
        What is varied, if the round trips of the scenario are not all equal: for instance
        ``network.egress.0.delay_ms`` or ``network.path.0.rtt_ms``. Default: ``network.rtt_ms``,
        where that is the only one.
    **options
        See :func:`simrep.plan`.
    """
    network = scenario.network
    if path is None and (network.preset is not None or network.paths or network.egress):
        raise ScenarioError(
            _RTT,
            "is not the only delay of this scenario",
            "say which one to vary: path = network.path.0.rtt_ms, network.egress.0.delay_ms ...",
        )
    chosen = path or _RTT
    last = chosen.rpartition(".")[2]
    varied = Varied(
        _DELAYS.get(last, last), "ms", largest=True, within=Range(*within), path=path or ""
    )
    wanted = Objective.of(objective)
    return threshold(
        scenario, wanted, varied, lambda ms: with_value(scenario, chosen, ms), **options
    )


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
    check_clients(scenario)
    limits = Range(*within, whole=True)
    varied = Varied("number of clients", "clients", largest=False, within=limits, points=9)
    return threshold(scenario, Objective.of(objective), varied, with_clients(scenario), **options)


def check_clients(scenario: Scenario) -> None:
    """Refuse a scenario whose clients cannot be counted."""
    workload = scenario.steady("the number of clients").workload
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


def with_clients(scenario: Scenario) -> Vary:
    """The scenario with so many clients."""
    return lambda clients: with_value(scenario, "workload.threads", int(clients))


def fewest_appliers(
    scenario: Scenario,
    *,
    tps: float,
    within: tuple[int, int] = (1, 64),
    **options: Unpack[SearchOptions],
) -> Threshold:
    """The fewest appliers with which a rate is kept up: no member falls behind, however long.

    What clients see does not tell, since members may fall behind for a while. Clients are
    replaced by arrivals at this rate, as :func:`simrep.sustainable_rate` does it, and what counts
    is the drift: by what share of the arrivals the backlog grows.

    Parameters
    ----------
    scenario : Scenario
    tps : float
        Transactions per second that have to be kept up.
    within : (int, int)
        Range of the search.
    **options
        See :func:`simrep.plan`.
    """
    if not 0.0 < tps < float("inf"):
        raise ScenarioError("tps", f"must be above 0 and finite, given {tps:g}")
    option = _option(scenario)
    limits = Range(*within, whole=True)
    varied = Varied("number of appliers", "appliers", largest=False, within=limits, points=7)
    chosen = options.get("seed")
    seed = scenario.run.seed if chosen is None else chosen
    executor = options.get("executor")

    def sample(appliers: float, numbers: range) -> Sequence[Sequence[float]]:
        variant = with_value(scenario, f"cluster.options.{option}", int(appliers))
        tasks = [(variant, tps, seed, number) for number in numbers]
        return [(drift,) for drift in in_order(_drift, tasks, executor)]

    objective = Objective((Condition("drift", at_most=True, limit=_DRIFT),))
    goal = f"{tps:,.6g} transactions/s kept up"
    return threshold(scenario, objective, varied, None, sample=sample, goal=goal, **options)


def _drift(scenario: Scenario, tps: float, seed: int, replication: int) -> float:
    return probe(scenario, tps, seed=seed, replication=replication, precision=2.0 * _DRIFT).drift


def _option(scenario: Scenario) -> str:
    """The option that sets the number of appliers, as the scenario spells it."""
    model = find_model(scenario.cluster.model)
    setup_of(scenario)  # says what is wrong with it before anything is simulated
    names = spellings_of(APPLIERS, model.Options)
    if not names:
        others = models_that(lambda other: spellings_of(APPLIERS, other.Options))
        raise ScenarioError(
            "cluster.model",
            f"model {model.name!r} has no appliers to count",
            f"models that have: {others}; of one's own, mark the option with roles.APPLIERS",
        )
    return next((name for name in names if name in scenario.cluster.options), names[0])
