"""The figure of a sweep: lines with bands, a heat map, or the points of a hypercube."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, isfinite, nan
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from simrep.errors import ScenarioError, nearest
from simrep.measure.units import describe, duration, number, unit_of
from simrep.printable import shorten
from simrep.show.plot.axes import path_label
from simrep.show.plot.style import (
    Sheet,
    colour,
    decade_ticks,
    entry,
    line_width,
    logarithmic,
    marker,
    plain_text,
    thousands,
    value_ticks,
)
from simrep.show.views import plot
from simrep.whatif.point import SweepPoint
from simrep.whatif.sweep import Kind, Sweep

__all__ = ["plot_sweep"]

_HEADROOM = 1.05  # markers at the highest value are whole
_FAR_APART = 20.0  # levels whose range is wider are on a logarithmic axis
_PANELS = 4
_LINES = 12
_LETTER = 0.09  # inches of a character of a tick
_NAME = 28  # characters of the name of a line
_SPARSE = 16  # with more ticks than that on an axis they would overlap
_DARK = 0.55  # from here on, the colours of a heat map ask for white text


@plot.register(Sweep)
def plot_sweep(sweep: Sweep, *, of: str | None = None, kind: Kind | None = None) -> Sheet:
    """Draw one figure of all points, of what the sweep is about if nothing else is asked for."""
    figure = sweep.about if of is None else of
    if figure not in sweep.figures:
        raise ScenarioError("of", f"the points have no {figure!r}", nearest(figure, sweep.figures))
    points = [point for point in sweep.points if isfinite(point.mean(figure))]
    if not points:
        raise ScenarioError("plot", f"no point has a {figure}")
    if kind == "heat":
        sheet = _heat(sweep, points, figure)
    elif _crossed(sweep, points):
        sheet = _lines(sweep, points, figure)
    else:
        sheet = _scatter(sweep, points, figure)
    sheet.headline(sweep.name)
    return sheet


def _levels(points: Sequence[SweepPoint], factor: str) -> list[Any]:
    """Levels in the order of the design; numbers from small to large."""
    levels = list({repr(point.labels[factor]): point.labels[factor] for point in points}.values())
    return sorted(levels) if all(map(_is_number, levels)) else levels


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _crossed(sweep: Sweep, points: Sequence[SweepPoint]) -> bool:
    """Whether levels meet in several points, as in a grid."""
    counts = [len(_levels(points, factor)) for factor in sweep.factors]
    return len(sweep.factors) == 1 or min(counts) * 2 <= len(points)


def _label(figure: str) -> str:
    """Of an axis with what is drawn of a figure."""
    owner, latency, which = figure.rpartition("latency_s.")
    if latency:  # of all, or of a node or class, whose name is its own
        return f"{owner}latency {which} (s)"
    return figure if "." in figure else describe(figure)


def _lines(sweep: Sweep, points: Sequence[SweepPoint], figure: str) -> Sheet:
    """The first numeric factor across, the next one as lines, another one as panels."""
    numeric = (name for name in sweep.factors if _places(points, name)[1])
    across = next(numeric, sweep.factors[0])
    others = [name for name in sweep.factors if name != across]
    if len(others) > 2:
        problem = f"{len(sweep.factors)} factors do not fit on lines"
        raise ScenarioError("plot", problem, "draw to_frame() yourself")
    by, facet = [*others, None, None][:2]
    facets = [None] if facet is None else _levels(points, facet)
    if len(facets) > _PANELS:
        raise ScenarioError("plot", f"{facet} has {len(facets)} levels, at most {_PANELS} fit")
    series = [None] if by is None else _levels(points, by)
    if len(series) > _LINES:
        if facet is None:
            return _heat(sweep, points, figure)
        raise ScenarioError("plot", f"{by} has {len(series)} levels, at most {_LINES} lines fit")
    sheet = Sheet(2.2 + 4.6 * len(facets) + 1.2 * (by is not None), 4.6)
    wide = _far_apart(points, across, figure)
    axes_of = sheet.subplots(1, len(facets), sharey=True, squeeze=False)[0]
    for axes, value in zip(axes_of, facets, strict=True):
        for index, one in enumerate(series):
            chosen = {name: level for name, level in ((by, one), (facet, value)) if name}
            width = line_width(index, len(series))
            _line(axes, _matching(points, chosen), across, figure, index, one, width)
        _across(axes, points, across, room_in=5.5 if facet is None else 4.0)
        if facet is not None:
            axes.set_title(shorten(f"{path_label(facet, sweep.factors)} {value}"))
    _up(axes_of[0], figure, log=wide)  # shared, and fixed from now on
    if by is not None:
        handles, labels = axes_of[-1].get_legend_handles_labels()
        labels = [shorten(label, _NAME) for label in labels]
        title = shorten(path_label(by, sweep.factors), _NAME)
        sheet.legend(handles, labels, title=title, loc="outside right upper", alignment="left")
    return sheet


def _far_apart(points: Sequence[SweepPoint], across: str, figure: str) -> bool:
    """Whether lines differ so much at the same place that the lower ones would lie at zero."""
    places: dict[str, list[float]] = {}
    for point in points:
        places.setdefault(repr(point.labels[across]), []).append(point.mean(figure))
    return all(min(own) > 0 for own in places.values()) and any(
        max(own) > _FAR_APART * min(own) for own in places.values()
    )


def _up(axes: Axes, figure: str, *, log: bool) -> None:
    if log:
        logarithmic(axes.yaxis, _label(figure))
        decade_ticks(axes.yaxis, *axes.get_ylim())
    else:
        axes.set_ylim(0, _HEADROOM * axes.get_ylim()[1])
        axes.set_ylabel(_label(figure))
        thousands(axes.yaxis)


def _matching(points: Sequence[SweepPoint], chosen: Mapping[str, Any]) -> list[SweepPoint]:
    return [p for p in points if all(p.labels[name] == value for name, value in chosen.items())]


def _line(
    axes: Axes,
    points: Sequence[SweepPoint],
    across: str,
    figure: str,
    index: int,
    label: Any,
    width: float,
) -> None:
    levels = _levels(points, across)
    ordered = sorted(points, key=lambda point: levels.index(point.labels[across]))
    x, numeric = _places(ordered, across)
    axes.plot(
        x, [point.mean(figure) for point in ordered], color=colour(index),
        marker=marker(index), label=None if label is None else entry(label),
        linestyle="-" if numeric else "none", linewidth=width,
    )  # fmt: skip
    bounds = [point.interval(figure) for point in ordered]
    if any(bounds):
        ends = [(nan, nan) if b is None else (b.low, b.high) for b in bounds]
        low, high = zip(*ends, strict=True)
        axes.fill_between(x, low, high, color=colour(index), alpha=0.18, linewidth=0)


def _places(points: Sequence[SweepPoint], factor: str) -> tuple[list[Any], bool]:
    """Of points on the axis of a factor: numbers, or names; and whether they are numbers."""
    labels = [point.labels[factor] for point in points]
    numeric = all(map(_is_number, labels))
    return labels if numeric else list(map(str, labels)), numeric


def _across(axes: Axes, points: Sequence[SweepPoint], factor: str, *, room_in: float = 5.5) -> None:
    """The axis of a factor: ticks at its levels, logarithmic if they are far apart."""
    words = shorten(path_label(factor, points[0].labels))
    axes.set_xlabel(words)
    levels = _levels(points, factor)
    numeric = all(map(_is_number, levels))
    texts = [plain_text(level) if numeric else shorten(str(level), _NAME) for level in levels]
    crowded = _LETTER * sum(len(text) + 2 for text in texts) > room_in
    far = numeric and levels[0] > 0 and levels[-1] > _FAR_APART * levels[0]
    if far:
        logarithmic(axes.xaxis, words)
    if not numeric:
        axes.xaxis.set_major_locator(FixedLocator(range(len(levels))))
        axes.xaxis.set_major_formatter(FixedFormatter(texts))
    elif len(levels) <= _SPARSE:
        value_ticks(axes.xaxis, [float(level) for level in levels])
    elif far:
        decade_ticks(axes.xaxis, levels[0], levels[-1], sparse_from=300.0)
        crowded = False
    else:
        thousands(axes.xaxis)
        crowded = False
    if crowded:
        axes.tick_params(axis="x", labelrotation=90, labelsize=9.0)


def _heat(sweep: Sweep, points: Sequence[SweepPoint], figure: str) -> Sheet:
    if len(sweep.factors) != 2:
        problem = f"a heat map has two factors, given {len(sweep.factors)}"
        raise ScenarioError("plot", problem, "draw lines")
    across, up = sweep.factors
    columns, rows = _levels(points, across), _levels(points, up)
    grid = np.full((len(rows), len(columns)), nan)
    for point in points:
        place = rows.index(point.labels[up]), columns.index(point.labels[across])
        grid[place] = point.mean(figure)
    wide = min(14.0, 3.4 + 0.8 * len(columns))
    letters = max(len(shorten(str(level), _NAME)) for level in columns)
    crowded = _LETTER * (letters + 2) * len(columns) > wide - 3.0
    high = min(11.0, 2.2 + 0.5 * len(rows)) + crowded * _LETTER * letters
    sheet = Sheet(max(wide, 6.0) if crowded else wide, high)
    axes = sheet.subplots()
    axes.grid(visible=False)
    image = axes.imshow(grid, origin="lower", aspect="auto", cmap="Blues")
    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    for (row, column), value in np.ndenumerate(grid):
        if isfinite(value):
            dark = high > low and (value - low) / (high - low) > _DARK
            text = duration(value) if unit_of(figure) == "s" else number(value)
            axes.text(column, row, text, ha="center", va="center", fontsize=8.5,
                      color="white" if dark else "black")  # fmt: skip
    for axis, levels, factor in ((axes.xaxis, columns, across), (axes.yaxis, rows, up)):
        axis.set_major_locator(FixedLocator(range(len(levels))))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FixedFormatter([shorten(str(level), _NAME) for level in levels]))
        axis.set_label_text(shorten(path_label(factor, sweep.factors), _NAME))
    if crowded:
        axes.tick_params(axis="x", labelrotation=90)
    sheet.colorbar(image, ax=axes, label=_label(figure))
    return sheet


def _scatter(sweep: Sweep, points: Sequence[SweepPoint], figure: str) -> Sheet:
    """A panel for every factor: what all points have there, whatever the others are."""
    if len(sweep.factors) > 2 * _PANELS:
        raise ScenarioError("plot", f"{len(sweep.factors)} factors do not fit on one figure")
    count = len(sweep.factors)
    wide = min(count, _PANELS)
    high = ceil(count / wide)
    sheet = Sheet(1.2 + 3.6 * wide, 0.6 + 3.6 * high)
    panels = sheet.subplots(high, wide, sharey=True, squeeze=False).flatten()
    means = [point.mean(figure) for point in points]
    for axes, factor in zip(panels, sweep.factors, strict=False):
        x, _ = _places(points, factor)
        axes.plot(x, means, "o", color=colour(0), markeredgecolor="white", alpha=0.8)
        _across(axes, points, factor, room_in=2.9)
    for axes in panels[count:]:
        axes.set_visible(False)
    for axes in panels[:count:wide]:
        _up(axes, figure, log=False)
    return sheet
