"""One transaction in time and space: what its nodes did, and the messages between them."""

from __future__ import annotations

from collections import defaultdict
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import ConnectionPatch, Patch

from simrep.measure.units import duration, size
from simrep.show.plot.axes import Since
from simrep.show.plot.stages import STAGE_COLOURS, pale
from simrep.show.plot.style import GREY, INK, PALETTE, Sheet
from simrep.show.plot.why.arrows import CRITICAL, FOREIGN, OWN, draw_arrows, label_arrows
from simrep.show.plot.why.node_lines import Bar, bars_of, draw_bars, draw_lines, heights, name_bars
from simrep.show.plot.why.waterfall import TableRow, draw_row_table, draw_waterfall
from simrep.show.text.why import stage_rows
from simrep.show.views import plot
from simrep.why.commit import Explanation

__all__ = ["plot_explanation"]

_WIDTH = 13.3  # inches: that of a slide
_NODE_HEIGHT, _ROW_HEIGHT = 0.85, 0.41
_MOST_HEIGHT = 5.0  # of all nodes together
_LEGEND = 44  # characters of a line
_APART = 4.0  # from so many times the latency on, the waterfall has a time axis of its own


@plot.register(Explanation)
def plot_explanation(explanation: Explanation) -> Sheet:
    """Draw the messages between the nodes above the stages of the transaction.

    Returns
    -------
    Sheet
        A matplotlib figure: the space-time diagram and its legend, the waterfall and its table.

    Notes
    -----
    Where the time that is shown is much longer than the latency, the waterfall has a time axis of
    its own.
    """
    rows, lines = stage_rows(explanation.stages), heights(explanation)
    node_height = min(_NODE_HEIGHT, _MOST_HEIGHT / len(lines))
    inches = [node_height * (len(lines) + 0.2), _ROW_HEIGHT * (len(rows) + 0.6)]
    began_s, ended_s, until_s = explanation.started_s, explanation.ended_s, explanation.until_s
    shared = until_s - began_s <= _APART * explanation.latency_s
    since = Since.fitting(began_s, until_s)
    own = since if shared else Since.fitting(began_s, ended_s)
    bars = bars_of(explanation, lines, since)
    figure = Sheet(_WIDTH, sum(inches) + 2.0)
    grid = figure.add_gridspec(2, 2, width_ratios=[8.2, 4.1], height_ratios=inches)
    above, below = (figure.add_subplot(grid[row, 0]) for row in (0, 1))
    beside, table = (figure.add_subplot(grid[row, 1]) for row in (0, 1))
    draw_lines(above, explanation, lines)
    draw_bars(above, bars)
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
    figure.suptitle(_title(explanation), x=0.012, ha="left")
    figure.draw_without_rendering()  # from here on it is known where everything is
    label_arrows(above, explanation.messages, lines, since, name_bars(above, bars))
    return figure


def _title(explanation: Explanation) -> str:
    name = explanation.scenario.get("name")
    return f"{name}: {explanation.title}" if name else explanation.title


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
        above.axvspan(0.0, end, color=PALETTE[4], alpha=0.22, linewidth=0, zorder=0)
        for here, there in ((0.0, 0.0), (end, own(explanation.ended_s))):
            below.figure.add_artist(
                ConnectionPatch(
                    (here, 0.0), (there, 1.0),
                    coordsA=above.get_xaxis_transform(), coordsB=below.get_xaxis_transform(),
                    color=PALETTE[4], linewidth=1.2, alpha=0.6,
                )
            )  # fmt: skip


def _draw_legend(axes: Axes, explanation: Explanation, bars: list[Bar], *, all_drawn: bool) -> None:
    """Kinds of messages, stations of other nodes, and the transaction itself in words."""
    axes.set_axis_off()
    own = [one for one in explanation.messages if one.own or one.critical]
    foreign = len(explanation.messages) - len(own)
    entries: list[Line2D | Patch] = []
    if any(one.critical for one in own):
        entries.append(Line2D([], [], color=CRITICAL, linewidth=2.8,
                              label="message that the commit waited for"))  # fmt: skip
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
