"""A result as tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from simrep.measure.units import describe, duration, number
from simrep.runs.degradation import degradations, degraded
from simrep.runs.load import LoadRecord
from simrep.runs.notices import percentile_notice
from simrep.runs.prediction import Prediction
from simrep.runs.result import Result
from simrep.show.text.faults import fault_parts
from simrep.show.text.layout import table, title, words
from simrep.show.text.nodes import errors_table, nodes_table
from simrep.show.text.procedures import procedure_heading, steps_table
from simrep.show.text.replica_cluster import replica_heading, replica_table
from simrep.show.text.staleness import stale_heading, stale_table
from simrep.show.views import tables

_SHOWN_STATIONS = 8
_STALL_S = 1.0  # a shorter time without a commit needs no words
_OFFERED = {"rate_tps": "offered/s", "clients": "clients"}
_table = partial(table, edges=True)


@tables.register(Result)
def run_tables(result: Result) -> Group:
    """The main figures, the stages of the latency, the busiest stations, counters above zero."""
    plural = "s" if result.replications > 1 else ""
    run = f"seed {result.seed}, {result.replications} replication{plural}"
    if warmup_s := result.scenario.get("run", {}).get("warmup_s"):
        run += f", warm-up {duration(warmup_s)}"
    # Titles stand above the tables, not in them: there they would be folded to the table's width.
    parts: dict[str, RenderableType] = {
        f"{result.scenario.get('name') or 'Run'}, {run}": _figures(result)
    }
    if len(result.classes) > 1:
        parts["Transaction classes"] = _classes(result)
    if result.load is not None:
        parts["The load over time"] = _load(result.load, several=result.replications > 1)
    parts |= {procedure_heading(one): steps_table(one) for one in result.procedures.values()}
    parts |= fault_parts(result.faults, result.stale)
    if result.stale is not None:
        parts[stale_heading(result.stale)] = stale_table(result.stale)
    if result.replica_cluster is not None:
        lag = result.replica_cluster
        parts[replica_heading(lag)] = replica_table(lag)
    if len(result.nodes.used) > 1:
        parts["Nodes"] = nodes_table(result.nodes)
    if result.nodes.errors:
        parts["Errors of clients"] = errors_table(result.nodes)
    if result.scheduled:
        parts["Scheduled transactions"] = _scheduled(result)
        if any(one.error for one in result.scheduled.values()):
            parts["Why they failed"] = _failures(result)
        parts["Commits of all others meanwhile"] = _others(result)
    if result.breakdown().stages.keys() - {"other"}:
        parts["Where the time goes, mean of committed transactions"] = _table(
            ("stage", "mean", "share"), rows=result.breakdown().rows()
        )
    used = sum(station.visits > 0 for station in result.stations)
    if used:
        some = f" ({_SHOWN_STATIONS} of {used})" if used > _SHOWN_STATIONS else ""
        parts[f"Stations, busiest first{some}"] = _stations(result)
    if result.cpu_s:
        parts["Who uses the cores"] = _processors(result)
    if any(value for counters in result.counters.values() for value in counters.values()):
        parts["Status variables"] = _counters(result)
    lines: list[tuple[Any, Any]] = [(title(name), content) for name, content in parts.items()]
    if result.prediction is not None:
        lines.insert(1, (words(_said(result.prediction)), words("")))
    if result.faults.phases or result.load is not None:
        notice = "The run has no steady state: these figures mix its phases."
        lines.insert(1, (words(f"{notice}{_cut_off(result)}"), words("")))
    if result.contention:
        lines.insert(1, (words(f"{result.contention}."), words("")))
    committed = result.histogram.count
    thin = (percentile_notice(f"latency_s.{name}", committed) for name in ("p50", "p95", "p99"))
    if notice := next(filter(None, thin), ""):
        lines.insert(1, (words(f"{notice}."), words("")))
    said = [
        words(f"{line[0].upper()}{line[1:]}.", "bold")
        for line in degraded(degradations([run.degradation for run in result.runs]))
    ]
    return Group(*said, *(part for pair in lines for part in pair))


def _said(prediction: Prediction) -> str:
    """What the prediction intervals stand for."""
    how = f"{prediction.confidence:.0%} of measurements are expected in the prediction intervals"
    least, most = min(prediction.errors.values()), max(prediction.errors.values())
    size = f"{least:.0%}" if f"{least:.0%}" == f"{most:.0%}" else f"{least:.0%} to {most:.0%}"
    model = f"an error of the model of {size}"
    if not prediction.draws:
        return (
            f"{how}, which cover {model}\nand nothing else: chance and what is not known of the "
            "costs need --replications or --draws."
        )
    costs = f"{len(prediction.costs)} costs that are not known exactly"
    return f"{how}:\nchance, {costs} ({prediction.draws} draws), and {model}."


def _figures(result: Result) -> Table:
    spans: dict[str, Mapping[str, tuple[float, float]]] = {}
    if result.replications > 1:
        spans["95 % interval"] = result.intervals
    if result.prediction is not None:
        share = 100 * result.prediction.confidence
        spans[f"{share:.0f} % prediction"] = result.prediction.intervals

    def row(label: str, value: float, text: Callable[[float], str], key: str = "") -> list[str]:
        between = [
            f"{text(bounds[0])} .. {text(bounds[1])}" if (bounds := of.get(key)) else ""
            for of in spans.values()
        ]
        return [label, text(value), *between]

    rows = [
        row("throughput (transactions/s)", result.throughput_tps, number, "throughput_tps"),
        row("makespan", result.makespan_s, duration, "makespan_s"),
        row("committed", result.committed, number),
        row("aborted", result.aborted, number),
        *(
            row("clients that had not stopped", active, number)
            for active in (result.mean_active_clients,)
            if active is not None
        ),
        *(
            row(describe(name), times, number)
            for name, times in result.degradation.items()
            if times
        ),
        *(
            row(f"latency {name}", value, duration, f"latency_s.{name}")
            for name, value in result.latency_s.items()
        ),
        row("longest stall", result.stall_max_s, duration),
    ]
    return _table(["figure", "value", *spans], rows=rows)


def _cut_off(result: Result) -> str:
    """That something is broken to the end: of the longest stall only the begin is in the run."""
    for run in result.runs:
        stall, ended_s = run.measurement.stall, run.measurement.ended_s
        if stall.seconds >= _STALL_S and stall.began_s + stall.seconds >= ended_s - _STALL_S / 10:
            return (
                f" Nobody commits from {stall.began_s:.5g} s to the end of the run: the longest "
                "stall is at least so long, run longer to see how long."
            )
    return ""


def _classes(result: Result) -> Table:
    rows = (
        (kind or "-", number(count.latency.count), number(count.aborted),
         *(duration(count.latency.percentile(percent)) for percent in (50, 95)))
        for kind, count in result.classes.items()
    )  # fmt: skip
    return _table(("class", "committed", "aborted", "p50", "p95"), rows=rows)


def _load(load: LoadRecord, *, several: bool) -> Table:
    """A row for every period: what was offered, and what came of it."""
    columns: dict[str, list[str]] = {
        "period": [one.name or "-" for one in load.periods],
        "time (s)": [f"{one.from_s:.5g} .. {one.to_s:.5g}" for one in load.periods],
        _OFFERED[load.what]: [number(getattr(one, load.what)) for one in load.periods],
        "committed/s": [number(one.throughput_tps) for one in load.periods],
    }
    if several:
        spans = [map(number, one.interval_tps) for one in load.periods]
        columns["95 % interval"] = [" .. ".join(span) for span in spans]
    if any(one.aborted for one in load.periods):
        columns["aborted"] = [number(one.aborted) for one in load.periods]
    for percent in (50, 99):
        values = [one.latency.percentile(percent) for one in load.periods]
        columns[f"p{percent}"] = list(map(duration, values))
    return _table(list(columns), rows=zip(*columns.values(), strict=True))


def _scheduled(result: Result) -> Table:
    """How they went, in seconds after their begin."""
    heads = ("name", "node", "rows", "size (MB)", "executed", "committed", "on all nodes")
    rows = (
        (name, list(result.counters)[one.node] if result.counters else str(one.node),
         number(one.rows), number(one.size_bytes / 1e6),
         *(duration(time) for time in (one.execution_s, one.duration_s, one.visible_s)),
         number(one.fragments))
        for name, one in result.scheduled.items()
    )  # fmt: skip
    return _table((*heads, "fragments"), rows=rows)


def _failures(result: Result) -> Table:
    rows = ((name, one.error) for name, one in result.scheduled.items() if one.error)
    return _table(("name", "error"), rows=rows)


def _others(result: Result) -> Table:
    heads = ("beside", "before (1/s)", "executing (1/s)", "until the end (1/s)", "longest stall")
    rows = (
        (name, *map(number, (one.before_tps, one.executing_tps, one.during_tps)),
         duration(one.stall_s))
        for name, one in result.scheduled.items()
    )  # fmt: skip
    return _table(heads, rows=rows)


def _stations(result: Result) -> Table:
    used = [station for station in result.stations if station.visits]
    used.sort(key=lambda station: station.utilisation, reverse=True)
    rows = (
        (one.name, str(one.servers), f"{one.utilisation:.1%}", f"{one.queue_mean:.2f}",
         duration(one.wait_mean_s), duration(one.wait_max_s))
        for one in used[:_SHOWN_STATIONS]
    )  # fmt: skip
    heads = ("station", "servers", "busy", "queue", "mean wait", "longest wait")
    return _table(heads, rows=rows)


def _processors(result: Result) -> Table:
    done = result.committed + result.aborted
    whole = sum(result.cpu_s.values())
    rows = (
        (name, duration(used), f"{used / whole:.1%}" if whole else "-",
         duration(used / done) if done else "-")
        for name, used in result.cpu_s.items()
    )  # fmt: skip
    return _table(("program", "CPU time", "share", "per transaction"), rows=rows)


def _counters(result: Result) -> Table:
    nodes = list(result.counters)
    names = dict.fromkeys(name for node in nodes for name in result.counters[node])
    values = {name: [result.counters[node].get(name) for node in nodes] for name in names}
    rows = (
        (name, *("-" if value is None else number(value) for value in own))
        for name, own in values.items()
        if any(own)
    )
    return _table(("variable", *nodes), rows=rows)
