"""A load as a simulation submits it: ``[workload]`` and ``[run]`` of a scenario."""

from __future__ import annotations

from typing import Any

from simrep.rig.load import STALL_WINDOW_S, LargeTransaction, Load, statement_bytes

__all__ = ["client_costs", "run_of", "workload_of"]

_PRESETS = {
    "oltp_insert": "sysbench-oltp-insert",
    "oltp_update_index": "sysbench-oltp-update-index",
    "oltp_read_write": "sysbench-oltp-read-write",
}
_EVENT_BYTES = 90
"""Headers and table map of a row event."""
_COUNTER_BYTES = 9
"""A row of two integers and its null bits."""


def workload_of(load: Load) -> dict[str, Any]:
    """The ``[workload]``."""
    table: dict[str, Any] = {"nodes": list(load.nodes), "client": "node"}
    if load.rate_tps:
        per_node = load.threads // len(load.nodes)
        table |= {"rate_tps": float(load.rate_tps), "connections": per_node}
    else:
        table["threads"] = load.threads
    if load.transactions is not None:
        table["queries"] = load.transactions
    elif load.per_client is not None:
        table["transactions_per_client"] = load.per_client
    if load.retry or load.script is not None:  # sysbench begins an event again by itself
        table["retry"] = True
    if load.script is not None:
        table["preset"] = _PRESETS[load.script]
        if load.script != "oltp_insert":
            table["class"] = [{"keys": _special_keys(load)}]
        return table
    table["class"] = [_class(load)]
    if load.large is not None:
        table["scheduled"] = [_scheduled(load.large, load.nodes[0])]
    return table


def run_of(load: Load) -> dict[str, Any]:
    """The ``[run]``."""
    if load.large is not None:
        return {"settle_s": load.large.rest_s, "interval_s": STALL_WINDOW_S}
    return {} if load.duration_s is None else {"duration_s": load.duration_s}


def client_costs(load: Load, client_us: float | None) -> dict[str, float]:
    """Costs that follow from the tool and not from the servers.

    slap connects in the time that it tells; the driver and sysbench do so before. A pack knows the
    CPU time of the clients of slap; the driver takes more.

    Parameters
    ----------
    load : Load
    client_us : float or None
        CPU time of the driver for a transaction, if it is known.
    """
    if load.tool == "slap":
        return {}
    costs = {"connect_us": 0.0}
    if load.tool == "driver" and client_us is not None:
        costs["client_us"] = client_us
    return costs


def _class(load: Load) -> dict[str, Any]:
    if load.kind == "update":
        keys = {"distribution": "uniform", "rows": load.existing_rows}
        # The event holds a row before and after.
        row_bytes = _EVENT_BYTES + 2 * _COUNTER_BYTES
        return {"name": "update", "table": "counters", "row_bytes": row_bytes, "keys": keys}
    return {
        "name": "insert",
        "table": "inserts",
        "rows": load.rows,
        "row_bytes": round(load.value_bytes + 5 + _EVENT_BYTES / load.rows),
        "statement_bytes": statement_bytes(load),
    }


def _special_keys(load: Load) -> dict[str, Any]:
    """Of sysbench's --rand-type=special: 75 % of the choices fall on 1 % of the rows."""
    rows = load.tables * load.table_rows
    hot = max(1, rows // 100)
    return {"distribution": "hot", "rows": rows, "hot_rows": hot, "hot_fraction": 0.75}


def _scheduled(large: LargeTransaction, node: str) -> dict[str, Any]:
    table: dict[str, Any] = {
        "name": "large",
        "at_s": large.after_s,
        "node": node,
        "rows": large.rows,
        # A row before and after: two integers, a text with its length, and its null bits.
        "row_bytes": 2 * (large.value_bytes + 10),
        "table": "large",
        "keys": {"distribution": "scan", "rows": large.rows},
    }
    if large.streams:
        table["session"] = {
            "wsrep_trx_fragment_unit": large.fragment_unit,
            "wsrep_trx_fragment_size": large.fragment_size,
        }
    return table
