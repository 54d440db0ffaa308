"""The figure of a drill: the longest time without a write, fault by fault, setting by setting."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from simrep.errors import DrawError
from simrep.printable import shorten
from simrep.show.plot.style import (
    LIMIT,
    Sheet,
    colour,
    entry,
    logarithmic,
    marker,
    row_axis,
    value_ticks,
)
from simrep.show.text.drill import setting_name
from simrep.show.views import plot
from simrep.whatif.drill.result import Drill, DrillCell

__all__ = ["plot_drill"]

_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 180.0, 600.0, 1800.0)
_LEAST_S = 0.1  # where the axis begins: below it nobody speaks of an outage
_ROW, _LANE = 0.07, 0.065  # inches of a fault, and of each setting in it
_NAME = 34
_WIDTH = 11.0  # inches of the figure, and what an entry of the legend takes of it
_HANDLE, _CHARACTER, _LEGEND_ROW = 0.75, 0.08, 0.2
_LOST = "#B91C1C"


@plot.register(Drill)
def plot_drill(drill: Drill) -> Sheet:
    """Draw a row per fault: for each setting its median, and its range over replications.

    What never came back ends in an arrow; in red, how many transactions were lost.
    """
    names = [dict(labels) for labels in drill.settings]
    faults = list(dict.fromkeys(cell.fault.name for cell in drill.cells if cell.outcomes))
    if not faults:
        raise DrawError("no fault was played")
    rows = ceil(len(names) / _columns(_entries(drill, names)))
    height = 1.4 + rows * _LEGEND_ROW + len(faults) * (_ROW + _LANE * len(names))
    sheet = Sheet(_WIDTH, height)
    axes = sheet.subplots()
    end_s = _end_s(drill)
    for index, labels in enumerate(names):
        for cell in drill.cells:
            if cell.labels == labels and cell.outcomes:
                place = faults.index(cell.fault.name) + _lane(index, len(names))
                _draw(axes, cell, place, index, end_s)
    for row in range(1, len(faults), 2):
        axes.axhspan(row - 0.5, row + 0.5, color="#F3F4F6", zorder=0)
    row_axis(axes, faults)
    logarithmic(axes.xaxis)
    axes.set_xlabel("longest time without an answered write (s), logarithmic; hollow: below 1 s")
    axes.set_xlim(_LEAST_S / 1.15, end_s * 1.35)
    value_ticks(axes.xaxis, [tick for tick in _TICKS if tick <= end_s])
    if drill.demand is not None and drill.demand.rto_s:
        axes.axvline(max(_LEAST_S, drill.demand.rto_s), **LIMIT)
    _legend(sheet, drill, names)
    sheet.headline(
        f"{drill.name}: how long no write is answered"
        if drill.name
        else "How long no write is answered"
    )
    return sheet


def _end_s(drill: Drill) -> float:
    """Where arrows end: beyond the longest that is known, at most at the limit."""
    times = [value for cell in drill.cells for value in cell.values("rto_s")]
    known = [value for value in times if isfinite(value)]
    return max([60.0 if len(known) == len(times) else drill.limit_s, *known])


def _lane(index: int, count: int) -> float:
    """Where a setting is in the row of a fault."""
    return (index - (count - 1) / 2.0) * 0.8 / max(count, 2)


def _draw(axes: Axes, cell: DrillCell, place: float, index: int, end_s: float) -> None:
    values = [max(_LEAST_S, min(value, end_s)) for value in cell.values("rto_s")]
    middle = max(_LEAST_S, min(cell.median("rto_s"), end_s))
    shade = colour(index)
    axes.plot([min(values), max(values)], [place, place], color=shade, linewidth=2.0, zorder=2)
    hollow = cell.median("rto_s") < 1.0
    axes.plot(
        [middle], [place], linestyle="none", marker=marker(index), markersize=4.8, color=shade,
        markerfacecolor="white" if hollow else shade, zorder=3,
    )  # fmt: skip
    if cell.never("rto_s"):
        axes.annotate(
            "", (end_s * 1.25, place), (end_s, place),
            arrowprops={"arrowstyle": "->", "color": shade, "linewidth": 1.6, "shrinkA": 0},
        )  # fmt: skip
    lost = max(cell.values("lost"), default=0.0)
    if lost:
        axes.annotate(
            f"{lost:,.0f} lost", (max(values), place), (6, 0), textcoords="offset points",
            va="center", fontsize=8.0, color=_LOST, fontweight="bold", zorder=4,
        )  # fmt: skip


def _legend(sheet: Sheet, drill: Drill, names: Sequence[dict[str, object]]) -> None:
    handles = [
        Line2D([], [], color=colour(index), marker=marker(index), linewidth=2.0, markersize=4.8)
        for index in range(len(names))
    ]
    labels = _entries(drill, names)
    if len(names) > 1:
        sheet.legend(handles, labels, loc="outside lower center", ncols=_columns(labels))


def _entries(drill: Drill, names: Sequence[dict[str, object]]) -> list[str]:
    return [shorten(entry(setting_name(one) or drill.name or "the scenario"), _NAME)
            for one in names]  # fmt: skip


def _columns(labels: Sequence[str]) -> int:
    """How many of them have room beside each other."""
    longest = max(map(len, labels))
    return max(1, min(5, len(labels), int(_WIDTH / (_HANDLE + _CHARACTER * longest))))
