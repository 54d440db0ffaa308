"""A stage of the latency has the same colour in every figure."""

from __future__ import annotations

from simrep.plot.style import GREY, PALETTE
from simrep.workload.laps import LAPS

__all__ = ["STAGE_COLOURS", "stage_hatch"]

_BLUE, _RED, _GREEN, _PINK, _ORANGE, _SKY, _BLACK = PALETTE

STAGE_COLOURS = dict(
    zip(
        LAPS,
        (
            GREY, _SKY, _RED, _ORANGE, _PINK, _BLUE, _BLUE, _GREEN, _GREEN, _PINK, _ORANGE, _SKY,
            _RED,
        ),
        strict=True,
    )
) | {"other": _BLACK}  # fmt: skip
"""By stage; what is related has one colour, and differs in its hatching."""

_HATCHED = {"consistency", "send window", "certification", "commit order", "commit", "retries"}


def stage_hatch(stage: str) -> str | None:
    """How the bar of a stage is hatched; None if it is not."""
    return "///" if stage in _HATCHED else None
