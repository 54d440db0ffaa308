"""Curves of a dataset: measured points and simulated lines, panels with the same scales."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, isfinite
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter
from matplotlib.transforms import ScaledTranslation

from simrep.data.cells import Cell
from simrep.measure.units import describe, number
from simrep.printable import shorten
from simrep.show.plot.arrangement import Arrangement, Key, by_size, figures_span, value_of
from simrep.show.plot.errors import error_axis
from simrep.show.plot.style import (
    GREY,
    Sheet,
    colour,
    dots,
    entry,
    figure_scale,
    folded,
    line_width,
    logarithmic,
    marker,
    plain_text,
    value_ticks,
)  # fmt: skip

__all__ = ["curves_height", "draw_curves"]

_ABREAST = 4  # panels in a row, each with its errors below
_LEVELS_APART = 8.0  # likewise levels of a factor
_NEAR = 0.03  # of the height of the axes: points that are nearer stand beside each other
_BESIDE = 4.0  # points
_LEGEND = 30  # characters
_WIDE = 11.8  # inches of all panels and the legend at their side
_LETTER, _BOLD = 0.083, 0.116  # inches of a character of labels and of titles


@dataclass(frozen=True)
class _Across:
    """The axis of a factor: linear, logarithmic, or its levels beside each other."""

    name: str
    levels: tuple[float, ...]

    @classmethod
    def of(cls, name: str, cells: Iterable[Cell]) -> _Across:
        return cls(name, tuple(sorted({float(value_of(cell, name)) for cell in cells})))

    @property
    def far(self) -> bool:
        """Whether levels are of different orders of magnitude."""
        above = [abs(level) for level in self.levels if level]
        return bool(above) and max(above) > _LEVELS_APART * min(above)

    @property
    def log(self) -> bool:
        """Whether the axis is logarithmic."""
        return self.far and self.levels[0] > 0

    def __call__(self, cell: Cell) -> float:
        """The place of a cell."""
        level = float(value_of(cell, self.name))
        return float(self.levels.index(level)) if self.far and not self.log else level

    def scale(self, panels: Sequence[Axes], bottom: Sequence[Axes], room_in: float) -> None:
        """Scale all panels; the lowest ones have the label."""
        even = self.far and not self.log
        words = f"{describe(self.name)}{', evenly spaced' if even else ''}"
        texts = [plain_text(level) for level in self.levels]
        crowded = _LETTER * sum(len(text) + 2 for text in texts) > room_in
        for axes in panels:
            label = words if axes in bottom else ""
            if self.log:
                logarithmic(axes.xaxis, label)
            elif label:
                axes.set_xlabel(label)
            value_ticks(axes.xaxis, list(range(len(texts)) if even else self.levels))
            if even:
                axes.xaxis.set_major_formatter(FixedFormatter(texts))
            if crowded:
                axes.tick_params(axis="x", labelrotation=90, labelsize=8.5)


def curves_height(count: int) -> float:
    """Height in inches of the picture of so many panels."""
    return 5.4 if count == 1 else 6.9


def draw_curves(figure: Sheet | SubFigure, arrangement: Arrangement, words: str) -> None:
    """Draw a panel for each value of the factors of panels; ``words`` name the figure."""
    panels = dict(sorted(arrangement.curves.items(), key=lambda item: by_size(item[0])))
    lines = sorted({name for own in panels.values() for name in own}, key=by_size)
    count = len(panels)
    every = [cell for own in panels.values() for cells in own.values() for cell in cells]
    errors = [e for e in map(_error, every) if isfinite(e)] if count <= _ABREAST else []
    if count == 1 and errors:
        grid = figure.subplots(1, 2, width_ratios=(1.5, 1.0), squeeze=False, sharex=True)
        upper, lower = [grid[0, 0]], [grid[0, 1]]
    elif errors:
        grid = figure.subplots(2, count, sharex=True, sharey="row", height_ratios=(1.6, 1.0))
        upper, lower = list(grid[0]), list(grid[1])
    else:
        high = 1 if count <= _ABREAST else 2
        grid = figure.subplots(high, ceil(count / high), sharex=True, sharey=True, squeeze=False)
        upper, lower = list(grid.flat), []
    for axes in upper[count:]:
        axes.set_axis_off()
    across = _Across.of(arrangement.x, every)
    wide = len(grid[0])
    labels = [shorten(arrangement.title(arrangement.line, name), _LEGEND) for name in lines]
    room_in = (_WIDE - 1.15 * _LETTER * max(map(len, labels))) / wide
    words = folded(words, 36)
    _scale(upper, every, words if count <= _ABREAST else "", 1 if count == 1 else wide)
    if count > _ABREAST:
        far = upper[0].get_yscale() == "log"
        figure.supylabel(f"{words}, logarithmic" if far else words, fontsize=11.0)
    error_axis(
        lower,
        "y",
        [100 * cell.relative_error for cell in every],
        "simulated relative to measured" if count == 1 else "simulated relative\nto measured",
    )
    for axes, (key, own) in zip(upper, panels.items(), strict=False):
        aside = _aside(axes, across, own)
        for name, cells in own.items():
            index = lines.index(name)
            _line(axes, across, cells, index, alone=len(own) == 1)
            _marked(axes, across, cells, index, aside.get(name, 0.0), _measured)
        title = arrangement.title(arrangement.panel, key)
        letters = int(room_in / _BOLD)
        _title(axes, folded(shorten(title, 3 * letters - 6), letters), own.values())
    for axes, own in zip(lower, panels.values(), strict=False):
        for name, cells in own.items():
            _errors(axes, across, cells, lines.index(name))
    bottom = [*upper, *lower] if count == 1 else _lowest(grid, upper[:count], lower)
    across.scale([*upper, *lower], bottom, room_in)
    _legends(figure, labels, every)


def _lowest(grid: Any, upper: Sequence[Axes], lower: Sequence[Axes]) -> list[Axes]:
    """The lowest axes of each column that hold anything."""
    wide = grid.shape[1]
    if lower or len(grid) == 1:
        return list(grid[-1])
    for axes in upper[-wide:]:  # also those with nothing below them
        axes.tick_params(axis="x", labelbottom=True)
    return list(upper[-wide:])


def _title(axes: Axes, words: str, curves: Iterable[Sequence[Cell]]) -> None:
    """What the panel shows, and how far the simulation is off there."""
    errors = [abs(cell.relative_error) for own in curves for cell in own if not cell.used_in_fit]
    errors = [100 * error for error in errors if isfinite(error)]
    said = "all used in fit"
    if errors:
        said = f"median error {number(median(errors), 2)} %, largest {number(max(errors), 2)} %"
    axes.set_title(words, pad=20.0)
    axes.annotate(said, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 6),
                  textcoords="offset points", fontsize=9.0, color=GREY)  # fmt: skip


def _aside(axes: Axes, across: _Across, curves: Mapping[Key, Sequence[Cell]]) -> dict[Key, float]:
    """How far beside their place points of each curve are drawn, if some would cover others."""
    to_axes = axes.transScale + axes.transLimits
    heights: dict[float, list[float]] = {}
    for cell in (cell for own in curves.values() for cell in own):
        place = across(cell)
        heights.setdefault(place, []).append(to_axes.transform((place, cell.measured))[1])
    steps = (b - a for own in heights.values() for a, b in pairwise(sorted(own)))
    if all(step > _NEAR for step in steps):
        return {}
    middle = (len(curves) - 1) / 2
    return {
        name: _BESIDE * (place - middle) for place, name in enumerate(sorted(curves, key=by_size))
    }


def _line(axes: Axes, across: _Across, cells: Sequence[Cell], index: int, *, alone: bool) -> None:
    shade, width = colour(index), line_width(index, 1 if alone else 2)
    places = [across(cell) for cell in cells]
    axes.plot(places, [cell.predicted for cell in cells], color=shade, linewidth=width,
              zorder=2 + 0.01 * index)  # fmt: skip
    banded = [(at, *c.interval) for at, c in zip(places, cells, strict=True) if c.interval]
    if banded:
        at, low, high = zip(*banded, strict=True)
        axes.fill_between(at, low, high, color=shade, alpha=0.18, linewidth=0, zorder=1)


def _errors(axes: Axes, across: _Across, cells: Sequence[Cell], index: int) -> None:
    axes.plot([across(cell) for cell in cells], list(map(_error, cells)),
              color=colour(index), linewidth=1.0, alpha=0.6, zorder=2)  # fmt: skip
    _marked(axes, across, cells, index, 0.0, _error)


def _measured(cell: Cell) -> float:
    return cell.measured


def _error(cell: Cell) -> float:
    return 100 * cell.relative_error


def _marked(
    axes: Axes, across: _Across, cells: Sequence[Cell], index: int, aside: float,
    figure: Callable[[Cell], float],
) -> None:  # fmt: skip
    moved = axes.transData + ScaledTranslation(aside / 72.0, 0.0, axes.figure.dpi_scale_trans)
    for fitted in (False, True):
        own = [(across(c), figure(c)) for c in cells if c.used_in_fit is fitted]
        if own:
            marker = _marker(index, fitted, colour(index))
            axes.plot(*zip(*own, strict=True), **marker, transform=moved)


def _marker(index: int, fitted: bool, shade: str) -> dict[str, Any]:
    """Full for a cell the model has not seen, hollow for one it was fitted to."""
    edge, width, size = (shade, 1.6, 6.5) if fitted else ("white", 0.8, 7.5)
    edges = {"markeredgecolor": edge, "markeredgewidth": width, "markersize": size, "zorder": 3}
    return dots(shade, hollow=fitted, marker=marker(index)) | edges


def _scale(panels: Sequence[Axes], cells: Sequence[Cell], words: str, first: int) -> None:
    """One scale for all panels; each first one of a row has the label."""
    low, high = figures_span(cells)
    for position, axes in enumerate(panels):
        figure_scale(axes.yaxis, low, high, words if position % first == 0 else "")


def _legends(figure: Sheet | SubFigure, labels: Sequence[str], cells: Sequence[Cell]) -> None:
    """What colours mean, beside the axes, and what points, lines and bands mean, below."""
    if len(labels) > 1:
        colours = [
            Line2D([], [], color=colour(i), marker=marker(i),
                   linewidth=line_width(i, len(labels)), markeredgecolor="white", markersize=8.0,
                   label=entry(label))
            for i, label in enumerate(labels)
        ]  # fmt: skip
        # Largest first: in most datasets that is the order of the lines, from the top.
        figure.legend(handles=colours[::-1], loc="outside right upper")
    kinds: list[Line2D | Patch] = [
        Line2D([], [], label=label, **_marker(0, fitted, GREY))
        for fitted, label in ((False, "measured"), (True, "measured, used in fit"))
        if any(cell.used_in_fit is fitted for cell in cells)
    ]
    kinds.append(Line2D([], [], color=GREY, label="simulated"))
    if any(cell.interval is not None for cell in cells):
        kinds.append(Patch(color=GREY, alpha=0.22, linewidth=0, label="interval of simulation"))
    figure.legend(handles=kinds, loc="outside lower center", ncols=len(kinds))
