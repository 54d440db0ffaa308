"""The lines of the nodes in a space-time diagram, and what happens on each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

from simrep.show.plot.axes import Since
from simrep.show.plot.stages import STAGE_COLOURS, activity_stage, ink_on, pale, stage_hatch
from simrep.show.plot.style import GREY, INK
from simrep.show.text.chrome_trace import in_lanes
from simrep.why.commit import Explanation

__all__ = [
    "CLIENT",
    "HALF",
    "Bar",
    "bars_of",
    "draw_bars",
    "draw_lines",
    "heights",
    "name_bars",
]


CLIENT = -1
"""The key of the line of the client."""

HALF = 0.17
"""Of the height of a bar, in rows."""

_SEEN_CLIENT = 0.01  # of the time that is shown: less of the client is not worth a line
_LEAST_PX = 6.0  # wide enough to be named, beside it if need be


@dataclass(frozen=True, slots=True)
class Bar:
    """A stage of the transaction, or what another node did for it.

    Attributes
    ----------
    label : str
        Name of the stage, or of the station.
    stage : str
        Whose colour it has.
    elsewhere : bool
        On another node than that of the transaction.
    waits : bool
        It is one of those, and a wait.
    began, ended : float
        Places on the time axis.
    middle, half : float
        Its height, and half of what it is high, in rows.
    """

    label: str
    stage: str
    elsewhere: bool
    waits: bool
    began: float
    ended: float
    middle: float
    half: float = HALF

    @property
    def hatch(self) -> str | None:
        """As in the waterfall."""
        return None if self.elsewhere else stage_hatch(self.stage)


def heights(explanation: Explanation) -> dict[int, float]:
    """Of the lines, from the top: the client if its time is seen, the origin, the other nodes."""
    others = [node for node in range(len(explanation.nodes)) if node != explanation.node]
    client_s = sum(one.seconds for one in explanation.stages if one.name == "client")
    seen = client_s > _SEEN_CLIENT * (explanation.until_s - explanation.started_s)
    return ({CLIENT: -1.0} if seen else {}) | {
        node: float(row) for row, node in enumerate([explanation.node, *others])
    }


def bars_of(explanation: Explanation, lines: Mapping[int, float], since: Since) -> list[Bar]:
    """Stages at the origin and at the client, the transaction's own activities elsewhere."""
    bars = []
    for one in explanation.stages:
        line = lines.get(CLIENT) if one.name == "client" else lines[explanation.node]
        if line is not None and one.seconds > 0.0:
            span = since(one.began_s), since(one.ended_s)
            bars.append(Bar(one.name, one.name, False, False, *span, line))
    for node in range(len(explanation.nodes)):
        if node == explanation.node:
            continue
        own = [one for one in explanation.activities if one.own and one.node == node]
        lanes = in_lanes([(one.began_s, one.ended_s) for one in own])
        half = HALF / (1 + max(lanes, default=0))
        for activity, lane in zip(own, lanes, strict=True):
            bars.append(
                Bar(
                    activity.station, activity_stage(activity.station), True, activity.waits,
                    since(activity.began_s), since(activity.ended_s),
                    lines[node] - HALF + (2 * lane + 1) * half, half,
                )
            )  # fmt: skip
    return bars


def draw_lines(axes: Axes, explanation: Explanation, lines: Mapping[int, float]) -> None:
    """A line per node, named at the axis."""
    names = {
        node: f"client {explanation.client}" if node == CLIENT else explanation.nodes[node]
        for node in lines
    }
    for line in lines.values():
        axes.axhline(line, color=GREY, linewidth=1.0, zorder=1)
    axes.set_yticks(list(lines.values()), labels=list(names.values()))
    for label, node in zip(axes.get_yticklabels(), lines, strict=True):
        label.set_fontweight("bold" if node == explanation.node else "normal")
    axes.tick_params(axis="y", length=0, labelsize=11, labelcolor=INK)
    axes.set_ylim(max(lines.values()) + 0.45, min(lines.values()) - 0.55)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")


def draw_bars(axes: Axes, bars: Sequence[Bar]) -> None:
    """Shade what happens; as wide as a pen at least, so that the shortest is found."""
    for bar in bars:
        colour = pale(STAGE_COLOURS[bar.stage]) if bar.waits else STAGE_COLOURS[bar.stage]
        axes.add_patch(
            Rectangle(
                (bar.began, bar.middle - bar.half), bar.ended - bar.began, 2 * bar.half,
                facecolor=colour, edgecolor="white", linewidth=0.0, hatch=bar.hatch, zorder=3,
            )
        )  # fmt: skip
        axes.vlines(bar.began, bar.middle - bar.half, bar.middle + bar.half, colors=colour,
                    linewidth=1.2, zorder=3)  # fmt: skip


def name_bars(axes: Axes, bars: Sequence[Bar]) -> list[Bbox]:
    """Write names into the bars, above those that are too narrow; where all of that stands.

    Parameters
    ----------
    axes : Axes
        Its limits and its place in the figure are final.
    bars : sequence of Bar

    Returns
    -------
    list of Bbox
        Places that are taken, in pixels.
    """
    taken = []
    for bar in bars:
        corners = [(bar.began, bar.middle + bar.half), (bar.ended, bar.middle - bar.half)]
        taken.append(Bbox(axes.transData.transform(corners)))
    for bar, box in sorted(zip(bars, list(taken), strict=True), key=lambda pair: -pair[1].width):
        if box.width < _LEAST_PX:
            continue
        middle = 0.5 * (bar.began + bar.ended)
        text = axes.text(
            middle, bar.middle, bar.label, ha="center", va="center", fontsize=8.5, zorder=6,
            color=INK if bar.waits else ink_on(bar.stage), fontweight="bold", in_layout=False,
            bbox={"facecolor": STAGE_COLOURS[bar.stage], "edgecolor": "none", "pad": 0.4}
            if bar.hatch else None,
        )  # fmt: skip
        extent = text.get_window_extent()
        if extent.width < box.width and extent.height < 1.3 * box.height:
            continue
        beside = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.4}
        text.set(color=INK, bbox=beside, position=(middle, bar.middle - bar.half - 0.14))
        extent = text.get_window_extent()
        inside = axes.bbox.x0 <= extent.x0 and extent.x1 <= axes.bbox.x1
        if inside and not any(extent.overlaps(one) for one in taken):
            taken.append(extent)
        else:
            text.remove()
    return taken
