"""How many reads were stale, and how old they were: by group of clients, node and phase."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan, nan
from typing import Any

from simrep.kernel.arrays import NDArray, np
from simrep.measure.histogram import LatencyHistogram

__all__ = ["ReadMeter", "StaleReads", "StaleRecord", "StaleSeries"]


@dataclass(slots=True, eq=False)
class StaleReads:
    """Reads that miss what a client had been told, of all reads of some kind.

    Attributes
    ----------
    reads : int
        Stale ones.
    of_reads : int
        All, stale or not.
    own_writes : int
        Those in which the last write of their own client is missing.
    of_own : int
        Those whose client has written before.
    ages : LatencyHistogram
        Of the stale ones: for how long what is missing had been answered when they took their
        snapshot.
    """

    reads: int = 0
    of_reads: int = 0
    own_writes: int = 0
    of_own: int = 0
    ages: LatencyHistogram = field(default_factory=LatencyHistogram)

    def add(self, age_s: float, missed_own: bool | None) -> None:
        """Count a read; its age is NaN if it is not stale."""
        self.of_reads += 1
        if not isnan(age_s):
            self.reads += 1
            self.ages.add(age_s)
        if missed_own is not None:
            self.of_own += 1
            self.own_writes += missed_own

    @property
    def share(self) -> float:
        """Share of the reads that are stale; NaN if there are none."""
        return self.reads / self.of_reads if self.of_reads else nan

    @property
    def own_share(self) -> float:
        """Of the reads whose client has written, the share that misses its last write."""
        return self.own_writes / self.of_own if self.of_own else nan

    @property
    def age_s(self) -> dict[str, float]:
        """Ages of the stale ones in seconds: ``mean``, ``p50``, ``p95``, ``p99``, ``max``."""
        return self.ages.figures()

    @classmethod
    def total(cls, counts: Iterable[StaleReads]) -> StaleReads:
        """All of them together."""
        counts = list(counts)
        return cls(
            reads=sum(one.reads for one in counts),
            of_reads=sum(one.of_reads for one in counts),
            own_writes=sum(one.own_writes for one in counts),
            of_own=sum(one.of_own for one in counts),
            ages=LatencyHistogram.merged(one.ages for one in counts),
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures by name."""
        names = ("reads", "of_reads", "share", "age_s", "own_writes", "of_own", "own_share")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class StaleSeries:
    """Reads on one node over time, by the interval in which they took their snapshot.

    Attributes
    ----------
    reads, of_reads : numpy.ndarray of int
        Shape (intervals,): stale ones, and all.
    oldest_s : numpy.ndarray of float
        The greatest age among them in seconds; 0 if none was stale, NaN if there were no reads.
    """

    reads: NDArray[np.int64]
    of_reads: NDArray[np.int64]
    oldest_s: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class StaleRecord:
    """The reads of one replication.

    Attributes
    ----------
    cells : mapping of (int, str, str) to StaleReads
        By number of the phase, group of clients and node.
    series : mapping of str to StaleSeries
        By node, of those with reads.
    start_s, interval_s : float
        Begin of the first interval of the series, and the length of each; simulated seconds.
    """

    cells: Mapping[tuple[int, str, str], StaleReads]
    series: Mapping[str, StaleSeries]
    start_s: float
    interval_s: float


class ReadMeter:
    """Counts reads whose snapshots were taken in the measured time.

    Memory grows with the length of the run in intervals, not with the number of reads.

    Parameters
    ----------
    start_s, interval_s : float
        Begin of the measured time and interval of the series, in simulated seconds.
    edges_s : sequence of float
        When the second phase begins, and all further ones.
    groups, nodes : sequence of str
        Their names by position.
    """

    def __init__(
        self,
        start_s: float,
        interval_s: float,
        edges_s: Sequence[float],
        groups: Sequence[str],
        nodes: Sequence[str],
    ) -> None:
        self._start_s = start_s
        self._interval_s = interval_s
        self._edges_s = sorted(edge_s for edge_s in edges_s if start_s < edge_s < inf)
        self._groups = groups
        self._nodes = nodes
        self._cells: dict[tuple[int, str, str], StaleReads] = {}
        self._intervals: dict[str, dict[int, list[float]]] = {}  # stale, all, oldest

    def read(
        self, at_s: float, node: int, group: int, age_s: float, missed_own: bool | None
    ) -> None:
        """A client has the answer of a read; see ``simrep.workload.freshness``."""
        if at_s < self._start_s:
            return
        name = self._nodes[node]
        key = bisect_right(self._edges_s, at_s), self._groups[group], name
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = StaleReads()
        cell.add(age_s, missed_own)
        place = int((at_s - self._start_s) / self._interval_s)
        own = self._intervals.setdefault(name, {}).setdefault(place, [0, 0, 0.0])
        own[1] += 1
        if not isnan(age_s):
            own[0] += 1
            own[2] = max(own[2], age_s)

    def record(self) -> StaleRecord:
        """What was counted so far."""
        length = 1 + max((max(own) for own in self._intervals.values()), default=-1)
        return StaleRecord(
            {key: self._cells[key] for key in sorted(self._cells)},
            {
                name: _series(self._intervals[name], length)
                for name in self._nodes
                if name in self._intervals
            },
            self._start_s,
            self._interval_s,
        )


def _series(intervals: Mapping[int, Sequence[float]], length: int) -> StaleSeries:
    rows = np.array([intervals.get(place, (0, 0, nan)) for place in range(length)], np.float64)
    return StaleSeries(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2])
