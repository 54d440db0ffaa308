"""The figure of latency breakdowns: one bar per result, one colour per stage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes

from simrep.measure.breakdown import Breakdown
from simrep.measure.units import duration
from simrep.show.plot.stages import STAGE_COLOURS, stage_hatch
from simrep.show.plot.style import Sheet, save, styled

__all__ = ["draw_breakdowns", "plot_breakdowns"]

_LEAST_WIDTH = 0.075  # of the axis, for a bar to hold its number


def plot_breakdowns(breakdowns: Mapping[str, Breakdown], path: str | Path | None = None) -> Sheet:
    """Draw where the latency goes, as stacked bars beside each other.

    Parameters
    ----------
    breakdowns : mapping of str to Breakdown
        By label, drawn from top to bottom: ``{"galera": result.breakdown()}``.
    path : str or Path, optional
        Where to save it, as PNG, PDF or SVG by the ending of the name.

    Returns
    -------
    Sheet
        A matplotlib figure with one axes, of mean latency in milliseconds.

    Raises
    ------
    ValueError
        When there is nothing to draw.
    """
    drawn = {label: one for label, one in breakdowns.items() if one.stages}
    if not drawn:
        raise ValueError("no transactions whose latency could be drawn by stages")
    with styled():
        figure = Sheet(11.0, 1.9 + 0.62 * len(drawn))
        draw_breakdowns(figure.subplots(), drawn)
        figure.legend(loc="outside lower center", ncols=6)
        save(figure, path)
    return figure


def draw_breakdowns(
    axes: Axes, drawn: Mapping[str, Breakdown], *, least_width: float = _LEAST_WIDTH
) -> None:
    """A bar per breakdown, from top to bottom; all of them have stages.

    Parameters
    ----------
    axes : Axes
    drawn : mapping of str to Breakdown
    least_width : float
        Share of the axis that a stage needs to have its duration written into it.
    """
    longest_ms = 1e3 * max(one.latency_s for one in drawn.values())
    ends = [0.0] * len(drawn)
    for stage, colour in STAGE_COLOURS.items():
        if not any(stage in one.stages for one in drawn.values()):
            continue
        widths = [1e3 * one.stages.get(stage, 0.0) for one in drawn.values()]
        axes.barh(
            range(len(drawn)), widths, left=ends,
            height=0.62, label=stage, color=colour, edgecolor="white", linewidth=0.8,
            hatch=stage_hatch(stage),
        )  # fmt: skip
        for row, width in enumerate(widths):
            if width >= least_width * longest_ms:
                axes.text(ends[row] + width / 2, row, duration(width / 1e3), color="white",
                          fontsize=10, fontweight="bold", ha="center", va="center",
                          bbox={"facecolor": colour, "edgecolor": "none", "pad": 1.5})  # fmt: skip
            ends[row] += width
    for row, one in enumerate(drawn.values()):
        axes.text(ends[row] + 0.008 * longest_ms, row, duration(one.latency_s),
                  ha="left", va="center")  # fmt: skip
    axes.set_yticks(range(len(drawn)), labels=list(drawn))
    axes.set_ylim(len(drawn) - 0.5, -0.5)
    axes.set_xlim(0, 1.1 * longest_ms)
    axes.set_xlabel("mean latency of a committed transaction (ms)")
    axes.grid(visible=False, axis="y")
