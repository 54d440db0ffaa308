"""A cluster that begins much faster than it goes on."""

from __future__ import annotations

from typing import Any

__all__ = ["throttled"]


def throttled(**run: Any) -> dict[str, Any]:
    """Appliers do 250 transactions per second; flow control begins when 200 are in the queue.

    Until then, for a fifth of a second, the writer commits five times as many.
    """
    return {
        "cluster": {
            "model": "galera",
            "nodes": 2,
            "costs": {"apply_us": 4000.0},
            "options": {"gcs.fc_limit": 200, "gcs.fc_single_primary": True},
        },
        "network": {"rtt_ms": 1.0},
        "workload": {"preset": "sysbench-oltp-update-index", "threads": 8},
        "run": {"duration_s": 4.0, **run},
    }
