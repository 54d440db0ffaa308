"""The figure of a gcache: how large it has to be, over the length of the outage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simrep.measure.confidence import mean_interval
from simrep.show.plot.style import PALETTE, Sheet, save, styled

if TYPE_CHECKING:
    from simrep.models.galera.questions.gcache import Gcache

__all__ = ["plot_gcache"]

_POINTS = 60


def plot_gcache(answer: Gcache, path: str | Path | None = None) -> Sheet:
    """Draw the size with its interval up to twice the outage that was asked for.

    Parameters
    ----------
    answer : Gcache
    path : str or Path, optional
        Where to save it, as PNG, PDF or SVG by the ending of the name.

    Returns
    -------
    Sheet
        A matplotlib figure with one axes.
    """
    from simrep.models.galera.questions.gcache import DEFAULT_BYTES, gcache_bytes

    hours = [2.0 * answer.outage_s / 3600.0 * step / _POINTS for step in range(1, _POINTS + 1)]
    sizes = [
        mean_interval([gcache_bytes(*rate, 3600.0 * one) / 1e6 for rate in answer.rates])
        for one in hours
    ]
    with styled():
        figure = Sheet(8.0, 4.4)
        axes = figure.subplots()
        axes.plot(hours, [one.mean for one in sizes], color=PALETTE[0], zorder=3)
        axes.fill_between(hours, [one.low for one in sizes], [one.high for one in sizes],
                          color=PALETTE[0], alpha=0.2, linewidth=0, zorder=2)  # fmt: skip
        axes.axhline(DEFAULT_BYTES / 1e6, color=PALETTE[1], linewidth=1.2, linestyle=(0, (2, 2)),
                     label="default, 128M", zorder=1)  # fmt: skip
        if answer.value is not None:
            axes.plot([answer.outage_s / 3600.0], [answer.value / 1e6], "o", color=PALETTE[0],
                      label="asked for", zorder=4)  # fmt: skip
        axes.set_xlim(0, hours[-1])
        axes.set_ylim(0)
        axes.set_xlabel("outage (h)")
        axes.set_ylabel("gcache.size (MB)")
        axes.set_title(answer.question)
        axes.legend()
        save(figure, path)
    return figure
