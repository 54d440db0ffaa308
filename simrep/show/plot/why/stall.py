"""The figure of blockages: a row per station, a bar per blockage, the stall shaded."""

from __future__ import annotations

from matplotlib.patches import Patch

from simrep.measure.units import duration
from simrep.show.plot.style import GREY, PALETTE, Sheet
from simrep.show.views import plot
from simrep.why.stall import StallExplanation

__all__ = ["plot_blockages"]

_MOST_ROWS = 16
_CAUSE, _EXPLAINED, _OUTSIDE = PALETTE[1], PALETTE[0], GREY


@plot.register(StallExplanation)
def plot_blockages(explanation: StallExplanation) -> Sheet:
    """Draw when each station was blocked.

    Returns
    -------
    Sheet
        A matplotlib figure with one axes; at most 16 stations, those with the longest blockages.

    Raises
    ------
    ValueError
        When nothing was blocked.
    """
    found, stall = explanation.blockages, explanation.stall
    if not found:
        raise ValueError("nothing was blocked for long enough to be drawn")
    # A chain takes moments to build up, during which each of its links is the last.
    causes = {
        cause.blockage
        for cause in explanation.causes
        if cause.seconds > 0.5 * found[cause.blockage].within(stall)
    }
    stations = list(dict.fromkeys(f"{one.node}  {one.station}" for one in found))[:_MOST_ROWS]
    rows = {station: row for row, station in enumerate(sorted(stations))}
    figure = Sheet(11.0, 1.8 + 0.42 * len(rows))
    axes = figure.subplots()
    if stall.seconds > 0.0:
        axes.axvspan(
            stall.began_s, stall.began_s + stall.seconds,
            color=PALETTE[4], alpha=0.22, linewidth=0,
        )  # fmt: skip
    for position, one in enumerate(found):
        row = rows.get(f"{one.node}  {one.station}")
        if row is not None:
            colour = _EXPLAINED if one.within(stall) > 0.0 else _OUTSIDE
            axes.barh(
                row, one.seconds, left=one.began_s, height=0.62,
                color=_CAUSE if position in causes else colour, edgecolor="white",
            )  # fmt: skip
    axes.set_yticks(range(len(rows)), labels=list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("simulated time (s)")
    axes.grid(visible=False, axis="y")
    handles = [
        Patch(color=_CAUSE, label="cause"),
        Patch(color=_EXPLAINED, label="explained by another"),
        Patch(color=_OUTSIDE, label="not in the stall"),
        Patch(color=PALETTE[4], alpha=0.22, label=f"no commit for {duration(stall.seconds)}"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure
