"""Simulating the measured cells of a study, and how far the simulation is off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, fields
from math import isfinite, nan
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from simrep.errors import ScenarioError, nearest
from simrep.experiment.curves import CurveStudy, open_study
from simrep.experiment.intervals import single_run_interval
from simrep.experiment.plan import Plan, plan
from simrep.experiment.reproduced import Reproduced
from simrep.experiment.result import Result
from simrep.experiment.run import simulate
from simrep.experiment.study import MeasuredCell, Series, Study, Value
from simrep.experiment.study_breakdown import breakdowns
from simrep.scenario import load, with_values

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

    from simrep.experiment.curve_study import CurveStudyResult

__all__ = [
    "Cell",
    "Progress",
    "StudyResult",
    "Summary",
    "reproduce",
    "series_versions",
    "simulate_cells",
]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One measured cell and its simulation.

    Attributes
    ----------
    factors : mapping
        What tells the cell from others.
    measured : float
        Median over the repetitions.
    repetitions : int
        Number of measurements.
    predicted : float
        Median over the replications; NaN when nothing committed.
    unit : str
        Of the measured and predicted figures and of the interval.
    relative_error : float
        Predicted relative to measured, minus one.
    interval : (float, float) or None
        Where 95 % of single simulated runs lie: a measured cell is a single run, so this and not
        the narrower interval of the mean is what it may be compared with. None for one
        replication.
    used_in_fit : bool
        Whether local costs were fitted to this cell.
    series : str
        Name of the measured system.
    variant : str
        Empty, or the name of the what-if that was simulated instead.
    """

    factors: Mapping[str, Value]
    measured: float
    repetitions: int
    predicted: float
    unit: str
    relative_error: float
    interval: tuple[float, float] | None
    used_in_fit: bool
    series: str
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors over the cells that no fit has seen.

    Attributes
    ----------
    n : int
        Number of cells.
    median_abs_error, max_abs_error : float
        Of the absolute relative errors.
    bias : float
        Mean relative error.
    inside_interval : float
        Fraction of the cells whose measured value lies in the interval of the simulation.
    """

    n: int
    median_abs_error: float
    max_abs_error: float
    bias: float
    inside_interval: float

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Summary:
        """The summary of those cells among ``cells`` that were not used in a fit."""
        unseen = [cell for cell in cells if not cell.used_in_fit]
        if not unseen:
            return cls(0, nan, nan, nan, nan)
        errors = [cell.relative_error for cell in unseen]
        sizes = [abs(error) for error in errors]
        if not all(isfinite(size) for size in sizes):
            return cls(len(unseen), nan, nan, nan, nan)
        spans = [(cell.interval, cell.measured) for cell in unseen if cell.interval is not None]
        inside = fmean(low <= at <= high for (low, high), at in spans) if spans else nan
        return cls(len(unseen), median(sizes), max(sizes), fmean(errors), inside)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StudyResult(Reproduced):
    """The simulated cells of a study.

    Attributes
    ----------
    study : Study
    cells : tuple of Cell
        The measured systems.
    what_if : tuple of Cell
        Variants of them; not part of the summary.
    seed, replications, complete, versions
        See ``Reproduced``.
    """

    study: Study
    cells: tuple[Cell, ...]
    what_if: tuple[Cell, ...]

    @property
    def summary(self) -> Summary:
        """Errors over the cells that were not used in a fit."""
        return Summary.of(self.cells)

    @property
    def finished(self) -> int:
        """Number of cells."""
        return len(self.cells)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        definition = self.study.definition
        content = {
            "study": self.study.name,
            "title": definition.title,
            "source": definition.source,
            "metric": definition.metric.label,
            "cells": [asdict(cell) for cell in self.cells],
            "what_if": [asdict(cell) for cell in self.what_if],
            "summary": asdict(self.summary),
        }
        if definition.show.breakdown and self.complete:
            found = breakdowns(self.study, self.seed)
            content["breakdown"] = {name: each.to_dict() for name, each in found.items()}
        return self._as_json(content)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Measured as points, simulated as lines with intervals; saved when a path is given."""
        from simrep.plot.study import plot_study

        definition = self.study.definition
        several = len({cell.series for cell in self.cells}) > 1
        cells = [
            {**asdict(cell), "factors": {**cell.factors, "series": cell.series}}
            for cell in self.cells
        ]
        return plot_study(
            cells,
            path,
            x=definition.show.x,
            y=definition.metric.label,
            by=("series", definition.show.by) if several else definition.show.by,
            errors=True,
            title=definition.title,
        )

    def tables(self) -> Group:
        """Tables for a terminal; ``rich.print(result.tables())`` or ``print(result)``."""
        from simrep.experiment.study_table import tables

        return tables(self)

    def __repr__(self) -> str:
        summary = self.summary
        return (
            f"<StudyResult {self.study.name}: {len(self.cells)} cells, {summary.n} predicted, "
            f"median error {summary.median_abs_error:.1%}, largest {summary.max_abs_error:.1%}>"
        )


class _How(TypedDict, total=False):
    replications: int | None
    seed: int | None
    executor: Executor | None
    progress: Progress | None


