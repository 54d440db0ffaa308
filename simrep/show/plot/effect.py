"""Figures of effects: one scenario beside another, and what moves a figure (a tornado plot)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from simrep.errors import DrawError
from simrep.measure.units import unit_of
from simrep.printable import shorten
from simrep.show.plot.style import (
    GREY,
    INK,
    PALETTE,
    Sheet,
    decade_ticks,
    dots,
    logarithmic,
    row_axis,
)
from simrep.show.text.effect import range_text, short
from simrep.show.views import plot
from simrep.whatif.comparison import Comparison, name_of
from simrep.whatif.sensitivity.result import Sensitivity

__all__ = ["plot_comparison", "plot_tornado"]

_ROW = 0.5  # inches
_LOW, _HIGH, _EFFECT = PALETTE[5], PALETTE[1], PALETTE[0]
_SHOWN = 15
_FAR_APART = 8.0  # figures whose range is wider are on a logarithmic axis


@plot.register(Comparison)
def plot_comparison(comparison: Comparison) -> Sheet:
    """Draw the ratio of each figure with its interval; hollow where no difference is seen."""
    known = [(one, one.ratio) for one in comparison.figures.values() if one.ratio is not None]
    if not known:
        raise DrawError("no ratio to draw")
    a, b = comparison.labels
    figure = Sheet(8.0, 1.6 + _ROW * len(known))
    axes = figure.subplots()
    axes.axvline(1.0, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    for row, (one, ratio) in enumerate(known):
        colour = PALETTE[0] if one.different else GREY
        axes.plot([ratio.low, ratio.high], [row, row], color=colour, linewidth=2.4, zorder=2)
        axes.plot([ratio.mean], [row], zorder=3, **dots(colour, hollow=not one.different))
    row_axis(axes, [name_of(one.figure) for one, _ in known])
    low = min(1.0, *(ratio.low for _, ratio in known))
    high = max(1.0, *(ratio.high for _, ratio in known))
    a, b = shorten(a), shorten(b)
    _ratio_axis(axes, low, high, f"{b} / {a}")
    figure.headline(f"{b} beside {a}, with {100.0 * comparison.confidence:.3g} % intervals")
    return figure


def _ratio_axis(axes: Axes, low: float, high: float, words: str) -> None:
    """Factors on a logarithmic axis where they are large."""
    axes.set_xlabel(words)
    if high < 2.0 * low:
        room = 0.08 * (high - low) or 0.05
        axes.set_xlim(low - room, high + room)
    else:
        logarithmic(axes.xaxis, words)
        axes.set_xlim(low / 1.15, high * 1.15)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))


@plot.register(Sensitivity)
def plot_tornado(found: Sensitivity) -> Sheet:
    """Draw what every number does to the figure, the most important on top.

    Left the figure at both ends of the range, everything else as in the scenario; right the
    effect over the ranges of all others, with the part that may be chance shaded.
    """
    if not found.effects:
        raise DrawError("no effects to draw")
    shown = found.effects[:_SHOWN]
    figure = Sheet(10.5, 1.9 + 0.42 * len(shown))
    bars, effects = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _bars(bars, found)
    _effects(effects, found)
    row_axis(bars, [f"{short(one.path)}\n{range_text(one)}" for one in shown], room=0.4)
    bars.tick_params(axis="y", labelsize=9.0, length=0)
    both = [axes.get_legend_handles_labels() for axes in (bars, effects)]
    handles, labels = ([*left, *right] for left, right in zip(*both, strict=True))
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    title = f"{found.title}: " if found.title else ""
    figure.headline(f"{title}what moves {found.of}")
    return figure


def _bars(axes: Axes, found: Sensitivity) -> None:
    """From the scenario's own figure to those at the ends of each range."""
    scale = 1e3 if unit_of(found.of) == "s" else 1.0
    base = scale * found.base
    shown = found.effects[:_SHOWN]
    for ends, colour, label in (
        ([scale * one.at_low for one in shown], _LOW, "low end of the range"),
        ([scale * one.at_high for one in shown], _HIGH, "high end"),
    ):
        axes.barh(
            range(len(shown)), [end - base for end in ends], left=base, height=0.62, color=colour,
            label=label, zorder=2,
        )  # fmt: skip
    axes.axvline(base, color=INK, linewidth=1.2, label="the scenario", zorder=3)
    values = [scale * end for one in shown for end in (one.at_low, one.at_high)]
    low, high = min([base, *values]), max([base, *values])
    unit = {"s": "ms", "1/s": "1/s"}.get(unit_of(found.of) or "", "")
    words = f"{found.of} ({unit})" if unit else found.of
    axes.set_xlabel(words)
    if low > 0.0 and high > _FAR_APART * low:
        logarithmic(axes.xaxis, words)
        axes.set_xlim(low / 1.15, high * 1.15)
        decade_ticks(axes.xaxis, *axes.get_xlim(), sparse_from=300.0)
    axes.set_title("One at a time")


def _effects(axes: Axes, found: Sensitivity) -> None:
    """Effects with their intervals; what may be chance is shaded."""
    shown = found.effects[:_SHOWN]
    nothing = 1.0 if found.method == "morris" and found.scale == "factor" else 0.0
    difference = found.method == "morris" and found.scale == "difference"
    scale = 1e3 if difference and unit_of(found.of) == "s" else 1.0
    effects = [scale * one.effect for one in shown]
    spans = [
        [scale * (one.effect - one.interval[0]) for one in shown],
        [scale * (one.interval[1] - one.effect) for one in shown],
    ]
    axes.axvspan(nothing, scale * found.floor, color=GREY, alpha=0.2, linewidth=0, zorder=0,
                 label="may be chance")  # fmt: skip
    axes.errorbar(
        effects, range(len(shown)), xerr=spans, fmt="o", color=_EFFECT, ecolor=_EFFECT,
        elinewidth=1.6, capsize=3.0, zorder=3,
    )  # fmt: skip
    for row, one in enumerate(shown):
        if not one.above_chance:
            axes.plot([scale * one.effect], [row], "o", color=_EFFECT, markerfacecolor="white",
                      zorder=4)  # fmt: skip
    furthest = max(scale * one.interval[1] for one in shown)
    words = f"difference over its range{' (ms)' if scale > 1.0 else ''}"
    if found.method == "sobol":
        words = "share of the variance"
    elif found.scale == "factor":
        words = "factor over its range"
    axes.set_xlabel(words)
    if nothing and furthest > _FAR_APART:
        logarithmic(axes.xaxis, words)
        axes.set_xlim(0.95, 1.1 * furthest)
        decade_ticks(axes.xaxis, *axes.get_xlim(), sparse_from=100.0)
    else:
        axes.set_xlim(left=nothing)
    axes.set_title("All together")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
