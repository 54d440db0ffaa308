"""The figure of one result: how long transactions took, and how many there were over time."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from simrep.measure.units import duration, number
from simrep.runs.load import LoadRecord
from simrep.runs.result import Result
from simrep.scenario.events import Event, events
from simrep.show.plot.axes import latency_axis, marks_of, nothing_committed
from simrep.show.plot.events import draw_events
from simrep.show.plot.fault_run import plot_faults
from simrep.show.plot.style import GREY, INK, PALETTE, SHADE, Sheet
from simrep.show.views import plot

__all__ = ["plot_result"]

_BLOCK = (0.66, 0.33)  # left edge and top of the percentiles in their corner, of the axes
_SHOWN_STALL = 2  # a silence of this many intervals is shaded
_LEGEND_LINE = 0.08  # height of two entries of the legend, of the axes
_PANEL = 4.3  # inches, about: what the texts around the axes leave of a half of the figure


@plot.register(Result)
def plot_result(result: Result) -> Sheet:
    """Draw the distribution of the latency and the throughput over time.

    Of a run with faults: commits of each group of clients over time, and what befell the nodes.
    """
    first = result.runs[0]
    if result.faults.phases and first.attempts is not None:
        return plot_faults(result, first, first.attempts, _scheduled(result))
    figure = Sheet(11.0, 4.6)
    left, right = figure.subplots(1, 2)
    _latency(left, result)
    _throughput(right, result)
    figure.headline(str(result.scenario.get("name") or ""))
    return figure


def _latency(axes: Axes, result: Result) -> None:
    axes.set_title("Latency")
    axes.set_xlabel("latency of a committed transaction")
    axes.set_ylabel("transactions not slower (%)")
    axes.set_ylim(0, 104)
    seconds, fraction = result.histogram.cdf()
    if len(seconds) == 0:
        nothing_committed(axes)
        return
    axes.plot(seconds, 100 * fraction, color=PALETTE[0], zorder=3)
    axes.fill_between(seconds, 100 * fraction, color=PALETTE[0], alpha=0.10, linewidth=0)
    latency_axis(axes, result.histogram.percentile(0.1), result.histogram.max_s)
    values = {percent: result.latency_s[f"p{percent}"] for percent in (50, 95, 99)}
    for percent, value in values.items():
        axes.plot([value], [percent], "o", color=PALETTE[1], markeredgecolor="white", zorder=4)
    rows = [f"p{percent} {duration(value):>8}" for percent, value in values.items()]
    # Percentiles may coincide, so their values stand in one block in a free corner, below the
    # curve or above it, instead of at the points.
    left = (axes.transScale + axes.transLimits).inverted().transform((_BLOCK[0], 0.0))[0]
    below = np.interp(left, seconds, fraction, left=0.0) > _BLOCK[1]
    x, y, align, end = (0.97, 0.06, "right", "bottom") if below else (0.03, 0.97, "left", "top")
    axes.text(x, y, "\n".join(rows), transform=axes.transAxes, ha=align, va=end,
              color=PALETTE[1], fontsize=11, linespacing=1.5, fontfamily="monospace",
              bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8})  # fmt: skip


def _throughput(axes: Axes, result: Result) -> None:
    axes.set_title("Throughput")
    axes.set_xlabel("simulated time (s)")
    axes.set_ylabel("transactions per second")
    edges, commits, aborts = result.series.rates()
    if len(commits) == 0:
        nothing_committed(axes)
        return
    mean = result.throughput_tps
    top = max(float(commits.max()), mean)
    if result.replications > 1:
        for run in result.runs:
            own_edges, own, _ = run.measurement.series.rates()
            axes.stairs(own, own_edges, baseline=None, color=PALETTE[0], alpha=0.25, linewidth=0.8)
            top = max(top, float(own.max(initial=0.0)))
    label = "committed" if result.replications == 1 else "committed, mean and each run"
    axes.stairs(commits, edges, baseline=None, color=PALETTE[0], linewidth=2.0, label=label,
                zorder=3)  # fmt: skip
    if np.any(aborts):
        axes.stairs(aborts, edges, baseline=None, color=PALETTE[1], linewidth=1.6,
                    label="aborted", zorder=3)  # fmt: skip
    if result.load is not None:
        top = max(top, _offered(axes, result.load, result.series.edges_s[: len(edges)]))
    else:
        axes.axhline(mean, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)),
                     label=f"overall {number(mean)}/s", zorder=2)  # fmt: skip
    if result.stall_max_s >= _SHOWN_STALL * result.series.interval_s:
        end = result.stall_began_s + result.stall_max_s
        label = f"no commit for {duration(result.stall_max_s)}"
        axes.axvspan(result.stall_began_s, end, **SHADE, label=label)
    axes.set_xlim(edges[0], edges[-1])
    # Room above the curve, so that neither the legend nor names of marks cover it.
    happened = [one for one in events(result.scenario) if not one.scheduled]
    lines = ceil(len(axes.get_legend_handles_labels()[1]) / 2)
    free = 1.0 - _LEGEND_LINE * max(2, lines + 1)
    room = (1.35 if result.scheduled or happened else 1.1) / free
    axes.set_ylim(0, room * top if top > 0 else 1.0)
    _mark(axes, result, happened, free)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.legend(loc="upper right", ncols=2, frameon=True, framealpha=0.9, edgecolor="none")


def _offered(axes: Axes, load: LoadRecord, edges: NDArray[np.float64]) -> float:
    """What the load was over time; returns the highest value on the axis of rates."""
    values = load.offered[: len(edges) - 1]
    style: dict[str, Any] = {"color": INK, "linewidth": 1.4, "linestyle": (0, (4, 2))}
    if load.what == "rate_tps":
        axes.stairs(values, edges, baseline=None, label="offered", zorder=2, **style)
        return float(values.max(initial=0.0))
    beside = axes.twinx()
    beside.set_ylabel("clients (dashed)")
    beside.grid(visible=False)
    beside.stairs(values, edges, baseline=None, **style)
    beside.set_ylim(0, 1.6 * float(values.max(initial=1.0)))
    beside.yaxis.set_major_locator(MaxNLocator(integer=True))
    return 0.0


def _mark(axes: Axes, result: Result, happened: Sequence[Event], top: float) -> None:
    """What happened, and how scheduled transactions went on."""
    draw_events(axes, happened, _scheduled(result), width_in=_PANEL, top=top)


def _scheduled(result: Result) -> list[tuple[str, float]]:
    """When scheduled transactions began, were replicated and committed."""
    several = len(result.scheduled) > 1
    return [
        (f"{name}: {what}" if several else what, at)
        for name, record in result.scheduled.items()
        for what, at in marks_of(record).items()
    ]
