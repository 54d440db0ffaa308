"""How far repetitions of a cell lie from one another, and what measuring them took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from simrep.rig.journal import Entry

__all__ = ["NEAR", "Repeatability", "measuring_s", "repeatability"]

NEAR = 0.05
"""Repetitions within this share of their median are near to it."""


@dataclass(frozen=True, slots=True)
class Repeatability:
    """Of the times for all transactions, over cells with at least two runs that passed.

    Attributes
    ----------
    cells : int
    near : int
        Cells whose repetitions all lie within 5 % of their median.
    spread : mapping of str to float
        Largest relative distance from the median, by cell.
    """

    cells: int
    near: int
    spread: dict[str, float]


def repeatability(entries: Iterable[Entry]) -> Repeatability:
    """Spread of every cell."""
    times: dict[str, list[float]] = {}
    for entry in entries:
        seconds = entry.row.get("seconds", "")
        if entry.passed and seconds != "":
            times.setdefault(entry.id.rpartition(".")[0], []).append(float(seconds))
    spread = {
        cell: round(max(abs(value / median(values) - 1.0) for value in values), 4)
        for cell, values in times.items()
        if len(values) > 1 and median(values) > 0
    }
    return Repeatability(len(spread), sum(value <= NEAR for value in spread.values()), spread)


def measuring_s(entries: Iterable[Entry]) -> float:
    """Seconds under load, of all attempts."""
    return round(sum(float(entry.details.get("wall_s", 0.0)) for entry in entries), 1)
