"""The record of a replication: what was measured, and what became of scheduled transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isnan, nan
from typing import Any

from simrep.contract.model import Degradation
from simrep.kernel.arrays import np
from simrep.kernel.timeline import Noted
from simrep.measure.attempts import Attempts
from simrep.measure.meter import Measurement
from simrep.measure.series import Series
from simrep.measure.staleness import StaleRecord
from simrep.measure.stations import StationUse
from simrep.runs.fault_report import Faults
from simrep.runs.load import LoadRecord
from simrep.runs.procedure_record import ProcedureRecord
from simrep.runs.replica_cluster import ReplicaClusterRecord
from simrep.workload.fate import FateCount
from simrep.workload.transaction import Journal

__all__ = ["Counters", "RunRecord", "ScheduledRecord"]

Counters = Mapping[str, Mapping[str, float]]
"""Status variables by node, each by its name."""

_DERIVED = ("execution_s", "duration_s", "visible_s")
_STALLED = 0.1  # an interval with less than this share of the rate before counts as a stall


@dataclass(frozen=True, slots=True)
class ScheduledRecord:
    """A transaction that was submitted at a given time; times in simulated seconds.

    In a result of several replications figures are means over those in which they exist.

    Attributes
    ----------
    name : str
    node : int
        Position of the node that executed it.
    rows, size_bytes : int
        Rows that it writes, and size of their row events.
    begin_s, executed_s, replicate_s, commit_s, end_s : float
        Its client begins; its statements are executed; the first of it is handed to the group;
        its client is told that it is committed; the last node has committed it. NaN for what did
        not happen.
    fragments : float
        Parts in which it was replicated before its commit (streaming replication); a whole
        number unless replications differed.
    error : str
        Why it failed; empty if it did not. Different reasons of several replications are joined.
    before_tps, executing_tps, during_tps : float
        Transactions of all others that committed per second before ``begin_s``, from then to
        ``executed_s``, and from then to ``end_s`` (or the end of the run).
    stall_s : float
        Longest time in which others committed at less than a tenth of ``before_tps``, in whole
        intervals of the time series after ``begin_s``: a shorter one is not seen. It began before
        ``end_s`` (or the end of the run), and counts to its own end.
    stall_began_s : float
        When that began; NaN if there was none.
    """

    name: str
    node: int
    rows: int
    size_bytes: int
    begin_s: float
    executed_s: float
    replicate_s: float
    commit_s: float
    end_s: float
    fragments: float
    error: str
    before_tps: float
    executing_tps: float
    during_tps: float
    stall_s: float
    stall_began_s: float

    @property
    def execution_s(self) -> float:
        """From its begin until its statements are executed, in seconds."""
        return self.executed_s - self.begin_s

    @property
    def duration_s(self) -> float:
        """From its begin until its client is told that it is committed, in seconds."""
        return self.commit_s - self.begin_s

    @property
    def visible_s(self) -> float:
        """From its begin until the last node has committed it, in seconds."""
        return self.end_s - self.begin_s

    @classmethod
    def of(cls, journal: Journal, series: Series) -> ScheduledRecord:
        """The record of a journal, beside the commits of all others."""
        edges, rates, _ = series.rates()
        begin_s = journal.begin_s
        until_s = series.end_s if isnan(journal.end_s) else journal.end_s
        before_tps = _mean_rate(series, series.start_s, begin_s)
        after = edges[1:] > begin_s
        began_before = int(np.count_nonzero(after & (edges[:-1] < until_s)))
        first, length = _longest(rates[after] < _STALLED * before_tps, began_before)
        stall_began_s = float(edges[:-1][after][first]) if length else nan
        return cls(
            name=journal.name,
            node=journal.node,
            rows=journal.rows,
            size_bytes=journal.size_bytes,
            begin_s=begin_s,
            executed_s=journal.executed_s,
            replicate_s=journal.replicate_s,
            commit_s=journal.commit_s,
            end_s=journal.end_s,
            fragments=journal.fragments,
            error=journal.error,
            before_tps=before_tps,
            executing_tps=_mean_rate(series, begin_s, journal.executed_s),
            during_tps=_mean_rate(series, begin_s, until_s),
            stall_s=length * series.interval_s,
            stall_began_s=stall_began_s,
        )

    @classmethod
    def mean(cls, records: Sequence[ScheduledRecord]) -> ScheduledRecord:
        """One transaction over several replications; what never happened stays NaN."""
        if len(records) == 1:
            return records[0]
        first = records[0]
        known: dict[str, Any] = {
            "name": first.name,
            "node": first.node,
            "rows": first.rows,
            "size_bytes": first.size_bytes,
            "error": "; ".join(dict.fromkeys(one.error for one in records if one.error)),
        }
        figures = (one.name for one in fields(cls) if one.name not in known)
        means = {name: _mean([getattr(one, name) for one in records]) for name in figures}
        return cls(**(known | means))

    def to_dict(self) -> dict[str, Any]:
        """All figures by name, those that follow from others too."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return own | {name: getattr(self, name) for name in _DERIVED}


