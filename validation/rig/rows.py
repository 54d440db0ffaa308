"""The rows of a dataset: what a run was, what was measured, and what became of it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, nan
from statistics import median
from typing import TYPE_CHECKING, Any

from simrep.rig.cell import Cell, ProductName, Run, column
from simrep.rig.load import Load
from simrep.rig.scenarios import is_factor, unknown_options

if TYPE_CHECKING:
    from simrep.rig.journal import Entry, Progress
    from simrep.rig.transactions import Loaded

__all__ = [
    "Value",
    "as_columns",
    "as_csv",
    "client_us",
    "counter_columns",
    "counter_growth",
    "data_rows",
    "factor_columns",
    "is_usable",
    "metric_columns",
    "queue_column",
]

Value = int | float | str


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
_LATENCIES = ("mean_s", "p50_s", "p95_s", "p99_s", "max_s", "service_p95_s")
_MOST_DRAIN = 0.05
"""Of the duration: an open loop whose backlog took longer was saturated."""


def factor_columns(run: Run, factors: Sequence[str]) -> dict[str, Value]:
    """What tells a run from others; an option that it does not set is left empty."""
    cell = run.cell
    return {
        "run": run.id,
        "system": cell.system,
        "variant": cell.variant,
        "layout": cell.layout.name,
        "load": cell.load_name(factors),
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


def metric_columns(load: Load, loaded: Loaded) -> dict[str, Value]:
    """What was measured; what the tool does not tell, and what it was told, is left empty."""
    figures: dict[str, Any] = {
        "seconds": loaded.tool_s if load.each is not None else None,
        "lasted_s": loaded.tool_s,
        "committed": loaded.committed,
        "failed": loaded.failed if load.tool != "slap" else None,
        "retried": loaded.retried if load.tool != "slap" else None,
        "throughput_tps": loaded.committed / loaded.tool_s if loaded.tool_s > 0 else nan,
        **{name: getattr(loaded, name) for name in _LATENCIES},
    }
    if len(load.nodes) > 1:
        figures |= {f"mean_s_{node}": value for node, value in loaded.by_node.items()}
    return as_columns(figures)


def as_columns(figures: Mapping[str, Any]) -> dict[str, Value]:
    """Figures as they stand in a CSV file."""
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


def data_rows(progress: Progress) -> list[dict[str, Any]]:
    """A row for every attempt."""
    cells = [cell for cell, _ in progress.experiment.cells()]
    factors = {name: is_factor(name, cells) for name in progress.factors}
    return [_row(entry, progress.runs[entry.id], factors) for entry in progress.entries()]


def is_usable(row: Mapping[str, Any]) -> bool:
    """Whether a simulation may be compared with a row."""
    return bool(row["passed"]) and not row["saturated"]


def client_us(rows: Iterable[Mapping[str, Any]]) -> float | None:
    """CPU time of the driver for a transaction in microseconds, in the cell where it is least.

    Clients that wait between transactions find cold caches, which a simulation knows by itself.
    """
    by_cell: dict[str, list[float]] = {}
    for row in rows:
        seconds = row.get("cpu_client", "")
        if row["tool"] != "driver" or not row["passed"] or seconds == "":
            continue
        attempts = sum(int(row.get(name) or 0) for name in ("committed", "failed", "retried"))
        cell = str(row["run"]).rpartition(".")[0]
        by_cell.setdefault(cell, []).append(1e6 * float(seconds) / attempts)
    return round(min(map(median, by_cell.values())), 1) if by_cell else None


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a file; what a row does not have is empty."""
    # So that the order of the columns is that of a row that has most of them.
    fullest_first = sorted(rows, key=len, reverse=True)
    columns = list(dict.fromkeys(name for row in fullest_first for name in row))
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _row(entry: Entry, run: Run, factors: Mapping[str, bool]) -> dict[str, Any]:
    cell = run.cell
    row: dict[str, Any] = factor_columns(run, list(factors))
    row |= {name: value for name, value in entry.row.items() if name not in row}
    if entry.counters:
        row |= counter_columns(cell.product, entry.counters)
    unknown = [name for name in unknown_options(cell.product, cell.options) if name in factors]
    row["not_simulated"] = " ".join(f"{name}={cell.options[name]}" for name in unknown)
    # What sets the scenarios of other products would not be valid in that of this one.
    row |= {column(name): "" for name in unknown if factors[name]}
    errors = entry.details.get("errors", {})
    row["errors"] = " ".join(f"{number}:{count}" for number, count in errors.items())
    row["drain_s"] = _drain_s(cell.load, entry.row)
    row["saturated"] = int(bool(row["drain_s"] and _is_saturated(cell.load, row["drain_s"])))
    return row


def _drain_s(load: Load, row: Mapping[str, Any]) -> float | str:
    """How long an open loop went on after its last arrival."""
    lasted_s = row.get("lasted_s", "")
    if load.tool != "driver" or not load.rate_tps or load.duration_s is None or lasted_s == "":
        return ""
    return round(max(0.0, float(lasted_s) - load.duration_s), 6)


def _is_saturated(load: Load, drain_s: float) -> bool:
    """Its latencies count what a simulation, which ends with the arrivals, never sees."""
    return load.duration_s is not None and drain_s > _MOST_DRAIN * load.duration_s
