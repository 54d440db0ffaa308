"""Figures of an exploration: a setting beside the first one, and one value at several levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from simrep.measure.units import duration, number
from simrep.printable import shorten
from simrep.runs.result import Result
from simrep.show.plot.axes import latency_axis, nothing_committed
from simrep.show.plot.breakdown import draw_breakdowns
from simrep.show.plot.style import GREY, INK, PALETTE, Sheet, row_axis, save, styled

__all__ = ["plot_overview", "plot_settings"]

_WIDTH, _HEIGHT, _PANELS_HEIGHT = 11.0, 4.7, 3.3
_LINE = 88  # characters of a headline
_LEAST_WIDTH = 0.16
_COLOURS = (PALETTE[0], GREY)


def plot_settings(
    results: Mapping[str, Result], path: str | Path | None = None, *, title: str = ""
) -> Sheet:
    """Draw latencies, throughput and stages of a setting by its name, and of the first beside it.

    The figure is saved where a path is given, as PNG, PDF or SVG by the ending of the name.
    """
    with styled():
        figure = Sheet(_WIDTH, _HEIGHT)
        _head(figure, title)
        _draw_settings(figure, results)
        return save(figure, path)


def plot_overview(
    results: Mapping[str, Result],
    over: str,
    levels: Sequence[tuple[str, Result]],
    path: str | Path | None = None,
    *,
    title: str = "",
) -> Sheet:
    """Draw a setting as :func:`plot_settings` does; below it latencies at levels of one value."""
    heights = (_HEIGHT, _PANELS_HEIGHT)
    with styled():
        figure = Sheet(_WIDTH, sum(heights))
        _head(figure, title)
        above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=heights)[:, 0]
        _draw_settings(above, results)
        _draw_levels(below, over, levels)
        return save(figure, path)


def _head(figure: Sheet, title: str) -> None:
    """What the picture shows, in two lines at most."""
    figure.headline(fill(shorten(title, 2 * _LINE - 8), _LINE))


def _draw_settings(figure: Sheet | SubFigure, results: Mapping[str, Result]) -> None:
    axes = figure.subplot_mosaic(
        [["latency", "throughput"], ["latency", "stages"]],
        width_ratios=(1.0, 1.15), height_ratios=(0.8, 1.0),
    )  # fmt: skip
    colours = dict(zip(results, _COLOURS, strict=False))
    _latencies(axes["latency"], results, colours)
    _throughputs(axes["throughput"], results, colours)
    _stages(figure, axes["stages"], results)


def _latencies(axes: Axes, results: Mapping[str, Result], colours: Mapping[str, str]) -> None:
    axes.set_title("Latency")
    axes.set_xlabel("latency of a committed transaction")
    axes.set_ylabel("transactions not slower (%)")
    _distributions(axes, results, colours)
    if len(results) > 1:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.0,
                    handletextpad=0.2, columnspacing=1.0)  # fmt: skip


def _distributions(
    axes: Axes, results: Mapping[str, Result], colours: Mapping[str, str], *, ticks: int = 5
) -> None:
    """How many percent of the transactions are not slower, with a point at the 95th percentile."""
    axes.set_ylim(0, 104)
    drawn = {label: one for label, one in results.items() if one.histogram.count}
    if not drawn:
        nothing_committed(axes)
        return
    _curves(axes, drawn, colours)
    low = min(one.histogram.percentile(0.1) for one in drawn.values())
    latency_axis(axes, low, max(one.histogram.max_s for one in drawn.values()), ticks=ticks)


def _curves(axes: Axes, results: Mapping[str, Result], colours: Mapping[str, str]) -> None:
    drawn = {label: one for label, one in results.items() if one.histogram.count}
    for label, one in reversed(drawn.items()):
        seconds, fraction = one.histogram.cdf()
        axes.plot(seconds, 100 * fraction, color=colours[label])
        axes.plot([one.latency_s["p95"]], [95], "o", color=colours[label], markeredgecolor="white",
                  label=f"{label}: p95 {duration(one.latency_s['p95'])}")  # fmt: skip


def _throughputs(axes: Axes, results: Mapping[str, Result], colours: Mapping[str, str]) -> None:
    axes.set_title("Throughput")
    axes.set_xlabel("transactions per second")
    rates = [one.throughput_tps for one in results.values()]
    axes.barh(range(len(rates)), rates, height=0.62, color=[colours[label] for label in results])
    highest = max(rates) or 1.0
    for row, rate in enumerate(rates):
        axes.text(rate + 0.01 * highest, row, number(rate), va="center", color=INK)
    axes.set_xlim(0, 1.15 * highest)
    row_axis(axes, results)


def _stages(figure: Sheet | SubFigure, axes: Axes, results: Mapping[str, Result]) -> None:
    axes.set_title("Where the time goes")
    drawn = {label: one.breakdown() for label, one in results.items()}
    drawn = {label: one for label, one in drawn.items() if one.stages}
    if not drawn:
        nothing_committed(axes)
        return
    draw_breakdowns(axes, drawn, least_width=_LEAST_WIDTH)
    axes.set_xlim(right=1.18e3 * max(one.latency_s for one in drawn.values()))
    axes.set_xlabel("mean latency (ms)")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=8, fontsize=9)


def _draw_levels(figure: SubFigure, over: str, levels: Sequence[tuple[str, Result]]) -> None:
    """A panel for each level of one value, with the same scales."""
    panels = figure.subplots(1, len(levels), sharex=True, sharey=True, squeeze=False)[0]
    words = "latency of a committed transaction"
    for axes, (label, one) in zip(panels, levels, strict=True):
        axes.set_title(label, fontsize=10.5, pad=20.0)
        _curves(axes, {label: one}, {label: PALETTE[0]})
        if not one.histogram.count:
            nothing_committed(axes)
            continue
        told = f"p95 {duration(one.latency_s['p95'])}, {number(one.throughput_tps)}/s"
        axes.annotate(told, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 6), fontsize=9.0,
                      textcoords="offset points", color=GREY)  # fmt: skip
    drawn = [one.histogram for _, one in levels if one.histogram.count]
    if drawn:
        low = min(one.percentile(0.1) for one in drawn)
        latency_axis(panels[0], low, max(one.max_s for one in drawn), ticks=3, sparse=True)
        words += ", logarithmic" if panels[0].get_xscale() == "log" else ""
    panels[0].set_ylim(0, 104)
    panels[0].set_ylabel("not slower (%)")
    panels[0].set_xlabel("")
    figure.supxlabel(words, fontsize=11)
    figure.suptitle(f"Latency by {over}", x=0.012, ha="left", fontsize=12)
