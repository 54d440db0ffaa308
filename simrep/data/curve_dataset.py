"""Simulating the curves of a dataset, and how far what is read off them is from what was stated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import nan
from statistics import median
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.data.curve_quantities import Line
from simrep.data.curve_rows import CurveSummary, Row, scored
from simrep.data.curves import Curve, CurveDataset, Key
from simrep.data.definition import Value
from simrep.data.provenance import Reproduced
from simrep.data.reproduce import Progress, series_versions, simulate_cells
from simrep.errors import ScenarioError, SimrepError
from simrep.runs.sustain import sustainable_rate
from simrep.scenario import Scenario, load, with_values

__all__ = ["CurveDatasetResult", "Point", "Sustained", "simulate_curves"]

_FIGURES = ("throughput_tps", "latency_s.mean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a curve; medians over the replications.

    Attributes
    ----------
    factors : mapping of str to value
    x : float
        Value of the axis.
    throughput_tps : float
    latency_s : float
        Mean latency of committed transactions in seconds.
    """

    factors: Mapping[str, Value]
    x: float
    throughput_tps: float
    latency_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sustained:
    """The rate that a system keeps up in the long run; the median over the replications.

    Attributes
    ----------
    factors : mapping of str to value
    rate_tps : float
    limited_by : str
        Who falls behind above it; see :class:`simrep.runs.sustain.SustainedRate`.
    """

    factors: Mapping[str, Value]
    rate_tps: float
    limited_by: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CurveDatasetResult(Reproduced):
    """The simulated curves of a dataset, and the quantities read off them.

    Attributes
    ----------
    dataset : CurveDataset
    rows : tuple of Row
        Those whose curves were simulated completely.
    points : tuple of Point
    sustained : tuple of Sustained
    seed, replications, complete, versions
        See ``Reproduced``.
    """

    width = 120

    dataset: CurveDataset
    rows: tuple[Row, ...]
    points: tuple[Point, ...]
    sustained: tuple[Sustained, ...]

    @property
    def summary(self) -> CurveSummary:
        """Distances of the rows that were not used in a fit."""
        return CurveSummary.of(self.rows)

    @property
    def finished(self) -> int:
        """Number of points."""
        return len(self.points)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        definition = self.dataset.definition
        content = {
            "dataset": self.dataset.name,
            "title": definition.title,
            "source": definition.source,
            "axis": definition.axis.name,
            "rows": [{**asdict(row), "distance_unit": row.distance_unit} for row in self.rows],
            "points": [asdict(point) for point in self.points],
            "sustained": [asdict(one) for one in self.sustained],
            "summary": asdict(self.summary),
        }
        return self._as_json(content)

    def _rows(self) -> list[dict[str, Any]]:
        """A row per quantity, its factors in columns of their own."""
        rows = [asdict(row) for row in self.rows]
        return [{**row.pop("factors"), **row} for row in rows]

    def __repr__(self) -> str:
        summary = self.summary
        return (
            f"<CurveDatasetResult {self.dataset.name}: {len(self.rows)} rows, "
            f"{summary.n} predicted, "
            f"{summary.inside} in the stated range>"
        )


