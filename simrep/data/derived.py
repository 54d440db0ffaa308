"""Figures of several simulated cells, beside the ranges that were stated for them.

Each system is compared with a baseline, in one replication after the other. The distance of a
figure from the stated range tells how well it is predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from statistics import fmean, median

from simrep.data.cells import single_run_interval
from simrep.data.definition import DerivedMetric, Value
from simrep.data.measurements import DatasetCell
from simrep.data.statements import Statement, SystemKey, Systems

__all__ = [
    "FIGURES",
    "Curve",
    "DerivedFigures",
    "DerivedRow",
    "DerivedSummary",
    "SimulatedCell",
    "SystemRate",
]

FIGURES = ("throughput_tps", "latency_s.mean")
"""Figures of a result that derived metrics are computed from."""

_POINTS = 100.0
"""Distances of ratios are given in percentage points."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The figures of a system along a factor, of one replication."""

    # throughput_tps, latency_s: committed transactions per second and the mean latency, by the
    # value of the factor.
    throughput_tps: Mapping[float, float]
    latency_s: Mapping[float, float]
    sustained_tps: float = nan  # the rate that the system keeps up; NaN if it was not sought

    @property
    def maximum_tps(self) -> float:
        """The highest throughput."""
        return max(self.throughput_tps.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedCell:
    """A cell that derived metrics are computed from; medians over the replications.

    Attributes
    ----------
    series : str
    factors : mapping of str to value
    throughput_tps : float
    latency_s : float
        Mean latency of committed transactions in seconds.
    """

    series: str
    factors: Mapping[str, Value]
    throughput_tps: float
    latency_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRate:
    """The rate that a system keeps up in the long run; the median over the replications.

    Attributes
    ----------
    series : str
    factors : mapping of str to value
    rate_tps : float
        NaN when there is no such rate.
    limited_by : str
        Who falls behind above it, or why there is none.
    """

    series: str
    factors: Mapping[str, Value]
    rate_tps: float
    limited_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedRow:
    """A stated figure and the simulated one.

    Attributes
    ----------
    factors : mapping of str to value
        As stated.
    quantity : str
    low, high : float
        The range that was stated.
    predicted : float
        Median over the replications; of a row about several values, the one furthest from the
        range.
    values : tuple of float
        For each of the values that the row is about.
    distance : float
        From the range: 0 inside it, negative below. In percentage points for a ratio, else in
        ``unit``.
    interval : (float, float) or None
        Where 95 % of single replications lie; None for one replication.
    unit : str
        Of what was stated.
    used_in_fit : bool
    """

    factors: Mapping[str, Value]
    quantity: str
    low: float
    high: float
    predicted: float
    values: tuple[float, ...]
    distance: float
    interval: tuple[float, float] | None
    unit: str
    used_in_fit: bool

    @property
    def distance_unit(self) -> str:
        """``points`` for ratios, else the unit of the row."""
        return "points" if self.unit == "ratio" else self.unit


@dataclass(frozen=True, slots=True)
class DerivedSummary:
    """Distances of the rows that no fit has seen.

    Attributes
    ----------
    n : int
        Number of rows.
    inside : int
        How many of them lie in the stated range.
    median_distance, max_distance : mapping of unit to float
        Of the absolute distances.
    """

    n: int
    inside: int
    median_distance: Mapping[str, float]
    max_distance: Mapping[str, float]

    @classmethod
    def of(cls, rows: Sequence[DerivedRow]) -> DerivedSummary:
        """The summary of those among ``rows`` that were not used in a fit."""
        unseen = [row for row in rows if not row.used_in_fit]
        sizes: dict[str, list[float]] = {}
        for row in unseen:
            sizes.setdefault(row.distance_unit, []).append(abs(row.distance))
        return cls(
            len(unseen),
            sum(row.distance == 0.0 for row in unseen),
            {unit: median(own) for unit, own in sizes.items()},
            {unit: max(own) for unit, own in sizes.items()},
        )


class DerivedFigures:
    """What is simulated for derived metrics, and the rows that follow from it."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems
        self._samples: dict[SystemKey, dict[float, list[Sequence[float]]]] = {}
        self._rates: dict[SystemKey, list[float]] = {}
        self.simulated: list[SimulatedCell] = []
        self.sustained: list[SystemRate] = []

    def add(self, series: str, cell: DatasetCell, samples: Sequence[Sequence[float]]) -> None:
        """Take in a cell: for each replication ``FIGURES``, as the last of its figures."""
        own = [sample[-len(FIGURES) :] for sample in samples]
        place = cell.factors[self.systems.derived.along]
        if not isinstance(place, str):
            key = self.systems.definition.system(cell.factors)
            self._samples.setdefault(key, {})[place] = own
        throughput_tps, latency_s = (median(values) for values in zip(*own, strict=True))
        self.simulated.append(
            SimulatedCell(
                series=series,
                factors=cell.factors,
                throughput_tps=throughput_tps,
                latency_s=latency_s,
            )
        )

    def add_rates(self, series: str, cell: DatasetCell, rates: Sequence[tuple[float, str]]) -> None:
        """Take in the sustained rate of a system and who limits it, for each replication."""
        own = [rate for rate, _ in rates]
        self._rates[self.systems.definition.system(cell.factors)] = own
        self.sustained.append(
            SystemRate(
                series=series, factors=cell.factors, rate_tps=median(own), limited_by=rates[0][1]
            )
        )

    def rows(self, stated: Iterable[Statement]) -> Iterator[DerivedRow]:
        """The rows whose systems were all simulated."""
        curves = self._curves()
        for row in stated:
            metric = self.systems.derived.metric[row.quantity]
            groups = [[(key, self.systems.baseline(key)) for key in own] for own in row.groups]
            pairs = [pair for group in groups for pair in group]
            if not all(key in curves for pair in pairs for key in pair):
                continue
            rates = [curve.sustained_tps for key, _ in pairs for curve in curves[key]]
            if metric.kind == "sustained_ratio" and not all(map(isfinite, rates)):
                continue
            samples = [
                [
                    _figure(metric, [(curves[key][n], curves[base][n]) for key, base in group])
                    for n in range(len(curves[pairs[0][0]]))
                ]
                for group in groups
            ]
            yield _row(row, samples)

    def _curves(self) -> dict[SystemKey, list[Curve]]:
        """By replication; those that an interruption has cut short are left out."""
        curves: dict[SystemKey, list[Curve]] = {}
        for key in dict.fromkeys([*self._samples, *self._rates]):
            own, rates = self._samples.get(key, {}), self._rates.get(key)
            if len(own) < len(self.systems.places.get(key, ())):
                continue
            count = len(rates) if rates else len(next(iter(own.values())))
            curves[key] = [
                Curve(
                    {x: samples[number][0] for x, samples in own.items()},
                    {x: samples[number][1] for x, samples in own.items()},
                    rates[number] if rates else nan,
                )
                for number in range(count)
            ]
        return curves


def _row(stated: Statement, samples: Sequence[Sequence[float]]) -> DerivedRow:
    values = [median(own) for own in samples]
    distances = [_distance(value, stated.low, stated.high) for value in values]
    worst = max(range(len(values)), key=lambda index: abs(distances[index]))
    return DerivedRow(
        factors=stated.factors,
        quantity=stated.quantity,
        low=stated.low,
        high=stated.high,
        predicted=values[worst],
        values=tuple(values),
        distance=(_POINTS if stated.unit == "ratio" else 1.0) * distances[worst],
        interval=single_run_interval(samples[worst], positive=False),
        unit=stated.unit,
        used_in_fit=stated.used_in_fit,
    )


def _distance(value: float, low: float, high: float) -> float:
    """From a range: 0 inside, negative below; NaN stays NaN."""
    if low <= value <= high:
        return 0.0
    return value - high if value > high else value - low


def _figure(metric: DerivedMetric, pairs: Sequence[tuple[Curve, Curve]]) -> float:
    """Of the systems of a group, each with its baseline: their mean, or the fall along them."""
    if metric.kind == "maximum_ratio_drop":
        first, last = ((own.maximum_tps, base.maximum_tps) for own, base in (pairs[0], pairs[-1]))
        return _ratio(*first) - _ratio(*last)
    return fmean(_of_one(metric, own, base) for own, base in pairs)


def _of_one(metric: DerivedMetric, own: Curve, base: Curve) -> float:
    rates, base_rates = own.throughput_tps, base.throughput_tps
    times, base_times = own.latency_s, base.latency_s
    shared = metric.shared(rates, base_rates)
    match metric.kind:
        case "sustained_ratio":
            return _ratio(own.sustained_tps, base.maximum_tps)
        case "maximum_gap":
            return 1.0 - _ratio(own.maximum_tps, base.maximum_tps)
        case "mean_gap" | "gap_at":
            return fmean(1.0 - _ratio(rates[x], base_rates[x]) for x in shared)
        case "mean_latency_increase":
            return fmean(_ratio(times[x], base_times[x]) - 1.0 for x in shared)
        case "mean_latency_added_ms":
            return 1e3 * fmean(times[x] - base_times[x] for x in shared)
        case _:
            return _ratio(own.maximum_tps, base.maximum_tps)


def _ratio(value: float, of: float) -> float:
    """NaN to nothing: no transaction committed."""
    return value / of if of else nan
