"""What a run hands back: figures, how sure they are, and what it takes to repeat it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from simrep.contract.registry import find_model
from simrep.kernel.arrays import np
from simrep.measure.breakdown import Breakdown
from simrep.measure.confidence import mean_interval
from simrep.measure.counts import ClassCount
from simrep.measure.histogram import LatencyHistogram
from simrep.measure.meter import Measurement
from simrep.measure.series import Series
from simrep.measure.spread import over_replications
from simrep.measure.stations import StationUse
from simrep.measure.units import duration, number, plain
from simrep.runs.contention import contention
from simrep.runs.degradation import degradations
from simrep.runs.fault_report import Faults
from simrep.runs.incidents import faults_of
from simrep.runs.load import LoadRecord
from simrep.runs.nodes import Nodes, node_rows, total_classes, total_nodes
from simrep.runs.prediction import Prediction
from simrep.runs.procedure_record import ProcedureRecord
from simrep.runs.record import Counters, RunRecord, ScheduledRecord
from simrep.runs.replica_cluster import ReplicaClusterLag
from simrep.runs.report import Report
from simrep.runs.staleness import Staleness
from simrep.runs.timeline import TimelineReport
from simrep.scenario.changes import without_pack
from simrep.workload.laps import LAPS

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

    from simrep.why.commit import Explanation
    from simrep.why.window import WindowExplanation

__all__ = ["FIGURES", "Result"]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Result(Report):
    """The result of one run, from one or several replications.

    ``plot()`` draws its latencies, and its commits over time.

    Figures are per replication, and means when there were several; only the latencies are those
    of all transactions together, and maxima are those of all replications.

    Attributes
    ----------
    throughput_tps : float
        Committed transactions per second of measured time.
    makespan_s : float
        Measured time in seconds: first start to last end for a fixed number of transactions.
    committed, aborted : float
        Transactions; whole numbers unless replications differed.
    errors : mapping of str to float
        The aborted by what their clients were told: the number of the error, or its words.
    degradation : mapping of str to float
        How often clients got less than the product promises, by what that was, such as
        ``unacknowledged_commits``; empty if the model tells of nothing.
    latency_s : mapping of str to float
        ``mean``, ``p50``, ``p95``, ``p99``, ``max`` of committed transactions in seconds; NaN
        when none committed.
    stall_max_s : float
        Longest time without a commit although work was in flight; of a mix that writes, without a
        commit of a transaction that writes.
    stall_began_s : float
        When that began, in simulated seconds; NaN when nothing was measured.
    counters : mapping of node name to mapping of status variable to value
        Counted from the start of the simulation, warm-up included.
    stations : tuple of StationUse
    cpu_s : mapping of str to float
        How long each server and all ``clients`` together used cores in the measured time, in
        seconds over all cores; only if all servers are on machines with ``core_queues``, and the
        clients only if they are, too.
    series : Series
        Commits and aborts per interval.
    intervals : mapping of str to (float, float)
        95 % confidence intervals over the replications of ``throughput_tps``, ``makespan_s`` and
        ``latency_s.mean`` to ``latency_s.p99``; empty for one replication.
    classes : mapping of str to ClassCount
        By class of transaction, totals over the replications.
    nodes : Nodes
        By name of the node, totals over the replications; ``result.nodes["n2"].errors["1213"]``.
    scheduled : mapping of str to ScheduledRecord
        What became of each scheduled transaction, by its name; means over the replications.
    error_texts : mapping of str to str
        What the errors say, by their number.
    seed : int
    replications : int
    scenario : mapping
        The scenario that was run, with its defaults filled in.
    versions : mapping of str to str
        What computed it: package, interpreter, libraries, model and cost pack.
    histogram : LatencyHistogram
        Latencies of all committed transactions.
    runs : tuple of RunRecord
        The replications.
    prediction : Prediction or None
        Where a measurement would lie; only with a pack that tells how sure its costs are.
    load : LoadRecord or None
        What was offered over time, and what came of it phase by phase; only of a load that varies.
    faults : Faults
        What came of each fault of the scenario, by its name; empty if there are none.
    procedures : mapping of str to ProcedureRecord
        What came of each procedure, by its name; empty if there are none.
    stale : Staleness or None
        What reads missed; only of a run with ``run.staleness``.
    replica_cluster : ReplicaClusterLag or None
        What another cluster lacked; only of a scenario with ``[replica_cluster]``.
    mean_active_clients : float or None
        Clients that had not stopped, on average over the measured time; only where clients stop
        at an error (``on_error = "stop"``).
    """

    width: ClassVar[int] = 88

    throughput_tps: float
    makespan_s: float
    committed: float
    aborted: float
    errors: Mapping[str, float]
    latency_s: Mapping[str, float]
    stall_max_s: float
    stall_began_s: float
    counters: Counters
    stations: tuple[StationUse, ...]
    series: Series
    intervals: Mapping[str, tuple[float, float]]
    classes: Mapping[str, ClassCount]
    nodes: Nodes
    error_texts: Mapping[str, str]
    seed: int
    replications: int
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]
    histogram: LatencyHistogram
    runs: tuple[RunRecord, ...]
    scheduled: Mapping[str, ScheduledRecord] = field(default_factory=dict)
    prediction: Prediction | None = None
    load: LoadRecord | None = None
    degradation: Mapping[str, float] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    procedures: Mapping[str, ProcedureRecord] = field(default_factory=dict)
    stale: Staleness | None = None
    replica_cluster: ReplicaClusterLag | None = None
    cpu_s: Mapping[str, float] = field(default_factory=dict)
    mean_active_clients: float | None = None

    @classmethod
    def combine(
        cls,
        runs: Sequence[RunRecord],
        *,
        scenario: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
        prediction: Prediction | None = None,
    ) -> Result:
        """The result of replications of one run.

        Parameters
        ----------
        runs : sequence of RunRecord
            At least one, of one seed, each replication once; their order does not matter.
        scenario, versions : mapping, optional
            Kept with the result, as is the prediction.
        prediction : Prediction, optional

        Raises
        ------
        ValueError
            When a replication is there twice or seeds are mixed: counting the same random
            numbers as independent would make the intervals too narrow.
        """
        if not runs:
            raise ValueError("needs at least one replication")
        runs = sorted(runs, key=lambda run: run.replication)
        seeds = sorted({run.seed for run in runs})
        if len(seeds) > 1:
            raise ValueError(f"replications of different seeds: {seeds}")
        numbers = [run.replication for run in runs]
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"a replication is there more than once: {numbers}")
        measured = [run.measurement for run in runs]
        loads = [run.load for run in runs if run.load is not None]
        histogram = LatencyHistogram.merged(m.latency for m in measured)
        texts = _joined_texts([m.error_texts for m in measured])
        faults = over_replications([run.faults for run in runs])
        reads = [run.stale for run in runs if run.stale is not None]
        active = [one for run in runs if (one := run.mean_active_clients) is not None]
        lags = [run.replica_cluster for run in runs if run.replica_cluster is not None]
        worst = max((m.stall for m in measured), key=lambda stall: stall.seconds)
        return cls(
            throughput_tps=_mean([m.throughput_tps for m in measured]),
            makespan_s=_mean([m.makespan_s for m in measured]),
            committed=_mean([m.committed for m in measured]),
            aborted=_mean([m.aborted for m in measured]),
            errors={error: _mean([m.errors.get(error, 0) for m in measured]) for error in texts},
            latency_s=histogram.figures(),
            stall_max_s=worst.seconds,
            stall_began_s=worst.began_s,
            counters=_mean_counters([run.counters for run in runs]),
            stations=_mean_stations([run.stations for run in runs]),
            series=Series.mean([m.series for m in measured]),
            intervals=_intervals(measured),
            classes=total_classes([m.classes for m in measured]),
            nodes=Nodes(total_nodes([m.nodes for m in measured]), texts),
            error_texts=texts,
            seed=runs[0].seed,
            replications=len(runs),
            scenario=dict(scenario or {}),
            versions=dict(versions or {}),
            histogram=histogram,
            runs=tuple(runs),
            scheduled={
                found[0].name: ScheduledRecord.mean(found)
                for found in zip(*(run.scheduled for run in runs), strict=True)
            },
            prediction=prediction,
            load=LoadRecord.mean(loads) if loads else None,
            degradation={
                one.figure: one.times for one in degradations([run.degradation for run in runs])
            },
            faults=faults,
            procedures={
                name: over_replications([run.procedures[name] for run in runs])
                for name in runs[0].procedures
            },
            stale=Staleness.of(reads, tuple(faults.phases), scenario) if reads else None,
            replica_cluster=ReplicaClusterLag.of(lags, faults) if lags else None,
            cpu_s={name: _mean([run.cpu_s[name] for run in runs]) for name in runs[0].cpu_s},
            mean_active_clients=_mean(active) if active else None,
        )

    def breakdown(self, kind: str | None = None) -> Breakdown:
        """Where the latency of the committed transactions goes.

        Parameters
        ----------
        kind : str, optional
            A class of transactions; all of them if not given.

        Returns
        -------
        Breakdown
            Mean time in every stage, over the transactions of all replications.

        Raises
        ------
        ValueError
            If no transaction of that class has ended.
        """
        if kind is not None and kind not in self.classes:
            raise ValueError(f"no class {kind!r}, there are {', '.join(map(repr, self.classes))}")
        latency = self.histogram if kind is None else self.classes[kind].latency
        return Breakdown.of(
            LAPS,
            [
                seconds
                for run in self.runs
                for of, seconds in run.measurement.laps.items()
                if kind in {None, of}
            ],
            latency.sum_s,
            latency.count,
        )

    @property
    def contention(self) -> str:
        """Why it was slow, if row locks or conflicts decided it; empty if they did not."""
        workload = self.scenario.get("workload", {})
        return contention(workload, self.breakdown, self.classes, self.error_texts)

    def timeline(self, replication: int = 0) -> TimelineReport:
        """What happened to the servers in one replication and what they noted, line by line."""
        run = self._run(replication)
        names = list(run.measurement.nodes)
        said = find_model(self.scenario["cluster"]["model"]).said
        return TimelineReport.of(run.noted, faults_of(self.scenario), names, replication, said)

    def _run(self, replication: int) -> RunRecord:
        for run in self.runs:
            if run.replication == replication:
                return run
        raise ValueError(f"no replication {replication}, there are {self.replications}")

    def explain(self, txn: str | int = "slowest", *, replication: int = 0) -> Explanation:
        """Why one transaction of a replication took as long as it did (see ``simrep.explain``).

        Parameters
        ----------
        txn : str or int
            ``"slowest"``, a percentile (``"p95"``), or the number of the transaction.
        replication : int
            From 0.
        """
        from simrep.why.commit import explain

        return explain(self.again(replication), txn=txn, seed=self.seed, replication=replication)

    def explain_fault(
        self,
        fault: str | None = None,
        *,
        from_s: float | None = None,
        until_s: float | None = None,
        replication: int = 0,
    ) -> WindowExplanation:
        """How servers reacted to a fault in a replication, message by message.

        Parameters
        ----------
        fault : str, optional
            Its name, or its position: the time from the first suspicion because of it (or its
            begin) to the next primary component.
        from_s, until_s : float, optional
            The time itself, in simulated seconds.
        replication : int
            From 0.
        """
        from simrep.why.window import explain_window

        return explain_window(
            self.again(replication),
            fault=fault,
            from_s=from_s,
            until_s=until_s,
            seed=self.seed,
            replication=replication,
        )

    def again(self, replication: int) -> dict[str, Any]:
        """The scenario, to simulate a replication of it once more."""
        self._run(replication)
        return without_pack(self.scenario)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the histogram and the log, as JSON can hold it (NaN becomes None)."""
        left_out = {
            *("histogram", "runs", "classes", "nodes", "scheduled", "load", "faults", "stale"),
            *("replica_cluster", "procedures"),
        }
        left_out |= {
            name for name in ("prediction", "mean_active_clients") if getattr(self, name) is None
        }
        left_out |= set() if self.cpu_s else {"cpu_s"}
        content = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}
        if len(self.classes) > 1:
            content["classes"] = {
                kind: {**count.to_dict(), "breakdown": self.breakdown(kind).to_dict()}
                for kind, count in self.classes.items()
            }
        content["nodes"] = self.nodes.to_dict()
        if self.scheduled:
            content["scheduled"] = {name: one.to_dict() for name, one in self.scheduled.items()}
        if self.load is not None:
            content["load"] = self.load.to_dict()
        if self.faults or self.faults.fates is not None:
            content |= self.faults.content()
        if self.stale is not None:
            content["stale"] = self.stale.to_dict()
        if self.replica_cluster is not None:
            content["replica_cluster"] = self.replica_cluster.to_dict()
        if self.procedures:
            content["procedures"] = {n: one.to_dict() for n, one in self.procedures.items()}
        if self.contention:
            content["contention"] = self.contention
        content["breakdown"] = self.breakdown().to_dict()
        if spread := self.interval_tps:
            content["interval_tps"] = spread
        return cast(dict[str, Any], plain(content))

    @property
    def interval_tps(self) -> dict[str, float]:
        """``sd``, ``min`` and ``p5`` of the commits per second, interval by interval.

        Intervals are those of the time series (``run.interval_s``); means over the replications.
        Empty if a replication has fewer than two.
        """
        spreads = [run.measurement.series.spread_tps() for run in self.runs]
        if not all(spreads):
            return {}
        return {name: float(np.mean([one[name] for one in spreads])) for name in spreads[0]}

    def digest(self) -> str:
        """SHA-256 of what was simulated: equal for equal runs, on any machine and version.

        Covers the scenario, the seed, all figures and the latency histogram of every
        replication; not the versions of what computed it, nor the breakdown, which only explains
        the latency and may become finer without a change of what was simulated, nor the
        prediction, which is about runs with other costs.
        """
        content = self.to_dict()
        del content["versions"], content["breakdown"], content["error_texts"]
        content.pop("prediction", None)
        content.pop("contention", None)  # words
        content.pop("cpu_s", None)
        for told in (
            "faults",
            "phases",
            "fates",
            "interval_tps",
        ):  # other views of what is in the figures above
            content.pop(told, None)
        for of_class in content.get("classes", {}).values():
            del of_class["breakdown"]
        content["buckets"] = [plain(run.measurement.latency.buckets()) for run in self.runs]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_pandas(
        self, table: Literal["series", "log", "nodes", "periods"] = "series"
    ) -> pd.DataFrame:
        """A table with a row per interval, per transaction, per node and class, or per period.

        All have a column ``replication``; the ``log`` exists only when the scenario asked for it,
        and ``periods`` are those of a load that varies. Figures of ``nodes`` go by their paths,
        such as ``latency_s.p95`` and ``errors.1213``.
        """
        import pandas as pd

        frames = []
        for run in self.runs:
            if table == "series":
                series = run.measurement.series
                columns: dict[str, Any] = {
                    "start_s": series.edges_s[:-1],
                    "commits": series.commits.astype(np.int64),
                    "aborts": series.aborts.astype(np.int64),
                }
                if run.load is not None:
                    columns[run.load.what] = run.load.offered
            elif table == "log":
                log = run.measurement.log
                if log is None:
                    raise ValueError("this run kept no log of its transactions: ask for it")
                columns = {f.name: getattr(log, f.name) for f in fields(log)}
            elif table == "nodes":
                rows = node_rows(run.measurement.nodes)
                columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
            elif table == "periods":
                if run.load is None:
                    raise ValueError("the load of this run does not vary: it has no periods")
                columns = run.load.columns()
            else:
                raise ValueError(
                    f"table must be 'series', 'log', 'nodes' or 'periods', given {table!r}"
                )
            frames.append(pd.DataFrame({"replication": run.replication, **columns}))
        return pd.concat(frames, ignore_index=True)

    def _rows(self) -> list[dict[str, Any]]:
        """A row per figure, with its 95 % interval over the replications (NaN for one)."""
        names = ("throughput_tps", "makespan_s", "committed", "aborted", "stall_max_s")
        figures = {name: getattr(self, name) for name in names}
        figures |= {f"latency_s.{name}": value for name, value in self.latency_s.items()}
        return [
            {"figure": name, "value": value, "low": bounds[0], "high": bounds[1]}
            for name, value in figures.items()
            for bounds in [self.intervals.get(name, (nan, nan))]
        ]

    def summary(self) -> Group:
        """The same as :meth:`tables`."""
        return self.tables()

    def __repr__(self) -> str:
        return (
            f"<Result {number(self.throughput_tps)} transactions/s, "
            f"{number(self.committed)} committed, {number(self.aborted)} aborted in "
            f"{duration(self.makespan_s)}, p95 {duration(self.latency_s.get('p95', nan))}, "
            f"seed {self.seed}, replications {self.replications}>"
        )


