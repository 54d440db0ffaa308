"""Quantities that are read off curves of throughput and latency.

Each is computed from one replication: from a curve and its baseline, or from the curves of several
systems. Throughputs are transactions per second, latencies seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from statistics import fmean
from typing import Literal

__all__ = ["QUANTITIES", "Line", "Rule", "common"]


@dataclass(frozen=True, slots=True)
class Line:
    """One simulated curve, of one replication.

    Attributes
    ----------
    throughput_tps, latency_s : mapping of axis value to float
        Committed transactions per second, and the mean latency in seconds.
    sustained_tps : float
        The rate that no member falls behind at; NaN if it was not sought.
    """

    throughput_tps: Mapping[float, float]
    latency_s: Mapping[float, float]
    sustained_tps: float = nan

    @property
    def maximum_tps(self) -> float:
        """The highest throughput."""
        return max(self.throughput_tps.values())


Pair = tuple[Line, Line]
"""A curve and its baseline."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How a quantity is computed.

    Attributes
    ----------
    compute : callable
        ``compute(pairs, at, up_to)`` with the pairs of a group.
    whole_range : bool
        A row over several values is one statement about all of them together, and not one about
        each.
    uses : {"at", "up_to"} or None
        Which of the two it takes, if any.
    """

    compute: Callable[[Sequence[Pair], float | None, float | None], float]
    whole_range: bool = False
    uses: Literal["at", "up_to"] | None = None


def _mean_of(
    one: Callable[[Pair, float | None, float | None], float],
    uses: Literal["at", "up_to"] | None = None,
) -> Rule:
    """A quantity of one curve; of several, their mean."""
    return Rule(lambda pairs, at, up_to: fmean(one(pair, at, up_to) for pair in pairs), uses=uses)


def _common(pair: Pair, up_to: float | None) -> list[float]:
    """Values of the axis at which both were simulated."""
    line, base = pair
    found = common(line.throughput_tps, base.throughput_tps, up_to)
    if not found:
        raise ValueError("a curve and its baseline have no value of the axis in common")
    return found


def common(line: Iterable[float], base: Container[float], up_to: float | None) -> list[float]:
    """Values of the axis of a curve that are on that of its baseline, too."""
    limit = inf if up_to is None else up_to
    return [x for x in line if x in base and x <= limit]


def _maximum_ratio(pair: Pair, _at: float | None, _up_to: float | None) -> float:
    line, base = pair
    return line.maximum_tps / base.maximum_tps


def _maximum_gap(pair: Pair, at: float | None, up_to: float | None) -> float:
    return 1.0 - _maximum_ratio(pair, at, up_to)


def _gap(pair: Pair, x: float) -> float:
    line, base = pair
    return 1.0 - line.throughput_tps[x] / base.throughput_tps[x]


def _mean_gap(pair: Pair, _at: float | None, up_to: float | None) -> float:
    return fmean(_gap(pair, x) for x in _common(pair, up_to))


def _gap_at(pair: Pair, at: float | None, _up_to: float | None) -> float:
    assert at is not None
    if at not in _common(pair, None):
        raise ValueError(f"no point at {at:g}")
    return _gap(pair, at)


def _mean_latency_increase(pair: Pair, _at: float | None, up_to: float | None) -> float:
    line, base = pair
    return fmean(line.latency_s[x] / base.latency_s[x] - 1.0 for x in _common(pair, up_to))


def _mean_latency_added_ms(pair: Pair, _at: float | None, up_to: float | None) -> float:
    line, base = pair
    return 1e3 * fmean(line.latency_s[x] - base.latency_s[x] for x in _common(pair, up_to))


def _sustained_ratio(pair: Pair, _at: float | None, _up_to: float | None) -> float:
    line, base = pair
    return line.sustained_tps / base.maximum_tps


def _maximum_ratio_drop(pairs: Sequence[Pair], at: float | None, up_to: float | None) -> float:
    """From the first of several systems to the last."""
    return _maximum_ratio(pairs[0], at, up_to) - _maximum_ratio(pairs[-1], at, up_to)


QUANTITIES: Mapping[str, Rule] = {
    "maximum_ratio": _mean_of(_maximum_ratio),
    "maximum_gap": _mean_of(_maximum_gap),
    "maximum_ratio_drop": Rule(_maximum_ratio_drop, whole_range=True),
    "mean_gap": _mean_of(_mean_gap, "up_to"),
    "gap_at": _mean_of(_gap_at, "at"),
    "mean_latency_increase": _mean_of(_mean_latency_increase, "up_to"),
    "mean_latency_added_ms": _mean_of(_mean_latency_added_ms, "up_to"),
    "sustained_ratio": _mean_of(_sustained_ratio),
}
"""By the name that a dataset of curves gives as the kind of a quantity."""
