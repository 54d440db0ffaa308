"""Stages of a transaction: one colour each in every figure, and latencies as bars of stages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

from simrep.errors import DrawError
from simrep.measure.breakdown import Breakdown
from simrep.measure.units import duration
from simrep.show.plot.style import GREY, INK, PALETTE, Sheet, row_axis, save, styled

__all__ = ["STAGE_COLOURS", "activity_stage", "draw_breakdowns", "ink_on", "pale",
           "plot_breakdowns", "stage_hatch"]  # fmt: skip

_LEAST_WIDTH = 0.075  # of the axis, for a bar to hold its number
_BLUE, _RED, _GREEN, _PINK, _ORANGE, _SKY, _BLACK = PALETTE
# Two more of those that all kinds of colour vision tell apart (Paul Tol's muted scheme).
_WINE, _OLIVE = "#882255", "#8A8A2B"

STAGE_COLOURS = {
    "client": GREY,
    "execute": _SKY,
    "lock wait": _RED,
    "queue": _ORANGE,
    "consistency": _PINK,
    "send window": _WINE,
    "order": _BLUE,
    "certification": _OLIVE,
    "flush": _GREEN,
    "acknowledgement": _PINK,
    "commit order": _ORANGE,
    "commit": _SKY,
    "retries": _RED,
    "other": _BLACK,
}
"""By name; what is related has the same colour and differs in its hatching."""

_HATCHED = frozenset({"consistency", "commit order", "commit", "retries"})

_LIGHT = frozenset({_SKY, _ORANGE, _PINK})

_WORDS = (
    ("row", "lock wait"),
    ("send", "send window"),
    ("certif", "certification"),
    ("commit order", "commit order"),
    ("commit", "commit"),
    ("log", "flush"),
    ("acknowledgement", "acknowledgement"),
    ("order", "order"),
    ("appl", "execute"),
)


def activity_stage(station: str) -> str:
    """The stage that is most like what happens at a station, for its colour; client if none is.

    >>> activity_stage("applier"), activity_stage("redo log"), activity_stage("io thread")
    ('execute', 'flush', 'client')
    """
    return next((stage for word, stage in _WORDS if word in station.lower()), "client")


def stage_hatch(stage: str) -> str | None:
    """How the bar of a stage is hatched; None if it is not."""
    return "///" if stage in _HATCHED else None


def ink_on(stage: str) -> str:
    """The colour of text on the colour of a stage."""
    return INK if STAGE_COLOURS.get(stage) in _LIGHT else "white"


def pale(colour: str) -> str:
    """The same colour for a wait on another node.

    >>> pale("#000000")
    '#999999'
    """
    red, green, blue = (1.0 - 0.4 * (1.0 - part) for part in to_rgb(colour))
    return to_hex((red, green, blue))


def plot_breakdowns(breakdowns: Mapping[str, Breakdown], path: str | Path | None = None) -> Sheet:
    """Draw where the latency goes, as stacked bars beside each other.

    Parameters
    ----------
    breakdowns : mapping of str to Breakdown
        By label, drawn from top to bottom: ``{"galera": result.breakdown()}``.
    path : str or Path, optional
        Where to save it, as PNG, PDF or SVG by the ending of the name.

    Returns
    -------
    Sheet
        A matplotlib figure with one axes, of mean latency in milliseconds.

    Raises
    ------
    ValueError
        When there is nothing to draw.
    """
    drawn = {label: one for label, one in breakdowns.items() if one.stages}
    if not drawn:
        raise DrawError("no transactions whose latency could be drawn by stages")
    with styled():
        figure = Sheet(11.0, 1.9 + 0.62 * len(drawn))
        draw_breakdowns(figure.subplots(), drawn)
        figure.legend(loc="outside lower center", ncols=6)
    return save(figure, path)


def draw_breakdowns(
    axes: Axes, drawn: Mapping[str, Breakdown], *, least_width: float = _LEAST_WIDTH
) -> None:
    """A bar per breakdown, from top to bottom; all of them have stages.

    A stage that takes that share of the axis has its duration written into it.
    """
    longest_ms = 1e3 * max(one.latency_s for one in drawn.values())
    ends = [0.0] * len(drawn)
    for stage, colour in STAGE_COLOURS.items():
        if not any(stage in one.stages for one in drawn.values()):
            continue
        widths = [1e3 * one.stages.get(stage, 0.0) for one in drawn.values()]
        axes.barh(
            range(len(drawn)), widths, left=ends,
            height=0.62, label=stage, color=colour, edgecolor="white", linewidth=0.8,
            hatch=stage_hatch(stage),
        )  # fmt: skip
        for row, width in enumerate(widths):
            if width >= least_width * longest_ms:
                axes.text(ends[row] + width / 2, row, duration(width / 1e3), color="white",
                          fontsize=10, fontweight="bold", ha="center", va="center",
                          bbox={"facecolor": colour, "edgecolor": "none", "pad": 1.5})  # fmt: skip
            ends[row] += width
    for row, one in enumerate(drawn.values()):
        axes.text(ends[row] + 0.008 * longest_ms, row, duration(one.latency_s),
                  ha="left", va="center")  # fmt: skip
    row_axis(axes, drawn)
    axes.set_xlim(0, 1.1 * longest_ms)
    axes.set_xlabel("mean latency of a committed transaction (ms)")
