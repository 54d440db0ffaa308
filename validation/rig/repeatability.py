"""How far repetitions of a cell lie from one another, and what measuring them took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median

from simrep.rig.cell import Run
from simrep.rig.journal import Entry
from simrep.rig.load import Load

__all__ = ["CLOSE", "Repeatability", "Spread", "measuring_s", "repeatability", "whole_s"]

CLOSE = 0.05
"""Repetitions within this share of their median are close to it."""
_PAUSE_S = 1200.0
"""No run takes longer, with all that belongs to it."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Largest relative distance of a cell's repetitions from their median.

    Attributes
    ----------
    figure : str
        Column that is compared.
    share : float
    """

    figure: str
    share: float


@dataclass(frozen=True, slots=True)
class Repeatability:
    """Of cells with at least two runs that passed.

    Attributes
    ----------
    cells : int
    close : int
        Cells whose repetitions all lie within 5 % of their median.
    spread : mapping of str to Spread
        By cell.
    """

    cells: int
    close: int
    spread: dict[str, Spread]


def repeatability(entries: Iterable[Entry], runs: Mapping[str, Run]) -> dict[str, Repeatability]:
    """Spread of every cell, by ``wan`` and ``near``: with added delays, and without.

    Cells without delays are over in less time and bound by the processors, so they vary more.

    Parameters
    ----------
    entries : iterable of Entry
    runs : mapping of id to Run
    """
    values: dict[str, list[float]] = {}
    cells: dict[str, Run] = {}
    for entry in entries:
        run = runs[entry.id]
        value = entry.row.get(_figure(run.cell.load), "")
        if entry.passed and value != "":
            values.setdefault(run.cell.key, []).append(float(value))
            cells[run.cell.key] = run
    found: dict[str, dict[str, Spread]] = {"wan": {}, "near": {}}
    for key, repeated in values.items():
        typical = median(repeated)
        if len(repeated) < 2 or typical <= 0:
            continue
        share = max(abs(value / typical - 1.0) for value in repeated)
        where = "wan" if _delayed(cells[key]) else "near"
        found[where][key] = Spread(_figure(cells[key].cell.load), round(share, 4))
    return {
        where: Repeatability(
            len(spread), sum(one.share <= CLOSE for one in spread.values()), spread
        )
        for where, spread in found.items()
    }


def _figure(load: Load) -> str:
    """The column that tells most: what the load was told is none."""
    if load.each is not None:
        return "seconds"
    if load.large is not None:
        return "update_s"
    return "mean_s" if load.rate_tps else "throughput_tps"


def _delayed(run: Run) -> bool:
    links = run.cell.layout.matrix(run.cell.node_names).links.values()
    return any(link.delay_ms for link in links)


def measuring_s(entries: Iterable[Entry]) -> float:
    """Seconds under load, of all attempts."""
    return round(sum(float(entry.details.get("wall_s", 0.0)) for entry in entries), 1)


def whole_s(entries: Iterable[Entry]) -> float:
    """Seconds from the first attempt to the last, without pauses between campaigns."""
    begins = sorted(datetime.fromisoformat(str(entry.row["began"])) for entry in entries)
    gaps_s = ((later - earlier).total_seconds() for earlier, later in pairwise(begins))
    return sum(gap_s for gap_s in gaps_s if gap_s < _PAUSE_S)
