"""The figure of a comparison: by what factor each figure changes, and how sure that is."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from simrep.measure.units import number
from simrep.show.plot.style import GREY, PALETTE, Sheet
from simrep.show.views import plot
from simrep.whatif.comparison import Comparison, name_of

__all__ = ["plot_comparison"]

_ROW = 0.5  # inches


@plot.register(Comparison)
def plot_comparison(comparison: Comparison) -> Sheet:
    """Draw the ratio of each figure with its interval; hollow where no difference is seen.

    Raises
    ------
    ValueError
        When there is no ratio to draw.
    """
    known = [(one, one.ratio) for one in comparison.figures.values() if one.ratio is not None]
    if not known:
        raise ValueError("no ratio to draw")
    a, b = comparison.labels
    figure = Sheet(8.0, 1.6 + _ROW * len(known))
    axes = figure.subplots()
    axes.axvline(1.0, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    for row, (one, ratio) in enumerate(known):
        colour = PALETTE[0] if one.different else GREY
        axes.plot([ratio.low, ratio.high], [row, row], color=colour, linewidth=2.4, zorder=2)
        axes.plot([ratio.mean], [row], "o", color=colour, zorder=3, markeredgecolor=colour,
                  markerfacecolor=colour if one.different else "white")  # fmt: skip
    axes.set_yticks(range(len(known)), labels=[name_of(one.figure) for one, _ in known])
    axes.set_ylim(len(known) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    low = min(1.0, *(ratio.low for _, ratio in known))
    high = max(1.0, *(ratio.high for _, ratio in known))
    _ratio_axis(axes, low, high)
    axes.set_xlabel(f"{b} / {a}, with {100.0 * comparison.confidence:.3g} % intervals")
    axes.set_title(f"{b} beside {a}")
    return figure


def _ratio_axis(axes: Axes, low: float, high: float) -> None:
    """Factors on a logarithmic axis where they are large."""
    if high < 2.0 * low:
        room = 0.08 * (high - low) or 0.05
        axes.set_xlim(low - room, high + room)
        axes.xaxis.set_major_formatter(FuncFormatter(_factor))
        return
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(_factor))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(low / 1.15, high * 1.15)


def _factor(value: float, _: object = None) -> str:
    return number(value)
