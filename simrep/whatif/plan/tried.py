"""One value of a search: what was simulated of it, and whether it surely meets the objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from statistics import fmean
from typing import Literal

from simrep.measure.confidence import Interval, mean_interval
from simrep.whatif.objective import Condition

__all__ = ["Tried", "Verdict", "judged"]

Verdict = Literal["met", "open", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One value that was tried.

    Attributes
    ----------
    value : float
    verdict : {"met", "open", "failed"}
        Whether the objective is surely met, surely not, or may be either.
    means : tuple of float
        Of the figures of the objective, in the order of its conditions.
    intervals : tuple of Interval
        Of the same, each at the confidence that the verdict needs: more than that of the answer,
        which rests on many verdicts.
    replications : int
    """

    value: float
    verdict: Verdict
    means: tuple[float, ...]
    intervals: tuple[Interval, ...]
    replications: int


def judged(
    value: float,
    samples: Sequence[Sequence[float]],
    conditions: Sequence[Condition],
    confidence: float,
) -> Tried:
    """What replications tell of a value.

    Parameters
    ----------
    value : float
    samples : sequence of sequence of float
        Figures of each replication, in the order of the conditions.
    conditions : sequence of Condition
    confidence : float
        Of each interval.
    """
    means: list[float] = []
    intervals: list[Interval] = []
    verdicts: list[Verdict] = []
    for position, condition in enumerate(conditions):
        column = [sample[position] for sample in samples]
        if not all(map(isfinite, column)):  # nothing committed, or a transaction failed
            interval = Interval(nan, nan, nan, confidence)
            verdicts.append("failed")
        else:
            interval = mean_interval(column, confidence)
            verdicts.append(_verdict(interval, condition))
        intervals.append(interval)
        means.append(fmean(column))
    worst: Verdict = "met"
    if "failed" in verdicts:
        worst = "failed"
    elif "open" in verdicts:
        worst = "open"
    return Tried(
        value=value,
        verdict=worst,
        means=tuple(means),
        intervals=tuple(intervals),
        replications=len(samples),
    )


def _verdict(interval: Interval, condition: Condition) -> Verdict:
    ends = condition.met(interval.low), condition.met(interval.high)
    if all(ends):
        return "met"
    return "open" if any(ends) else "failed"
