"""Figures of datasets: measured as points, simulated as lines, stated ranges as bars, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, PercentFormatter

from simrep.data.cells import Cell
from simrep.data.definition import Definition
from simrep.data.derived import DerivedRow
from simrep.data.reproduce import DatasetResult
from simrep.data.scores import NEAR
from simrep.data.validation import Validation
from simrep.measure.units import describe
from simrep.show.plot.style import (
    GREY,
    MARKERS,
    Sheet,
    colour,
    decade_ticks,
    dots,
    row_axis,
    save,
    styled,
    value_ticks,
)  # fmt: skip
from simrep.show.plot.timeline import plot_timelines
from simrep.show.views import plot

__all__ = ["plot_cells", "plot_dataset", "plot_derived", "plot_errors"]

# Ends have a mark, for a range may be a single value.
_STATED: dict[str, Any] = {
    "color": GREY, "linewidth": 6.0, "alpha": 0.6, "solid_capstyle": "butt", "marker": "|",
    "markersize": 13.0, "markeredgewidth": 2.5,
}  # fmt: skip
_LINEAR = 20.0  # percent; beyond it the axis of the errors of a validation is logarithmic
_TICKS = (-80, -40, -15, -5, 0, 5, 15, 40, 80, 200, 500)
_HIGH = 0.3  # how far points of a row lie from its middle, in rows

_Line = list[tuple[float, Cell]]
"""Places and cells of a line, from left to right."""


@plot.register(DatasetResult)
def plot_reproduction(result: DatasetResult) -> Sheet:
    """Draw the first metric over a factor, or commits over time if the dataset shows them.

    Measured as points, simulated as lines with intervals; in a dataset with timelines a panel for
    each cell, measured levels as bands; without measured cells the rows about several of them.
    """
    if result.timelines:
        return plot_timelines(result)
    if not result.dataset.definition.metrics:
        return plot_derived(result.derived, title=result.dataset.definition.title)
    return plot_cells(result.dataset.definition, result.cells)


def plot_cells(
    definition: Definition, cells: Iterable[Cell], path: str | Path | None = None
) -> Sheet:
    """Draw the first metric of a dataset as its definition says, with the relative errors.

    Cells of other metrics, and those without a number on the axis, are left out. If none is left,
    that is a ValueError.
    """
    x = definition.show.x
    drawn = [
        replace(cell, factors={**cell.factors, "series": cell.series})
        for cell in cells
        if cell.metric == definition.metric.column and not isinstance(cell.factors[x], str)
    ]
    several = len({cell.series for cell in drawn}) > 1
    by = [name for name in ("series" if several else None, definition.show.by) if name]
    by = _telling_apart(drawn, x, by, definition.factors) or ["series"]
    return plot_dataset(drawn, path, x=x, y=definition.metric.label, by=by, title=definition.title)


def _telling_apart(
    cells: Sequence[Cell], x: str, by: Sequence[str], others: Iterable[str]
) -> list[str]:
    """The factors of the lines, and of the others as many as keep cells apart."""
    names = list(by)
    for name in others:
        places = {tuple(cell.factors[each] for each in (x, *names)) for cell in cells}
        if len(places) == len(cells):
            break
        values = {cell.factors[name] for cell in cells}
        if name not in {x, *names} and len(values) > 1:
            names.append(name)
    return names


def plot_dataset(
    cells: Sequence[Cell],
    path: str | Path | None = None,
    *,
    x: str,
    y: str,
    by: Sequence[str],
    title: str = "",
) -> Sheet:
    """Draw cells over one of their factors, and beside that how far they are off.

    Parameters
    ----------
    cells : sequence of Cell
    path : str or Path, optional
        Where to save the figure.
    x : str
        Name of the factor on the horizontal axis; a unit at its end ("_ms") goes to the label.
    y : str
        What was measured, for the label; its unit is that of the cells.
    by : sequence of str
        The factors whose values make the series.
    title : str
        Headline of the figure, none when empty.

    Raises
    ------
    ValueError
        When two cells would lie on one place of one line, which mixes what a further factor
        tells apart; when there are no cells.
    """
    if not cells:
        raise ValueError("a dataset without cells cannot be drawn")
    lines: dict[tuple[Any, ...], _Line] = {}
    for cell in sorted(cells, key=lambda cell: float(cell.factors[x])):
        place = float(cell.factors[x])
        lines.setdefault(tuple(cell.factors[name] for name in by), []).append((place, cell))
    if any(len(dict(line)) < len(line) for line in lines.values()):
        raise ValueError("several cells lie on the same place of a line: add a factor to 'by'")
    names = sorted(lines, key=_order)
    log = not any(cell.measured <= 0 or cell.predicted <= 0 for cell in cells)
    with styled():
        figure = Sheet(12.0, 5.4)
        main, errors = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
        for index, name in enumerate(names):
            _draw(main, lines[name], index)
            _draw_errors(errors, lines[name], index)
        for axes in (main, errors):
            _scale_places(axes, sorted({at for line in lines.values() for at, _ in line}), log)
            axes.set_xlabel(describe(x))
        _scale(main, [value for cell in cells for value in (cell.measured, cell.predicted)], log)
        main.set_ylabel(f"{y} ({cells[0].unit})")
        _legends(figure, cells, names, by)
        _scale_errors(errors, cells)
        figure.headline(title)
        return save(figure, path)


def _order(name: tuple[Any, ...]) -> list[tuple[int, float, str]]:
    """Numbers by value and before texts, so that colours follow the size of a delay."""
    return [
        (0, float(part), "") if isinstance(part, (int, float)) else (1, 0.0, str(part))
        for part in name
    ]


def _draw(axes: Axes, line: _Line, index: int) -> None:
    shade = colour(index)
    axes.plot([at for at, _ in line], [c.predicted for _, c in line], color=shade, zorder=2)
    banded = [(at, *cell.interval) for at, cell in line if cell.interval is not None]
    if banded:
        places, low, high = zip(*banded, strict=True)
        axes.fill_between(places, low, high, color=shade, alpha=0.22, linewidth=0, zorder=1)
    _points(axes, line, index, lambda cell: cell.measured)


def _draw_errors(axes: Axes, line: _Line, index: int) -> None:
    axes.plot([at for at, _ in line], [100 * cell.relative_error for _, cell in line],
              color=colour(index), linewidth=1.0, alpha=0.6, zorder=2)  # fmt: skip
    _points(axes, line, index, lambda cell: 100 * cell.relative_error)


def _points(axes: Axes, line: _Line, index: int, figure: Callable[[Cell], float]) -> None:
    for fitted in (False, True):
        own = [(at, figure(cell)) for at, cell in line if cell.used_in_fit is fitted]
        if own:
            axes.plot(*zip(*own, strict=True), **_marker(index, fitted, colour(index)))


def _marker(index: int, fitted: bool, shade: str) -> dict[str, Any]:
    """Full for a cell the model has not seen, hollow for one it was fitted to."""
    edge, width, size = (shade, 1.6, 7.0) if fitted else ("white", 0.9, 8.0)
    edges = {"markeredgecolor": edge, "markeredgewidth": width, "markersize": size, "zorder": 3}
    return dots(shade, hollow=fitted, marker=MARKERS[index % len(MARKERS)]) | edges


def _scale_places(axes: Axes, places: list[float], log: bool) -> None:
    if log and places[0] > 0:
        axes.set_xscale("log")
        value_ticks(axes.xaxis, places)


def _scale(axes: Axes, drawn: list[float], log: bool) -> None:
    low, high = min(drawn), max(drawn)
    if log:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.6, high * 1.6)
        decade_ticks(axes.yaxis, low / 1.6, high * 1.6)
    else:
        axes.set_ylim(0 if low >= 0 else 1.1 * low, 1.1 * high)


def _scale_errors(axes: Axes, cells: Sequence[Cell]) -> None:
    axes.axhline(0, color=GREY, linewidth=1.0, zorder=1)
    sizes = [abs(cell.relative_error) for cell in cells if isfinite(cell.relative_error)]
    reach = 115 * max(sizes, default=0.05) or 5.0
    axes.set_ylim(-reach, reach)
    axes.yaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0 if reach >= 5 else 1))
    axes.set_ylabel("simulated relative to measured")


def _legends(
    figure: Sheet, cells: Sequence[Cell], names: list[tuple[Any, ...]], by: Sequence[str]
) -> None:
    """What the colours mean, beside the axes, and what points, lines and bands mean, below."""
    colours = [
        Line2D([], [], color=colour(i), marker=MARKERS[i % len(MARKERS)], markeredgecolor="white",
               markersize=8.0, label=", ".join(_label(part) for part in name))
        for i, name in enumerate(names)
    ]  # fmt: skip
    title = ", ".join(map(describe, by))
    # Largest first: in most datasets that is the order of the lines, from the top.
    figure.legend(handles=colours[::-1], loc="outside right upper", title=title, alignment="left")
    kinds: list[Line2D | Patch] = [
        Line2D([], [], label=label, **_marker(0, fitted, GREY))
        for fitted, label in ((False, "measured"), (True, "measured, used in fit"))
        if any(cell.used_in_fit is fitted for cell in cells)
    ]
    kinds.append(Line2D([], [], color=GREY, label="simulated"))
    if any(cell.interval is not None for cell in cells):
        kinds.append(Patch(color=GREY, alpha=0.22, linewidth=0, label="interval of simulation"))
    figure.legend(handles=kinds, loc="outside lower center", ncols=len(kinds))


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def plot_derived(
    rows: Sequence[DerivedRow], path: str | Path | None = None, *, title: str = ""
) -> Sheet:
    """Draw what rows state of several cells, with a panel for ratios and one for each other unit.

    Ranges are bars and simulated figures are points. No rows are a ValueError.
    """
    if not rows:
        raise ValueError("a dataset without rows cannot be drawn")
    units = list(dict.fromkeys(row.unit for row in rows))
    panels = [[row for row in rows if row.unit == unit] for unit in units]
    with styled():
        figure = Sheet(12.0, 1.6 + 0.34 * (len(rows) + 2 * len(units)))
        heights = [len(panel) + 1 for panel in panels]
        every = figure.subplots(len(units), 1, squeeze=False, height_ratios=heights)
        for axes, unit, panel in zip(every[:, 0], units, panels, strict=True):
            _draw_rows(axes, panel, 100.0 if unit == "ratio" else 1.0)
            axes.set_xlabel("percent of the baseline" if unit == "ratio" else f"{unit} more")
        figure.legend(handles=_row_handles(rows), loc="outside lower center", ncols=3)
        figure.headline(title)
        return save(figure, path)


def _draw_rows(axes: Axes, rows: Sequence[DerivedRow], scale: float) -> None:
    for position, row in enumerate(rows):
        low, high = scale * row.low, scale * row.high
        axes.plot([low, high], [position, position], **_STATED, zorder=1)
        if row.interval is not None:
            axes.plot([scale * end for end in row.interval], [position, position],
                      color=colour(0), linewidth=1.4, zorder=2)  # fmt: skip
        values = [scale * value for value in row.values if isfinite(value)]
        axes.plot(values, [position] * len(values), **dots(colour(0), hollow=row.used_in_fit),
                  zorder=3)  # fmt: skip
    labels = [", ".join([describe(row.quantity), *map(str, row.factors.values())]) for row in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=9.0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)


def _row_handles(rows: Sequence[DerivedRow]) -> list[Line2D]:
    kinds = [Line2D([], [], **_STATED, label="stated")]
    for fitted, label in ((False, "simulated"), (True, "simulated, used in fit")):
        if any(row.used_in_fit is fitted for row in rows):
            kinds.append(Line2D([], [], label=label, **dots(colour(0), hollow=fitted)))
    return kinds


@plot.register(Validation)
def plot_errors(validation: Validation) -> Sheet:
    """Draw the relative error of every figure: rows are datasets, or of one dataset its systems."""
    rows = _error_rows(validation)
    if not rows:
        raise ValueError("a validation without relative errors cannot be drawn")
    figure = Sheet(10.0, 1.6 + 0.36 * len(rows))
    axes = figure.subplots()
    axes.axvspan(-100 * NEAR, 100 * NEAR, color=colour(0), alpha=0.10, linewidth=0, zorder=0)
    axes.axvline(0, color=GREY, linewidth=1.0, zorder=1)
    for place, cells in enumerate(rows.values()):
        for fitted in (True, False):
            _draw_row(axes, [cell for cell in cells if cell.used_in_fit is fitted], place, fitted)
    _scale_row_errors(axes, [100 * one.relative_error for own in rows.values() for one in own])
    row_axis(axes, rows, room=0.4)
    fitted = any(cell.used_in_fit for cells in rows.values() for cell in cells)
    handles: list[Line2D | Patch] = [Line2D([], [], label="predicted", **_error_dots(False))]
    if fitted:
        handles.append(Line2D([], [], label="used in the fit", **_error_dots(True)))
    handles.append(Patch(color=colour(0), alpha=0.10, linewidth=0, label=f"within {NEAR:.0%}"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _error_rows(validation: Validation) -> dict[str, list[Cell]]:
    rows: dict[str, list[Cell]] = {}
    several = len(validation.parts) > 1
    for part in validation.parts:
        definition = part.result.dataset.definition
        labels = {metric.column: metric.label for metric in definition.metrics}
        titles = {series.name: series.title for series in definition.series}
        for cell in part.result.cells:
            if isfinite(cell.relative_error) and cell.within is None:
                own = titles[cell.series], labels[cell.metric]
                rows.setdefault(part.name if several else ": ".join(own), []).append(cell)
    return rows


def _draw_row(axes: Axes, cells: Sequence[Cell], place: int, fitted: bool) -> None:
    """Points of a row, in the order of the cells from top to bottom, so that few hide others."""
    step = 2 * _HIGH / max(1, len(cells) - 1)
    heights = [place + (number * step - _HIGH if len(cells) > 1 else 0.0)
               for number in range(len(cells))]  # fmt: skip
    axes.plot([100 * cell.relative_error for cell in cells], heights, **_error_dots(fitted),
              zorder=2 if fitted else 3)  # fmt: skip


def _error_dots(fitted: bool) -> dict[str, Any]:
    return dots(GREY if fitted else colour(0), hollow=fitted) | {"markersize": 4.5}


def _scale_row_errors(axes: Axes, errors: Sequence[float]) -> None:
    axes.set_xscale("symlog", linthresh=_LINEAR)
    low, high = min(*errors, -_LINEAR), max(*errors, _LINEAR)
    axes.set_xlim(1.2 * low, 1.2 * high)
    axes.xaxis.set_major_locator(
        FixedLocator([tick for tick in _TICKS if 1.2 * low <= tick <= 1.2 * high])
    )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(PercentFormatter(decimals=0))
    axes.set_xlabel("predicted relative to measured")
