"""How far figures are off: the axis of relative errors, and the picture of a validation."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from simrep.data.cells import Cell
from simrep.data.scores import NEAR
from simrep.data.validation import Validation
from simrep.errors import DrawError
from simrep.printable import shorten
from simrep.show.plot.style import GREY, Sheet, colour, dots, row_axis
from simrep.show.views import plot

__all__ = ["error_axis", "plot_errors"]

_LINEAR = 20.0  # percent: from here on the axis is logarithmic, if errors go far beyond
_FAR = 120.0  # percent
_TICKS = (-80, -20, 0, 20, 200, 2000, 20000, 200000)
_LEAST = 5.0  # percent that the axis shows on both sides
_HIGH = 0.3  # how far points of a row lie from its middle, in rows
_WORDS = "simulated relative to measured"


def error_axis(
    panels: Sequence[Axes],
    axis: Literal["x", "y"],
    errors: Sequence[float],
    words: str = _WORDS,
    *,
    ends: Sequence[float] = (),
) -> None:
    """Scale one axis of all panels for relative errors in percent, with a line at none.

    Errors of the size of the figures themselves make it logarithmic; the label says so. The
    ``ends`` of intervals are shown as far as they do not dwarf the errors.
    """
    known = [error for error in errors if isfinite(error)]
    far = max(map(abs, known), default=0.0) > _FAR
    reach = max(3 * _LINEAR, 1.5 * max(map(abs, known), default=0.0))
    known += [end for end in ends if abs(end) <= reach]
    low, high = min([-_LEAST, *known]), max([_LEAST, *known])
    room = 0.08 * (high - low)
    for position, axes in enumerate(panels):
        along = axes.xaxis if axis == "x" else axes.yaxis
        set_scale = axes.set_xscale if axis == "x" else axes.set_yscale
        set_limits = axes.set_xlim if axis == "x" else axes.set_ylim
        (axes.axvline if axis == "x" else axes.axhline)(0, color=GREY, linewidth=1.0, zorder=1)
        if far:
            limits = 1.35 * min(low, -_LINEAR), 1.35 * max(high, _LINEAR)
            set_scale("symlog", linthresh=_LINEAR)
            set_limits(*limits)
            shown = [
                tick
                for tick in _TICKS
                if limits[0] <= tick <= limits[1] and (tick != -_LINEAR or limits[0] > -80)
            ]
            along.set_major_locator(FixedLocator(shown))
            along.set_minor_locator(NullLocator())
        else:
            set_limits(low - room, high + room)
            along.set_major_locator(MaxNLocator(4 if axis == "x" else 6, steps=[1, 2, 5, 10]))
        along.set_major_formatter(
            FuncFormatter(lambda value, _: f"{value:+g} %" if value else "0 %")
        )
        if axis == "x" or position == 0:
            beyond = f",\nlogarithmic beyond {_LINEAR:g} %" if far else ""
            along.set_label_text(f"{words}{beyond}")


@plot.register(Validation)
def plot_errors(validation: Validation) -> Sheet:
    """Draw the relative error of every figure: rows are datasets, or of one dataset its systems."""
    rows = _error_rows(validation)
    if not rows:
        raise DrawError("a validation without relative errors cannot be drawn")
    figure = Sheet(10.0, 1.6 + 0.36 * len(rows))
    axes = figure.subplots()
    axes.axvspan(-100 * NEAR, 100 * NEAR, color=colour(0), alpha=0.10, linewidth=0, zorder=0)
    for place, cells in enumerate(rows.values()):
        for fitted in (True, False):
            _draw_row(axes, [cell for cell in cells if cell.used_in_fit is fitted], place, fitted)
    every = [100 * cell.relative_error for own in rows.values() for cell in own]
    error_axis([axes], "x", every, "predicted relative to measured")
    row_axis(axes, [shorten(name, 60) for name in rows], room=0.4)
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
