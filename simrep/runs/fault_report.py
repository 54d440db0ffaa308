"""The faults of a run: what servers noticed of each, and what clients saw from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simrep.measure.attempts import Attempts
from simrep.measure.spread import Spread, spread_dict
from simrep.runs.incidents import Incident
from simrep.runs.phases import Phase, phases, stalls
from simrep.runs.report import Report
from simrep.workload.fate import FateCount

__all__ = ["FateSpread", "Faults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FateSpread:
    """How transactions that write ended, and how many of them are on a node at the end of the run.

    Attributes
    ----------
    answered, lost : Spread
        Their clients were told that they are committed; of these, on no node.
    lost_span_s : Spread
        From the answer of the first of the lost to that of the last, in seconds.
    diverged : Spread
        Of those that are lost, on a node outside of the service, as an old source, or kept by a
        node beside what it has of the others.
    failed, failed_present : Spread
        Attempts whose clients were told that they are not; of these, on a node all the same.
    unknown, unknown_present : Spread
        Attempts whose clients do not know; of these, on a node.
    duplicated : Spread
        Transactions that are there more than once, as they were submitted again.
    phantom : Spread
        Transactions that somebody may have read, and that are on no node at the end.
    extra : Spread
        All that are where ``diverged`` are, answered or not, and on no other node.
    overlooked : Spread
        Transactions that are there, and that another node of the service takes itself to have, but
        has not: it never gets them, and nobody notices.
    waiting : Spread
        Attempts without an answer at the end of the run.
    """

    answered: Spread
    lost: Spread
    lost_span_s: Spread
    diverged: Spread
    failed: Spread
    failed_present: Spread
    unknown: Spread
    unknown_present: Spread
    duplicated: Spread
    phantom: Spread
    extra: Spread
    overlooked: Spread
    waiting: Spread

    @classmethod
    def of(cls, count: FateCount) -> FateSpread:
        """Of one replication."""
        return cls(**{name: Spread.of(float(times)) for name, times in count.to_dict().items()})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Faults(Report, Mapping[str, Incident]):
    """The faults of a run by name: ``result.faults["n3 dies"].suspected_s.median``.

    Attributes
    ----------
    incidents : mapping of str to Incident
        In the order of time.
    phases : mapping of str to Phase
        The times between faults, by what began them.
    fates : FateSpread or None
        What became of the transactions that write; None if the model does not tell.
    terms : mapping of str to str
        How the model calls what servers note: ``Model.terms``.
    """

    incidents: Mapping[str, Incident] = field(default_factory=dict)
    phases: Mapping[str, Phase] = field(default_factory=dict)
    fates: FateSpread | None = None
    terms: Mapping[str, str] = field(default_factory=dict)

    def seen(
        self, attempts: Attempts, from_s: float, until_s: float, fates: FateCount | None = None
    ) -> Faults:
        """The same with what clients saw in the measured time of one replication."""
        by_edge = stalls(self.values(), attempts, until_s)
        return Faults(
            {
                name: replace(
                    one,
                    stalls=by_edge.get(one.at_s, {}),
                    end_stalls=by_edge.get(one.until_s, {}),
                )
                for name, one in self.items()
            },
            phases(self.values(), attempts, from_s, until_s, fates),
            None if fates is None else FateSpread.of(fates),
            self.terms,
        )

    def __getitem__(self, name: str) -> Incident:
        return self.incidents[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.incidents)

    def __len__(self) -> int:
        return len(self.incidents)

    def around(self, name: str) -> dict[str, Phase]:
        """The phases ``before`` and ``during`` a fault, and ``after`` its end, as far as measured.

        A fault that happens in an instant lasts until the next one here.
        """
        incident = self.incidents[name]
        found = {}
        for phase in self.phases.values():
            if phase.to_s <= incident.at_s:
                found["before"] = phase
            elif phase.from_s <= incident.at_s:
                found["during"] = phase
            elif phase.from_s == incident.until_s:
                found["after"] = phase
        return found

    def to_dict(self) -> dict[str, Any]:
        """All figures by name of the fault: medians over the replications, and their ranges."""
        return {
            name: spread_dict(incident)
            | {part: phase.to_dict() for part, phase in self.around(name).items()}
            for name, incident in self.items()
        }

    def content(self) -> dict[str, Any]:
        """What the content of a result says of them: ``faults``, ``phases``, ``fates``."""
        content: dict[str, Any] = {"faults": self.to_dict()}
        if self.phases:
            content["phases"] = {name: phase.to_dict() for name, phase in self.phases.items()}
        if self.fates is not None:
            content["fates"] = spread_dict(self.fates)
        return content

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """A row per phase, or part of one, and group of clients."""
        return [
            {
                "phase": name,
                "from_s": from_s,
                "to_s": to_s,
                "group": group,
                "throughput_tps": seen.throughput_tps.median,
                **{f"latency_s.{name}": value for name, value in seen.latency.figures().items()},
                "longest_s": seen.longest_s.median,
                **{f"errors.{error}": one.times.median for error, one in seen.errors.items()},
            }
            for phase in self.phases.values()
            for name, from_s, to_s, groups in phase.parts()
            for group, seen in groups.items()
        ]

    def __repr__(self) -> str:
        return f"<Faults: {', '.join(one.what for one in self.values()) or 'none'}>"
