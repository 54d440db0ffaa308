"""Stated quantities and the simulated ones, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rich.console import Group
from rich.table import Table
from rich.text import Text

from simrep.data.curve_dataset import CurveDatasetResult
from simrep.data.curve_rows import Row
from simrep.data.definition import Value
from simrep.measure.units import describe, number
from simrep.show.text.layout import table
from simrep.show.views import tables

_FAR = {"points": 5.0, "ms": 0.3}
"""A distance beyond this is shown in red."""


@tables.register(CurveDatasetResult)
def curve_tables(result: CurveDatasetResult) -> Group:
    """Every stated row, the maxima of the curves and the sustained rates, and the summary."""
    definition = result.dataset.definition
    parts: list[Table | Text] = [
        Text(definition.title, style="bold"),
        Text(f"source: {definition.source}"),
        *_stated(result),
        Text("\nsimulated", style="bold"),
        _simulated(result),
        Text(_closing(result)),
    ]
    return Group(*parts)


def _table(*left: str) -> Table:
    return table([describe(name) for name in left], "l")


def _stated(result: CurveDatasetResult) -> list[Table | Text]:
    """A block per system and per value of the factor that has a row of charts."""
    shown = result.dataset.definition.show
    blocks: dict[tuple[Value, Value], list[Row]] = {}
    for row in result.rows:
        blocks.setdefault((row.factors[shown.facet], row.factors[shown.by]), []).append(row)
    parts: list[Table | Text] = []
    for key, rows in blocks.items():
        parts += [Text("\n" + ", ".join(describe(str(value)) for value in key), style="bold")]
        parts.append(_block(result, rows))
    return parts


def _block(result: CurveDatasetResult, rows: Sequence[Row]) -> Table:
    shown = result.dataset.definition.show
    factors = [
        name for name in result.dataset.definition.factors if name not in {shown.facet, shown.by}
    ]
    content = _table("quantity", *factors)
    intervals = any(row.interval is not None for row in result.rows)
    for heading in ("stated", "simulated", *(["95 % of runs"] if intervals else []), "distance"):
        content.add_column(heading, justify="right", no_wrap=True)
    content.add_column("")
    for row in rows:
        content.add_row(
            describe(row.quantity),
            *(str(row.factors[name]) for name in factors),
            _span(row.low, row.high, row.unit),
            _values(row),
            *([_interval(row)] if intervals else []),
            _distance(row),
            "fit" if row.used_in_fit else "",
        )
    return content


def _simulated(result: CurveDatasetResult) -> Table:
    definition = result.dataset.definition
    content = _table(*definition.factors)
    for heading in (
        "highest (transactions/s)",
        f"at {describe(definition.axis.name)}",
        "sustained (transactions/s)",
    ):
        content.add_column(heading, justify="right")
    content.add_column("limited by")
    sustained = {tuple(one.factors.values()): one for one in result.sustained}
    curves: dict[tuple[Value, ...], tuple[float, float]] = {}
    for point in result.points:
        key = tuple(point.factors.values())
        curves[key] = max(curves.get(key, (0.0, 0.0)), (point.throughput_tps, point.x))
    for key in dict.fromkeys([*curves, *sustained]):
        best, rate = curves.get(key), sustained.get(key)
        content.add_row(
            *(str(value) for value in key),
            number(best[0]) if best else "-",
            f"{best[1]:g}" if best else "-",
            number(rate.rate_tps) if rate else "",
            rate.limited_by if rate else "",
        )
    return content


def _text(value: float, unit: str) -> str:
    if not isfinite(value):
        return "-"
    return f"{100 * value:.1f} %" if unit == "ratio" else f"{value:.2f} {unit}"


def _span(low: float, high: float, unit: str) -> str:
    if low == high:
        return _text(low, unit)
    return f"{_text(low, unit).split(' ')[0]} .. {_text(high, unit)}"


def _values(row: Row) -> str:
    return _span(min(row.values), max(row.values), row.unit)


def _interval(row: Row) -> str:
    return "-" if row.interval is None else _span(*row.interval, row.unit)


def _distance(row: Row) -> str:
    if not isfinite(row.distance):
        return "-"
    unit = row.distance_unit
    text = f"{row.distance:+.{1 if unit == 'points' else 2}f} {unit}" if row.distance else "0"
    return f"[red]{text}[/red]" if abs(row.distance) > _FAR.get(unit, 0.0) else text


def _closing(result: CurveDatasetResult) -> str:
    summary = result.summary
    if not summary.n:
        lines = ["No finished row that the fit has not seen."]
    else:
        distances = "; ".join(
            f"median distance {summary.median_distance[unit]:.2g} {unit}, "
            f"largest {summary.max_distance[unit]:.2g}"
            for unit in summary.median_distance
        )
        lines = [f"{summary.n} predicted rows, {summary.inside} in the stated range; {distances}."]
    if any(row.used_in_fit for row in result.rows):
        lines.append("Rows marked 'fit' set costs and are not counted.")
    plural = "s" if result.replications > 1 else ""
    lines.append(f"{result.replications} replication{plural}, seed {result.seed}.")
    if not result.complete:
        lines.append("Interrupted: curves are missing.")
    return "\n".join(lines)
