"""Group commit: stages that serve together whatever has come while they were busy.

Whoever finds the stages idle goes through alone. Whoever does not waits for the rest of what the
longest of them is doing, and is then served with all others who wait: so a stage never saturates,
and costs at most about twice its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite

__all__ = ["GroupStage", "GroupTime", "closed_group_commit_s", "open_group_commit_s"]

_STEPS = 60
_SETTLED = 1e-10
_FAR = 2.0
_LEAST_SPREAD = 0.05  # of a group's time: nobody comes back at quite the same moment


@dataclass(frozen=True, slots=True)
class GroupStage:
    """One stage.

    Parameters
    ----------
    seconds : float
        What it takes for one alone.
    each_s : float
        How much longer it takes for every further one in the group.
    """

    seconds: float
    each_s: float = 0.0


@dataclass(frozen=True, slots=True)
class GroupTime:
    """Mean time in a group commit."""

    seconds: float  # from coming to the first stage to leaving the last
    company: float  # how many go with one
    unsure: float = 0.0  # how far that may be off, either way


def open_group_commit_s(stages: Sequence[GroupStage], rate: float) -> GroupTime:
    """Of Poisson arrivals; infinite where they are more than the stages can take."""
    longest_s = max(_period_s(stage, rate) for stage in stages)
    if not isfinite(longest_s):
        return GroupTime(inf, inf)
    company = max(0.0, rate * longest_s - 1.0)
    own_s = sum(stage.seconds + company * stage.each_s for stage in stages)
    busy = longest_s / (longest_s + exp(-rate * longest_s) / rate) if longest_s else 0.0
    return GroupTime(own_s + busy * longest_s / 2.0, company)


def closed_group_commit_s(
    stages: Sequence[GroupStage],
    customers: int,
    away_s: float,
    *,
    each_away_s: float = 0.0,
    others_rate: float = 0.0,
    in_step: bool = True,
) -> GroupTime:
    """Of customers that are away between two visits, for ``away_s`` on average.

    Those who have left together come back ``each_away_s`` apart; ``in_step`` is whether nothing
    else keeps them apart, as a random pause does. ``others_rate`` comes per second beside them.

    As long as every customer could have a group of its own, they meet by chance. With more of them
    a group begins whenever one leaves the longest stage; coming back, a customer waits for the rest
    of whatever group is in service then. Groups are between what comes in that time and all
    customers, who fall into step; the middle is taken.
    """
    alone_s = sum(stage.seconds for stage in stages)
    if alone_s <= 0.0:
        return GroupTime(0.0, 0.0)
    one_s = max(stage.seconds for stage in stages)
    crowded = in_step and customers * one_s > away_s + alone_s
    limit_s = max(stage.each_s for stage in stages)
    least_s = customers * limit_s - away_s
    if least_s > _FAR * alone_s:  # one after the other, whatever the groups are
        return GroupTime(least_s, 0.0)
    time_s, company, unsure = alone_s, 0.0, 0.0
    for _ in range(_STEPS):
        rate = customers / (away_s + time_s) + others_rate
        longest_s = max(stage.seconds + company * stage.each_s for stage in stages)
        least = min(max(1.0, rate * longest_s), float(customers) + others_rate * longest_s)
        if crowded:
            unsure = max(0.0, customers - least) / 2.0
        company = least - 1.0 + unsure
        own_s = sum(stage.seconds + company * stage.each_s for stage in stages)
        if crowded:
            back_s = away_s + own_s - longest_s
            spread_s = max(company * each_away_s, _LEAST_SPREAD * longest_s)
            wait_s = _left_s(longest_s, back_s, spread_s)
        else:
            free = max(0.0, 1.0 - longest_s / (away_s + time_s)) ** (customers - 1)
            wait_s = (1.0 - free * exp(-others_rate * longest_s)) * longest_s / 2.0
        found_s = max(own_s + wait_s, least_s)
        if abs(found_s - time_s) <= _SETTLED * found_s:
            break
        time_s += 0.5 * (found_s - time_s)
    return GroupTime(time_s, company, unsure)


def _period_s(stage: GroupStage, rate: float) -> float:
    """How long a stage takes for what has come while it was busy."""
    if rate * stage.each_s >= 1.0:
        return inf
    if rate * stage.seconds <= 1.0:
        return stage.seconds
    return (stage.seconds - stage.each_s) / (1.0 - rate * stage.each_s)


def _left_s(period_s: float, since_s: float, spread_s: float) -> float:
    """What is left of a period, on average over a while that begins ``since_s`` after one began."""

    def total(at_s: float) -> float:
        periods, rest_s = divmod(at_s, period_s)
        return periods * period_s**2 / 2.0 + rest_s * (period_s - rest_s / 2.0)

    return (total(since_s + spread_s) - total(since_s)) / spread_s