def _mean(values: Sequence[float]) -> float:
    """The mean; of equal values that value itself, so that counts stay whole numbers."""
    if all(value == values[0] for value in values):
        return values[0]
    return sum(values) / len(values)


def _mean_counters(runs: Sequence[Counters]) -> dict[str, dict[str, float]]:
    return {
        node: {name: _mean([run[node][name] for run in runs]) for name in counters}
        for node, counters in runs[0].items()
    }


def _mean_stations(runs: Sequence[tuple[StationUse, ...]]) -> tuple[StationUse, ...]:
    return tuple(StationUse.mean(list(uses)) for uses in zip(*runs, strict=True))


def _joined_texts(replications: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What errors say; replications may have been told different words of one."""
    words: dict[str, dict[str, None]] = {}
    for texts in replications:
        for error, text in texts.items():
            words.setdefault(error, {})[text] = None
    return {error: "; ".join(words[error]) for error in sorted(words)}


FIGURES: dict[str, Callable[[Measurement], float]] = {
    "throughput_tps": lambda m: m.throughput_tps,
    "makespan_s": lambda m: m.makespan_s,
    "latency_s.mean": lambda m: m.latency.mean_s,
    "latency_s.p50": lambda m: m.latency.percentile(50),
    "latency_s.p95": lambda m: m.latency.percentile(95),
    "latency_s.p99": lambda m: m.latency.percentile(99),
}


def _intervals(measured: Sequence[Measurement]) -> dict[str, tuple[float, float]]:
    if len(measured) < 2:
        return {}
    intervals = {}
    for name, figure in FIGURES.items():
        values = [figure(m) for m in measured]
        if all(isfinite(value) for value in values):
            interval = mean_interval(values, CONFIDENCE)
            intervals[name] = (interval.low, interval.high)
    return intervals
