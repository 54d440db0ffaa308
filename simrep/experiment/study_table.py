"""The cells of a study as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from simrep.experiment.study_breakdown import breakdown_table, breakdowns
from simrep.measure.units import describe, number

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from simrep.experiment.reproduce import Cell, StudyResult
    from simrep.experiment.study import Series, Study

__all__ = ["tables"]

_FAR = 0.20
"""An error beyond this is shown in red."""


def tables(result: StudyResult) -> Group:
    """One block per value of the factor that the study shows by, and the summary."""
    from rich.console import Group
    from rich.text import Text

    study = result.study
    definition = study.definition
    parts: list[Table | Text] = [
        Text(definition.title, style="bold"),
        Text(f"{definition.metric.label} ({definition.metric.unit}); source: {definition.source}"),
    ]
    for series in definition.series:
        own = [cell for cell in result.cells if cell.series == series.name]
        if own:
            parts += [Text(), Text(series.title, style="bold")]
        for value in dict.fromkeys(cell.factors[definition.show.by] for cell in own):
            block = [cell for cell in own if cell.factors[definition.show.by] == value]
            parts += [
                Text(f"\n{describe(definition.show.by)}: {value}"),
                _block(study, series, block, result.what_if),
            ]
    if definition.show.breakdown and result.complete:
        parts += [Text(), breakdown_table(breakdowns(study, result.seed))]
    parts.append(Text(_closing(result)))
    return Group(*parts)


def _block(study: Study, series: Series, cells: Sequence[Cell], what_if: Sequence[Cell]) -> Table:
    from rich import box
    from rich.table import Table

    shown = study.definition.show
    variants = [
        variant.name
        for variant in series.what_if
        if any(cell.variant == variant.name and cell.series == series.name for cell in what_if)
    ]
    others = [
        name
        for name in study.definition.factors
        if name not in {shown.x, shown.by} and len({cell.factors[name] for cell in cells}) > 1
    ]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (shown.x, *others):
        table.add_column(describe(name), justify="right")
    for heading in ("measured", "simulated", "95 % of runs", "error"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for name in variants:
        table.add_column(f"what if: {name}", justify="right")
    for cell in cells:
        table.add_row(
            *(str(cell.factors[name]) for name in (shown.x, *others)),
            number(cell.measured, 4),
            number(cell.predicted, 4),
            _span(cell),
            _error(cell.relative_error),
            "fit" if cell.used_in_fit else "",
            *(_variant(cell, name, what_if) for name in variants),
        )
    return table


def _span(cell: Cell) -> str:
    if cell.interval is None:
        return "-"
    low, high = cell.interval
    return f"{number(low)} .. {number(high)}"


def _error(error: float) -> str:
    if not isfinite(error):
        return "-"
    text = f"{100 * error:+.1f} %"
    return f"[red]{text}[/red]" if abs(error) > _FAR else text


def _variant(cell: Cell, variant: str, what_if: Sequence[Cell]) -> str:
    for other in what_if:
        if (other.variant, other.series, other.factors) == (variant, cell.series, cell.factors):
            return number(other.predicted, 4)
    return "-"


def _closing(result: StudyResult) -> str:
    summary = result.summary
    if not summary.n:
        lines = ["No finished cell that the fit has not seen."]
    else:
        errors = (
            f"median error {_percent(summary.median_abs_error)}, "
            f"largest {_percent(summary.max_abs_error)}, bias {_percent(summary.bias, '+')}"
        )
        inside = _percent(summary.inside_interval, digits=0)
        lines = [f"{summary.n} predicted cells: {errors}; {inside} within the interval."]
    if any(cell.used_in_fit for cell in result.cells):
        lines.append("Cells marked 'fit' set the local costs and are not counted.")
    lines.append(f"{result.replications} replications each, seed {result.seed}.")
    if not result.complete:
        lines.append("Interrupted: cells are missing.")
    return "\n" + "\n".join(lines)


def _percent(value: float, sign: str = "", digits: int = 1) -> str:
    return f"{100 * value:{sign}.{digits}f} %" if isfinite(value) else "-"