def simulate_curves(
    dataset: CurveDataset,
    replications: int,
    seed: int,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> CurveDatasetResult:
    """Simulate every curve of a dataset; :func:`simrep.reproduce` calls it."""
    points = [(curve, x) for curve in dataset.curves for x in curve.values]
    plans = [setup_of(_at(dataset, curve, x)) for curve, x in points]
    searches = [
        (curve, _at(dataset, curve, None), number)
        for curve in dataset.sustained
        for number in range(replications)
    ]
    total = len(points) + len(dataset.sustained)
    done: list[Key] = []

    def count(key: Key) -> None:
        done.append(key)
        if progress is not None:
            progress(len(done), total)

    sampled: dict[Key, dict[float, list[tuple[float, ...]]]] = {}
    rates: dict[Key, list[tuple[float, str]]] = {}
    precision = dataset.definition.precision
    complete = True
    try:
        with _searched(searches, seed, precision, executor) as found:
            cells = simulate_cells(plans, _FIGURES, replications, seed, executor)
            for (curve, x), samples in zip(points, cells, strict=True):
                sampled.setdefault(curve.key, {})[x] = samples
                count(curve.key)
            for curve in dataset.sustained:
                own = [next(found) for _ in range(replications)]
                rates[curve.key] = own
                count(curve.key)
    except KeyboardInterrupt:
        complete = False
    lines = _lines(dataset, sampled, rates, replications)
    names = list(dataset.definition.factors)
    return CurveDatasetResult(
        dataset=dataset,
        rows=tuple(scored(dataset, lines, replications)),
        points=tuple(
            Point(
                factors=dict(zip(names, key, strict=True)),
                x=x,
                throughput_tps=median(sample[0] for sample in samples),
                latency_s=median(sample[1] for sample in samples),
            )
            for key, own in sampled.items()
            for x, samples in own.items()
        ),
        sustained=tuple(
            Sustained(
                factors=dict(zip(names, key, strict=True)),
                rate_tps=median(rate for rate, _ in own),
                limited_by=own[0][1],
            )
            for key, own in rates.items()
        ),
        seed=seed,
        replications=replications,
        complete=complete,
        versions=series_versions(_by_scenario(points, plans)),
    )


def _at(dataset: CurveDataset, curve: Curve, x: float | None) -> Scenario:
    settings = dict(curve.settings)
    if x is not None:
        settings[dataset.definition.axis.path] = int(x) if float(x).is_integer() else x
    return with_values(load(curve.scenario), settings)


def _by_scenario(points: Sequence[tuple[Curve, float]], plans: Sequence[Setup]) -> dict[str, Setup]:
    return {curve.scenario.stem: setup for (curve, _), setup in zip(points, plans, strict=True)}


@contextmanager
def _searched(
    searches: Sequence[tuple[Curve, Scenario, int]],
    seed: int,
    precision: float,
    executor: Executor | None,
) -> Iterator[Iterator[tuple[float, str]]]:
    """Sustained rates and who limits them, search by search; an executor starts all at once.

    Those that have not begun at the end of the context are given up.
    """
    work = [(scenario, seed, number, precision) for _, scenario, number in searches]
    if executor is None:
        yield (_search(*item) for item in work)
        return
    futures = [executor.submit(_search, *item) for item in work]
    try:
        yield (future.result() for future in futures)
    finally:
        for future in futures:
            future.cancel()


def _search(scenario: Scenario, seed: int, replication: int, precision: float) -> tuple[float, str]:
    try:
        found = sustainable_rate(scenario, seed=seed, replication=replication, precision=precision)
    except ScenarioError:
        raise
    except SimrepError as error:  # that there is no such rate spoils this row and no other
        return nan, str(error)
    return found.rate_tps, found.limited_by


def _lines(
    dataset: CurveDataset,
    sampled: Mapping[Key, Mapping[float, Sequence[tuple[float, ...]]]],
    rates: Mapping[Key, Sequence[tuple[float, str]]],
    replications: int,
) -> dict[Key, list[Line]]:
    """The curves of every replication; those that an interruption has cut short are left out."""
    lines: dict[Key, list[Line]] = {}
    wanted = {curve.key: len(curve.values) for curve in dataset.curves}
    for key in dict.fromkeys([*sampled, *rates]):
        own = sampled.get(key, {})
        if len(own) < wanted.get(key, 0):
            continue
        lines[key] = [
            Line(
                {x: samples[number][0] for x, samples in own.items()},
                {x: samples[number][1] for x, samples in own.items()},
                *([rates[key][number][0]] if key in rates else []),
            )
            for number in range(replications)
        ]
    return lines
