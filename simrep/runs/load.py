"""A load that varies: what was offered over time, and what came of it, period by period."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, nan
from typing import Any, Literal

from simrep.kernel.arrays import NDArray, np
from simrep.kernel.clock import Clock
from simrep.measure.confidence import mean_interval
from simrep.measure.histogram import LatencyHistogram
from simrep.measure.series import Series
from simrep.workload.clients import Recorder
from simrep.workload.course import Course
from simrep.workload.workload import Arrivals, Loop, Workload

__all__ = ["LoadRecord", "Period", "PeriodMeter"]

_MOST_PERIODS = 24
_PARTS = 8  # of a run whose load has no phases, or too many


@dataclass(frozen=True, slots=True, eq=False)
class Period:
    """A part of a run, and what clients saw in it; times in simulated seconds.

    Attributes
    ----------
    name : str
        Of the phase and the bursts; empty for a part of a load that has none.
    from_s, to_s : float
    rate_tps : float
        Arrivals per second that the load has on average; NaN of a closed loop.
    clients : float
        Clients that it has on average; NaN of an open loop.
    committed, aborted : float
        Transactions that ended in it; means over the replications.
    latency : LatencyHistogram
        Of the committed ones, of all replications together.
    interval_tps : tuple of (float, float)
        95 % confidence interval over the replications of ``throughput_tps``; NaN for one.
    """

    name: str
    from_s: float
    to_s: float
    rate_tps: float
    clients: float
    committed: float
    aborted: float
    latency: LatencyHistogram
    interval_tps: tuple[float, float] = (nan, nan)

    @property
    def throughput_tps(self) -> float:
        """Committed transactions per second."""
        return self.committed / (self.to_s - self.from_s)

    @classmethod
    def mean(cls, periods: Sequence[Period]) -> Period:
        """The same period over replications."""
        first = periods[0]
        if len(periods) == 1:
            return first
        interval = mean_interval([one.throughput_tps for one in periods])
        return cls(
            name=first.name,
            from_s=first.from_s,
            to_s=first.to_s,
            rate_tps=first.rate_tps,
            clients=first.clients,
            committed=float(np.mean([one.committed for one in periods])),
            aborted=float(np.mean([one.aborted for one in periods])),
            latency=LatencyHistogram.merged(one.latency for one in periods),
            interval_tps=(interval.low, interval.high),
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures by name; without those that there are none of."""
        figures = {
            "rate_tps": self.rate_tps,
            "clients": self.clients,
            "throughput_tps": self.throughput_tps,
            "committed": self.committed,
            "aborted": self.aborted,
        }
        content: dict[str, Any] = {"name": self.name, "from_s": self.from_s, "to_s": self.to_s}
        content |= {name: value for name, value in figures.items() if isfinite(value)}
        content["latency_s"] = self.latency.figures()
        if isfinite(self.interval_tps[0]):
            content["interval_tps"] = list(self.interval_tps)
        return content


@dataclass(frozen=True, slots=True, eq=False)
class LoadRecord:
    """What a load that varies offered, and what came of it.

    Attributes
    ----------
    rate_tps : numpy.ndarray of float
        Mean arrivals per second in every interval of the time series; NaN of a closed loop.
    clients : numpy.ndarray of float
        Mean number of clients likewise; NaN of an open loop.
    periods : tuple of Period
        Phases and bursts, or equal parts of the run.
    """

    rate_tps: NDArray[np.float64]
    clients: NDArray[np.float64]
    periods: tuple[Period, ...]

    @classmethod
    def mean(cls, records: Sequence[LoadRecord]) -> LoadRecord:
        """Over replications, which all have the same load."""
        first = records[0]
        same = zip(*(one.periods for one in records), strict=True)
        return cls(first.rate_tps, first.clients, tuple(map(Period.mean, same)))

    @property
    def what(self) -> Literal["rate_tps", "clients"]:
        """What varies: the rate of an open loop, or the clients of a closed one."""
        return "clients" if np.isnan(self.rate_tps).any() else "rate_tps"

    @property
    def offered(self) -> NDArray[np.float64]:
        """That in every interval."""
        return self.clients if self.what == "clients" else self.rate_tps

    def columns(self) -> dict[str, list[Any]]:
        """The periods as columns of a table."""
        rows = [
            {
                "name": one.name,
                "from_s": one.from_s,
                "to_s": one.to_s,
                self.what: getattr(one, self.what),
                "throughput_tps": one.throughput_tps,
                "committed": one.committed,
                "aborted": one.aborted,
                **{f"latency_{name}_s": value for name, value in one.latency.figures().items()},
            }
            for one in self.periods
        ]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """The load of every interval, and all periods."""
        periods = [one.to_dict() for one in self.periods]
        return {self.what: self.offered.tolist(), "periods": periods}


