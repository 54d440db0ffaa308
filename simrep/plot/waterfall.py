"""The stages of one transaction as a waterfall, with a table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten, wrap
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from simrep.measure.units import duration
from simrep.plot.since import Since
from simrep.plot.stages import HATCHED, STAGE_COLOURS
from simrep.plot.style import GREY, INK

if TYPE_CHECKING:
    from simrep.experiment.explanation import Stage

__all__ = ["Row", "draw_table", "draw_waterfall", "rows_of"]

_MOST_ROWS = 12
_LINE, _LINES = 44, 3  # characters and lines of a reason
_TIME, _SHARE, _REASON = 0.14, 0.29, 0.33  # places of the columns
_HALF = 0.31  # of the height of a bar


@dataclass(frozen=True, slots=True)
class Row:
    """Stages that are drawn beside each other: one, or all of a name."""

    stages: tuple[Stage, ...]

    @property
    def name(self) -> str:
        """As it stands at the axis."""
        name, times = self.stages[0].name, len(self.stages)
        return name if times == 1 else f"{name} ({times} times)"

    @property
    def seconds(self) -> float:
        """All of them together."""
        return sum(one.seconds for one in self.stages)

    @property
    def reason(self) -> str:
        """Of the longest that has one."""
        known = [one for one in self.stages if one.reason]
        return max(known, key=lambda one: one.seconds).reason if known else ""


def rows_of(stages: Sequence[Stage]) -> list[Row]:
    """A row per stage; if those are too many, one per name, in the order of their first begin."""
    if len(stages) <= _MOST_ROWS:
        return [Row((one,)) for one in stages]
    names = dict.fromkeys(one.name for one in stages)
    return [Row(tuple(one for one in stages if one.name == name)) for name in names]


def draw_waterfall(axes: Axes, rows: Sequence[Row], since: Since) -> None:
    """A bar per stage, each beginning where the one before ended.

    Parameters
    ----------
    axes : Axes
    rows : sequence of Row
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
                hatch="///" if stage.name in HATCHED else None,
            )  # fmt: skip
            # As wide as a pen at least, so that the shortest stage is found.
            axes.vlines(
                began, number - _HALF, number + _HALF, colors=colour, linewidth=2.0, zorder=3
            )
    axes.set_yticks(range(len(rows)), labels=[row.name for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def draw_table(axes: Axes, rows: Sequence[Row], latency_s: float) -> None:
    """Duration, share and reason of each stage, on the same rows.

    Parameters
    ----------
    axes : Axes
        Beside those of the waterfall, with the same vertical limits.
    rows : sequence of Row
    latency_s : float
        Of which the shares are.
    """
    axes.set_axis_off()
    place = axes.get_yaxis_transform()

    def write(
        x: float, y: float, text: str, align: str, colour: str = INK, size: float = 10
    ) -> None:
        axes.text(x, y, text, transform=place, ha=align, va="center", color=colour, fontsize=size,
                  linespacing=1.05, in_layout=False)  # fmt: skip

    for x, heading, align in ((_TIME, "time", "right"), (_SHARE, "share", "right"),
                              (_REASON, "waited for", "left")):  # fmt: skip
        axes.text(x, 1.0, heading, transform=axes.transAxes, ha=align, va="bottom", color=GREY,
                  fontsize=9, in_layout=False)  # fmt: skip
    for number, row in enumerate(rows):
        write(_TIME, number, duration(row.seconds), "right")
        write(_SHARE, number, _percent(row.seconds, latency_s), "right")
        reason = shorten(row.reason, _LINES * _LINE - 16, placeholder=" ...")
        write(_REASON, number, "\n".join(wrap(reason, _LINE)), "left", size=8.5)


def _percent(seconds: float, latency_s: float) -> str:
    """A share without digits that mean nothing; what is not nothing is not called 0 %."""
    if not seconds or not latency_s:
        return "0 %"
    share = 100.0 * seconds / latency_s
    if share < 0.1:
        return "<0.1 %"
    if 99.9 < share < 100.0:
        return ">99.9 %"
    return f"{share:.1f} %" if share < 10.0 or 99.0 < share < 100.0 else f"{share:.0f} %"
