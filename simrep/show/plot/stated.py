"""Figures that a dataset states of several cells: ranges as bars, simulated figures as points."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from simrep.data.derived import DerivedRow
from simrep.errors import DrawError
from simrep.measure.units import describe
from simrep.show.plot.style import GREY, Sheet, colour, dots, save, styled

__all__ = ["plot_derived"]

# Ends have a mark, for a range may be a single value.
_STATED: dict[str, Any] = {
    "color": GREY, "linewidth": 6.0, "alpha": 0.6, "solid_capstyle": "butt", "marker": "|",
    "markersize": 13.0, "markeredgewidth": 2.5,
}  # fmt: skip


def plot_derived(
    rows: Sequence[DerivedRow], path: str | Path | None = None, *, title: str = ""
) -> Sheet:
    """Draw what rows state of several cells, with a panel for ratios and one for each other unit.

    Ranges are bars and simulated figures are points. No rows are a ValueError.
    """
    if not rows:
        raise DrawError("a dataset without rows cannot be drawn")
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