class PeriodMeter:
    """Tells a meter all that it is told, and counts it by the period in which it ends.

    Parameters
    ----------
    clock : Clock
    meter : Recorder
    workload : Workload
        Something of it varies.
    start_s, end_s : float
        The measured time.
    """

    def __init__(
        self, clock: Clock, meter: Recorder, workload: Workload, start_s: float, end_s: float
    ) -> None:
        self._clock = clock
        self._meter = meter
        self._workload = workload
        cuts = _cuts(workload.courses, start_s, end_s)
        self._edges = [*(at_s for at_s, _ in cuts), end_s]
        self._names = [name for _, name in cuts]
        self._latencies = [LatencyHistogram() for _ in cuts]
        self._aborted = [0] * len(cuts)

    def opened(self) -> None:
        """A client begins to connect now."""
        self._meter.opened()

    def committed(self, started_s: float, kind: str, client: int, node: int) -> None:
        """A transaction is committed now."""
        now = self._clock._now
        if now >= self._edges[0]:
            self._latencies[self._position(now)].add(now - started_s)
        self._meter.committed(started_s, kind, client, node)

    def aborted(self, started_s: float, kind: str, client: int, node: int, error: str) -> None:
        """An attempt at a transaction fails now."""
        now = self._clock._now
        if now >= self._edges[0]:
            self._aborted[self._position(now)] += 1
        self._meter.aborted(started_s, kind, client, node, error)

    def waited(self, since_s: float) -> None:
        """A client with something to do has paused since then, or tried to connect."""
        self._meter.waited(since_s)

    def _position(self, now: float) -> int:
        return min(bisect_right(self._edges, now), len(self._names)) - 1

    def record(self, series: Series) -> LoadRecord:
        """What was counted; the time series says for which intervals the load is told."""
        rates, clients = _offered(self._workload, self._edges)
        periods = [
            Period(name, from_s, to_s, rate, number, latency.count, aborted, latency)
            for name, (from_s, to_s), rate, number, latency, aborted in zip(
                self._names, pairwise(self._edges), rates, clients, self._latencies, self._aborted,
                strict=True,
            )
        ]  # fmt: skip
        edges = series.edges_s
        edges[-1] = max(series.end_s, edges[-2])
        rate_tps, present = map(np.array, _offered(self._workload, edges.tolist()))
        return LoadRecord(rate_tps, present, tuple(periods))


def _offered(workload: Workload, edges_s: Sequence[float]) -> tuple[list[float], list[float]]:
    """Arrivals per second and clients between neighbouring times, on average."""

    def total(sources: Sequence[Loop | Arrivals]) -> list[float]:
        if not sources:
            return [nan] * (len(edges_s) - 1)
        levels = [
            [_level(source)] * (len(edges_s) - 1)
            if source.course is None
            else source.course.means(edges_s)
            for source in sources
        ]
        return [sum(column) for column in zip(*levels, strict=True)]

    return total(workload.arrivals), total(workload.loops)


def _level(source: Loop | Arrivals) -> float:
    return source.rate_tps if isinstance(source, Arrivals) else float(len(source.nodes))


def _cuts(courses: Sequence[Course], start_s: float, end_s: float) -> list[tuple[float, str]]:
    """Begins of the periods of a run, and their names."""
    begins = {at_s for course in courses for at_s, _ in course.phases}
    edges = {edge_s for course in courses for edge_s in _burst_edges(course, end_s)}
    for times in (begins | edges, begins, edges):
        inside = sorted({start_s, *(at_s for at_s in times if start_s < at_s < end_s)})
        if 1 < len(inside) <= _MOST_PERIODS:
            ends = [*inside[1:], end_s]
            return [
                (at_s, _name(courses, 0.5 * (at_s + to_s)))
                for at_s, to_s in zip(inside, ends, strict=True)
            ]
    length_s = (end_s - start_s) / _PARTS
    return [(start_s + part * length_s, "") for part in range(_PARTS)]


def _burst_edges(course: Course, end_s: float) -> Iterator[float]:
    for burst in course.bursts:
        for number, edge_s in enumerate(burst.edges()):
            if edge_s >= end_s or number > 2 * _MOST_PERIODS:
                break
            yield edge_s


def _name(courses: Sequence[Course], at_s: float) -> str:
    """Names of the phases and bursts that hold at a time."""
    names: list[str] = []
    for course in courses:
        begun = [name for begin_s, name in course.phases if begin_s <= at_s]
        names += begun[-1:]
        names += [burst.name for burst in course.bursts if burst.holds(at_s)]
    return " + ".join(dict.fromkeys(names))
