"""The figure of a dataset of scheduled transactions: commits over time, a panel for each cell."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isfinite

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from simrep.data.reproduce import DatasetResult
from simrep.data.timeline import Timeline
from simrep.measure.units import describe, duration, number
from simrep.printable import shorten
from simrep.show.plot.axes import Since, marks_of
from simrep.show.plot.events import draw_events
from simrep.show.plot.style import INK, PALETTE, Sheet, folded

__all__ = ["plot_timelines"]

_LETTER = 0.113  # inches of a character of a title
_COLUMNS, _MANY, _ROW = 2, 6, 2.8  # one more column for many panels; inches of a row
_WIDTH, _HEIGHT = 13.3, 7.5  # inches: a slide of 16 to 9
_LEAD_S = 10.0  # what is shown of the time before the transaction, at most
_STEPS = 250  # a finer curve would be a smear
_SHARE = 0.10  # half the height of a band, of its level
_BURST = 1.6  # what is higher over the highest level is cut off
_ROOM = 1.4  # height of the axes over the highest level: names of marks stand above the curve
_TOP = 0.97
_FAR_RIGHT = 0.7  # of the width
_BLUE, _RED, _GREEN, _PINK, _ORANGE, _SKY, _BLACK = PALETTE

Floats = NDArray[np.float64]


def plot_timelines(result: DatasetResult) -> Sheet:
    """Draw commits per second over simulated time, from the begin of the scheduled transaction.

    There is a panel for each cell; time and rate have the same scale in all of them.
    """
    lines = result.timelines
    columns = min(_COLUMNS + (len(lines) > _MANY), len(lines))
    rows = ceil(len(lines) / columns)
    height = max((_HEIGHT if rows > 1 else 0.6 * _HEIGHT), 1.4 + _ROW * rows)
    figure = Sheet(_WIDTH, height)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = list(grid.flat)
    measured = [_measured(result, line) for line in lines]
    step = ceil(max(len(_curve(line)[1]) for line in lines) / _STEPS)
    curves = [_curve(line, step) for line in lines]
    ends = [float(edges[-1]) for edges, _ in curves]
    ends += [1.02 * one.get("execution", 0.0) for one in measured]
    panels[0].set_xlim(min(float(edges[0]) for edges, _ in curves), max(ends))
    levels = [level for one in measured for level in (one.get("before"), one.get("during"))]
    tops = [float(rates.max(initial=0.0)) for _, rates in curves]
    panels[0].set_ylim(0, _ROOM * _highest(tops, [x for x in levels if x is not None]))
    panels[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    for axes, line, curve, own in zip(panels, lines, curves, measured, strict=False):
        letters = int(0.88 * _WIDTH / columns / _LETTER)
        axes.set_title(folded(shorten(_title(result, line), 2 * letters - 6), letters), pad=20.0)
        _panel(axes, line, curve, own)
        marks = marks_of(line.course.record, line.course.record.begin_s)
        width_in = 0.88 * _WIDTH / columns
        since = Since(line.course.record.begin_s, 1.0, "s")
        draw_events(
            axes, line.course.events, marks.items(), place=since, width_in=width_in, top=_TOP
        )
    for axes in panels[len(lines) :]:
        axes.set_axis_off()
    words = "simulated time since the transaction began (s)"
    for axes in panels[max(0, len(lines) - columns) : len(lines)]:
        axes.set_xlabel(folded(words, 60 if columns < 3 else 36))
        axes.tick_params(axis="x", labelbottom=True)
    for axes in grid[:, 0]:
        axes.set_ylabel("commits per second")
    _legend(figure, measured)
    figure.headline(result.dataset.definition.title)
    return figure


def _highest(tops: list[float], levels: list[float]) -> float:
    """What has to fit into the axes: all levels, but not the top of a short burst."""
    return min(max(*tops, *levels), _BURST * max(levels)) if levels else max(tops) or 1.0


def _measured(result: DatasetResult, line: Timeline) -> dict[str, float]:
    """What was measured in the cell of a timeline, by the name of its band."""
    return {
        band: cell.measured
        for band, column in result.dataset.definition.show.bands
        for cell in result.cells
        if (cell.metric, cell.series, cell.factors) == (column, line.series, line.factors)
    }


def _curve(line: Timeline, step: int = 1) -> tuple[Floats, Floats]:
    """Bounds and rates of so many intervals at a time; the begin of the transaction is 0."""
    course = line.course
    edges = course.edges_s - course.record.begin_s
    first = int(np.searchsorted(edges, -_LEAD_S - 1e-9))
    edges, rates = edges[first:], course.rate_tps[first:]
    starts = np.arange(0, len(rates), step)
    lengths = np.diff(edges)
    sums = np.add.reduceat(rates * lengths, starts) / np.add.reduceat(lengths, starts)
    return np.append(edges[starts], edges[-1]), sums


def _panel(
    axes: Axes, line: Timeline, curve: tuple[Floats, Floats], measured: Mapping[str, float]
) -> None:
    record = line.course.record
    axes.annotate(_simulated(line), (0.0, 1.0), xycoords="axes fraction", xytext=(0, 6),
                  textcoords="offset points", fontsize=9.0, color=_BLUE)  # fmt: skip
    edges, rates = curve
    before, during = measured.get("before"), measured.get("during")
    execution = measured.get("execution")
    if before is not None:
        _band(axes, edges[0], 0.0, before, _GREEN)
    executed = record.execution_s if execution is None else execution
    until = measured.get("until", executed)
    if during is not None and isfinite(until):
        _band(axes, 0.0, until, during, _ORANGE)
    axes.stairs(rates, edges, baseline=None, color=_BLUE, linewidth=1.4, zorder=3)
    if execution is not None:
        _bracket(axes, 0.0, execution, 0.11, f"measured {number(execution)} s")
    if stall := measured.get("stall"):
        began_s = record.stall_began_s - record.begin_s
        if not isfinite(began_s):
            began_s = executed if isfinite(executed) else 0.0
        axes.axvspan(began_s, began_s + stall, ymax=0.74, color=_PINK, alpha=0.22, linewidth=0)
        _bracket(axes, began_s, began_s + stall, 0.025, f"measured stall {number(stall)} s")


def _title(result: DatasetResult, line: Timeline) -> str:
    definition = result.dataset.definition
    called = definition.show.panels.get(str(line.factors[definition.show.x]))
    parts = [
        called if called and name == definition.show.x else _factor(name, line.factors[name])
        for name in definition.factors
    ]
    if len(definition.series) > 1:
        parts.insert(0, line.series)
    return ", ".join(parts)


def _factor(name: str, value: object) -> str:
    """Name, value and unit: fragment 10,000 bytes."""
    text = f"{value:,}" if isinstance(value, (int, float)) else str(value)
    what, _, unit = describe(name).partition(" (")
    return f"{what} {text} {unit.rstrip(')')}".rstrip()


def _simulated(line: Timeline) -> str:
    record = line.course.record
    if record.error:
        return f"simulated: {record.error}"
    stall = f"stall {duration(record.stall_s)}" if record.stall_s else "no stall"
    others = f"others {number(record.executing_tps)}/s"
    return f"simulated: {duration(record.execution_s)}, {others}, {stall}"


def _band(axes: Axes, start: float, end: float, level: float, shade: str) -> None:
    axes.fill_between(
        [start, end], (1 - _SHARE) * level, (1 + _SHARE) * level,
        color=shade, alpha=0.35, linewidth=0, zorder=2,
    )  # fmt: skip


def _bracket(axes: Axes, start: float, end: float, height: float, label: str) -> None:
    """An arrow with two heads at that fraction of the height, its label above."""
    place = axes.get_xaxis_transform()
    axes.annotate(
        "", (start, height), (end, height), xycoords=place, textcoords=place, zorder=5,
        arrowprops={"arrowstyle": "|-|, widthA=0.3, widthB=0.3", "color": INK, "shrinkA": 0,
                    "shrinkB": 0, "linewidth": 1.2},
    )  # fmt: skip
    low, high = axes.get_xlim()
    left = start > low + _FAR_RIGHT * (high - low)  # its label would reach over the edge
    axes.text(
        end if left else start, height + 0.012, f"{label} " if left else f" {label}",
        transform=place, ha="right" if left else "left", va="bottom", fontsize=9.0,
        color=INK, zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
    )  # fmt: skip


def _legend(figure: Sheet, measured: list[dict[str, float]]) -> None:
    known = {band for one in measured for band, value in one.items() if value}
    share = f"±{100 * _SHARE:.0f} %"
    kinds: list[Line2D | Patch] = [
        Line2D([], [], color=_BLUE, linewidth=1.6, label="simulated"),
        Line2D([], [], color=INK, linewidth=1.1, linestyle=(0, (2, 2)), label="its marks"),
    ]
    for band, when, shade in (("before", "before", _GREEN), ("during", "during it", _ORANGE)):
        if band in known:
            label = f"measured {when}, {share}"
            kinds.append(Patch(color=shade, alpha=0.35, linewidth=0, label=label))
    if "execution" in known:
        kinds.append(Line2D([], [], color=INK, linewidth=1.2, marker="|", markersize=7.0,
                            label="measured duration"))  # fmt: skip
    if "stall" in known:
        kinds.append(Patch(color=_PINK, alpha=0.22, linewidth=0, label="measured stall"))
    figure.legend(handles=kinds, loc="outside lower center", ncols=len(kinds))
