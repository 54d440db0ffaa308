"""The figure of a sustainable rate: what stayed behind at every rate that was tried."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.ticker import PercentFormatter

from simrep.show.plot.style import GREY, PALETTE, Sheet, save, styled

if TYPE_CHECKING:
    from simrep.whatif.plan.rate import Rate

__all__ = ["plot_rate"]


def plot_rate(answer: Rate, path: str | Path | None = None) -> Sheet:
    """Draw the drift of every probe over its rate, with the interval of the answer.

    Parameters
    ----------
    answer : Rate
    path : str or Path, optional
        Where to save it, as PNG, PDF or SVG by the ending of the name.

    Returns
    -------
    Sheet
        A matplotlib figure with one axes.
    """
    with styled():
        figure = Sheet(8.0, 4.4)
        axes = figure.subplots()
        probes = [probe for one in answer.searches for probe in one.probes]
        for sustained, colour, label in (
            (True, PALETTE[2], "kept up"),
            (False, PALETTE[1], "not kept up"),
        ):
            own = [probe for probe in probes if probe.sustained == sustained]
            axes.plot([probe.rate_tps for probe in own], [probe.drift for probe in own], "o",
                      color=colour, label=label, zorder=3)  # fmt: skip
        axes.axhline(0.0, color=GREY, linewidth=1.2, zorder=1)
        if answer.low is not None and answer.high is not None:
            axes.axvspan(answer.low, answer.high, color=PALETTE[4], alpha=0.25, linewidth=0,
                         label="answer", zorder=0)  # fmt: skip
        axes.set_xscale("log")
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_xlabel("arrivals (transactions/s)")
        axes.set_ylabel("growth of what is behind, of the arrivals")
        axes.set_title(answer.question)
        axes.legend()
        save(figure, path)
    return figure
