"""The columns of a dataset: what a run was, what was measured, and what it cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from simrep.rig.cell import Cell, ProductName, Run
from simrep.rig.load import Load

if TYPE_CHECKING:
    from simrep.rig.large import Stall
    from simrep.rig.relays import DelayStatistics
    from simrep.rig.transactions import Loaded

__all__ = [
    "FIXED",
    "METRICS",
    "Costs",
    "Metric",
    "column",
    "cost_columns",
    "counter_columns",
    "counter_growth",
    "factor_columns",
    "large_columns",
    "load_name",
    "metric_columns",
    "queue_column",
]

Value = int | float | str


def _any(_load: Load) -> bool:
    return True


def _counted(load: Load) -> bool:
    return load.each is not None


def _timed(load: Load) -> bool:
    return load.duration_s is not None and not load.rate_tps


def _closed(load: Load) -> bool:
    return not load.rate_tps


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured column, and what the result of a simulation calls it.

    Attributes
    ----------
    column, result, unit, label : str
        As in ``dataset.toml``.
    absolute : float or None
        Tolerance in the unit.
    of : callable
        Whether a load leaves the figure open: a run of ten seconds says nothing by lasting ten
        seconds, nor an open loop by its throughput, and the throughput of a number of
        transactions is the time that they take once more.
    tail : float or None
        Share of the transactions beyond a percentile, of which there must be some.
    """

    column: str
    result: str
    unit: str
    label: str
    absolute: float | None = None
    of: Callable[[Load], bool] = _any
    tail: float | None = None


METRICS = (
    Metric("seconds", "makespan_s", "s", "time for all transactions", of=_counted),
    Metric("throughput_tps", "throughput_tps", "1/s", "transactions per second", of=_timed),
    Metric("mean_s", "latency_s.mean", "s", "mean latency"),
    Metric("p50_s", "latency_s.p50", "s", "median latency", tail=0.5),
    Metric("p95_s", "latency_s.p95", "s", "95th percentile of the latency", tail=0.05),
    Metric("p99_s", "latency_s.p99", "s", "99th percentile of the latency", tail=0.01),
    Metric("failed", "aborted", "transactions", "transactions that failed", 5.0),
    Metric("update_s", "scheduled.large.duration_s", "s", "time until the large update answers"),
    Metric("visible_s", "scheduled.large.visible_s", "s", "time until all nodes show it"),
    Metric("stall_s", "scheduled.large.stall_s", "s", "longest stall", 0.3),
    Metric(
        "payload_tps_before",
        "scheduled.large.before_tps",
        "1/s",
        "commits of others before",
        of=_closed,
    ),
    Metric(
        "payload_tps_during",
        "scheduled.large.during_tps",
        "1/s",
        "commits of others until all nodes show it",
        100.0,
    ),
    Metric("fragments", "scheduled.large.fragments", "", "fragments", 2.0),
)

# Of the counters of a product those that say what happened; all of them are in the journal.
_COUNTERS: Mapping[ProductName, Sequence[str]] = {
    "galera": (
        "wsrep_local_cert_failures",
        "wsrep_local_bf_aborts",
        "wsrep_local_replays",
        "wsrep_flow_control_sent",
        "wsrep_flow_control_paused_ns",
        "wsrep_replicated",
        "wsrep_replicated_bytes",
    ),
    "group_replication": ("count_conflicts_detected", "gr_all_consensus_proposals_count"),
    "semisync": tuple(
        f"rpl_semi_sync_{source}_{name}"
        for source in ("source", "master")
        for name in ("yes_tx", "no_tx", "tx_waits", "tx_wait_time")
    ),
    "asynchronous": (),
}
_SAME_ON_ALL = {"count_conflicts_detected"}
"""Counted by every member, of all transactions."""
_QUEUES: Mapping[ProductName, str] = {
    "galera": "wsrep_local_recv_queue",
    "group_replication": "count_transactions_remote_in_applier_queue",
}
"""What a node has received and not applied yet."""
_GAUGES = re.compile(
    r"_avg_|_(avg|max|min|queue|distance|interval|window|oooe|oool|size|cached|running|connected)$"
)
"""What does not only grow; differences of averages mean nothing."""

