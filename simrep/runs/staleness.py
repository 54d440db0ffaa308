"""What reads missed in a run: the answer to "how stale are the reads of a replica?"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from simrep.measure.confidence import mean_interval
from simrep.measure.staleness import StaleReads, StaleRecord
from simrep.runs.report import Report

__all__ = ["Staleness"]

_CONFIDENCE = 0.95

Cell = tuple[str, str, str]
"""Name of a phase (empty without faults), group of clients, node."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Staleness(Report):
    """Stale reads of a run with ``run.staleness``, over all its replications.

    A read is a transaction that begins with one, and that was answered. It is stale if a
    transaction that had been answered before the read was sent is not committed at its node when it
    takes its snapshot. ``plot()`` draws the ages over time.

    Attributes
    ----------
    cells : mapping of (str, str, str) to StaleReads
        By phase, group of clients and node; only those with reads. A run without faults has one
        phase, without a name.
    records : tuple of StaleRecord
        One for each replication.
    scenario : mapping
        The scenario that was run.
    """

    cells: Mapping[Cell, StaleReads]
    records: tuple[StaleRecord, ...]
    scenario: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        records: Sequence[StaleRecord],
        phases: Sequence[str] = (),
        scenario: Mapping[str, Any] | None = None,
    ) -> Staleness:
        """Those of several replications; ``phases`` are the names of their phases in order."""
        numbers = sorted({key for record in records for key in record.cells})
        totals = {
            key: StaleReads.total(one.cells[key] for one in records if key in one.cells)
            for key in numbers
        }
        cells = {
            (phases[phase] if phase < len(phases) else "", group, node): count
            for (phase, group, node), count in totals.items()
        }
        return cls(cells, tuple(records), dict(scenario or {}))

    @property
    def total(self) -> StaleReads:
        """All reads."""
        return StaleReads.total(self.cells.values())

    @property
    def reads(self) -> int:
        """Stale reads."""
        return self.total.reads

    @property
    def of_reads(self) -> int:
        """All reads."""
        return self.total.of_reads

    @property
    def share(self) -> float:
        """Share of the reads that are stale."""
        return self.total.share

    @property
    def age_s(self) -> dict[str, float]:
        """Ages of the stale reads in seconds: ``mean``, ``p50``, ``p95``, ``p99``, ``max``."""
        return self.total.age_s

    @property
    def own_writes(self) -> int:
        """Reads that miss the last write of their own client."""
        return self.total.own_writes

    @property
    def own_share(self) -> float:
        """Their share of the reads whose client has written before."""
        return self.total.own_share

    @property
    def phases(self) -> dict[str, StaleReads]:
        """By phase, in the order of time."""
        return self._by(lambda phase, _group, _node: phase)

    @property
    def groups(self) -> dict[str, StaleReads]:
        """By group of clients."""
        return self._by(lambda _phase, group, _node: group)

    @property
    def nodes(self) -> dict[str, StaleReads]:
        """By node."""
        return self._by(lambda _phase, _group, node: node)

    def _by(self, name: Callable[[str, str, str], str]) -> dict[str, StaleReads]:
        names = dict.fromkeys(name(*key) for key in self.cells)
        return {
            of: StaleReads.total(one for key, one in self.cells.items() if name(*key) == of)
            for of in names
        }

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % confidence intervals of ``share`` and ``own_share``; empty for one replication."""
        totals = [StaleReads.total(one.cells.values()) for one in self.records]
        found = {}
        for name in ("share", "own_share"):
            values = [getattr(one, name) for one in totals]
            if len(values) > 1 and not any(map(isnan, values)):
                span = mean_interval(values, _CONFIDENCE)
                found[name] = span.low, span.high
        return found

    def to_dict(self) -> dict[str, Any]:
        """All figures, of all reads, by phase, by group and by node."""
        phases = {name: one.to_dict() for name, one in self.phases.items() if name}
        return {
            **self.total.to_dict(),
            "intervals": self.intervals,
            **({"phases": phases} if phases else {}),
            "groups": {name: one.to_dict() for name, one in self.groups.items()},
            "nodes": {name: one.to_dict() for name, one in self.nodes.items()},
        }

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """A row per phase, group of clients and node."""
        rows = []
        for (phase, group, node), count in self.cells.items():
            figures = count.to_dict()
            ages = figures.pop("age_s")
            rows.append(
                {
                    "phase": phase,
                    "group": group,
                    "node": node,
                    **figures,
                    **{f"age_s.{name}": value for name, value in ages.items()},
                }
            )
        return rows

    def __repr__(self) -> str:
        total = self.total
        return f"<Staleness: {total.reads} of {total.of_reads} reads>"
