"""Many cells of a dataset: simulated over measured, a point for each."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from simrep.data.cells import Cell
from simrep.data.scores import NEAR
from simrep.errors import DrawError
from simrep.printable import shorten
from simrep.show.plot.arrangement import Arrangement
from simrep.show.plot.style import GREY, Sheet, colour, dots, figure_scale, folded

__all__ = ["plot_cloud"]

_MOST_PANELS, _ABREAST = 8, 4
_WIDE = 32  # characters of a label


def plot_cloud(arrangement: Arrangement, words: str) -> Sheet:
    """Draw a panel for each series; with too many series, one for all. Both axes are the same."""
    series: dict[str, list[Cell]] = {}
    for cell in arrangement.cloud:
        if isfinite(cell.measured) and isfinite(cell.predicted):
            series.setdefault(cell.series, []).append(cell)
    if not series:
        raise DrawError("a dataset without simulated figures cannot be drawn")
    if len(series) > _MOST_PANELS:
        series = {"": [cell for own in series.values() for cell in own]}
    wide = min(_ABREAST, len(series))
    high = ceil(len(series) / wide)
    figure = Sheet(max(6.5, 3.3 * wide), 1.7 + (5.0 if len(series) == 1 else 3.2 * high))
    grid = figure.subplots(high, wide, sharex=True, sharey=True, squeeze=False)
    drawn = [each for own in series.values() for c in own for each in (c.measured, c.predicted)]
    for axes, (name, cells) in zip(grid.flat, series.items(), strict=False):
        _panel(axes, cells, min(drawn), max(drawn))
        axes.set_title(shorten(arrangement.titles.get(name, name), _WIDE - 6))
    for axes in list(grid.flat)[len(series) :]:
        axes.set_axis_off()
    for axis in (grid.flat[0].xaxis, grid.flat[0].yaxis):
        figure_scale(axis, min(drawn), max(drawn), sparse_from=300.0)
    for axes in list(grid.flat)[max(0, len(series) - wide) : len(series)]:
        axes.tick_params(axis="x", labelbottom=True)
        axes.set_xlabel(folded(_words("measured", words, axes), _WIDE))
    for axes in grid[:, 0]:
        axes.set_ylabel(folded(_words("simulated", words, axes), _WIDE))
    _legend(figure, arrangement.cloud)
    return figure


def _panel(axes: Axes, cells: Sequence[Cell], low: float, high: float) -> None:
    ends = [min(low, 0.0) if low <= 0 else low / 2, high * 2]
    axes.fill_between(ends, [(1 - NEAR) * end for end in ends], [(1 + NEAR) * end for end in ends],
                      color=GREY, alpha=0.15, linewidth=0, zorder=0)  # fmt: skip
    axes.plot(ends, ends, color=GREY, linewidth=1.0, zorder=1)
    for fitted in (True, False):
        own = [cell for cell in cells if cell.used_in_fit is fitted]
        for cell in own:
            if cell.interval is not None:
                axes.plot([cell.measured] * 2, cell.interval, color=colour(0), alpha=0.25,
                          linewidth=1.2, zorder=2)  # fmt: skip
        axes.plot([c.measured for c in own], [c.predicted for c in own], markersize=4.5, alpha=0.8,
                  zorder=3, **dots(GREY if fitted else colour(0), hollow=fitted))  # fmt: skip


def _words(kind: str, words: str, axes: Axes) -> str:
    return f"{kind} {words}{', logarithmic' if axes.get_xscale() == 'log' else ''}"


def _legend(figure: Sheet, cells: Sequence[Cell]) -> None:
    handles: list[Line2D | Patch] = [
        Line2D([], [], label=label, **dots(GREY if fitted else colour(0), hollow=fitted))
        for fitted, label in ((False, "predicted"), (True, "used in the fit"))
        if any(cell.used_in_fit is fitted for cell in cells)
    ]
    if any(cell.interval is not None for cell in cells):
        handles.append(Line2D([], [], color=colour(0), alpha=0.4, label="interval of simulation"))
    handles.append(Patch(color=GREY, alpha=0.15, label=f"within {NEAR:.0%}"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
