"""Small scenarios for comparisons and inverse questions."""

from __future__ import annotations

from typing import Any

from simrep.scenario import Scenario, load

__all__ = ["TOML", "wan"]

TOML = """
[cluster]
model = "galera"
nodes = 3

[network]
rtt_ms = 20.0

[workload]
threads = 4
nodes = ["n1"]

[run]
duration_s = 2
warmup_s = 0.5
"""


def wan(values: dict[str, Any] | None = None, **tables: Any) -> Scenario:
    """Three nodes 20 ms apart with four clients, changed at will."""
    return load(TOML).replace(values, **tables)
