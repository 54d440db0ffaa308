"""Simulating the measured cells of a dataset, and how far the simulation is off."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

from simrep.contract.model import Degradation
from simrep.contract.setup import Setup, setup_of
from simrep.data.cells import Cell, Summary, cells_of
from simrep.data.dataset import Dataset, load_dataset
from simrep.data.definition import SeriesTable
from simrep.data.derived import (
    FIGURES,
    DerivedFigures,
    DerivedRow,
    DerivedSummary,
    SimulatedCell,
    SystemRate,
)
from simrep.data.failure_metrics import failure_sample
from simrep.data.failures import ErrorCodes, FailureFigure, FailureScores, attainable, judged
from simrep.data.measurements import DatasetCell, MeasuredCell
from simrep.data.timeline import Course, Timeline, figures_and_course
from simrep.errors import DegradedWarning, ScenarioError, SimrepError
from simrep.measure.breakdown import Breakdown
from simrep.measure.units import plain
from simrep.runs.batch import simulate_cells, simulate_each
from simrep.runs.degradation import degraded
from simrep.runs.executor import collected, in_groups, workers
from simrep.runs.progress import told
from simrep.runs.replication import simulate
from simrep.runs.report import Report
from simrep.runs.result import Result
from simrep.runs.sampler import seed_of
from simrep.runs.sustain import sustainable_rate
from simrep.scenario import Scenario, load, with_values
from simrep.scenario.events import Event, events

__all__ = [
    "Cell",
    "DatasetResult",
    "Progress",
    "Summary",
    "breakdowns",
    "reproduce",
    "series_versions",
    "simulate_cells",
]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DatasetResult(Report):
    """The simulated cells of a dataset.

    ``plot()`` draws cells over a factor, or commits over time if the dataset has them.

    Attributes
    ----------
    dataset : Dataset
    cells : tuple of Cell
        The measured systems.
    what_if : tuple of Cell
        Variants of them; not part of the summary.
    timelines : tuple of Timeline
        Commits over time, of the first replication of each cell; only if the dataset shows them.
    derived : tuple of DerivedRow
        What rows state of several cells, as far as these were simulated.
    simulated : tuple of SimulatedCell
        What that is computed from.
    sustained : tuple of SystemRate
        The same of rates that systems keep up.
    failures : tuple of FailureFigure
        Figures of runs in which a node is hit.
    error_codes : tuple of ErrorCodes
        What clients met in those.
    attainable : float
        How many figures that timers decide would be right if the simulation were exact; NaN if
        there are too few replications to tell.
    seed, replications : int
    own_replications : mapping of str to int
        Of series with another number.
    complete : bool
        False when the work was interrupted and something is missing.
    versions : mapping of str to str
        What computed it; models and packs under the names of the systems that use them.
    """

    dataset: Dataset
    cells: tuple[Cell, ...]
    what_if: tuple[Cell, ...]
    timelines: tuple[Timeline, ...] = ()
    derived: tuple[DerivedRow, ...] = ()
    simulated: tuple[SimulatedCell, ...] = ()
    sustained: tuple[SystemRate, ...] = ()
    failures: tuple[FailureFigure, ...] = ()
    error_codes: tuple[ErrorCodes, ...] = ()
    attainable: float = nan
    seed: int
    replications: int
    own_replications: Mapping[str, int] = field(default_factory=dict)
    complete: bool
    versions: Mapping[str, str]

    @property
    def summary(self) -> Summary:
        """Errors over the cells that were not used in a fit."""
        return Summary.of(self.cells)

    @property
    def summaries(self) -> dict[str, Summary]:
        """The same metric by metric, of those that are judged by relative errors."""
        return {
            metric.column: Summary.of([c for c in self.cells if c.metric == metric.column])
            for metric in self.dataset.definition.metrics
            if metric.absolute is None
        }

    @property
    def tolerated(self) -> dict[str, tuple[int, int]]:
        """Cells within the tolerance, and all, by metric that has one; without those of a fit."""
        counts = {}
        for metric in self.dataset.definition.metrics:
            own = [c for c in self.cells if c.metric == metric.column and not c.used_in_fit]
            if metric.absolute is not None:
                counts[metric.column] = sum(bool(cell.within) for cell in own), len(own)
        return counts

    @property
    def finished(self) -> int:
        """Number of measured cells, of rows about several cells, and of figures of faults."""
        return len(self.cells) + len(self.derived) + len(self.failures)

    @property
    def failure_scores(self) -> FailureScores:
        """How many figures of faults are right."""
        return FailureScores.of(self.failures, self.error_codes)

    @property
    def derived_summary(self) -> DerivedSummary:
        """Distances of the rows about several cells that were not used in a fit."""
        return DerivedSummary.of(self.derived)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        definition = self.dataset.definition
        content: dict[str, Any] = {
            "dataset": self.dataset.name,
            "title": definition.title,
            "source": definition.source,
        }
        if definition.metrics:
            content |= {
                "metric": definition.metric.label,
                "cells": [self._plain(cell) for cell in self.cells],
                "what_if": [self._plain(cell) for cell in self.what_if],
                "summary": asdict(self.summary),
            }
        if definition.derived is not None:
            content |= {
                "derived": [{**asdict(r), "distance_unit": r.distance_unit} for r in self.derived],
                "simulated": [asdict(cell) for cell in self.simulated],
                "sustained": [asdict(rate) for rate in self.sustained],
                "derived_summary": asdict(self.derived_summary),
            }
        if definition.failures is not None:
            content |= {
                "failures": [asdict(figure) for figure in self.failures],
                "error_codes": [{**asdict(c), "right": c.right} for c in self.error_codes],
                "failure_scores": asdict(self.failure_scores),
                "attainable": self.attainable,
            }
        if self._several:
            content["metrics"] = {m.column: m.model_dump() for m in definition.metrics}
            content["summaries"] = {name: asdict(own) for name, own in self.summaries.items()}
            content["tolerated"] = {
                name: {"within": within, "n": n} for name, (within, n) in self.tolerated.items()
            }
        if self.timelines:
            content["timelines"] = [one.to_dict() for one in self.timelines]
        if definition.show.breakdown and self.complete:
            found = breakdowns(self.dataset, self.seed)
            content["breakdown"] = {name: each.to_dict() for name, each in found.items()}
        whole: Mapping[str, object] = {
            **content,
            "seed": self.seed,
            "replications": self.replications,
            "own_replications": dict(self.own_replications),
            "complete": self.complete,
            "versions": dict(self.versions),
        }
        return plain(whole)

    @property
    def _several(self) -> bool:
        """Whether there is more to tell of a cell than one relative error."""
        metrics = self.dataset.definition.metrics
        return len(metrics) > 1 or any(metric.absolute is not None for metric in metrics)

    def _plain(self, cell: Cell) -> dict[str, Any]:
        content = asdict(cell)
        if not self._several:
            del content["metric"], content["within"]
        return content

    def _rows(self) -> list[dict[str, Any]]:
        """A row per cell, its factors in columns of their own."""
        rows = [asdict(cell) for cell in (*self.cells, *self.what_if)]
        rows += [asdict(row) for row in self.derived]
        rows += [asdict(figure) for figure in self.failures]
        return [{**row.pop("factors"), **row} for row in rows]

    def __repr__(self) -> str:
        summary, derived = self.summary, self.derived_summary
        if self.failures:
            right, n = self.failure_scores.timers
            return (
                f"<DatasetResult {self.dataset.name}: {len(self.failures)} figures, {right} of {n} "
                "that timers decide are right>"
            )
        if not self.cells and self.derived:
            return (
                f"<DatasetResult {self.dataset.name}: {len(self.derived)} rows, "
                f"{derived.n} predicted, {derived.inside} in the stated range>"
            )
        return (
            f"<DatasetResult {self.dataset.name}: {len(self.cells)} cells, {summary.n} predicted, "
            f"median error {summary.median_abs_error:.1%}, largest {summary.max_abs_error:.1%}>"
        )


@told
def reproduce(
    dataset: Dataset | str | Path,
    *,
    replications: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> DatasetResult:
    """Simulate every cell of a dataset, and what rows state of several cells together.

    All cells use the same seed, so that differences between them and between variants are not
    blurred by different random numbers.

    Parameters
    ----------
    dataset : Dataset, str or Path
        A dataset, the name of one that ships with the package, or its folder.
    replications, seed : int, optional
        Instead of those the dataset names.
    jobs, executor
        See :func:`simrep.run`.
    progress : callable or bool, optional
        True for a bar on a terminal, False for silence; or called with
        the number of finished cells and of all cells.

    Returns
    -------
    DatasetResult
        Holds the finished cells when the work was interrupted (Ctrl-C).

    Warns
    -----
    DegradedWarning
        If clients of some runs got less than a product promises, as far as its model tells.
    """
    executor = workers(jobs, executor)
    if isinstance(dataset, (str, Path)):
        dataset = load_dataset(dataset)
    definition = dataset.definition
    if replications is not None and replications < 1:
        raise ScenarioError("replications", f"must be at least 1, given {replications}")
    asked, replications = replications, replications or definition.replications
    seed = seed_of(seed, definition.seed)
    if definition.failures is not None:
        return _failures(dataset, replications, seed, executor, progress)
    less: list[tuple[Degradation, ...]] = []
    work, searches = _work(dataset), _searches(dataset)
    cells: list[Cell] = []
    timelines: list[Timeline] = []
    derived = None if dataset.systems is None else DerivedFigures(dataset.systems)

    def finished() -> Iterator[object]:
        setups = [setup for *_, setup in work]
        counts = [asked or definition.replications_of(series) for series, *_ in work]
        simulated = _simulated(dataset, setups, counts, seed, executor, less)
        for (series, variant, cell, _), (samples, course) in zip(work, simulated, strict=True):
            if isinstance(cell, MeasuredCell):
                cells.extend(cells_of(definition.metrics, series, variant, cell, samples))
                if course is not None and not variant:
                    timelines.append(Timeline(cell.factors, series.name, course))
            if derived is not None and not variant:
                derived.add(series.name, cell, samples)
            yield cell
        if derived is None:
            return
        precision = derived.systems.derived.precision
        tasks = [
            [(scenario, seed, number, precision) for number in range(replications)]
            for *_, scenario in searches
        ]
        found = in_groups(_search, tasks, executor)
        for (series, system, _), rates in zip(searches, found, strict=True):
            derived.add_rates(series.name, system, rates)
            yield system

    total = len(work) + len(searches)
    _, complete = collected(finished(), least=0, progress=progress, total=total)
    worse = [own for run in less if (own := list(degraded(run)))]
    if worse:
        said = f"{len(worse)} of {len(less)} runs were degraded, the first of them: {worse[0][0]}"
        warnings.warn(said, DegradedWarning, stacklevel=3)
    return DatasetResult(
        dataset=dataset,
        cells=tuple(cell for cell in cells if not cell.variant),
        what_if=tuple(cell for cell in cells if cell.variant),
        timelines=tuple(timelines),
        derived=tuple(derived.rows(dataset.stated)) if derived else (),
        simulated=tuple(derived.simulated) if derived else (),
        sustained=tuple(derived.sustained) if derived else (),
        seed=seed,
        replications=replications,
        own_replications={} if asked else definition.own_replications,
        complete=complete,
        versions=series_versions({series.name: setup for series, _, _, setup in work}),
    )


def _failures(
    dataset: Dataset,
    replications: int,
    seed: int,
    executor: Executor | None,
    progress: Progress | None,
) -> DatasetResult:
    """What comes of the faults of a dataset."""
    table = dataset.definition.failures
    assert table is not None
    by_name = {series.name: series for series in dataset.definition.series}
    scenarios = {name: load(dataset.scenario_path(series)) for name, series in by_name.items()}
    hit = [with_values(scenarios[cell.series], dict(cell.settings)) for cell in dataset.failures]
    tasks = [
        [(scenario, by_name[cell.series], table.phase_s, table.readings_s, seed, number)
         for number in range(replications)]
        for cell, scenario in zip(dataset.failures, hit, strict=True)
    ]  # fmt: skip
    figures: list[FailureFigure] = []
    codes: list[ErrorCodes] = []
    right: list[float] = []

    def finished() -> Iterator[object]:
        simulated = in_groups(failure_sample, tasks, executor)
        for cell, samples in zip(dataset.failures, simulated, strict=True):
            own, errors = judged(table, cell, samples)
            figures.extend(own)
            codes.append(errors)
            right.append(attainable(table, cell, samples))
            yield cell

    _, complete = collected(finished(), least=0, progress=progress, total=len(tasks))
    return DatasetResult(
        dataset=dataset,
        cells=(),
        what_if=(),
        failures=tuple(figures),
        error_codes=tuple(codes),
        attainable=sum(right),
        seed=seed,
        replications=replications,
        complete=complete,
        versions=series_versions({name: setup_of(one) for name, one in scenarios.items()}),
    )


def _work(dataset: Dataset) -> list[tuple[SeriesTable, str, DatasetCell, Setup]]:
    """What is simulated: measured cells and their variants, and cells for derived metrics."""
    work: list[tuple[SeriesTable, str, DatasetCell, Setup]] = []
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        nothing: dict[str, Any] = {}
        variants = {"": nothing} | {variant.name: variant.set for variant in series.what_if}
        measured, others = dataset.cells[series.name], dataset.simulated[series.name]
        work += [
            (series, variant, cell, setup_of(with_values(base, {**settings, **cell.settings})))
            for variant, settings in variants.items()
            for cell in (measured if variant else (*measured, *others))
        ]
    return work


def _simulated(
    dataset: Dataset,
    setups: Sequence[Setup],
    counts: Sequence[int],
    seed: int,
    executor: Executor | None,
    less: list[tuple[Degradation, ...]],
) -> Iterator[tuple[list[tuple[float, ...]], Course | None]]:
    """For every setup the figures of its replications, and a course if the dataset shows it."""
    definition = dataset.definition
    paths = tuple(metric.result for metric in definition.metrics)
    paths += FIGURES if definition.derived is not None else ()
    if not (definition.show.timeline and definition.scheduled):
        for samples in simulate_cells(setups, paths, counts, seed, executor, less=less):
            yield samples, None
        return
    reduce = partial(figures_and_course, paths=paths, name=definition.scheduled)
    courses = simulate_each(setups, reduce, counts, seed, executor, less=less)
    for setup, pairs in zip(setups, courses, strict=True):
        course = pairs[0][1]
        if course is not None:
            course = replace(course, events=_others(setup.scenario, definition.scheduled))
        yield [figures for figures, _ in pairs], course


def _others(scenario: Scenario, name: str) -> tuple[Event, ...]:
    """What happens beside the scheduled transaction of this name."""
    names = [single.name for single in scenario.workload.scheduled]
    own = f"workload.scheduled.{names.index(name)}"
    return tuple(event for event in events(scenario) if event.path != own)


def _searches(dataset: Dataset) -> list[tuple[SeriesTable, DatasetCell, Scenario]]:
    """The systems whose sustained rate is sought."""
    return [
        (series, cell, with_values(load(dataset.scenario_path(series)), cell.settings))
        for series in dataset.definition.series
        for cell in dataset.sustained[series.name]
    ]


def _search(scenario: Scenario, seed: int, replication: int, precision: float) -> tuple[float, str]:
    """The rate that a system keeps up, and who limits it."""
    try:
        found = sustainable_rate(scenario, seed=seed, replication=replication, precision=precision)
    except ScenarioError:
        raise
    except SimrepError as error:  # that there is no such rate spoils the rows about it alone
        return nan, str(error)
    return found.rate_tps, found.limited_by


def series_versions(setups: Mapping[str, Setup]) -> dict[str, str]:
    """Software under its name; model and pack under the series that uses them."""
    return {
        f"{series} {name}" if name in {"model", "pack"} else name: version
        for series, setup in setups.items()
        for name, version in setup.versions.items()
    }


def breakdowns(dataset: Dataset, seed: int) -> dict[str, Breakdown]:
    """The mean latency by stage, of one replication of the last cell of every series or variant."""
    found: dict[str, Breakdown] = {}
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        cell = dataset.cells[series.name][-1]
        found[series.name] = _of(base, cell.settings, seed)
        for variant in series.what_if:
            settings = {**variant.set, **cell.settings}
            found[f"{series.name}, {variant.name}"] = _of(base, settings, seed)
    return found


def _of(base: Scenario, settings: Mapping[str, Any], seed: int) -> Breakdown:
    return Result.combine([simulate(setup_of(with_values(base, settings)), seed)]).breakdown()
