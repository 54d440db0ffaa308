"""Simulating the measured cells of a dataset, and how far the simulation is off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from simrep.contract.setup import Setup, setup_of
from simrep.data.cells import Cell, Summary, cells_of
from simrep.data.curves import CurveDataset, open_dataset
from simrep.data.dataset import Dataset
from simrep.data.definition import SeriesTable
from simrep.data.measurements import MeasuredCell
from simrep.data.provenance import Reproduced
from simrep.data.timeline import Course, Timeline, figures_and_course
from simrep.errors import ScenarioError
from simrep.measure.breakdown import Breakdown
from simrep.runs.batch import simulate_cells, simulate_each
from simrep.runs.replication import simulate
from simrep.runs.result import Result
from simrep.scenario import Scenario, load, with_values

if TYPE_CHECKING:
    from simrep.data.curve_dataset import CurveDatasetResult

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
class DatasetResult(Reproduced):
    """The simulated cells of a dataset.

    Attributes
    ----------
    dataset : Dataset
    cells : tuple of Cell
        The measured systems.
    what_if : tuple of Cell
        Variants of them; not part of the summary.
    timelines : tuple of Timeline
        Commits over time, of the first replication of each cell; only if the dataset shows them.
    seed, replications, complete, versions
        See ``Reproduced``.
    """

    dataset: Dataset
    cells: tuple[Cell, ...]
    what_if: tuple[Cell, ...]
    timelines: tuple[Timeline, ...] = ()

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
        """Number of cells."""
        return len(self.cells)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        definition = self.dataset.definition
        content: dict[str, Any] = {
            "dataset": self.dataset.name,
            "title": definition.title,
            "source": definition.source,
            "metric": definition.metric.label,
            "cells": [self._plain(cell) for cell in self.cells],
            "what_if": [self._plain(cell) for cell in self.what_if],
            "summary": asdict(self.summary),
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
        return self._as_json(content)

    @property
    def _several(self) -> bool:
        """Whether there is more to tell of a cell than one relative error."""
        metrics = self.dataset.definition.metrics
        return len(metrics) > 1 or metrics[0].absolute is not None

    def _plain(self, cell: Cell) -> dict[str, Any]:
        content = asdict(cell)
        if not self._several:
            del content["metric"], content["within"]
        return content

    def _rows(self) -> list[dict[str, Any]]:
        """A row per cell, its factors in columns of their own."""
        cells = [asdict(cell) for cell in (*self.cells, *self.what_if)]
        return [{**cell.pop("factors"), **cell} for cell in cells]

    def __repr__(self) -> str:
        summary = self.summary
        return (
            f"<DatasetResult {self.dataset.name}: {len(self.cells)} cells, {summary.n} predicted, "
            f"median error {summary.median_abs_error:.1%}, largest {summary.max_abs_error:.1%}>"
        )


class _How(TypedDict, total=False):
    replications: int | None
    seed: int | None
    executor: Executor | None
    progress: Progress | None


@overload
def reproduce(dataset: Dataset, **how: Unpack[_How]) -> DatasetResult: ...
@overload
def reproduce(dataset: CurveDataset, **how: Unpack[_How]) -> CurveDatasetResult: ...
@overload
def reproduce(dataset: str | Path, **how: Unpack[_How]) -> DatasetResult | CurveDatasetResult: ...
def reproduce(
    dataset: Dataset | CurveDataset | str | Path,
    *,
    replications: int | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> DatasetResult | CurveDatasetResult:
    """Simulate every measured cell, or every curve, of a dataset.

    All cells use the same seed, so that differences between them and between variants are not
    blurred by different random numbers.

    Parameters
    ----------
    dataset : Dataset, CurveDataset, str or Path
        A dataset, the name of one that ships with the package, or its folder.
    replications, seed : int, optional
        Instead of those the dataset names.
    executor : concurrent.futures.Executor, optional
        Where replications run; in this process when None.
    progress : callable, optional
        Called with the number of finished cells and of all cells.

    Returns
    -------
    DatasetResult or CurveDatasetResult
        Holds the finished cells or points when the work was interrupted (Ctrl-C).
    """
    if isinstance(dataset, (str, Path)):
        dataset = open_dataset(dataset)
    definition = dataset.definition
    replications = definition.replications if replications is None else replications
    seed = definition.seed if seed is None else seed
    if replications < 1:
        raise ScenarioError("replications", f"must be at least 1, given {replications}")
    if isinstance(dataset, CurveDataset):
        from simrep.data.curve_dataset import simulate_curves

        return simulate_curves(dataset, replications, seed, executor, progress)
    definition = dataset.definition
    work: list[tuple[SeriesTable, str, MeasuredCell, Setup]] = []
    for series in definition.series:
        base = load(dataset.scenario_path(series))
        nothing: dict[str, Any] = {}
        variants = {"": nothing} | {variant.name: variant.set for variant in series.what_if}
        work += [
            (series, variant, cell, setup_of(with_values(base, {**settings, **cell.settings})))
            for variant, settings in variants.items()
            for cell in dataset.cells[series.name]
        ]
    metrics = definition.metrics
    cells: list[Cell] = []
    timelines: list[Timeline] = []
    complete = True
    try:
        simulated = _simulated(dataset, [item[3] for item in work], replications, seed, executor)
        for done, ((series, variant, measured, _), (samples, course)) in enumerate(
            zip(work, simulated, strict=True), start=1
        ):
            cells += cells_of(metrics, series, variant, measured, samples)
            if course is not None and not variant:
                timelines.append(Timeline(measured.factors, series.name, course))
            if progress is not None:
                progress(done, len(work))
    except KeyboardInterrupt:
        complete = False
    return DatasetResult(
        dataset=dataset,
        cells=tuple(cell for cell in cells if not cell.variant),
        what_if=tuple(cell for cell in cells if cell.variant),
        timelines=tuple(timelines),
        seed=seed,
        replications=replications,
        complete=complete,
        versions=series_versions({series.name: setup for series, _, _, setup in work}),
    )


def _simulated(
    dataset: Dataset,
    plans: Sequence[Setup],
    replications: int,
    seed: int,
    executor: Executor | None,
) -> Iterator[tuple[list[tuple[float, ...]], Course | None]]:
    """For every plan the figures of its replications, and a course if the dataset shows it."""
    definition = dataset.definition
    paths = tuple(metric.result for metric in definition.metrics)
    if not (definition.show.timeline and definition.scheduled):
        for samples in simulate_cells(plans, paths, replications, seed, executor):
            yield samples, None
        return
    reduce = partial(figures_and_course, paths=paths, name=definition.scheduled)
    for pairs in simulate_each(plans, reduce, replications, seed, executor):
        yield [figures for figures, _ in pairs], pairs[0][1]


def series_versions(plans: Mapping[str, Setup]) -> dict[str, str]:
    """Software under its name; model and pack under the series that uses them."""
    return {
        f"{series} {name}" if name in {"model", "pack"} else name: version
        for series, setup in plans.items()
        for name, version in setup.versions.items()
    }


def breakdowns(dataset: Dataset, seed: int) -> dict[str, Breakdown]:
    """The mean latency by stage, of one replication of the last cell of every series.

    Parameters
    ----------
    dataset : Dataset
    seed : int

    Returns
    -------
    dict
        By the name of the series, and of the variant if it is one.
    """
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
