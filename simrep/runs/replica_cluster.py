"""What another cluster that follows this one lacked: what its loss would have cost at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simrep.measure.histogram import LatencyHistogram
from simrep.measure.spread import Spread, spread_dict
from simrep.runs.incidents import Incident
from simrep.runs.report import Report
from simrep.workload.replica_cluster import Missing, ReplicaCluster

__all__ = ["MissingSpread", "ReplicaClusterLag", "ReplicaClusterRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaClusterRecord:
    """What another cluster lacked in one replication.

    Attributes
    ----------
    name : str
        Of the other cluster.
    late : LatencyHistogram
        From the answer of a transaction until it is received, of those in the measured time; 0 if
        it was received before.
    mean, most : float
        How many transactions were missing, over the measured time, and at most.
    longest_s : float
        How long one was missing at most, in seconds.
    at_faults : tuple of Missing
        When each fault of the run began, in the order of the scenario.
    at_end : Missing
    """

    name: str
    late: LatencyHistogram
    mean: float
    most: int
    longest_s: float
    at_faults: tuple[Missing, ...]
    at_end: Missing

    @classmethod
    def of(cls, follower: ReplicaCluster, late: LatencyHistogram) -> ReplicaClusterRecord:
        """At the end of a replication."""
        return cls(
            name=follower.name,
            late=late,
            mean=follower.mean,
            most=follower.most,
            longest_s=follower.longest_s,
            at_faults=tuple(follower.at_faults),
            at_end=follower.missing,
        )


@dataclass(frozen=True, slots=True)
class MissingSpread:
    """What would have been lost with all nodes at an instant.

    Attributes
    ----------
    when : str
        The instant in words.
    transactions : Spread
        Answered to their clients, and not on their way to the other cluster.
    seconds : Spread
        Since the first of them was answered.
    """

    when: str
    transactions: Spread
    seconds: Spread

    @classmethod
    def of(cls, when: str, missing: Sequence[Missing]) -> MissingSpread:
        """That of several replications."""
        return cls(
            when,
            Spread(tuple(float(one.transactions) for one in missing)),
            Spread(tuple(one.seconds for one in missing)),
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReplicaClusterLag(Report):
    """What was answered and had not left for the other cluster, over all replications.

    If all nodes are lost at an instant, that is lost.

    Attributes
    ----------
    name : str
        Of the other cluster.
    late : LatencyHistogram
        From the answer of a transaction until it is received; 0 if it was received before.
    mean, most : Spread
        How many transactions were missing, over the measured time, and at most.
    longest_s : Spread
        How long one was missing at most, in seconds.
    faults : mapping of str to MissingSpread
        What would have been lost when a fault began, by its name.
    end : MissingSpread
        The same at the end of the run.
    """

    name: str
    late: LatencyHistogram
    mean: Spread
    most: Spread
    longest_s: Spread
    faults: Mapping[str, MissingSpread]
    end: MissingSpread

    @classmethod
    def of(
        cls, records: Sequence[ReplicaClusterRecord], faults: Mapping[str, Incident]
    ) -> ReplicaClusterLag:
        """That of several replications; ``faults`` are all of the run in order."""
        return cls(
            name=records[0].name,
            late=LatencyHistogram.merged(one.late for one in records),
            mean=Spread(tuple(one.mean for one in records)),
            most=Spread(tuple(float(one.most) for one in records)),
            longest_s=Spread(tuple(one.longest_s for one in records)),
            faults={
                name: MissingSpread.of(
                    f"when {fault.called} ({fault.at_s:.5g} s)",
                    [one.at_faults[place] for one in records],
                )
                for place, (name, fault) in enumerate(faults.items())
            },
            end=MissingSpread.of("at the end of the run", [one.at_end for one in records]),
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures by name: medians over the replications, and their ranges."""
        return spread_dict(self)

    def rows(self) -> Sequence[tuple[str, Spread, Spread]]:
        """When all nodes would be lost, and the transactions and seconds that would be."""
        instants = (*self.faults.values(), self.end)
        return [
            ("at the worst instant", self.most, self.longest_s),
            *((one.when, one.transactions, one.seconds) for one in instants),
        ]

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """A row per instant."""
        return [
            {"lost": when, "transactions": transactions.median, "seconds": seconds.median}
            for when, transactions, seconds in self.rows()
        ]

    def __repr__(self) -> str:
        return f"<ReplicaClusterLag: {self.mean.median:.3g} transactions missing in the mean>"
