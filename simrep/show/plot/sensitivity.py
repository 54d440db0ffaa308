"""The tornado plot of a sensitivity analysis."""

from __future__ import annotations

from matplotlib.axes import Axes

from simrep.measure.units import unit_of
from simrep.show.plot.style import GREY, INK, PALETTE, Sheet, value_ticks
from simrep.show.text.sensitivity import range_text, short
from simrep.show.views import plot
from simrep.whatif.sensitivity.result import Sensitivity

__all__ = ["plot_tornado"]

_LOW, _HIGH, _EFFECT = PALETTE[5], PALETTE[1], PALETTE[0]
_SHOWN = 15
_FAR_APART = 8.0  # figures whose range is wider are on a logarithmic axis


@plot.register(Sensitivity)
def plot_tornado(found: Sensitivity) -> Sheet:
    """Draw what every number does to the figure, the most important on top.

    Left the figure at both ends of the range, everything else as in the scenario; right the
    effect over the ranges of all others, with the part that may be chance shaded.

    Returns
    -------
    Sheet
        A matplotlib figure with two axes.

    Raises
    ------
    ValueError
        When there is nothing to draw.
    """
    if not found.effects:
        raise ValueError("no effects to draw")
    shown = found.effects[:_SHOWN]
    figure = Sheet(10.5, 1.9 + 0.42 * len(shown))
    bars, effects = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _bars(bars, found)
    _effects(effects, found)
    bars.set_yticks(range(len(shown)), [f"{short(one.path)}\n{range_text(one)}" for one in shown])
    bars.set_ylim(len(shown) - 0.4, -0.6)
    bars.tick_params(axis="y", labelsize=9.0, length=0)
    handles, labels = bars.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    title = f"{found.title}: " if found.title else ""
    figure.suptitle(f"{title}what moves {found.of}", x=0.012, ha="left")
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
    if low > 0.0 and high > _FAR_APART * low:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.15, high * 1.15)
        _plain_ticks(axes)
    unit = {"s": "ms", "1/s": "1/s"}.get(unit_of(found.of) or "", "")
    axes.set_xlabel(f"{found.of} ({unit})" if unit else found.of)
    axes.set_title("One at a time")
    axes.grid(axis="y", visible=False)


def _effects(axes: Axes, found: Sensitivity) -> None:
    """Effects with their intervals; what may be chance is shaded."""
    shown = found.effects[:_SHOWN]
    nothing = 1.0 if found.method == "morris" and found.scale == "factor" else 0.0
    scale = 1e3 if _in_seconds(found) else 1.0
    effects = [scale * one.effect for one in shown]
    spans = [
        [scale * (one.effect - one.interval[0]) for one in shown],
        [scale * (one.interval[1] - one.effect) for one in shown],
    ]
    axes.axvspan(nothing, scale * found.floor, color=GREY, alpha=0.2, linewidth=0, zorder=0)
    axes.errorbar(
        effects, range(len(shown)), xerr=spans, fmt="o", color=_EFFECT, ecolor=_EFFECT,
        elinewidth=1.6, capsize=3.0, zorder=3,
    )  # fmt: skip
    for number, one in enumerate(shown):
        if not one.above_chance:
            axes.plot([scale * one.effect], [number], "o", color=_EFFECT, markerfacecolor="white",
                      zorder=4)  # fmt: skip
    furthest = max(scale * one.interval[1] for one in shown)
    if nothing and furthest > _FAR_APART:
        axes.set_xscale("log")
        axes.set_xlim(0.95, 1.1 * furthest)
        _plain_ticks(axes)
    else:
        axes.set_xlim(left=nothing)
    if found.method == "sobol":
        axes.set_xlabel("share of the variance (shaded: chance?)")
    elif found.scale == "factor":
        axes.set_xlabel("factor over its range (shaded: chance?)")
    else:
        unit = " in ms" if scale > 1.0 else ""
        axes.set_xlabel(f"difference over its range{unit} (shaded: chance?)")
    axes.set_title("All together")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _plain_ticks(axes: Axes) -> None:
    """Plain numbers on a logarithmic axis."""
    low, high = axes.get_xlim()
    ticks = [step * 10.0**power for power in range(-9, 13) for step in (1, 2, 5)]
    value_ticks(axes.xaxis, [tick for tick in ticks if low <= tick <= high])


def _in_seconds(found: Sensitivity) -> bool:
    return found.method == "morris" and found.scale == "difference" and unit_of(found.of) == "s"
