"""Predictions beside measurements: how far off, how often within, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from simrep.contract.card import package_of
from simrep.contract.registry import find_model
from simrep.contract.setup import Setup, setup_of
from simrep.data.cells import Cell, cells_of
from simrep.data.cells_expression import cells_expression
from simrep.data.dataset import Dataset, datasets, load_dataset
from simrep.data.definition import SeriesTable
from simrep.data.latencies import Latencies, compared, figures_and_histogram, recorded
from simrep.data.measurements import MeasuredCell, written
from simrep.data.reproduce import DatasetResult, Progress, series_versions
from simrep.data.scores import NEAR, Agreement, Scores, agreement
from simrep.errors import ScenarioError
from simrep.measure.units import plain
from simrep.runs.batch import Task, simulate_groups
from simrep.runs.executor import collected, workers
from simrep.runs.model_error import ModelError
from simrep.runs.prediction import (
    Uncertainty,
    prediction_interval,
    uncertainty_of,
)
from simrep.runs.progress import told, work_expected
from simrep.runs.report import Report
from simrep.runs.sampler import seed_of
from simrep.scenario import load, with_values
from simrep.scenario.pack import load_pack

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["DatasetValidation", "Validation", "validate"]

_LATENCY = "latency_s.mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetValidation:
    """The predictions for one dataset.

    Attributes
    ----------
    result : DatasetResult
        Every cell with what was measured and predicted.
    latencies : tuple of Latencies
        Whole distributions, of the cells whose transactions were recorded.
    """

    result: DatasetResult
    latencies: tuple[Latencies, ...]

    @property
    def name(self) -> str:
        """Of the dataset."""
        return self.result.dataset.name

    @property
    def agreement(self) -> Agreement:
        """Pairs of alternatives."""
        return agreement(self.result.cells, self.result.dataset.definition.factors)

    @property
    def scores(self) -> Scores:
        """Of all its cells that no fit has seen."""
        return Scores.of(self.result.cells, self.agreement)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        result = self.result
        definition = result.dataset.definition
        return plain(
            {
                "dataset": self.name,
                "title": definition.title,
                "source": definition.source,
                "metrics": {metric.column: metric.model_dump() for metric in definition.metrics},
                "cells": [asdict(cell) for cell in result.cells],
                "scores": asdict(self.scores),
                "latencies": [asdict(one) for one in self.latencies],
                "seed": result.seed,
                "replications": result.replications,
                "own_replications": dict(result.own_replications),
                "complete": result.complete,
                "versions": dict(result.versions),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Validation(Report):
    """The predictions for some datasets.

    ``plot()`` draws the relative error of every figure, a row for each dataset.

    Attributes
    ----------
    parts : tuple of DatasetValidation
        Those of which anything was simulated.
    complete : bool
        False when the work was interrupted and something is missing.
    """

    width = 120

    parts: tuple[DatasetValidation, ...]
    complete: bool

    @property
    def scores(self) -> Scores:
        """Over all datasets; every figure counts the same."""
        cells = [cell for part in self.parts for cell in part.result.cells]
        return Scores.of(cells, Agreement.sum(part.agreement for part in self.parts))

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        return {
            "datasets": [part.to_dict() for part in self.parts],
            "scores": plain(asdict(self.scores)),
            "complete": self.complete,
        }

    def tables(self, *, cells: bool | None = None) -> Group:
        """Tables for a terminal; with those of every cell, or the scores alone.

        Parameters
        ----------
        cells : bool, optional
            Default: if there is one dataset.
        """
        tables: Group = self._view("tables", cells)
        return tables

    def _rows(self) -> list[dict[str, Any]]:
        """A row per measured figure, with the name of its dataset."""
        return [
            {"dataset": part.name, **asdict(cell)}
            for part in self.parts
            for cell in part.result.cells
        ]

    def __repr__(self) -> str:
        scores = self.scores
        return (
            f"<Validation of {len(self.parts)} datasets: {scores.n} figures predicted, "
            f"median error {scores.median_abs_error:.1%}, {scores.near:.0%} within {NEAR:.0%}>"
        )


@told
def validate(
    names: Sequence[Dataset | str | Path] | None = None,
    *,
    pack: str | Path | None = None,
    holdout: str | None = None,
    replications: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Predict every measured cell and compare.

    Parameters
    ----------
    names : sequence of Dataset, str or Path, optional
        Datasets, names of such that ship, or their folders; default: all that ship and have cells.
    pack : str or Path, optional
        Instead of those that the scenarios name, for the systems with its model; others are left
        out. Cells that a pack was fitted to, as far as it tells, are not judged.
    holdout : str, optional
        The cells to judge by, as conditions on factors: ``"threads in (1, 64)"``. All others count
        as used in the fit. Without a pack, cells that the dataset sets aside for a fit are never
        judged.
    replications, seed : int, optional
        Instead of those the datasets name.
    jobs, executor
        See :func:`simrep.run`.
    progress : callable or bool, optional
        True for a bar on a terminal, False for silence; or called with
        the number of finished cells and of all cells.

    Returns
    -------
    Validation
        Holds what was finished when the work was interrupted (Ctrl-C).

    Raises
    ------
    ScenarioError
        For a dataset, pack or condition that cannot be used.
    """
    executor = workers(jobs, executor)
    if replications is not None and replications < 1:
        raise ScenarioError("replications", f"must be at least 1, given {replications}")
    if names is None:
        chosen = [one for one in map(load_dataset, datasets()) if one.definition.metrics]
    else:
        chosen = [one if isinstance(one, Dataset) else load_dataset(one) for one in names]
    for dataset in chosen:
        dataset.check_measured()
    works = [_work(dataset, pack, holdout) for dataset in chosen]
    if not any(work.cells for work in works):
        raise ScenarioError("pack", f"no measured system has the model of {str(pack)!r}")
    count = sum(len(work.cells) for work in works)
    parts: list[DatasetValidation] = []
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if callable(progress):
            progress(done, count)

    work_expected(count)
    for work in works:
        if work.cells:
            part = _simulated(work, replications, seed, executor, advance)
            parts += [part] if part.result.cells else []
            if not part.result.complete:
                return Validation(parts=tuple(parts), complete=False)
    return Validation(parts=tuple(parts), complete=True)


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be simulated for a dataset."""

    dataset: Dataset
    cells: tuple[tuple[SeriesTable, MeasuredCell, Setup], ...]


def _work(dataset: Dataset, pack: str | Path | None, holdout: str | None) -> _Work:
    judged = None if holdout is None else _judged(dataset, holdout)
    found: list[tuple[SeriesTable, MeasuredCell, Setup]] = []
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        settings: dict[str, Any] = {}
        if pack is not None:
            chosen = str(Path(pack).resolve()) if str(pack).endswith(".toml") else str(pack)
            package = package_of(find_model(base.cluster.model))
            if load_pack(chosen, package).card.model != base.cluster.model:
                continue
            settings["cluster.pack"] = chosen
        for cell in dataset.cells[series.name]:
            setup = setup_of(with_values(base, {**settings, **cell.settings}))
            told = _fitted(setup, dataset, series, cell)
            if pack is None:
                seen = cell.used_in_fit or bool(told)
            else:
                seen = (cell.used_in_fit and judged is None) if told is None else told
            if judged is not None:
                seen = seen or not judged({**cell.factors, "series": series.name})
            found.append((series, replace(cell, used_in_fit=seen), setup))
    return _Work(dataset, tuple(found))


def _fitted(setup: Setup, dataset: Dataset, series: SeriesTable, cell: MeasuredCell) -> bool | None:
    """Whether the pack was fitted to a cell; None if it does not tell what it was fitted to."""
    if setup.pack is None or not setup.pack.fits:
        return None
    label = f" at {written(cell.factors)}"
    return any(
        one.label.endswith(label)
        for fit in setup.pack.fits
        if (fit.dataset, fit.series) == (dataset.name, series.name)
        for one in fit.cells
    )


def _judged(dataset: Dataset, holdout: str) -> Callable[[dict[str, Any]], bool]:
    every = [frozenset(cell.factors) for own in dataset.cells.values() for cell in own]
    known = frozenset.intersection(*every) | {"series"}
    return cells_expression(holdout, known, f"--holdout, {dataset.name}")


def _simulated(
    work: _Work,
    replications: int | None,
    seed: int | None,
    executor: Executor | None,
    advance: Callable[[], None],
) -> DatasetValidation:
    dataset, definition = work.dataset, work.dataset.definition
    counts = [replications or definition.replications_of(series) for series, _, _ in work.cells]
    seed = seed_of(seed, definition.seed)
    paths = {metric.column: metric.result for metric in definition.metrics}
    reduce = partial(figures_and_histogram, paths=(*paths.values(), _LATENCY))
    known = [uncertainty_of(setup) for _, _, setup in work.cells]
    groups = [
        _runs(setup, uncertainty, count)
        for (_, _, setup), uncertainty, count in zip(work.cells, known, counts, strict=True)
    ]

    def judged() -> Iterator[tuple[list[Cell], Latencies | None]]:
        simulated = simulate_groups(groups, reduce, seed, executor)
        for (series, measured, _), uncertainty, count, samples in zip(
            work.cells, known, counts, simulated, strict=True
        ):
            own, drawn = samples[:count], samples[count:] or samples
            cells = cells_of(definition.metrics, series, "", measured, [one[:-1] for one, _ in own])
            if uncertainty is not None:
                latency_s = median(one[-1] for one, _ in own)
                figures = zip(*(one for one, _ in drawn), strict=True)
                values = dict(zip(paths, figures, strict=False))  # the last is that latency
                cells = [
                    _with_prediction(
                        cell, values[cell.metric], uncertainty.error(paths[cell.metric], latency_s)
                    )
                    for cell in cells
                ]
            seen = recorded(dataset.folder, measured)
            yield cells, compared(series.name, measured, seen, [one for _, one in own])

    found, complete = collected(judged(), least=0, progress=lambda *_: advance())
    # Where the time goes, and when, is for `reproduce`: it takes further runs.
    show = definition.show.model_copy(update={"breakdown": False, "timeline": False})
    result = DatasetResult(
        dataset=replace(dataset, definition=definition.model_copy(update={"show": show})),
        cells=tuple(cell for cells, _ in found for cell in cells),
        what_if=(),
        seed=seed,
        replications=replications or definition.replications,
        own_replications={} if replications else definition.own_replications,
        complete=complete,
        versions=series_versions({series.name: setup for series, _, setup in work.cells}),
    )
    latencies = tuple(both for _, both in found if both)
    return DatasetValidation(result=result, latencies=latencies)


def _runs(setup: Setup, uncertainty: Uncertainty | None, replications: int) -> list[Task]:
    """The replications of a cell, and as many with costs that may as well be true."""
    runs = [Task(setup, number) for number in range(replications)]
    if uncertainty is not None and uncertainty.names and replications > 1:
        runs += [Task(setup, number, drawn=True) for number in range(replications)]
    return runs


def _with_prediction(cell: Cell, values: Sequence[float], error: ModelError) -> Cell:
    """The cell with the interval in which a measurement lies; of tolerated figures that of runs."""
    if cell.within is not None:
        return cell
    span = prediction_interval(values, error.relative, error.freedom)
    return cell if span is None else replace(cell, interval=span)
