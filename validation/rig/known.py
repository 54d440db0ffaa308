"""How well repetitions tell a figure, and which figures of a cell are not known well enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simrep.measure.confidence import mean_interval
from simrep.rig.cell import Cell
from simrep.rig.columns import METRICS
from simrep.rig.decided import by_chance
from simrep.rig.fault_names import MEASURED_ALONE, unit

if TYPE_CHECKING:
    from simrep.rig.journal import Entry

__all__ = ["KNOWN_SHARE", "is_known", "uncertainty", "unknown_figures"]

KNOWN_SHARE = 0.1
_MOMENT_S = 0.015
"""A tenth of the 0.15 s that a predicted moment may be off: no share of a moment near zero is
small enough, and logs are looked at every 0.005 s."""
_COUNTED = {"", "transactions"}


def _half_interval(values: Sequence[float]) -> float | None:
    """Half of the 95 % interval of a mean; none of one value alone, which tells nothing."""
    if len(values) < 2:
        return None
    found = mean_interval(values)
    return (found.high - found.low) / 2.0


def uncertainty(values: Sequence[float]) -> float | None:
    """The same as a share of the mean; none where the mean is 0 and values differ."""
    half = _half_interval(values)
    if not half:
        return half
    middle = sum(values) / len(values)
    return half / abs(middle) if middle else None


def is_known(values: Sequence[float], *, moment: bool) -> bool:
    """Whether a mean is known to 10 %, or that of a moment to 0.015 s."""
    half, share = _half_interval(values), uncertainty(values)
    if half is None:
        return False
    return (share is not None and share <= KNOWN_SHARE) or (moment and half <= _MOMENT_S)


def unknown_figures(cell: Cell, passed: Sequence[Entry]) -> list[str]:
    """Continuous figures of a cell whose mean is not known.

    Counts are left out, and so are figures with modes (``decided.by_chance``): their mean lies
    between multiples of a timer, where no run does.

    Parameters
    ----------
    cell : Cell
    passed : sequence of Entry
        Its attempts that may be used.
    """
    values: dict[str, list[float]] = {}
    for entry in passed:
        for name, value in _continuous(cell, entry):
            values.setdefault(name, []).append(value)
    moments = cell.load.breaks
    return [
        name
        for name, own in values.items()
        if not is_known(own, moment=moments and unit(name) == "s")
    ]


def _continuous(cell: Cell, entry: Entry) -> Iterator[tuple[str, float]]:
    if cell.load.breaks:
        figures = entry.details["figures"]
        modes = by_chance(cell, figures)
        for name, value in figures.items():
            if unit(name) and not name.startswith(MEASURED_ALONE) and name not in modes:
                yield name, float(value)
        return
    for metric in METRICS:
        value = entry.row.get(metric.column, "")
        if value == "" or metric.unit in _COUNTED or not metric.of(cell.load):
            continue
        if metric.told_by(float(entry.row["committed"] or 0)):
            yield metric.column, float(value)
