"""Colours of the stages of a transaction: a stage has the same one in every figure."""

from __future__ import annotations

from matplotlib.colors import to_hex, to_rgb

from simrep.show.plot.style import GREY, INK, PALETTE

__all__ = ["STAGE_COLOURS", "activity_stage", "ink_on", "pale", "stage_hatch"]

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
