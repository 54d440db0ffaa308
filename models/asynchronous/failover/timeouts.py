"""Which patience of a failover manager is tried: how many polls have to fail.

Orchestrator acts when the replicas have lost their connections, so what is tried with it is
``replica_net_timeout``.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

from simrep.modelling import ScenarioError
from simrep.modelling.questions import (
    Scenario,
    Timeouts,
    TimeoutSetting,
    TriedTimeout,
    duration,
    weighed_timeouts,
)

from .presets import PRESETS, ManagerRules

__all__ = ["manager_timeouts"]

_NOTES = (
    "A source that was replaced while it stood still takes writes again when it goes on.",
    "A source whose process dies is replaced sooner: its machine refuses connections at once.",
)
_FAILURES = (1, 2, 3, 5, 10)
_NET_TIMEOUTS_S = (2, 4, 10, 30, 60)  # 4: advised by Orchestrator's page on configuration
_DEFAULT_NET_TIMEOUT_S = 60
_MORE_S = 20.0  # asks, clients that turn to the new source


def manager_timeouts(scenario: Scenario, **options: Any) -> Timeouts:
    """Outages after a crash and needless failovers, over the patience of the manager.

    Parameters
    ----------
    scenario : Scenario
        With a failover manager; see ``weighed_timeouts``.
    **options
        Of the question.

    Raises
    ------
    ScenarioError
        If the scenario has no manager, or clients that no failover helps.
    """
    given = scenario.cluster.options
    rules = PRESETS.get(str(given.get("failover_manager", "none")))
    if rules is None:
        raise ScenarioError(
            "cluster.options.failover_manager",
            "the question is about the timeouts of a failover manager, and there is none",
            f"set {', '.join(map(repr, PRESETS))}",
        )
    tables = [table.above(scenario.workload.policy) for _, table in scenario.workload.policies]
    if scenario.proxy is None and not any(
        table.on_error == "next" and table.read_timeout_s is not None for table in tables
    ):
        raise ScenarioError(
            "workload.clients",
            "clients wait without limit for a silent source, and never turn to its replacement",
            'set on_error = "next" and read_timeout_s, or a [proxy]',
        )
    if given.get("manager_poll_s") is not None:
        rules = replace(rules, poll_s=given["manager_poll_s"])
    if (given.get("manager_asks_replicas") or rules.asks) == "io-threads":
        option, settings = "replica_net_timeout", [_net_timeout(s) for s in _NET_TIMEOUTS_S]
    else:
        option = "manager_failures"
        settings = [_failures(rules, times) for times in _FAILURES]
        if rules.failures not in _FAILURES:
            settings.append(_failures(rules, rules.failures))
            settings.sort(key=lambda setting: setting.timeout_s)
    return weighed_timeouts(
        scenario, settings, option=option, cost=_cost, notes=_NOTES, writer=True, **options
    )


def _net_timeout(seconds: int) -> TimeoutSetting:
    return TimeoutSetting(
        name="defaults" if seconds == _DEFAULT_NET_TIMEOUT_S else "",
        timeout_s=float(seconds),
        options={"replica_net_timeout": seconds},
        longest_s=seconds + _MORE_S,
        brief=str(seconds),
        written=f"replica_net_timeout = {seconds}",
    )


def _failures(rules: ManagerRules, times: int) -> TimeoutSetting:
    return TimeoutSetting(
        name="defaults" if times == rules.failures else "",
        timeout_s=rules.poll_s * times,
        options={"manager_failures": times},
        longest_s=(rules.poll_s + rules.connect_timeout_s) * (times + 1) + _MORE_S,
        brief=f"{times} x {rules.poll_s:g} s",
        written=f"manager_failures = {times}",
    )


def _cost(tried: TriedTimeout) -> str:
    return f"a source that loses power stops writers for {duration(median(tried.crash_s))}"
