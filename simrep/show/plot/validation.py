"""The figure of a validation: how far every predicted figure is off, in a row for each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from simrep.data.cells import Cell
from simrep.data.scores import NEAR
from simrep.data.validation import Validation
from simrep.show.plot.style import GREY, Sheet, colour
from simrep.show.views import plot

__all__ = ["plot_errors"]

_LINEAR = 20.0  # percent; beyond it the axis is logarithmic
_TICKS = (-80, -40, -15, -5, 0, 5, 15, 40, 80, 200, 500)
_HIGH = 0.3  # how far points of a row lie from its middle, in rows


@plot.register(Validation)
def plot_errors(validation: Validation) -> Sheet:
    """Draw the relative error of every figure: rows are datasets, or of one dataset its systems.

    Raises
    ------
    ValueError
        When there is no relative error to draw.
    """
    rows = _rows(validation)
    if not rows:
        raise ValueError("a validation without relative errors cannot be drawn")
    figure = Sheet(10.0, 1.6 + 0.36 * len(rows))
    axes = figure.subplots()
    axes.axvspan(-100 * NEAR, 100 * NEAR, color=colour(0), alpha=0.10, linewidth=0, zorder=0)
    axes.axvline(0, color=GREY, linewidth=1.0, zorder=1)
    for place, cells in enumerate(rows.values()):
        for fitted in (True, False):
            _draw(axes, [cell for cell in cells if cell.used_in_fit is fitted], place, fitted)
    _scale(axes, [100 * cell.relative_error for cells in rows.values() for cell in cells])
    axes.set_yticks(range(len(rows)), labels=list(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    _legend(figure, fitted=any(cell.used_in_fit for cells in rows.values() for cell in cells))
    return figure


def _rows(validation: Validation) -> dict[str, list[Cell]]:
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


def _draw(axes: Axes, cells: Sequence[Cell], place: int, fitted: bool) -> None:
    """Points of a row, in the order of the cells from top to bottom, so that few hide others."""
    step = 2 * _HIGH / max(1, len(cells) - 1)
    heights = [place + (number * step - _HIGH if len(cells) > 1 else 0.0)
               for number in range(len(cells))]  # fmt: skip
    axes.plot(
        [100 * cell.relative_error for cell in cells],
        heights,
        linestyle="none",
        marker="o",
        markersize=4.5,
        color=GREY if fitted else colour(0),
        markerfacecolor="white" if fitted else colour(0),
        zorder=2 if fitted else 3,
    )


def _scale(axes: Axes, errors: Sequence[float]) -> None:
    axes.set_xscale("symlog", linthresh=_LINEAR)
    low, high = min(*errors, -_LINEAR), max(*errors, _LINEAR)
    axes.set_xlim(1.2 * low, 1.2 * high)
    axes.xaxis.set_major_locator(
        FixedLocator([tick for tick in _TICKS if 1.2 * low <= tick <= 1.2 * high])
    )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(PercentFormatter(decimals=0))
    axes.set_xlabel("predicted relative to measured")


def _legend(figure: Sheet, *, fitted: bool) -> None:
    style = {"linestyle": "none", "marker": "o", "markersize": 4.5}
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=colour(0), label="predicted", **style),  # type: ignore[arg-type]
        Patch(color=colour(0), alpha=0.10, linewidth=0, label=f"within {NEAR:.0%}"),
    ]
    if fitted:
        used = Line2D([], [], color=GREY, markerfacecolor="white", label="used in the fit",
                      **style)  # type: ignore[arg-type]  # fmt: skip
        handles.insert(1, used)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
