"""Figures of answers to inverse questions: what was tried, and where the limit lies."""

from __future__ import annotations

from math import isfinite
from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from simrep.show.plot.style import (
    GREY,
    LIMIT,
    PALETTE,
    SHADE,
    VERDICTS,
    Sheet,
    dots,
    logarithmic,
    row_axis,
)
from simrep.show.views import plot
from simrep.whatif.plan.capacity import Capacity, labels_of
from simrep.whatif.plan.product import Product
from simrep.whatif.plan.rate import Rate
from simrep.whatif.plan.threshold import Threshold
from simrep.whatif.plan.timeouts import Timeouts

__all__ = ["plot_capacity", "plot_products", "plot_rate", "plot_threshold", "plot_timeouts"]

_LABELS = {"met": "met", "open": "open", "failed": "not met"}
_ROW = 0.5  # inches
_FAR_APART = 8.0  # capacities whose range is wider are on a logarithmic axis
_ANSWER = SHADE | {"alpha": 0.25, "zorder": 0}


@plot.register(Threshold)
def plot_threshold(answer: Threshold) -> Sheet:
    """Draw every condition in a panel, with intervals, its limit and the range of the answer."""
    return _curves(answer, answer.question)


def _curves(answer: Threshold, question: str) -> Sheet:
    conditions = answer.objective.conditions
    figure = Sheet(8.0, 1.0 + 3.2 * len(conditions))
    panels = figure.subplots(len(conditions), 1, sharex=True, squeeze=False)[:, 0]
    for position, axes in enumerate(panels):
        _threshold_panel(axes, answer, position)
    lowest = panels[-1]
    logarithmic(lowest.xaxis, _load(answer))
    handles, labels = panels[0].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(unique.values(), unique.keys(), loc="outside lower center", ncols=5)
    figure.headline(question)
    return figure


def _load(answer: Threshold) -> str:
    """What a search varies, with its unit."""
    name, unit = answer.varied.name, answer.varied.unit
    return name if name.endswith(unit) else f"{name} ({unit})"


def _threshold_panel(axes: Axes, answer: Threshold, position: int) -> None:
    condition = answer.objective.conditions[position]
    known = [one for one in answer.tried if isfinite(one.means[position])]
    axes.plot([one.value for one in known], [one.means[position] for one in known],
              color=GREY, linewidth=1.2, zorder=2)  # fmt: skip
    for one in known:
        interval, colour = one.intervals[position], VERDICTS[one.verdict]
        axes.plot([one.value] * 2, [interval.low, interval.high], color=colour, linewidth=2.0,
                  zorder=3)  # fmt: skip
        axes.plot([one.value], [one.means[position]], "o", color=colour, zorder=4,
                  label=_LABELS[one.verdict])  # fmt: skip
    axes.axhline(condition.limit, **LIMIT, label="limit", zorder=1)
    if answer.low is not None and answer.high is not None:
        axes.axvspan(answer.low, answer.high, **_ANSWER, label="answer lies here")
    axes.set_title(answer.heading(condition))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: condition.text(value)))


@plot.register(Capacity)
def plot_capacity(answer: Capacity) -> Sheet:
    """Draw the figures of one topology over the load; of several, a row for each, or a curve."""
    if len(answer.carried) == 1:
        return _curves(answer.carried[0].search, answer.question)
    figure = Sheet(8.0, 1.8 + _ROW * len(answer.carried))
    axes = figure.subplots()
    for row, one in enumerate(answer.carried):
        value, high = one.search.value, one.search.high
        if value is None:
            axes.annotate(f"not met: {one.limited_by}", (0.0, row), color=VERDICTS["failed"],
                          xycoords=("axes fraction", "data"), xytext=(6.0, 0.0),
                          textcoords="offset points", va="center")  # fmt: skip
            continue
        if high is None:
            arrow = {"arrowstyle": "->", "color": GREY}
            axes.annotate("", (1.0, row), (value, row), xycoords=("axes fraction", "data"),
                          textcoords="data", arrowprops=arrow)  # fmt: skip
        else:
            axes.plot([value, high], [row, row], color=GREY, linewidth=2.4, zorder=2)
            axes.plot([high], [row], zorder=3, **dots(VERDICTS["failed"], hollow=True))
        axes.plot([value], [row], zorder=4, **dots(VERDICTS["met"], hollow=False))
    row_axis(axes, labels_of(answer.carried))
    known = [
        end
        for one in answer.carried
        for end in (one.search.value, one.search.high)
        if end is not None and one.search.value is not None
    ]
    load = _load(answer.carried[0].search)
    label = f"{load}: full where the objective is met, hollow where it is not"
    if known and max(known) > _FAR_APART * min(known):
        logarithmic(axes.xaxis, label)
        axes.set_xlim(min(known) / 2.0, max(known) * 2.0)
    else:
        axes.set_xlim(0.0, 1.1 * max(known, default=1.0))
        axes.xaxis.set_major_locator(MaxNLocator(integer=answer.by == "clients"))
        axes.set_xlabel(label)
    figure.headline(answer.question)
    return figure


