"""A large transaction beside a client that does nothing else, in a cluster where work is free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import simrep
from simrep.models.asynchronous.options import AsynchronousCosts
from simrep.models.galera.options import GaleraCosts
from simrep.models.group_replication.options import GroupReplicationCosts
from simrep.models.mysql.options import ServerCosts
from simrep.models.semisync.options import SemisyncCosts
from simrep.runs.record import ScheduledRecord
from simrep.runs.result import Result
from simrep.testing import free

__all__ = [
    "MODELS",
    "MYSQL",
    "NO_PRIMARY",
    "ROWS",
    "ROW_BYTES",
    "STATEMENT_S",
    "held_up_s",
    "large_scenario",
    "outcome",
]

COSTS = {
    "standalone": ServerCosts,
    "asynchronous": AsynchronousCosts,
    "semisync": SemisyncCosts,
    "group_replication": GroupReplicationCosts,
    "galera": GaleraCosts,
}
MODELS = list(COSTS)
MYSQL = [model for model in MODELS if model != "galera"]
NO_PRIMARY = {"group_replication_single_primary_mode": False}

ROWS = 50_000
ROW_BYTES = 100
STATEMENT_S = 0.001  # of the client beside it, who does nothing else


def large_scenario(
    model: str,
    nodes: int = 2,
    *,
    options: Mapping[str, Any] | None = None,
    costs: Mapping[str, float] | None = None,
    payload: Mapping[str, Any] | None = None,
    workload: Mapping[str, Any] | None = None,
    version: str | None = None,
    **large: Any,
) -> dict[str, Any]:
    """A client that updates rows of its own without a pause, and a large transaction after 1 s."""
    nothing = free(COSTS[model])
    if model == "group_replication":
        nothing["compression_ratio"] = 1.0
    cluster: dict[str, Any] = {
        "model": model,
        "nodes": nodes,
        "machine": {"cores": 64},
        "options": dict(options or {}),
        "costs": nothing | {"statement_us": STATEMENT_S * 1e6} | dict(costs or {}),
    }
    if version is not None:
        cluster["version"] = version
    one = {"name": "payload", "keys": {"distribution": "uniform", "rows": 1000}}
    sweep = {"name": "large", "at_s": 1, "rows": ROWS, "row_bytes": ROW_BYTES, "table": "big"}
    sweep |= {"keys": {"distribution": "scan", "rows": large.get("rows", ROWS)}}
    return {
        "cluster": cluster,
        "network": {"rtt_ms": 1},
        "workload": {
            "threads": 1,
            "class": [one | dict(payload or {})],
            "scheduled": [sweep | large],
            **(workload or {}),
        },
        "run": {"settle_s": 1, "interval_s": 0.1},
    }


def outcome(content: Mapping[str, Any]) -> tuple[Result, ScheduledRecord]:
    result = simrep.run(content, seed=1)
    return result, result.scheduled["large"]


def held_up_s(content: Mapping[str, Any]) -> float:
    """The longest that the client beside it has waited."""
    return outcome(content)[0].latency_s["max"]
