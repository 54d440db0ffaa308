"""Figures of where a growing load ends: the ladder, and the throughput on each of its rungs."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from simrep.measure.units import number
from simrep.show.plot.style import (
    GREY,
    INK,
    Sheet,
    colour,
    entry,
    folded,
    line_label,
    logarithmic,
    marker,
    row_axis,
)
from simrep.show.views import plot
from simrep.whatif.plan.headroom import Headroom
from simrep.whatif.plan.ladder import Rung

__all__ = ["plot_headroom"]

_ROW = 0.75  # inches
_FAR_APART = 6.0


@plot.register(Headroom)
def plot_headroom(answer: Headroom) -> Sheet:
    """Draw what gives out at which factor on the left, and the throughput over the load."""
    figure = Sheet(12.5, max(4.6, 2.4 + _ROW * len(answer.rungs)))
    ladder, curves = figure.subplots(1, 2, width_ratios=(1.0, 1.1))
    _ladder(ladder, answer)
    _curves(curves, answer)
    figure.headline(answer.question)
    return figure


def _ladder(axes: Axes, answer: Headroom) -> None:
    """A bar per rung, up to its factor."""
    far = max(rung.factor.mean for rung in answer.rungs)
    for row, rung in enumerate(answer.rungs):
        factor = rung.factor
        shade = colour(row) if rung.reached else GREY
        axes.barh(row, factor.mean, height=0.5, color=shade, alpha=0.55, zorder=2)
        axes.plot([factor.low, factor.high], [row, row], color=shade, linewidth=2.4, zorder=3)
        more = "" if rung.reached else "at least "
        axes.annotate(f"{more}{number(factor.mean)}", (max(factor.mean, factor.high), row),
                      xytext=(6.0, 0.0), textcoords="offset points", va="center",
                      color=INK)  # fmt: skip
    axes.axvline(1.0, color=GREY, linewidth=1.2, linestyle=(0, (2, 2)), zorder=4)
    axes.annotate("today", (1.0, 1.0), xycoords=("data", "axes fraction"), xytext=(4.0, -2.0),
                  textcoords="offset points", va="top", color=GREY, fontsize=9)  # fmt: skip
    axes.set_xlim(0.0, 1.18 * max(1.0, far))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_xlabel("times today's throughput")
    axes.set_title("what gives out, one behind the other")
    row_axis(axes, [folded(_label(row, rung), 26) for row, rung in enumerate(answer.rungs)])


def _label(row: int, rung: Rung) -> str:
    return f"{row + 1}. {' or '.join([rung.name, *rung.likewise])}"


def _curves(axes: Axes, answer: Headroom) -> None:
    """What is kept up over the load, on each rung."""
    wide = ""
    for row, rung in enumerate(answer.rungs):
        loads = [level.offered for level in rung.levels]
        rates = [level.kept_up_tps / answer.today_tps for level in rung.levels]
        label = "as it is" if not wide else f"and {wide} widened"
        axes.plot(loads, rates, marker=marker(row), color=colour(row), zorder=3,
                  label=entry(line_label(label, 40)))  # fmt: skip
        wide = rung.name
    known = [level.offered for rung in answer.rungs for level in rung.levels]
    label = "clients" if answer.by == "clients" else "arrivals (transactions/s)"
    if max(known) > _FAR_APART * min(known):
        logarithmic(axes.xaxis, label)
    else:
        axes.set_xlabel(label)
    axes.set_ylim(0.0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.axhline(1.0, color=GREY, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1)
    axes.set_ylabel("throughput that is kept up,\ntimes today's")
    axes.set_title("the load that grows")
    axes.legend(loc="best")
