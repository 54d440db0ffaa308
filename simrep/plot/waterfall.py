"""The stages of one transaction as a waterfall: each begins where the one before ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from simrep.plot.since import Since
from simrep.plot.stages import STAGE_COLOURS, stage_hatch

if TYPE_CHECKING:
    from simrep.experiment.explanation import Stage

__all__ = ["Row", "draw_waterfall", "rows_of"]

_MOST_ROWS = 12
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
    """A bar per stage, on a row of its own.

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
