"""The stages of a latency as bars on rows of their own, with time, share and words beside them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten, wrap
from typing import NamedTuple

from matplotlib.axes import Axes

from simrep.measure.units import duration
from simrep.show.plot.axes import Since
from simrep.show.plot.stages import STAGE_COLOURS, stage_hatch
from simrep.show.plot.style import GREY, INK
from simrep.show.text.why import StageRow

__all__ = ["TableRow", "draw_row_table", "draw_waterfall", "percent"]

_HALF = 0.31  # of the height of a bar
_LINE, _LINES = 42, 3  # characters and lines of the words
_TIME, _SHARE, _WORDS = 0.14, 0.29, 0.33  # places of the columns


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


class TableRow(NamedTuple):
    """What stands beside a bar; a share that is None has no meaning there."""

    seconds: float
    share: float | None
    words: str


def draw_row_table(axes: Axes, rows: Sequence[TableRow], words: str) -> None:
    """Write the rows.

    Parameters
    ----------
    axes : Axes
        Beside those of the bars, about 4 inches wide, with the same vertical limits.
    rows : sequence of TableRow
        From top to bottom.
    words : str
        Heading of the last column.
    """
    axes.set_axis_off()
    place = axes.get_yaxis_transform()
    for x, heading, align in (
        (_TIME, "time", "right"), (_SHARE, "share", "right"), (_WORDS, words, "left")
    ):  # fmt: skip
        axes.text(x, 1.0, heading, transform=axes.transAxes, ha=align, va="bottom", color=GREY,
                  fontsize=9, in_layout=False)  # fmt: skip
    for number, row in enumerate(rows):
        text = shorten(row.words, _LINES * _LINE - 12, placeholder=" ...")
        for x, cell, align, size in (
            (_TIME, duration(row.seconds), "right", 10.0),
            (_SHARE, "" if row.share is None else percent(row.share), "right", 10.0),
            (_WORDS, "\n".join(wrap(text, _LINE)), "left", 8.5),
        ):
            axes.text(x, number, cell, transform=place, ha=align, va="center", fontsize=size,
                      color=INK, linespacing=1.05, in_layout=False)  # fmt: skip


def percent(share: float) -> str:
    """A share without digits that mean nothing; what is not nothing is not called 0 %.

    >>> percent(0.1375), percent(0.0137), percent(1e-6), percent(0.9999), percent(0)
    ('14 %', '1.4 %', '<0.1 %', '>99.9 %', '0 %')
    """
    part = 100.0 * share
    if 0.0 < part < 0.1:
        return "<0.1 %"
    if 99.9 < part < 100.0:
        return ">99.9 %"
    return f"{part:.1f} %" if 0.0 < part < 10.0 or 99.0 < part < 100.0 else f"{part:.0f} %"
