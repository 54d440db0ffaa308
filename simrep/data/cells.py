"""A measured figure beside its simulation, and how far all of them are off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, log, nan, sqrt
from statistics import fmean, median, stdev

from simrep.data.definition import MetricTable, SeriesTable, Value
from simrep.data.measurements import MeasuredCell
from simrep.measure.student import student_quantile

__all__ = ["Cell", "Summary", "cells_of", "single_run_interval"]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One measured figure of a cell and its simulation.

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
        Predicted relative to measured, minus one; NaN if 0 was measured.
    interval : (float, float) or None
        Where 95 % of single simulated runs lie: a measured cell is a single run, so this and not
        the narrower interval of the mean is what it may be compared with. In a validation, with a
        pack that tells how sure it is, where 90 % of measurements lie: chance, the costs and the
        error of the model. None for one replication without such a pack.
    used_in_fit : bool
        Whether local costs were fitted to this cell.
    series : str
        Name of the measured system.
    variant : str
        Empty, or the name of the what-if that was simulated instead.
    metric : str
        Name of what was measured: the column of the data.
    within : bool or None
        For a metric with a tolerance: whether the difference is within it.
    standard_error : float or None
        Of the measured figure; None if a single measurement is all there is.
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
    metric: str = ""
    within: bool | None = None
    standard_error: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Relative errors over the cells that no fit has seen.

    Cells of metrics with a tolerance are left out: they are judged by it.

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
        unseen = [cell for cell in cells if not cell.used_in_fit and cell.within is None]
        if not unseen:
            return cls(0, nan, nan, nan, nan)
        errors = [cell.relative_error for cell in unseen]
        sizes = [abs(error) for error in errors]
        if not all(isfinite(size) for size in sizes):
            return cls(len(unseen), nan, nan, nan, nan)
        spans = [(cell.interval, cell.measured) for cell in unseen if cell.interval is not None]
        inside = fmean(low <= at <= high for (low, high), at in spans) if spans else nan
        return cls(len(unseen), median(sizes), max(sizes), fmean(errors), inside)


def cells_of(
    metrics: Sequence[MetricTable],
    series: SeriesTable,
    variant: str,
    measured: MeasuredCell,
    samples: Sequence[Sequence[float]],
) -> list[Cell]:
    """A cell for every metric that was measured there; ``samples`` are figures of replications."""
    return [
        _cell(metric, series, variant, measured, [sample[position] for sample in samples])
        for position, metric in enumerate(metrics)
        if metric.column in measured.values
    ]


def _cell(
    metric: MetricTable,
    series: SeriesTable,
    variant: str,
    measured: MeasuredCell,
    values: Sequence[float],
) -> Cell:
    actual = measured.values[metric.column]
    predicted = median(values)
    return Cell(
        factors=measured.factors,
        measured=actual,
        repetitions=measured.repetitions,
        predicted=predicted,
        unit=metric.unit,
        relative_error=predicted / actual - 1.0 if actual else nan,
        interval=_interval(metric, values),
        used_in_fit=measured.used_in_fit or metric.fitted,
        series=series.name,
        variant=variant,
        metric=metric.column,
        within=metric.tolerates(actual, predicted),
        standard_error=measured.standard_errors.get(metric.column),
    )


def _interval(metric: MetricTable, values: Sequence[float]) -> tuple[float, float] | None:
    """Where a further run would lie; figures that may be 0 vary by units and not by factors."""
    span = single_run_interval(values, positive=metric.absolute is None)
    if span is None or metric.absolute is None:
        return span
    return max(0.0, span[0]), span[1]


def single_run_interval(
    values: Sequence[float], *, positive: bool = True
) -> tuple[float, float] | None:
    """Student's prediction interval for one further value; None for fewer than two.

    Durations and rates are positive and vary by factors: the logarithm keeps their bounds positive.
    There is then no interval if a value is not positive.
    """
    count = len(values)
    if count < 2 or not all(isfinite(value) for value in values):
        return None
    if positive and min(values) <= 0.0:
        return None
    if min(values) == max(values):
        return values[0], values[0]  # exactly, where the logarithm would round
    scaled = [log(value) for value in values] if positive else values
    middle = fmean(scaled)
    half = (
        student_quantile(count - 1, 0.5 + CONFIDENCE / 2.0)
        * stdev(scaled)
        * sqrt(1.0 + 1.0 / count)
    )
    low, high = middle - half, middle + half
    return (exp(low), exp(high)) if positive else (low, high)
