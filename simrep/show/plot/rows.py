"""Rows of a dataset: each cell with its measurement, its simulation and how far that is off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from simrep.data.cells import Cell
from simrep.measure.units import describe
from simrep.printable import shorten
from simrep.show.plot.arrangement import SERIES, Arrangement, by_size, figures_span, value_of
from simrep.show.plot.errors import error_axis
from simrep.show.plot.style import GREY, INK, Sheet, colour, dots, figure_scale, folded

__all__ = ["draw_rows", "rows_height", "rows_width"]

_HIGH = 0.215  # inches of a row
_AROUND = 1.9  # inches of axes and legends
_ONE, _TWO = 30, 76  # rows that one column and two columns of a page hold
_SIZE = 8.5  # points of the texts of rows
_LETTER = 0.068  # inches of a character of them
_LONGEST = 32  # characters of the name of a row; without other columns twice as many
_WIDTH, _PANELS = 6.9, (2.6, 2.0)  # inches of a column, and of its panels
_BAND = "#EEF1F5"
_ABREAST, _ALONE = 88, 112  # characters of a row of heads, and of factors alone
_BOLD = 1.15  # of those a bold one takes
_BETWEEN = " · "


@dataclass(frozen=True)
class _Row:
    """A cell with its name, or the head of a block with what is said at its right."""

    name: str
    cell: Cell | None = None
    aside: str = ""


def rows_height(arrangement: Arrangement) -> float:
    """Height in inches of the picture of all rows."""
    return _AROUND + _HIGH * max(map(len, _columns(arrangement)), default=0)


def rows_width(arrangement: Arrangement) -> float:
    """Width in inches likewise."""
    count = len(_columns(arrangement))
    return 11.0 if count == 1 else _WIDTH * count


def draw_rows(figure: Sheet | SubFigure, arrangement: Arrangement, words: str) -> None:
    """Draw all rows in one column or more, with the same scales; ``words`` name the figure."""
    columns = _columns(arrangement)
    high = max(map(len, columns))
    cells = [cell for own in arrangement.rows.values() for cell in own]
    errors = [100 * cell.relative_error for cell in cells if isfinite(cell.relative_error)]
    longest = max(len(row.name) for rows in columns for row in rows if row.cell)
    widths = (0.2 + _LETTER * longest, *_PANELS[: 2 if errors else 1])
    each = len(widths)
    grid = figure.subplots(1, each * len(columns), width_ratios=widths * len(columns),
                           squeeze=False, gridspec_kw={"wspace": 0.0})[0]  # fmt: skip
    for number, rows in enumerate(columns):
        names, *panels = grid[each * number : each * (number + 1)]
        for axes in (names, *panels):
            axes.set_ylim(high - 0.4, -0.6)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
        names.set_xlim(0.0, 1.0)
        names.set_xticks([])
        names.spines["bottom"].set_visible(False)
        names.set_zorder(2)  # heads reach over the panels
        names.patch.set_visible(False)
        for place, row in enumerate(rows):
            _draw(names, panels, place, row)
    _scale(grid[1::each], cells, words)
    if errors:
        ends = [
            100 * (end / c.measured - 1) for c in cells for end in c.interval or () if c.measured
        ]
        error_axis(grid[2::each], "x", errors, "simulated relative\nto measured", ends=ends)
        for axes in grid[2::each]:
            axes.tick_params(labelsize=_SIZE)
            axes.xaxis.label.set_fontsize(9.5)
    _legend(figure, cells)


def _columns(arrangement: Arrangement) -> list[list[_Row]]:
    """Rows from top to bottom, split into columns of about the same height."""
    total = sum(len(own) for own in arrangement.rows.values())
    heads = len(arrangement.rows)
    count = 1 if total + heads <= _ONE else 2 if total + heads <= _TWO else 3
    most = ceil((total + heads) / count) + (count > 1)
    longest = _LONGEST * (2 if count == 1 else 1)
    columns: list[list[_Row]] = [[]]
    told = ""
    for own in arrangement.rows.values():
        cells = sorted(own, key=lambda c: by_size(value_of(c, name) for name in arrangement.row))
        varied = [n for n in arrangement.row if len({str(value_of(cell, n)) for cell in cells}) > 1]
        head = _head(arrangement, cells, varied)
        for position, cell in enumerate(cells):
            full = len(columns[-1]) >= most - (2 if position == 0 else 0)
            if full and len(columns) < count:
                columns.append([])
                told = ""
            if position == 0 or not columns[-1]:
                title = f"{head.name}, continued" if position else head.name
                columns[-1] += _heads(title, "" if head.aside == told else head.aside)
                told = head.aside
            columns[-1].append(_Row(shorten(_name(arrangement, cell, varied), longest), cell))
    return columns


def _head(arrangement: Arrangement, cells: Sequence[Cell], varied: Sequence[str]) -> _Row:
    """The values that all cells of a block share, and the factors that tell them apart."""
    same = [n for n in arrangement.row if n not in varied and value_of(cells[0], n) != ""]
    names = (*arrangement.block, *same)
    title = arrangement.title(names, tuple(value_of(cells[0], name) for name in names))
    return _Row(title, aside=f"rows: {_BETWEEN.join(map(describe, varied))}" if varied else "")


def _heads(title: str, aside: str) -> list[_Row]:
    """In one row, or in two if that is too narrow."""
    if not title or not aside or _BOLD * len(title) + len(aside) < _ABREAST:
        return [_Row(title, aside=aside)] if title else []
    return [_Row(title), _Row("", aside=aside)]


def _name(arrangement: Arrangement, cell: Cell, varied: Sequence[str]) -> str:
    """Of a row: the values of the factors that the head names."""
    if not varied:
        return "" if arrangement.block else arrangement.title((SERIES,), (cell.series,))
    if not arrangement.block:
        return arrangement.title(varied, tuple(value_of(cell, name) for name in varied))
    title = arrangement.titles.get(cell.series, cell.series)
    values = [title if name == SERIES else value_of(cell, name) for name in varied]
    return _BETWEEN.join(
        f"{value:,.10g}" if isinstance(value, (int, float)) else str(value) or "-"
        for value in values
    )


def _draw(names: Axes, panels: Sequence[Axes], place: int, row: _Row) -> None:
    if row.cell is None:
        for axes in (names, *panels):  # each also below what is between it and the one before
            left, clip = (0.0, True) if axes is names else (-0.2, False)
            axes.axhspan(
                place - 0.5, place + 0.5, left, color=_BAND, linewidth=0, zorder=0, clip_on=clip
            ).set_in_layout(False)
        style: dict[str, Any] = {"fontsize": _SIZE, "va": "center", "clip_on": False, "zorder": 5}
        words = names.text(0.0, place, shorten(row.name, 72), fontweight="bold", **style)
        # In a row of its own it begins where the names of the rows are, else it is at the right.
        axes, x, align, room = (
            (panels[-1], 1.0, "right", _ABREAST) if row.name else (names, 0.0, "left", _ALONE)
        )
        aside = names.text(x, place, shorten(row.aside, room), ha=align, color=GREY,
                           transform=axes.get_yaxis_transform(), **style)  # fmt: skip
        for text in (words, aside):
            text.set_in_layout(False)
        return
    cell = row.cell
    names.text(0.98, place, row.name, ha="right", va="center", fontsize=_SIZE)
    _simulated(panels[0], place, cell.predicted, cell.interval, cell.used_in_fit)
    panels[0].plot([cell.measured], [place], **_measured(cell.used_in_fit))
    if len(panels) > 1 and isfinite(cell.relative_error):
        span = cell.interval
        around = None if span is None else tuple(100 * (end / cell.measured - 1) for end in span)
        _simulated(panels[1], place, 100 * cell.relative_error, around, cell.used_in_fit)
    if not isfinite(cell.predicted):
        panels[0].annotate("nothing simulated", (cell.measured, place), xytext=(6, 0),
                           textcoords="offset points", va="center", fontsize=7.5,
                           color=GREY)  # fmt: skip


def _simulated(axes: Axes, place: int, value: float, span: Any, fitted: bool) -> None:
    shade = GREY if fitted else colour(0)
    if span is not None:
        axes.plot(span, [place, place], **_BAR, color=shade, zorder=2)
    axes.plot([value], [place], **_TICK, color=shade, zorder=3)


_BAR: dict[str, Any] = {"linewidth": 6.5, "alpha": 0.28, "solid_capstyle": "butt"}
_TICK: dict[str, Any] = {"linestyle": "none", "marker": "|", "markersize": 9.0,
                         "markeredgewidth": 2.4}  # fmt: skip


def _measured(fitted: bool) -> dict[str, Any]:
    marker = dots(INK, hollow=fitted, marker="o") | {"markersize": 4.5, "zorder": 4}
    return marker | {"markeredgecolor": INK if fitted else "white", "markeredgewidth": 0.9}


def _scale(panels: Sequence[Axes], cells: Sequence[Cell], words: str) -> None:
    low, high = figures_span(cells)
    sparse_from = 300.0 if len(panels) == 1 else 150.0
    for axes in panels:
        figure_scale(axes.xaxis, low, high, folded(words, 30), sparse_from=sparse_from)
        if axes.get_xscale() != "log":
            axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.tick_params(labelsize=_SIZE)
        axes.xaxis.label.set_fontsize(9.5)


def _legend(figure: Sheet | SubFigure, cells: Sequence[Cell]) -> None:
    handles: list[Any] = []
    for fitted, label in ((False, "measured"), (True, "measured, used in fit")):
        if any(cell.used_in_fit is fitted for cell in cells):
            handles.append(Line2D([], [], label=label, **_measured(fitted) | {"markersize": 6.5}))
    handles.append(Line2D([], [], label="simulated", color=colour(0), **_TICK))
    if any(cell.interval is not None for cell in cells):
        handles.append(Patch(color=colour(0), alpha=0.28, label="interval of simulation"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
