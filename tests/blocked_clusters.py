"""Clusters on which a chosen thing takes time, so that it is known what blocks whom."""

from __future__ import annotations

from typing import Any

from simrep.contract.registry import find_model

__all__ = ["BIG", "SMALL", "scenario"]

BIG = {"name": "big", "rows": 200_000, "row_bytes": 100, "table": "big"}
SMALL = {"name": "small", "weight": 2000.0}


def scenario(
    model: str,
    *,
    size: int = 2,
    costs: dict[str, float] | None = None,
    options: dict[str, Any] | None = None,
    version: str | None = None,
    network: dict[str, Any] | None = None,
    classes: list[dict[str, Any]] | None = None,
    duration_s: float = 1.8,
    **workload: Any,
) -> dict[str, Any]:
    """A cluster on which nothing takes time but what is asked for."""
    known = find_model(model).Costs.model_fields
    free = dict.fromkeys(known, 0.0) | {
        "disk_mb_per_s": 1e9,
        "compression_ratio": 1.0,
        "page_reads_at_a_time": 1,
    }
    free |= {"statement_us": 500.0} | (costs or {})
    cluster: dict[str, Any] = {
        "model": model,
        "nodes": size,
        "machine": {"cores": 64},
        "options": options or {},
        "costs": {name: cost for name, cost in free.items() if name in known},
    }
    if version is not None:
        cluster["version"] = version
    return {
        "cluster": cluster,
        "network": network or {"rtt_ms": 0.2},
        "workload": {"threads": 4, **workload, "class": classes or [BIG, SMALL]},
        "run": {"duration_s": duration_s, "seed": 1},
    }
