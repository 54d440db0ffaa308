"""What is demanded of a service when something breaks: an RTO, and an RPO in transactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simrep.errors import ScenarioError
from simrep.measure.units import duration, number

if TYPE_CHECKING:
    from simrep.whatif.drill.result import DrillCell

__all__ = ["LIMIT_S", "Demand"]

LIMIT_S = 180.0
"""So long after its fault a run ends, by default: how long a longer outage is nobody knows."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Bounds that every replication has to keep.

    Attributes
    ----------
    rto_s : float or None
        The longest time without an answered write, in seconds.
    rpo : float or None
        So many transactions that were answered may be lost.
    """

    rto_s: float | None = None
    rpo: float | None = None

    @classmethod
    def of(cls, rto_s: float | None, rpo: float | None, limit_s: float = LIMIT_S) -> Demand | None:
        """The demand, if anything is demanded of runs that end so long after their fault.

        Raises
        ------
        ScenarioError
            If a bound is below 0 or not finite, or no run is long enough to tell.
        """
        for path, value in (("rto_s", rto_s), ("rpo", rpo)):
            if value is not None and not 0.0 <= value < float("inf"):
                raise ScenarioError(path, f"must be at least 0 and finite, given {value:g}")
        if rto_s is not None and rto_s > limit_s:
            raise ScenarioError(
                "rto_s",
                f"must be at most {limit_s:g}, the end of a run after its fault; given {rto_s:g}",
            )
        return None if rto_s is None and rpo is None else cls(rto_s, rpo)

    def breach(self, cell: DrillCell) -> str:
        """How a cell does not keep it, in words; empty if it does, or nothing was played."""
        told = []
        worst_s = max(cell.values("rto_s"), default=0.0)
        if self.rto_s is not None and worst_s > self.rto_s:
            told.append(f"RTO {duration(worst_s) if worst_s < float('inf') else 'never over'}")
        lost = max(cell.values("lost"), default=0.0)
        if self.rpo is not None and lost > self.rpo:
            told.append(f"{number(lost)} lost")
        return ", ".join(told)

    def verdict(self, cells: Sequence[DrillCell]) -> str:
        """Which faults keep it, in a sentence.

        A model that does not tell what is lost keeps no RPO.
        """
        played = [cell for cell in cells if cell.outcomes]
        if not played:
            return f"{self}: nothing was played."
        if self.rpo is not None and not any(cell.values("lost") for cell in played):
            return f"{self}: the model does not tell what is lost."
        broken = [f"{one.fault.name} ({how})" for one in played if (how := self.breach(one))]
        if not broken:
            return f"{self}: kept, whatever was played."
        return f"{self}: not kept, {', '.join(broken)}."

    def kept(self, cells: Sequence[DrillCell]) -> bool:
        """Whether all that was played keeps it."""
        return self.verdict(cells).endswith("kept, whatever was played.")

    def __str__(self) -> str:
        parts = []
        if self.rto_s is not None:
            parts.append(f"RTO <= {duration(self.rto_s)}")
        if self.rpo is not None:
            parts.append(f"RPO <= {number(self.rpo)}")
        return " and ".join(parts)
