"""The figure of ranked products: what each of them reaches, and the limits."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from simrep.show.plot.style import PALETTE, VERDICTS, Sheet, save, styled

if TYPE_CHECKING:
    from simrep.whatif.plan.product import Product

__all__ = ["plot_products"]

_ROW = 0.5  # inches


def plot_products(answer: Product, path: str | Path | None = None) -> Sheet:
    """Draw a panel for every condition and a row for every candidate, the best on top.

    Parameters
    ----------
    answer : Product
    path : str or Path, optional
        Where to save it, as PNG, PDF or SVG by the ending of the name.

    Returns
    -------
    Sheet
        A matplotlib figure with an axes for every condition.
    """
    conditions = answer.objective.conditions
    with styled():
        figure = Sheet(5.0 + 3.6 * len(conditions), 1.8 + _ROW * len(answer.ranked))
        panels = figure.subplots(1, len(conditions), sharey=True, squeeze=False)[0]
        for position, axes in enumerate(panels):
            _panel(axes, answer, position)
        names = [f"{one.candidate.product}\n{one.candidate.servers}" for one in answer.ranked]
        panels[0].set_yticks(range(len(names)), labels=names, fontsize=8)
        panels[0].set_ylim(len(names) - 0.5, -0.5)
        figure.suptitle(answer.question, x=0.012, ha="left")
        save(figure, path)
    return figure


def _panel(axes: Axes, answer: Product, position: int) -> None:
    condition = answer.objective.conditions[position]
    for row, one in enumerate(answer.ranked):
        mean, interval = one.tried.means[position], one.tried.intervals[position]
        if not isfinite(mean):
            continue
        colour = VERDICTS[one.tried.verdict]
        axes.barh(row, mean, height=0.6, color=colour, alpha=0.55, zorder=2)
        axes.plot([interval.low, interval.high], [row, row], color=colour, linewidth=2.0, zorder=3)
    axes.axvline(condition.limit, color=PALETTE[1], linewidth=1.2, linestyle=(0, (2, 2)), zorder=4)
    axes.set_xlim(0)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: condition.text(value)))
    axes.grid(visible=False, axis="y")
    axes.set_title(str(condition))
