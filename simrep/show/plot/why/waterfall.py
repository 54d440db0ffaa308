"""The stages of one transaction as a waterfall: each begins where the one before ended."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from simrep.show.plot.stages import STAGE_COLOURS, stage_hatch
from simrep.show.plot.why.since import Since
from simrep.why.stage_rows import StageRow

__all__ = ["draw_waterfall"]

_HALF = 0.31  # of the height of a bar


def draw_waterfall(axes: Axes, rows: Sequence[StageRow], since: Since) -> None:
    """A bar per stage, on a row of its own.

    Parameters
    ----------
    axes : Axes
    rows : sequence of StageRow
        From top to bottom.
    since : Since
        Places on the time axis.
    """
    for number, row in enumerate(rows):
        colour = STAGE_COLOURS[row.stages[0].name]
        for stage in row.stages:
            began = since(stage.began_s)
            axes.barh(
                number, since(stage.ended_s) - began, left=began, height=2 * _HALF, color=colour,
                edgecolor="white", linewidth=0.0,
                hatch=stage_hatch(stage.name),
            )  # fmt: skip
            # As wide as a pen at least, so that the shortest stage is found.
            axes.vlines(
                began, number - _HALF, number + _HALF, colors=colour, linewidth=2.0, zorder=3
            )
    axes.set_yticks(range(len(rows)), labels=[row.name for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
