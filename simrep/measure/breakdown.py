"""Where the latency of committed transactions goes, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, nan
from typing import Any

from simrep.measure.units import duration

__all__ = ["Breakdown"]

_ROUNDING = 1e-9
"""A share below this is what sums of floating-point numbers leave behind."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The mean latency of committed transactions, split into stages that sum to it.

    Attributes
    ----------
    stages : mapping of str to float
        Mean time per transaction in seconds, in the order in which a transaction passes the
        stages; those in which none spent any time are left out.
    latency_s : float
        Mean latency in seconds; NaN when nothing committed.
    transactions : int
        How many they are.
    """

    stages: Mapping[str, float]
    latency_s: float
    transactions: int

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        totals_s: Sequence[Sequence[float]],
        latency_total_s: float,
        transactions: int,
    ) -> Breakdown:
        """The breakdown of transactions that were counted in several places.

        ``totals_s`` has the seconds in every stage, summed over the transactions of each place;
        ``latency_total_s`` sums their latencies over all places. What a model has not marked is
        stage ``other``; so the stages always sum to the latency.
        """
        if not transactions:
            return cls({}, nan, 0)
        sums = {name: fsum(column) for name, *column in zip(names, *totals_s, strict=True)}
        sums["other"] = latency_total_s - fsum(sums.values())
        least = _ROUNDING * latency_total_s
        return cls(
            {name: total / transactions for name, total in sums.items() if total > least},
            latency_total_s / transactions,
            transactions,
        )

    @property
    def shares(self) -> dict[str, float]:
        """Fraction of the latency that is spent in every stage; they sum to 1."""
        return {name: seconds / self.latency_s for name, seconds in self.stages.items()}

    def rows(self) -> list[tuple[str, str, str]]:
        """Stage, mean and share as text, the sum last."""
        shares = self.shares
        rows = [(name, duration(s), f"{shares[name]:.1%}") for name, s in self.stages.items()]
        return [*rows, ("latency", duration(self.latency_s), "100.0%")] if rows else []

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it, but for a latency that is NaN."""
        shares = self.shares
        return {
            "latency_s": self.latency_s,
            "transactions": self.transactions,
            "stages": {
                name: {"mean_s": seconds, "share": shares[name]}
                for name, seconds in self.stages.items()
            },
        }

    def __str__(self) -> str:
        rows = [("stage", "mean", "share"), *self.rows()]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            f"{name:<{wide[0]}}  {mean:>{wide[1]}}  {share:>{wide[2]}}"
            for name, mean, share in rows
        )