FIXED = (
    *("run", "system", "variant", "layout", "load", "nodes", "tool", "writers", "connections"),
    *("repetition", "attempt", "passed", "failed_gates", "began"),
)
"""Columns that no option and no key of a load may take."""


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU time of a run.

    Attributes
    ----------
    servers_s : mapping of node to float
    client_s, relay_s : float
    busy : float
        Share of the processors that was used at all.
    used_by_others, stolen : float
        Shares of the processors: taken by other work, and not got from the host.
    """

    servers_s: Mapping[str, float]
    client_s: float
    relay_s: float
    busy: float
    used_by_others: float
    stolen: float


def column(factor: str) -> str:
    """Name of the column of an option or of a key of the load."""
    return factor.replace(".", "_")


def factor_columns(run: Run, factors: Sequence[str]) -> dict[str, Value]:
    """What tells a run from others; an option that it does not set is left empty."""
    cell = run.cell
    return {
        "run": run.id,
        "system": cell.system,
        "variant": cell.variant,
        "layout": cell.layout.name,
        "load": load_name(cell, factors),
        "nodes": cell.nodes,
        "tool": cell.load.tool,
        "writers": "+".join(cell.load.nodes),
        **{column(name): _factor(cell, name) for name in factors},
        **_open_loop(cell),
        "repetition": run.repetition,
    }


def _factor(cell: Cell, name: str) -> Value:
    """The value of an option, or of a key that means something to the load."""
    if name in cell.options or cell.load.has(name):
        return _plain(cell.value(name))
    return ""


def _open_loop(cell: Cell) -> dict[str, Value]:
    """Connections are no clients, and a closed loop has no rate."""
    load = cell.load
    if load.rate_tps:
        return {"threads": "", "connections": load.threads, "rate_tps": _plain(load.rate_tps)}
    return {"connections": "", "rate_tps": ""}


def load_name(cell: Cell, factors: Sequence[str]) -> str:
    """The load with what is varied in it, the number of threads left out."""
    given = cell.load.model_dump(exclude_unset=True)
    varied = []
    for name in factors:
        table: Any = given
        for step in name.split("."):
            table = table.get(step) if isinstance(table, dict) else None
        if table is not None and name != "threads":
            varied.append(f"{name}={table}")
    return " ".join([cell.load.name, *varied])


def metric_columns(load: Load, loaded: Loaded) -> dict[str, Value]:
    """What was measured; what the tool does not tell, and what it was told, is left empty."""
    rate = loaded.committed / loaded.tool_s if loaded.tool_s > 0 else float("nan")
    figures: dict[str, Any] = {
        "seconds": loaded.tool_s if load.each is not None else None,
        "lasted_s": loaded.tool_s,
        "committed": loaded.committed,
        "failed": loaded.failed if load.tool != "slap" else None,
        "retried": loaded.retried if load.tool != "slap" else None,
        "throughput_tps": rate,
        "mean_s": loaded.mean_s,
        "p50_s": loaded.p50_s,
        "p95_s": loaded.p95_s,
        "p99_s": loaded.p99_s,
        "max_s": loaded.max_s,
        "service_p95_s": loaded.service_p95_s,
    }
    if len(load.nodes) > 1:
        figures |= {f"mean_s_{node}": value for node, value in loaded.by_node.items()}
    return {name: _plain(value) for name, value in figures.items()}


def large_columns(
    begin_s: float, executed_s: float, visible_s: float, stall: Stall, fragments: float | None
) -> dict[str, Value]:
    """What a large transaction took, and did to the load beside it."""
    figures = {
        "update_s": executed_s - begin_s,
        "visible_s": visible_s - begin_s,
        "payload_tps_before": stall.before_tps,
        "payload_tps_during": stall.during_tps,
        "stall_s": stall.longest_s,
        "stall_total_s": stall.total_s,
        "gap_s": stall.gap_s,
        "fragments": fragments,
    }
    return {name: _plain(value) for name, value in figures.items()}


def cost_columns(costs: Costs, delays: DelayStatistics) -> dict[str, Value]:
    """What a run cost, and how late the relay was."""
    figures: dict[str, Any] = {f"cpu_{name}": value for name, value in costs.servers_s.items()}
    figures |= {
        "cpu_client": costs.client_s,
        "cpu_relay": costs.relay_s,
        "busy": costs.busy,
        "used_by_others": costs.used_by_others,
        "stolen": costs.stolen,
        "relay_packets": delays.packets,
        "relay_dropped": delays.dropped,
        "late_mean_ms": delays.late_mean_ms,
        "late_max_ms": delays.late_max_ms,
    }
    return {name: _plain(value) for name, value in figures.items()}


def counter_growth(
    before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, float]]:
    """By how much counters grew, node by node; those that did not grow are left out, and gauges."""
    growth: dict[str, dict[str, float]] = {}
    for node, counters in after.items():
        for name, text in counters.items():
            old, new = _number(before.get(node, {}).get(name)), _number(text)
            if old is not None and new is not None and new != old and not _GAUGES.search(name):
                growth.setdefault(node, {})[name] = round(new - old, 6)
    return growth


def counter_columns(
    product: ProductName, growth: Mapping[str, Mapping[str, float]]
) -> dict[str, Value]:
    """The growth of some counters, over all nodes."""
    found: dict[str, Value] = {}
    for name in _COUNTERS[product]:
        values = [counters[name] for counters in growth.values() if name in counters]
        total = max(values, default=0.0) if name in _SAME_ON_ALL else sum(values)
        found[name] = _plain(total)
    return found


def queue_column(
    product: ProductName, counters: Mapping[str, Mapping[str, str]]
) -> dict[str, Value]:
    """The longest queue of any node, where the product counts it."""
    name = _QUEUES.get(product, "")
    lengths = [_number(one.get(name)) for one in counters.values()]
    known = [length for length in lengths if length is not None]
    return {"queue_at_end": _plain(max(known)) if known else ""}


def _number(text: str | None) -> float | None:
    try:
        number = None if text is None else float(text)
    except ValueError:
        return None
    return number if number is not None and isfinite(number) else None


def _plain(value: Any) -> Value:
    """As it stands in a CSV file: what is missing is empty, times to the microsecond."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return (int(value) if value == int(value) else round(value, 6)) if isfinite(value) else ""
    return "" if value is None else value
