"""The figure of the nodes of a result: how long transactions took on each, and why some failed."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from simrep.measure.counts import ClassCount
from simrep.measure.units import number
from simrep.runs.nodes import Nodes
from simrep.show.plot.axes import latency_axis
from simrep.show.plot.style import GREY, MARKERS, PALETTE, Sheet, colour, row_axis
from simrep.show.views import plot

__all__ = ["plot_nodes"]

_PERCENTS = (50, 95, 99)


@plot.register(Nodes)
def plot_nodes(nodes: Nodes) -> Sheet:
    """Draw percentiles of the latency, commits, and aborts by error; a row per node and class."""
    several = len({kind for node in nodes.values() for kind in node.classes}) > 1
    rows: dict[str, ClassCount] = {
        f"{name}: {kind}" if several else name: count
        for name, node in nodes.used.items()
        for kind, count in node.classes.items()
        if count.committed or count.aborted
    }
    if not rows:
        raise ValueError("no transaction of a client has ended, so there is nothing to draw")
    figure = Sheet(12.0, 2.2 + 0.36 * len(rows))
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
    for axes in (panels[0], *panels[2:]):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.75 / figure.get_figheight()),
                    ncols=3, handletextpad=0.3, columnspacing=1.2)  # fmt: skip
    return figure


def _latencies(axes: Axes, counts: list[ClassCount]) -> None:
    axes.set_title("Latency")
    axes.set_xlabel("latency of a committed transaction")
    known = [(row, count.latency) for row, count in enumerate(counts) if count.committed]
    for number_of, percent in enumerate(_PERCENTS):
        axes.plot(
            [latency.percentile(percent) for _, latency in known], [row for row, _ in known],
            MARKERS[number_of], color=colour(number_of), markeredgecolor="white",
            label=f"p{percent}", zorder=3,
        )  # fmt: skip
    if not known:
        axes.set_xticks([])
        return
    low, high = ([latency.percentile(percent) for _, latency in known] for percent in (50, 99))
    for (row, _), start_s, end_s in zip(known, low, high, strict=True):
        axes.plot([start_s, end_s], [row, row], color=GREY, linewidth=1.2, zorder=2)
    latency_axis(axes, min(low), max(high))


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
                  edgecolor="white", linewidth=0.8, label=nodes.error_text(error))  # fmt: skip
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
