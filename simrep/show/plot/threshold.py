"""The figure of a search: each figure over the values that were tried, and where it is too much."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from simrep.measure.units import number
from simrep.show.plot.style import GREY, PALETTE, VERDICTS, Sheet, save, styled

if TYPE_CHECKING:
    from simrep.whatif.plan.threshold import Threshold

__all__ = ["plot_threshold"]

_LABELS = {"met": "met", "open": "open", "failed": "not met"}


def plot_threshold(answer: Threshold, path: str | Path | None = None) -> Sheet:
    """Draw every condition in a panel, with intervals, its limit and the range of the answer.

    Parameters
    ----------
    answer : Threshold
    path : str or Path, optional
        Where to save it, as PNG, PDF or SVG by the ending of the name.

    Returns
    -------
    Sheet
        A matplotlib figure with an axes for every condition.
    """
    conditions = answer.objective.conditions
    with styled():
        figure = Sheet(8.0, 1.0 + 3.2 * len(conditions))
        panels = figure.subplots(len(conditions), 1, sharex=True, squeeze=False)[:, 0]
        for position, axes in enumerate(panels):
            _panel(axes, answer, position)
        panels[-1].set_xlabel(f"{answer.varied.name} ({answer.unit})")
        panels[-1].set_xscale("log")
        panels[-1].xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panels[-1].xaxis.set_major_formatter(FuncFormatter(_plain))
        panels[-1].xaxis.set_minor_formatter(NullFormatter())
        handles, labels = panels[0].get_legend_handles_labels()
        unique = dict(zip(labels, handles, strict=True))
        figure.legend(unique.values(), unique.keys(), loc="outside lower center", ncols=5)
        figure.suptitle(answer.question, x=0.012, ha="left")
        save(figure, path)
    return figure


def _panel(axes: Axes, answer: Threshold, position: int) -> None:
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
    axes.axhline(condition.limit, color=PALETTE[1], linewidth=1.2, linestyle=(0, (2, 2)),
                 label="limit", zorder=1)  # fmt: skip
    if answer.low is not None and answer.high is not None:
        axes.axvspan(answer.low, answer.high, color=PALETTE[4], alpha=0.25, linewidth=0,
                     label="answer lies here", zorder=0)  # fmt: skip
    axes.set_title(str(condition))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: condition.text(value)))


def _plain(value: float, _: object = None) -> str:
    return number(value)
