"""One transaction in time and space: what its nodes did, and the messages between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import ConnectionPatch, Patch, Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from simrep.measure.units import duration, size
from simrep.printable import shorten
from simrep.scenario.events import events, within
from simrep.show.plot.axes import Since
from simrep.show.plot.breakdown import STAGE_COLOURS, activity_stage, ink_on, pale, stage_hatch
from simrep.show.plot.events import EVENT
from simrep.show.plot.style import GREY, INK, PALETTE, SHADE, Sheet, line_label
from simrep.show.plot.why.arrows import CRITICAL, FOREIGN, HALF, OWN, draw_arrows, label_arrows
from simrep.show.plot.why.bars import TableRow, draw_row_table, draw_waterfall
from simrep.show.text.chrome_trace import in_lanes
from simrep.show.text.why import stage_rows
from simrep.show.views import plot
from simrep.why.commit import Explanation

__all__ = ["plot_explanation"]

_WIDTH = 13.3  # inches: that of a slide
_NODE_HEIGHT, _ROW_HEIGHT = 0.85, 0.41
_MOST_HEIGHT = 5.0  # of all nodes together
_LEGEND = 44  # characters of a line
_APART = 4.0  # from so many times the latency on, the waterfall has a time axis of its own
_CLIENT = -1
"""The key of the line of the client."""

_SEEN_CLIENT = 0.01  # of the time that is shown: less of the client is not worth a line
_LETTERS, _FEWEST = 64, 12  # of an event's name: in the whole width, and at its right edge
_STRIP = 0.44  # half the height of what is shaded around the line of a node
_LEAST_PX = 6.0  # wide enough to be named, beside it if need be


@plot.register(Explanation)
def plot_explanation(explanation: Explanation) -> Sheet:
    """Draw the messages between the nodes above the stages of the transaction.

    Beside the space-time diagram stands its legend, beside the waterfall its table. Where the time
    that is shown is much longer than the latency, the waterfall has a time axis of its own.
    """
    rows, lines = stage_rows(explanation.stages), _heights(explanation)
    node_height = min(_NODE_HEIGHT, _MOST_HEIGHT / len(lines))
    inches = [node_height * (len(lines) + 0.2), _ROW_HEIGHT * (len(rows) + 0.6)]
    began_s, ended_s, until_s = explanation.started_s, explanation.ended_s, explanation.until_s
    shared = until_s - began_s <= _APART * explanation.latency_s
    since = Since.fitting(began_s, until_s)
    own = since if shared else Since.fitting(began_s, ended_s)
    bars = _bars_of(explanation, lines, since)
    figure = Sheet(_WIDTH, sum(inches) + 2.0)
    grid = figure.add_gridspec(2, 2, width_ratios=[8.2, 4.1], height_ratios=inches)
    above, below = (figure.add_subplot(grid[row, 0]) for row in (0, 1))
    beside, table = (figure.add_subplot(grid[row, 1]) for row in (0, 1))
    _draw_lines(above, explanation, lines)
    _draw_bars(above, bars)
    all_drawn = draw_arrows(above, explanation.messages, lines, since)
    draw_waterfall(below, rows, own)
    table.sharey(below)
    total_s = explanation.latency_s or 1.0
    beside_rows = [TableRow(one.seconds, one.seconds / total_s, one.reason) for one in rows]
    draw_row_table(table, beside_rows, "waited for")
    _limits(above, since, until_s)
    if shared:
        above.tick_params(labelbottom=False)
        above.set_xlabel("")
    _limits(below, own, until_s if shared else ended_s)
    _mark_answer(above, below, explanation, since, own)
    _draw_legend(beside, explanation, bars, all_drawn=all_drawn)
    name = explanation.scenario.get("name")
    figure.headline(f"{name}: {explanation.title}" if name else explanation.title)
    named = _draw_happened(above, explanation, lines, since)
    figure.draw_without_rendering()  # from here on it is known where everything is
    taken = [*_name_bars(above, bars), *(text.get_window_extent() for text in named)]
    label_arrows(above, explanation.messages, lines, since, taken)
    return figure


def _draw_happened(
    axes: Axes, explanation: Explanation, lines: Mapping[int, float], since: Since
) -> list[Text]:
    """Shade the lines of nodes while something happens to them; its name below the line."""
    until_s = explanation.until_s
    texts = []
    for event in within(events(explanation.scenario), explanation.started_s, until_s):
        began = since(max(event.at_s, explanation.started_s))
        ended = since(min(event.until_s, until_s)) if event.lasts else began
        for name in event.nodes:
            line = lines[explanation.nodes.index(name)]
            corner, width = (began, line - _STRIP), ended - began
            axes.add_patch(Rectangle(corner, width, 2 * _STRIP, zorder=0.5, **EVENT))
            axes.vlines(began, line - _STRIP, line + _STRIP, colors=GREY, linewidth=1.0, zorder=1)
            room = int(_LETTERS * (1.0 - began / (since(until_s) or 1.0)))
            text = axes.text(
                began, line + _STRIP, f" {shorten(event.what, max(_FEWEST, room))}", va="bottom",
                fontsize=8.5, color=INK, zorder=6, clip_on=True, in_layout=False,
            )  # fmt: skip
            texts.append(text)
    return texts


def _limits(axes: Axes, since: Since, until_s: float) -> None:
    end = since(until_s) or 1.0
    axes.set_xlim(-0.012 * end, 1.012 * end)
    axes.set_xlabel(f"time since the transaction began ({since.unit})")


def _mark_answer(
    above: Axes, below: Axes, explanation: Explanation, since: Since, own: Since
) -> None:
    """When the client had its answer, in both diagrams."""
    end = since(explanation.ended_s)
    for axes, at in ((above, end), (below, own(explanation.ended_s))):
        axes.axvline(at, color=INK, linewidth=1.1, linestyle=(0, (2, 2)), zorder=1)
    low, high = above.get_xlim()
    right = end < low + 0.75 * (high - low)
    above.annotate(
        f"answer after {duration(explanation.latency_s)}", (end, 1.0),
        xycoords=("data", "axes fraction"), xytext=(4 if right else -4, -1),
        textcoords="offset points", ha="left" if right else "right", va="top", fontsize=10,
        fontweight="bold", zorder=8,
    )  # fmt: skip
    if own is not since:
        above.axvspan(0.0, end, **SHADE, zorder=0)
        for here, there in ((0.0, 0.0), (end, own(explanation.ended_s))):
            below.figure.add_artist(
                ConnectionPatch(
                    (here, 0.0), (there, 1.0),
                    coordsA=above.get_xaxis_transform(), coordsB=below.get_xaxis_transform(),
                    color=PALETTE[4], linewidth=1.2, alpha=0.6,
                )
            )  # fmt: skip


def _draw_legend(
    axes: Axes, explanation: Explanation, bars: list[_Bar], *, all_drawn: bool
) -> None:
    """Kinds of messages, stations of other nodes, and the transaction itself in words."""
    axes.set_axis_off()
    own = [one for one in explanation.messages if one.own or one.critical]
    foreign = len(explanation.messages) - len(own)
    entries: list[Line2D | Patch] = []
    if any(one.critical for one in own):
        label = "message that the commit waited for"
        entries.append(Line2D([], [], color=CRITICAL, linewidth=2.8, label=label))
    if not all(one.critical for one in own):
        label = "other message of the transaction" if entries else "message of the transaction"
        entries.append(Line2D([], [], color=OWN, linewidth=1.3, label=label))
    if foreign and all_drawn:
        entries.append(Line2D([], [], color=FOREIGN, label="message of others"))
    stations: dict[str, list[str]] = defaultdict(list)
    for label, stage in {one.label: one.stage for one in bars if one.elsewhere}.items():
        stations[STAGE_COLOURS[stage]].append(label)
    for colour, labels in stations.items():
        names = fill(", ".join(labels), _LEGEND)
        entries.append(Patch(color=colour, label=f"elsewhere: {names}"))
    if any(one.waits for one in bars):
        entries.append(Patch(color=pale(GREY), label="elsewhere, pale: it waits"))
    axes.legend(handles=entries, loc="upper left", bbox_to_anchor=(-0.02, 1.0), borderaxespad=0.0)
    rows = "1 row" if explanation.rows == 1 else f"{explanation.rows:,} rows"
    written = f"{rows}, {size(explanation.size_bytes)}"
    said = [f"{explanation.model}: {written} of client {explanation.client}"]
    if not all_drawn:
        said.append(f"{foreign:,} messages of others are not drawn")
    axes.text(0.0, 0.0, "\n".join(said), transform=axes.transAxes, va="bottom", color=GREY,
              fontsize=9, in_layout=False)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Bar:
    """A stage of the transaction, or what another node did for it."""

    label: str
    stage: str  # whose colour it has
    elsewhere: bool  # on another node than that of the transaction
    waits: bool  # it is one of those, and a wait
    began: float
    ended: float
    middle: float  # its height, and half of what it is high, in rows
    half: float = HALF

    @property
    def hatch(self) -> str | None:
        """As in the waterfall."""
        return None if self.elsewhere else stage_hatch(self.stage)


def _heights(explanation: Explanation) -> dict[int, float]:
    """Of the lines, from the top: the client if its time is seen, the origin, the other nodes."""
    others = [node for node in range(len(explanation.nodes)) if node != explanation.node]
    client_s = sum(one.seconds for one in explanation.stages if one.name == "client")
    seen = client_s > _SEEN_CLIENT * (explanation.until_s - explanation.started_s)
    return ({_CLIENT: -1.0} if seen else {}) | {
        node: float(row) for row, node in enumerate([explanation.node, *others])
    }


def _bars_of(explanation: Explanation, lines: Mapping[int, float], since: Since) -> list[_Bar]:
    """Stages at the origin and at the client, the transaction's own activities elsewhere."""
    bars = []
    for one in explanation.stages:
        line = lines.get(_CLIENT) if one.name == "client" else lines[explanation.node]
        if line is not None and one.seconds > 0.0:
            span = since(one.began_s), since(one.ended_s)
            bars.append(_Bar(one.name, one.name, False, False, *span, line))
    for node in range(len(explanation.nodes)):
        if node == explanation.node:
            continue
        own = [one for one in explanation.activities if one.own and one.node == node]
        lanes = in_lanes([(one.began_s, one.ended_s) for one in own])
        half = HALF / (1 + max(lanes, default=0))
        for activity, lane in zip(own, lanes, strict=True):
            bars.append(
                _Bar(
                    activity.station, activity_stage(activity.station), True, activity.waits,
                    since(activity.began_s), since(activity.ended_s),
                    lines[node] - HALF + (2 * lane + 1) * half, half,
                )
            )  # fmt: skip
    return bars


def _draw_lines(axes: Axes, explanation: Explanation, lines: Mapping[int, float]) -> None:
    """A line per node, named at the axis."""
    names = {
        node: f"client {explanation.client}" if node == _CLIENT else explanation.nodes[node]
        for node in lines
    }
    for line in lines.values():
        axes.axhline(line, color=GREY, linewidth=1.0, zorder=1)
    axes.set_yticks(list(lines.values()), labels=[line_label(one, 30) for one in names.values()])
    for label, node in zip(axes.get_yticklabels(), lines, strict=True):
        label.set_fontweight("bold" if node == explanation.node else "normal")
    axes.tick_params(axis="y", length=0, labelsize=11, labelcolor=INK)
    axes.set_ylim(max(lines.values()) + 0.45, min(lines.values()) - 0.55)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")


def _draw_bars(axes: Axes, bars: Sequence[_Bar]) -> None:
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


def _name_bars(axes: Axes, bars: Sequence[_Bar]) -> list[Bbox]:
    """Write names into the bars, above those that are too narrow; where all of that stands.

    The limits of the axes and their place in the figure are final; places are in pixels.
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
