"""Datasets as tables for a terminal: measured and simulated cells, and how far they are apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from rich.console import Group, RenderableType
from rich.table import Table

from simrep.data.cells import Cell, Summary
from simrep.data.definition import MetricTable, SeriesTable
from simrep.data.derived import DerivedRow, DerivedSummary
from simrep.data.latencies import QUANTILES, Latencies
from simrep.data.reproduce import DatasetResult, breakdowns
from simrep.data.scores import NEAR, Scores
from simrep.data.validation import DatasetValidation, Validation
from simrep.measure.breakdown import Breakdown
from simrep.measure.units import describe, duration, number
from simrep.show.text.failures import failure_notes, failure_tables
from simrep.show.text.layout import closing, table, title, words
from simrep.show.views import tables

_FAR = 0.20
"""An error beyond this is shown in red."""
_FAR_OFF = {"points": 5.0, "ms": 0.3}
"""So is a distance from a stated range beyond this."""
_SHOWN = tuple(f"p{q}" for q in QUANTILES if q >= 50)
"""Quantiles of the recorded latencies; all of them are in the result."""


@tables.register(DatasetResult)
def dataset_tables(result: DatasetResult) -> Group:
    """One block per value of the factor that the dataset shows by, and the summary."""
    parts: list[RenderableType] = [*_cell_tables(result), *_derived_tables(result)]
    parts += failure_tables(result)
    if result.dataset.definition.show.breakdown and result.complete:
        parts += [words(""), _breakdown_table(breakdowns(result.dataset, result.seed))]
    missing = "" if result.complete else "cells are missing"
    return Group(*parts, closing(["", *_notes(result)], missing=missing))


def _cell_tables(result: DatasetResult) -> list[RenderableType]:
    """The blocks alone, with the title of the dataset."""
    definition = result.dataset.definition
    metrics = definition.metrics
    measured = f"{_heading(metrics[0])}; " if len(metrics) == 1 else ""
    source = words(f"{measured}source: {definition.source}")
    parts: list[RenderableType] = [title(definition.title), source]
    for series in definition.series:
        own = [cell for cell in result.cells if cell.series == series.name]
        if own:
            parts += [words(""), title(series.title)]
        for metric in metrics:
            of_metric = [cell for cell in own if cell.metric == metric.column]
            for titles, block in _blocks(definition.show.by, of_metric):
                whole = [_heading(metric), *titles] if len(metrics) > 1 else titles
                parts += [words("\n" + "; ".join(whole)), _block(result, series, block)]
    return parts


def _heading(metric: MetricTable) -> str:
    return f"{metric.label} ({metric.unit})" if metric.unit else metric.label


def _blocks(by: str | None, cells: Sequence[Cell]) -> Iterator[tuple[list[str], list[Cell]]]:
    """Cells that share a table, with what they have in common."""
    if by is None:
        if cells:
            yield [], list(cells)
        return
    for value in dict.fromkeys(cell.factors[by] for cell in cells):
        yield [f"{describe(by)}: {value}"], [cell for cell in cells if cell.factors[by] == value]


def _block(result: DatasetResult, series: SeriesTable, cells: Sequence[Cell]) -> Table:
    definition = result.dataset.definition
    shown = definition.show
    tried = {cell.variant for cell in result.what_if if cell.series == series.name}
    variants = [variant.name for variant in series.what_if if variant.name in tried]
    others = [
        name
        for name in definition.factors
        if name not in {shown.x, shown.by} and len({cell.factors[name] for cell in cells}) > 1
    ]
    names = (shown.x, *others)
    heads = (
        *map(describe, names),
        *("measured", "simulated", "95 % of runs", "error", ""),
        *(f"what if: {name}" for name in variants),
    )
    rows = (
        (*(str(cell.factors[name]) for name in names), number(cell.measured, 4),
         number(cell.predicted, 4), _span(cell), _error(cell), "fit" if cell.used_in_fit else "",
         *(_variant(cell, name, result.what_if) for name in variants))
        for cell in cells
    )  # fmt: skip
    return table(heads, "r" * len(names) + "RRRRlr", rows, keys=len(names))


def _span(cell: Cell) -> str:
    if cell.interval is None:
        return "-"
    low, high = cell.interval
    return f"{number(low)} .. {number(high)}"


def _error(cell: Cell) -> RenderableType:
    """In percent, or as a difference where the metric has a tolerance; red if it is far off."""
    if cell.within is not None:
        difference = cell.predicted - cell.measured
        text = f"{number(abs(difference))} {cell.unit}".rstrip()
        text = f"{'-' if difference < 0 else '+'}{text}" if isfinite(difference) else "-"
        return words(text, "" if cell.within else "red")
    if not isfinite(cell.relative_error):
        return "-"
    text = f"{100 * cell.relative_error:+.1f} %"
    return words(text, "red" if abs(cell.relative_error) > _FAR else "")


def _variant(cell: Cell, variant: str, what_if: Sequence[Cell]) -> str:
    for other in what_if:
        same = (other.variant, other.series, other.factors, other.metric)
        if same == (variant, cell.series, cell.factors, cell.metric):
            return number(other.predicted, 4)
    return "-"


def _breakdown_table(found: dict[str, Breakdown]) -> Table:
    """Stages down, systems across."""
    stages = [stage for each in found.values() for stage in each.stages]
    order = sorted(dict.fromkeys(stages), key=lambda stage: _place(stage, found))
    rows = (
        (stage, *(duration(e.stages[stage]) if stage in e.stages else "" for e in found.values()))
        for stage in order
    )
    total = ("latency", *(duration(each.latency_s) for each in found.values()))
    name = "Where the time of a transaction goes"
    return table(("stage", *found), rows=rows, total=total, name=name)


def _place(stage: str, found: dict[str, Breakdown]) -> int:
    """Where a transaction comes to a stage, at the latest in any of the systems."""
    return max(list(each.stages).index(stage) for each in found.values() if stage in each.stages)


def _derived_tables(result: DatasetResult) -> Iterator[RenderableType]:
    """Rows about several cells: stated, simulated and how far apart; a block per quantity."""
    spread = any(row.interval is not None for row in result.derived)
    for quantity in dict.fromkeys(row.quantity for row in result.derived):
        own = [row for row in result.derived if row.quantity == quantity]
        values = {name: {str(row.factors[name]) for row in own} for name in own[0].factors}
        shared = [f"{describe(n)}: {own[0].factors[n]}" for n in values if len(values[n]) == 1]
        varied = [name for name in values if len(values[name]) > 1]
        heads = ("stated", "simulated", *(["95 % of runs"] * spread), "distance", "")
        rows = (
            (*(str(row.factors[name]) for name in varied), _range((row.low, row.high), row.unit),
             _range((min(row.values), max(row.values)), row.unit),
             *([_range(row.interval, row.unit)] * spread), _distance(row),
             "fit" if row.used_in_fit else "")
            for row in own
        )  # fmt: skip
        yield words("\n" + "; ".join([describe(quantity), *shared]))
        left = [*map(describe, varied)]
        yield table((*left, *heads), "l" * len(left) + "R" * (3 + spread) + "l", rows)


def _range(ends: tuple[float, float] | None, unit: str) -> str:
    if ends is None or not all(map(isfinite, ends)):
        return "-"
    words = [f"{100 * end:.1f}" if unit == "ratio" else f"{end:.2f}" for end in ends]
    return f"{' .. '.join(dict.fromkeys(words))} {'%' if unit == 'ratio' else unit}"


def _distance(row: DerivedRow) -> RenderableType:
    if not isfinite(row.distance):
        return "-"
    unit = row.distance_unit
    text = f"{row.distance:+.{1 if unit == 'points' else 2}f} {unit}" if row.distance else "0"
    return words(text, "red" if abs(row.distance) > _FAR_OFF[unit] else "")


def _notes(result: DatasetResult) -> list[str]:
    metrics = result.dataset.definition.metrics
    if result.failures:
        return failure_notes(result)
    lines = [_distances(result.derived_summary)] if result.derived_summary.n else []
    for metric in metrics:
        name = f"{metric.label}: " if len(metrics) > 1 else ""
        if metric.absolute is not None:
            within, n = result.tolerated[metric.column]
            share = "" if metric.relative is None else f" or {100 * metric.relative:g} %"
            told = f"{within} of {n} predicted cells within {metric.absolute:g} {metric.unit}"
            lines += [f"{name}{told.rstrip()}{share}."] if n else []
        elif result.summaries[metric.column].n:
            lines.append(name + _errors(result.summaries[metric.column]))
    if not lines:
        lines = ["No finished cell that the fit has not seen."]
    fitted = [cell.used_in_fit for cell in result.cells] + [r.used_in_fit for r in result.derived]
    if any(fitted):
        kind = "Cells" if metrics else "Rows"
        lines.append(f"{kind} marked 'fit' set the local costs and are not counted.")
    plural = "" if result.replications == 1 and not metrics else "s each"
    others = "".join(f", {n} of {name}" for name, n in result.own_replications.items())
    lines.append(f"{result.replications} replication{plural}{others}, seed {result.seed}.")
    return lines


def _distances(summary: DerivedSummary) -> str:
    distances = "; ".join(
        f"median distance {middle:.2g} {unit}, largest {summary.max_distance[unit]:.2g}"
        for unit, middle in summary.median_distance.items()
    )
    return f"{summary.n} predicted rows, {summary.inside} in the stated range; {distances}."


def _errors(summary: Summary) -> str:
    errors = (
        f"median error {_share(summary.median_abs_error)}, "
        f"largest {_share(summary.max_abs_error)}, bias {_share(summary.bias, '+')}"
    )
    inside = _share(summary.inside_interval, digits=0)
    return f"{summary.n} predicted cells: {errors}; {inside} within the interval."


def _share(value: float, sign: str = "", digits: int = 1) -> str:
    return f"{100 * value:{sign}.{digits}f} %" if isfinite(value) else "-"


@tables.register(Validation)
def validation_tables(validation: Validation, cells: bool | None = None) -> Group:
    """Every cell and distribution, if they are asked for, and a row of scores per dataset."""
    if cells is None:
        cells = len(validation.parts) == 1
    parts: list[RenderableType] = []
    for part in validation.parts if cells else ():
        parts += [*_cell_tables(part.result), words("")]
        if part.latencies:
            parts.append(_latencies(part))
    missing = "" if validation.complete else "cells are missing"
    return Group(*parts, _scores(validation), closing((), missing=missing))


def _latencies(part: DatasetValidation) -> Table:
    names = [
        name
        for name in part.result.dataset.definition.factors
        if len({one.factors[name] for one in part.latencies}) > 1
    ]
    figures = ("mean", *_SHOWN)
    rows = (
        (one.series, *(str(one.factors[name]) for name in names),
         *(_both(one, name) for name in figures), f"{one.distance:.1%}",
         "fit" if one.used_in_fit else "")
        for one in part.latencies
    )  # fmt: skip
    heads = ("system", *map(describe, names), *figures, "distance", "")
    columns = "l" * (1 + len(names)) + "R" * (1 + len(figures)) + "l"
    return table(heads, columns, rows, name="Recorded latencies, measured | simulated")


def _both(one: Latencies, name: str) -> str:
    return f"{duration(one.measured_s[name])} | {duration(one.simulated_s[name])}"


def _scores(validation: Validation) -> Table:
    heads = (
        *("dataset", "fitted", "predicted", "median error", "largest", f"within {NEAR:.0%}"),
        *("in interval", "order right", "tolerated"),
    )
    rows = (_score(part.name, part.scores) for part in validation.parts)
    total = _score("all", validation.scores) if len(validation.parts) > 1 else ()
    return table(heads, "Lr", rows, total=total)


def _score(name: str, scores: Scores) -> Sequence[str]:
    ordered = f"{_percent(scores.ordered)} of {scores.pairs}" if scores.pairs else "-"
    tolerated = f"{scores.tolerated} of {scores.with_tolerance}" if scores.with_tolerance else "-"
    errors = (_percent(one, 1) for one in (scores.median_abs_error, scores.max_abs_error))
    shares = (_percent(one) for one in (scores.near, scores.inside_interval))
    return [name, str(scores.fitted), str(scores.n), *errors, *shares, ordered, tolerated]


def _percent(value: float, digits: int = 0) -> str:
    return f"{value:.{digits}%}" if isfinite(value) else "-"
