"""Figures of runs in which a node is hit: measured runs on the range of simulated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isfinite
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from simrep.data.failures import FailureFigure
from simrep.errors import DrawError
from simrep.measure.units import describe
from simrep.show.plot.style import GREY, Sheet, colour, dots, save, styled

__all__ = ["plot_failures"]

_COLUMNS = 2
_WIDTH = 13.3  # inches: that of a slide


def plot_failures(
    figures: Sequence[FailureFigure],
    path: str | Path | None = None,
    *,
    title: str = "",
    titles: Mapping[str, str] | None = None,
) -> Sheet:
    """Draw the times that timers decide, a panel for each cell. None at all are a ValueError."""
    drawn = [one for one in figures if one.unit == "s" and one.decided_by == "timers"]
    if not drawn:
        raise DrawError("a dataset without figures cannot be drawn")
    cells = [(key, list(own)) for key, own in groupby(drawn, lambda f: (f.series, f.factors))]
    rows = [cells[place : place + _COLUMNS] for place in range(0, len(cells), _COLUMNS)]
    heights = [3 + max(len(own) for _, own in row) for row in rows]
    with styled():
        figure = Sheet(_WIDTH, 1.4 + 0.2 * sum(heights))
        panels = figure.subplots(
            len(rows), _COLUMNS, squeeze=False, height_ratios=heights, sharex=True
        )
        for axes in panels.flat[len(cells) :]:
            axes.set_visible(False)
        for axes, ((series, factors), own) in zip(panels.flat, cells, strict=False):
            _draw(axes, own)
            words = ", ".join([series, *map(str, factors.values())])
            about = (titles or {}).get(series)
            axes.set_title(f"{words}\n{about}" if about else words, fontsize=9.0)
            axes.set_xlabel("s (logarithmic beyond 0.1)")
            # Tenths and tens of seconds beside each other, and zero.
            axes.set_xscale("symlog", linthresh=0.1, linscale=0.4)
            axes.tick_params(labelbottom=True)
        figure.legend(handles=_handles(), loc="outside lower center", ncols=4)
        figure.headline(title)
        return save(figure, path)


def _draw(axes: Axes, figures: Sequence[FailureFigure]) -> None:
    for position, one in enumerate(figures):
        axes.plot([one.low, one.high], [position, position], color=GREY, linewidth=5.0, alpha=0.5,
                  solid_capstyle="butt", zorder=1)  # fmt: skip
        if isfinite(one.predicted):
            axes.plot([one.predicted], [position], color=GREY, marker="|", markersize=9.0,
                      markeredgewidth=2.0, zorder=2)  # fmt: skip
        shade = colour(0) if one.right else colour(1)
        axes.plot(one.measured, [position] * len(one.measured), **dots(shade, hollow=not one.right),
                  zorder=3)  # fmt: skip
    labels = [describe(one.metric.removesuffix("_s")) for one in figures]
    axes.set_yticks(range(len(figures)), labels, fontsize=7.5)
    axes.set_ylim(len(figures) - 0.4, -0.6)


def _handles() -> list[Line2D]:
    return [
        Line2D([], [], color=GREY, linewidth=5.0, alpha=0.5, label="99 % of the simulated runs"),
        Line2D([], [], color=GREY, linestyle="none", marker="|", markersize=9.0,
               markeredgewidth=2.0, label="their median"),
        Line2D([], [], label="measured", **dots(colour(0), hollow=False)),
        Line2D([], [], label="measured, and missed", **dots(colour(1), hollow=True)),
    ]  # fmt: skip
