"""The figure of a rolling restart: commits over time, above who is there."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from simrep.measure.units import duration
from simrep.show.plot.style import GREY, PALETTE, SHADE, Sheet, row_axis
from simrep.show.views import plot
from simrep.whatif.plan.rolling_restart import RestartRun, RollingRestart

__all__ = ["plot_rolling_restart"]

_HIGH, _ROW = 3.2, 0.36  # inches of the commits, and of a node
_PALE = 0.25
_AWAY, _BEHIND = "#374151", PALETTE[5]


@plot.register(RollingRestart)
def plot_rolling_restart(answer: RollingRestart) -> Sheet:
    """Draw the commits of all replications, and the nodes of the first."""
    heights = [_HIGH, 0.5 + _ROW * len(answer.names)]
    figure = Sheet(11.0, sum(heights) + 1.3)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=heights)
    first, *others = answer.runs
    for run in others:
        _draw_commits(above, run, alpha=_PALE, linewidth=0.8)
    _draw_commits(above, first, linewidth=1.6, zorder=3, label="commits")
    for step in first.record.steps.values():
        for axes in (above, below):
            axes.axvline(step.began_s.median, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        began_s, stall_s = step.stall_began_s.median, step.stall_s.median
        label = "" if step is not next(iter(first.record.steps.values())) else "longest stall"
        above.axvspan(began_s, began_s + stall_s, zorder=0.4, label=label, **SHADE)
        above.annotate(duration(stall_s), (began_s + stall_s, 0.98), (3.0, 0.0), ha="left",
                       va="top", xycoords=("data", "axes fraction"), textcoords="offset points",
                       fontsize=9)  # fmt: skip
    above.set_ylim(bottom=0.0)
    above.set_ylabel("commits per second")
    many = f" (replication 1 of {len(answer.runs)}, the others pale)" if others else ""
    above.set_title(f"Commits, in pieces of {first.bin_s:g} s{many}")
    _draw_nodes(below, first, answer.names)
    below.set_xlabel("simulated time (s)")
    above.set_xlim(0.0, len(first.commits) * first.bin_s)
    handles = [
        *above.get_legend_handles_labels()[0],
        Patch(color=_AWAY, alpha=0.8, label="shuts down, is down"),
        Patch(color=_BEHIND, label="starts, gets the state, catches up"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    figure.headline(answer.question)
    return figure


def _draw_commits(axes: Axes, run: RestartRun, **look: Any) -> None:
    edges = run.bin_s * np.arange(len(run.commits) + 1)
    axes.stairs(run.commits, edges, baseline=None, color=PALETTE[0], **look)


def _draw_nodes(axes: Axes, run: RestartRun, names: tuple[str, ...]) -> None:
    for row, name in enumerate(names):
        axes.axhline(row, color=GREY, linewidth=0.6, alpha=0.5, zorder=0)
        step = run.record.steps.get(name)
        if step is None:
            continue
        gone_s = step.began_s.median + step.ready_s.median
        down_s = step.stop_s.median + step.down_s.median
        axes.barh(row, down_s, left=gone_s, height=0.56, color=_AWAY, alpha=0.8, zorder=2)
        axes.barh(
            row, step.back_s.median, left=gone_s + down_s, height=0.56, color=_BEHIND, zorder=2
        )
    row_axis(axes, names)