@plot.register(Rate)
def plot_rate(answer: Rate) -> Sheet:
    """Draw the drift of every probe over its rate, with the interval of the answer."""
    figure = Sheet(8.0, 4.4)
    axes = figure.subplots()
    probes = [probe for one in answer.searches for probe in one.probes]
    for verdict, label in (("met", "kept up"), ("failed", "not kept up")):
        own = [probe for probe in probes if probe.sustained == (verdict == "met")]
        axes.plot([probe.rate_tps for probe in own], [probe.drift for probe in own], "o",
                  color=VERDICTS[verdict], label=label, zorder=3)  # fmt: skip
    axes.axhline(0.0, color=GREY, linewidth=1.2, zorder=1)
    if answer.low is not None and answer.high is not None:
        axes.axvspan(answer.low, answer.high, **_ANSWER, label="answer")
    logarithmic(axes.xaxis, "arrivals (transactions/s)")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel("growth of what is behind, of the arrivals")
    figure.legend(loc="outside lower center", ncols=3)
    figure.headline(answer.question)
    return figure


@plot.register(Product)
def plot_products(answer: Product) -> Sheet:
    """Draw a panel for every condition and a row for every candidate, the best on top."""
    conditions = answer.objective.conditions
    figure = Sheet(5.0 + 3.6 * len(conditions), 1.8 + _ROW * len(answer.ranked))
    panels = figure.subplots(1, len(conditions), sharey=True, squeeze=False)[0]
    for position, axes in enumerate(panels):
        _product_panel(axes, answer, position)
    names = [f"{one.candidate.product}\n{one.candidate.servers}" for one in answer.ranked]
    row_axis(panels[0], names, fontsize=8)
    figure.headline(answer.question)
    return figure


def _product_panel(axes: Axes, answer: Product, position: int) -> None:
    condition = answer.objective.conditions[position]
    for row, one in enumerate(answer.ranked):
        mean, interval = one.tried.means[position], one.tried.intervals[position]
        if not isfinite(mean):
            continue
        colour = VERDICTS[one.tried.verdict]
        axes.barh(row, mean, height=0.6, color=colour, alpha=0.55, zorder=2)
        axes.plot([interval.low, interval.high], [row, row], color=colour, linewidth=2.0, zorder=3)
    axes.axvline(condition.limit, **LIMIT, zorder=4)
    axes.set_xlim(0)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: condition.text(value)))
    axes.grid(visible=False, axis="y")
    axes.set_title(str(condition))


@plot.register(Timeouts)
def plot_timeouts(answer: Timeouts) -> Sheet:
    """Draw times over the timeout; settings that remove the node after an outage are hollow."""
    figure = Sheet(8.0, 4.6)
    axes = figure.subplots()
    gone = [(one.setting.timeout_s, median(one.removed_s)) for one in answer.tried]
    gone = [point for point in gone if isfinite(point[1])]
    axes.plot([x for x, _ in gone], [y for _, y in gone], color=GREY, linewidth=6.0, alpha=0.5,
              label=f"until a crashed node is {answer.verb}", zorder=1)  # fmt: skip
    curves = {"longest stall after a crash": "crash_s", "longest stall of an outage": "outage_s"}
    for shade, (label, name) in zip(PALETTE, curves.items(), strict=False):
        times = [one.setting.timeout_s for one in answer.tried]
        stalls = [median(getattr(one, name)) for one in answer.tried]
        axes.plot(times, stalls, color=shade, label=label, zorder=2)
        for one, x, y in zip(answer.tried, times, stalls, strict=True):
            hollow = one.removed and name == "outage_s"
            axes.plot([x], [y], "o", color=shade, markerfacecolor="white" if hollow else shade,
                      zorder=3)  # fmt: skip
    axes.plot(
        [], [], "o", color=PALETTE[1], markerfacecolor="white", label=f"the node is {answer.verb}"
    )
    axes.set_xlim(left=-0.02 * max(one.setting.timeout_s for one in answer.tried))
    axes.set_ylim(0)
    axes.set_xlabel(f"{answer.option} (s)")
    axes.set_ylabel("seconds")
    axes.set_title(answer.question)
    axes.legend()
    return figure