@overload
def reproduce(study: Study, **how: Unpack[_How]) -> StudyResult: ...
@overload
def reproduce(study: CurveStudy, **how: Unpack[_How]) -> CurveStudyResult: ...
@overload
def reproduce(study: str | Path, **how: Unpack[_How]) -> StudyResult | CurveStudyResult: ...
def reproduce(
    study: Study | CurveStudy | str | Path,
    *,
    replications: int | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> StudyResult | CurveStudyResult:
    """Simulate every measured cell, or every curve, of a study.

    All cells use the same seed, so that differences between them and between variants are not
    blurred by different random numbers.

    Parameters
    ----------
    study : Study, CurveStudy, str or Path
        A study, the name of one that ships with the package, or its folder.
    replications, seed : int, optional
        Instead of those the study names.
    executor : concurrent.futures.Executor, optional
        Where replications run; in this process when None.
    progress : callable, optional
        Called with the number of finished cells and of all cells.

    Returns
    -------
    StudyResult or CurveStudyResult
        Holds the finished cells or points when the work was interrupted (Ctrl-C).
    """
    if isinstance(study, (str, Path)):
        study = open_study(study)
    definition = study.definition
    replications = definition.replications if replications is None else replications
    seed = definition.seed if seed is None else seed
    if replications < 1:
        raise ScenarioError("replications", f"must be at least 1, given {replications}")
    if isinstance(study, CurveStudy):
        from simrep.experiment.curve_study import simulate_curves

        return simulate_curves(study, replications, seed, executor, progress)
    definition = study.definition
    work: list[tuple[Series, str, MeasuredCell, Plan]] = []
    for series in definition.series:
        base = load(study.scenario_path(series))
        nothing: dict[str, Any] = {}
        variants = {"": nothing} | {variant.name: variant.set for variant in series.what_if}
        work += [
            (series, variant, cell, plan(with_values(base, {**settings, **cell.settings})))
            for variant, settings in variants.items()
            for cell in study.cells[series.name]
        ]
    metric = definition.metric
    plans = [planned for *_, planned in work]
    simulated = simulate_cells(plans, [metric.result], replications, seed, executor)
    cells: list[Cell] = []
    complete = True
    try:
        for (series, variant, measured, _), samples in zip(work, simulated, strict=True):
            values = [sample[0] for sample in samples]
            cells.append(_cell(series, variant, measured, values, metric.column, metric.unit))
            if progress is not None:
                progress(len(cells), len(work))
    except KeyboardInterrupt:
        complete = False
    return StudyResult(
        study=study,
        cells=tuple(cell for cell in cells if not cell.variant),
        what_if=tuple(cell for cell in cells if cell.variant),
        seed=seed,
        replications=replications,
        complete=complete,
        versions=series_versions({series.name: planned for series, _, _, planned in work}),
    )


def simulate_cells(
    plans: Sequence[Plan],
    figures: Sequence[str],
    replications: int,
    seed: int,
    executor: Executor | None = None,
) -> Iterator[list[tuple[float, ...]]]:
    """Figures of every replication of every plan, plan by plan.

    Parameters
    ----------
    plans : sequence of Plan
    figures : sequence of str
        Figures of a result, e.g. ``makespan_s``, ``latency_s.p95``, ``counters.n1.wsrep_...``.
    """
    work = [
        (planned, seed, number, tuple(figures))
        for planned in plans
        for number in range(replications)
    ]
    if executor is None:
        for first in range(0, len(work), replications):
            yield [_simulate_one(*item) for item in work[first : first + replications]]
        return
    futures = [executor.submit(_simulate_one, *item) for item in work]
    try:
        for first in range(0, len(futures), replications):
            yield [future.result() for future in futures[first : first + replications]]
    finally:
        for future in futures:
            future.cancel()


def _simulate_one(
    planned: Plan, seed: int, replication: int, figures: tuple[str, ...]
) -> tuple[float, ...]:
    """A replication, reduced to figures where it ran: records are large to send around."""
    result = Result.combine([simulate(planned, seed, replication)])
    return tuple(_figure(result, path) for path in figures)


def _figure(result: Result, path: str) -> float:
    value: Any = result
    for name in path.split("."):
        if isinstance(value, Mapping):
            valid = [str(key) for key in value]
            found = value.get(name)
        else:
            valid = [field.name for field in fields(Result)] if value is result else []
            found = getattr(value, name) if name in valid else None
        if found is None:
            raise ScenarioError(path, f"a result has no {name!r} here", nearest(name, valid))
        value = found
    if not isinstance(value, (int, float)):
        raise ScenarioError(path, "is not a number of a result")
    return float(value)


def series_versions(plans: Mapping[str, Plan]) -> dict[str, str]:
    """Software under its name; model and pack under the series that uses them."""
    return {
        f"{series} {name}" if name in {"model", "pack"} else name: version
        for series, planned in plans.items()
        for name, version in planned.versions.items()
    }


def _cell(
    series: Series,
    variant: str,
    measured: MeasuredCell,
    values: Sequence[float],
    column: str,
    unit: str,
) -> Cell:
    actual = measured.values[column]
    predicted = median(values)
    return Cell(
        factors=measured.factors,
        measured=actual,
        repetitions=measured.repetitions,
        predicted=predicted,
        unit=unit,
        relative_error=predicted / actual - 1.0,
        interval=single_run_interval(values),
        used_in_fit=measured.used_in_fit,
        series=series.name,
        variant=variant,
    )
