"""The figure of the nodes of a result: how long transactions took on each, and why some failed."""

from __future__ import annotations

from textwrap import shorten

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from simrep.errors import DrawError
from simrep.measure.counts import ClassCount
from simrep.measure.units import number
from simrep.runs.nodes import Nodes
from simrep.show.plot.axes import latency_axis
from simrep.show.plot.style import GREY, MARKERS, PALETTE, Sheet, colour, row_axis
from simrep.show.views import plot

__all__ = ["plot_nodes"]

# With the sizes of their marks, so that those at one place are all seen.
_PERCENTS = {50: 10.0, 95: 7.5, 99: 4.5}
_MOST_ROWS = 40
_LONGEST = 36  # characters of an error in the legend


@plot.register(Nodes)
def plot_nodes(nodes: Nodes) -> Sheet:
    """Draw percentiles of the latency, commits, and aborts by error; a row per node and class."""
    rows = _rows(nodes)
    if not rows:
        raise DrawError("no transaction of a client has ended, so there is nothing to draw")
    figure = Sheet(12.0, 2.4 + 0.36 * len(rows))
    counts = list(rows.values())
    widths = [1.5, 1.0, 1.0] if nodes.errors else [1.5, 1.0]
    panels = figure.subplots(1, len(widths), sharey=True, width_ratios=widths)
    _latencies(panels[0], counts)
    _commits(panels[1], counts)
    if nodes.errors:
        _aborts(panels[2], counts, nodes)
    row_axis(panels[0], rows)
    for axes in panels[1:]:
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    figure.legend(loc="outside lower center", ncols=5, handletextpad=0.4, columnspacing=1.4)
    return figure


def _rows(nodes: Nodes) -> dict[str, ClassCount]:
    """Nodes and classes with transactions; nodes alone if that would be too many to read."""
    several = len({kind for node in nodes.values() for kind in node.classes}) > 1
    rows: dict[str, ClassCount] = {
        f"{name}: {kind}" if several else name: count
        for name, node in nodes.used.items()
        for kind, count in node.classes.items()
        if count.committed or count.aborted
    }
    return rows if len(rows) <= _MOST_ROWS else dict(nodes.used)


def _latencies(axes: Axes, counts: list[ClassCount]) -> None:
    axes.set_title("Latency")
    axes.set_xlabel("latency of a committed transaction")
    known = [(row, count.latency) for row, count in enumerate(counts) if count.committed]
    for position, (percent, size) in enumerate(_PERCENTS.items()):
        axes.plot(
            [latency.percentile(percent) for _, latency in known], [row for row, _ in known],
            MARKERS[position], color=colour(position), markeredgecolor="white",
            markersize=size, label=f"p{percent}", zorder=3,
        )  # fmt: skip
    if not known:
        axes.set_xticks([])
        return
    low, high = ([latency.percentile(percent) for _, latency in known] for percent in (50, 99))
    for (row, _), start_s, end_s in zip(known, low, high, strict=True):
        axes.plot([start_s, end_s], [row, row], color=GREY, linewidth=1.2, zorder=2)
    latency_axis(axes, min(low), max(high), ticks=4)


def _commits(axes: Axes, counts: list[ClassCount]) -> None:
    axes.set_title("Committed")
    axes.set_xlabel("transactions")
    _bars(axes, [count.committed for count in counts])


def _aborts(axes: Axes, counts: list[ClassCount], nodes: Nodes) -> None:
    axes.set_title("Aborted")
    axes.set_xlabel("attempts")
    lefts = [0] * len(counts)
    for shade, error in enumerate(nodes.errors, start=1):
        times = [count.errors.get(error, 0) for count in counts]
        axes.barh(range(len(counts)), times, left=lefts, height=0.62, color=colour(shade),
                  edgecolor="white", linewidth=0.8,
                  label=shorten(nodes.error_text(error), _LONGEST, placeholder=" ..."))  # fmt: skip
        lefts = [left + own for left, own in zip(lefts, times, strict=True)]
    _ends(axes, lefts)


def _bars(axes: Axes, values: list[int]) -> None:
    axes.barh(range(len(values)), values, height=0.62, color=PALETTE[0], alpha=0.75)
    _ends(axes, values)


def _ends(axes: Axes, values: list[int]) -> None:
    """The values behind their bars."""
    most = max(values)
    for row, value in enumerate(values):
        axes.text(value + 0.015 * most, row, number(value), va="center", fontsize=9.5)
    axes.set_xlim(0, 1.2 * most or 1.0)
