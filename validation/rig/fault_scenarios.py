"""A load with faults as a scenario: its groups of clients, and what happens to whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from simrep.rig.cell import Cell
from simrep.rig.experiment import Experiment
from simrep.rig.scenarios import Figures, cell_scenario
from simrep.rig.syncs import DISK_FAULTS

__all__ = ["fault_scenario"]

_ROW_BYTES = 72
"""A row of ``attempts``: three integers and a text of 60 characters with its length."""
_EVENT_BYTES = 90
_STATEMENT_BYTES = 130


def fault_scenario(experiment: Experiment, cell: Cell, measured: Figures) -> dict[str, Any]:
    """The scenario of a cell with faults, which come at the times that the experiment says."""
    scenario = cell_scenario(experiment, cell, measured)
    own = experiment.system(cell.system).scenario
    groups = cell.load.groups
    reads = any(group.reads for group in groups)
    workload: dict[str, Any] = {"client": "node"}
    if cell.load.retry:
        workload["retry"] = True
    workload["group"] = [_group(group, cell.node_names) for group in groups]
    workload["class"] = [
        {
            "name": "insert",
            "table": "attempts",
            "row_bytes": _ROW_BYTES + _EVENT_BYTES,
            "statement_bytes": _STATEMENT_BYTES,
        },
        *([{"name": "read", "table": "attempts", "statements": 0, "reads": 1}] if reads else []),
    ]
    scenario["workload"] = {**workload, **own.get("workload", {})}
    for name, tables in (("fault", cell.load.fault), ("maintenance", cell.load.maintenance)):
        if tables:
            scenario[name] = [_given(one) for one in tables]
    if cell.load.data_mb is not None:
        scenario["cluster"]["data_bytes"] = cell.load.data_mb * 1_000_000
    if cell.load.proxy is not None:
        scenario["proxy"] = _given(cell.load.proxy)
    if cell.load.ddl:
        scenario["workload"]["ddl"] = [_given(one) for one in cell.load.ddl]
    if any(fault.what in {"power-loss", *DISK_FAULTS} for fault in cell.load.fault):
        # One node cannot be without power, or its disk slow alone, where all share a machine: each
        # gets one of its own.
        scenario["cluster"]["shared_host"] = False
    scenario["run"] = {"warmup_s": 0.0, "duration_s": cell.load.duration_s, **own.get("run", {})}
    scenario["cluster"].get("costs", {}).pop("client_us", None)
    return scenario


def _given(table: BaseModel) -> dict[str, Any]:
    return table.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _group(group: Any, names: Sequence[str]) -> dict[str, Any]:
    clients: dict[str, Any] = {
        "on_error": group.on_error,
        "retry_pause_s": group.retry_pause_s,
        "connect_timeout_s": group.connect_timeout_s,
    }
    if group.nodes is not None:
        clients["nodes"] = list(group.order(names))
    if group.read_timeout_s is not None:
        clients["read_timeout_s"] = group.read_timeout_s
    return {
        "name": group.name,
        "node": group.node,
        "class": ["read" if group.reads else "insert"],
        "threads": group.threads,
        "think_time_ms": group.think_time_ms,
        "clients": clients,
    }
