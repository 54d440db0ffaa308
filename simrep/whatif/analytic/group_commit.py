"""Group commit: stages that serve together whatever has come while they were busy.

Whoever finds the stages idle goes through alone. Whoever does not waits for the rest of what the
longest of them is doing, and is then served with all others who wait: so a stage never saturates,
and costs at most about twice its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf

__all__ = ["GroupStage", "closed_group_commit_s", "open_group_commit_s"]

_STEPS = 400
_SETTLED = 1e-12
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


def open_group_commit_s(stages: Sequence[GroupStage], rate: float) -> float:
    """Mean time in the stages with Poisson arrivals, in seconds; infinite beyond their capacity."""
    if not _can_take(stages, rate):
        return inf
    own_s, longest_s = _spans(stages, rate)
    return own_s + _busy(rate, longest_s) * longest_s / 2.0


def closed_group_commit_s(
    stages: Sequence[GroupStage],
    customers: int,
    away_s: float,
    *,
    spread_s: float = 0.0,
    others_rate: float = 0.0,
) -> float:
    """Mean time in the stages of customers that are away between two visits.

    Parameters
    ----------
    stages : sequence of GroupStage
        In the order in which a group passes them.
    customers : int
    away_s : float
        Mean time from leaving the last stage to coming back to the first, in seconds.
    spread_s : float
        Over how long those who have left together come back.
    others_rate : float
        What comes per second beside them.

    Notes
    -----
    Who left with a group knows when the next one began: at that moment. Coming back, it waits for
    the rest of whatever group is in service then.
    """
    time_s = sum(stage.seconds for stage in stages)
    if time_s <= 0.0:
        return 0.0
    for _ in range(_STEPS):
        rate = customers / (away_s + time_s)
        limit = max((stage.each_s for stage in stages), default=0.0)
        if limit > 0.0:  # no more than what each of a group takes for itself lets through
            rate = min(rate, 0.999 / limit)
        own_s, longest_s = _spans(stages, rate + others_rate)
        others = rate * (customers - 1) / customers + others_rate
        back_s = away_s + own_s - longest_s
        left_s = _left_s(longest_s, back_s, max(spread_s, _LEAST_SPREAD * longest_s))
        found_s = max(own_s + _busy(others, longest_s) * left_s, customers * limit - away_s)
        if abs(found_s - time_s) <= _SETTLED * found_s:
            break
        time_s += 0.5 * (found_s - time_s)
    return time_s


def _can_take(stages: Sequence[GroupStage], rate: float) -> bool:
    return all(rate * stage.each_s < 1.0 for stage in stages)


def _spans(stages: Sequence[GroupStage], rate: float) -> tuple[float, float]:
    """Time of a group in all stages and in the longest, with as many as come in that time."""
    longest_s = max(_period_s(stage, rate) for stage in stages)
    more = max(0.0, rate * longest_s - 1.0)
    return sum(stage.seconds + more * stage.each_s for stage in stages), longest_s


def _period_s(stage: GroupStage, rate: float) -> float:
    """How long a stage takes for what has come while it was busy."""
    if rate * stage.seconds <= 1.0:
        return stage.seconds
    return (stage.seconds - stage.each_s) / max(1e-3, 1.0 - rate * stage.each_s)


def _busy(rate: float, period_s: float) -> float:
    """Share of the time in which a stage works that serves all who wait together."""
    if rate <= 0.0 or period_s <= 0.0:
        return 0.0
    return period_s / (period_s + exp(-rate * period_s) / rate)


def _left_s(period_s: float, since_s: float, spread_s: float) -> float:
    """What is left of a period, on average over a while that begins ``since_s`` after one began."""

    def total(at_s: float) -> float:
        periods, rest_s = divmod(at_s, period_s)
        return periods * period_s**2 / 2.0 + rest_s * (period_s - rest_s / 2.0)

    return (total(since_s + spread_s) - total(since_s)) / spread_s
