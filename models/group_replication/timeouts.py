"""Which ``group_replication_member_expel_timeout`` is tried, and what to know of it.

A member that is silent is unreachable after 5 s, which is not settable. Who asks for its removal
looks at the timeout only every 15 s (``Gcs_suspicions_manager``,
``SUSPICION_PROCESSING_THREAD_PERIOD``), so 1 to 15 are alike, and 16 to 30.
"""

from __future__ import annotations

from math import ceil
from statistics import median
from typing import Any

from simrep.modelling.questions import (
    Scenario,
    Timeouts,
    TimeoutSetting,
    TriedTimeout,
    duration,
    number,
    weighed_timeouts,
)

__all__ = ["expel_timeouts"]

_OPTION = "group_replication_member_expel_timeout"
_NOTES = (
    "Until then every commit waits for slots of the silent one; without a primary, nobody writes.",
    "Who was removed joins again by itself, and commits are slow again meanwhile.",
    "Who is away longer than group_replication_message_cache_size lasts has to join again, too.",
    "Applications and routers have to wait for longer than the removal takes.",
)
_PERIOD_S = 15
_UNREACHABLE_S = 6.5
_MESSAGES_S = (
    5.5  # the removal is ordered and a view agreed on, each behind slots of the silent one
)

# One value of each step of 15 s. 0: advised where seconds count and links are reliable (a LAN);
# steps above the default: for a WAN, as far as the message cache lasts.
_SETTINGS = {0: "at once", 5: "defaults", 30: "", 45: "", 60: ""}
_STEPS = {0: "0", 5: "5 (1 to 15)", 30: "30 (16 to 30)", 45: "45 (31 to 45)", 60: "60 (46 to 60)"}


def expel_timeouts(scenario: Scenario, *, outage_s: float = 4.0, **options: Any) -> Timeouts:
    """Removals after a crash and by mistake, over ``group_replication_member_expel_timeout``.

    Parameters
    ----------
    scenario : Scenario
        See ``weighed_timeouts``.
    outage_s : float
        How long the node is cut off, in seconds.
    **options
        Of the question.
    """
    settings = [_setting(timeout_s, name) for timeout_s, name in _SETTINGS.items()]
    if not options.get("loss") and not options.get("jitter_s"):
        settings = _worth_trying(settings, outage_s)
    return weighed_timeouts(
        scenario,
        settings,
        option=_OPTION,
        cost=_cost,
        notes=_NOTES,
        outage_s=outage_s,
        **options,
    )


def _worth_trying(settings: list[TimeoutSetting], outage_s: float) -> list[TimeoutSetting]:
    """Those that are too short for an outage, and two that are not: longer ones only cost more."""
    enough = [one for one in settings if one.longest_s - _MESSAGES_S > outage_s]
    return [one for one in settings if one not in enough[2:]]


def _setting(timeout_s: int, name: str) -> TimeoutSetting:
    return TimeoutSetting(
        name=name,
        timeout_s=timeout_s,
        options={_OPTION: timeout_s},
        longest_s=_UNREACHABLE_S + _PERIOD_S * ceil(timeout_s / _PERIOD_S) + _MESSAGES_S,
        brief=_STEPS[timeout_s],
        written=f"{_OPTION} = {timeout_s}",
    )


def _cost(tried: TriedTimeout) -> str:
    removed, rate = duration(median(tried.removed_s)), number(median(tried.rates_tps))
    return f"one that crashes is removed after {removed}, with {rate} commits per second until then"