@dataclass(frozen=True, slots=True, eq=False)
class RunRecord:
    """One replication, as the process that ran it hands it over.

    Attributes
    ----------
    seed : int
        Root entropy of the run, shared by its replications.
    replication : int
        Number of the replication, from 0.
    measurement : Measurement
    counters : mapping of node name to mapping of status variable to value
        Counted from the start of the simulation, warm-up included.
    stations : tuple of StationUse
    cpu_s : mapping of str to float
        See ``Result.cpu_s``.
    scheduled : tuple of ScheduledRecord
        What became of the scheduled transactions, in the order of the scenario.
    load : LoadRecord or None
        What was offered over time; only of a load that varies.
    degradation : tuple of Degradation
        What the model tells, in the measured time.
    noted : tuple of Noted
        What servers noticed and decided, in the order of time.
    faults : Faults
        What came of the faults of the scenario.
    procedures : mapping of str to ProcedureRecord
        What came of each procedure, by its name; empty if there are none.
    attempts : Attempts or None
        What clients tried, with every error; only of a run with faults, or whose clients have a
        policy.
    fates : FateCount or None
        What became of transactions that write, likewise; None also if the model does not tell.
    stale : StaleRecord or None
        What reads missed; only of a run with ``run.staleness``.
    mean_active_clients : float or None
        Clients that had not stopped, on average over the measured time; only where clients stop
        at an error.
    replica_cluster : ReplicaClusterRecord or None
        What another cluster lacked; only of a scenario with ``[replica_cluster]``.
    """

    seed: int
    replication: int
    measurement: Measurement
    counters: Counters = field(default_factory=dict)
    stations: tuple[StationUse, ...] = ()
    cpu_s: Mapping[str, float] = field(default_factory=dict)
    scheduled: tuple[ScheduledRecord, ...] = ()
    load: LoadRecord | None = None
    degradation: tuple[Degradation, ...] = ()
    noted: tuple[Noted, ...] = ()
    faults: Faults = field(default_factory=Faults)
    procedures: Mapping[str, ProcedureRecord] = field(default_factory=dict)
    attempts: Attempts | None = None
    fates: FateCount | None = None
    stale: StaleRecord | None = None
    replica_cluster: ReplicaClusterRecord | None = None
    mean_active_clients: float | None = None


def _mean_rate(series: Series, from_s: float, to_s: float) -> float:
    """Commits per second between two times, as far as whole intervals tell; NaN if none do."""
    edges = series.edges_s
    inside = (edges[:-1] >= from_s - 1e-9) & (edges[1:] <= to_s + 1e-9)
    if not inside.any():
        return nan
    return float(series.commits[inside].sum() / (inside.sum() * series.interval_s))


def _longest(flags: np.ndarray, began_before: int) -> tuple[int, int]:
    """Where the longest run of True begins, and its length, of those that begin in time."""
    began = longest = run = 0
    for position, flag in enumerate(flags):
        run = run + 1 if flag else 0
        if run > longest and position - run + 1 < began_before:
            began, longest = position - run + 1, run
    return began, longest


def _mean(values: Sequence[float]) -> float:
    """Over those that exist; of equal values that value itself."""
    known = [value for value in values if not isnan(value)]
    if not known:
        return nan
    return known[0] if len(set(known)) == 1 else sum(known) / len(known)
