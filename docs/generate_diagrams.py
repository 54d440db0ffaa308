"""Draw the messages of one commit, for the page of each protocol, and those of a change of view.

``python docs/generate_diagrams.py`` draws all of them into ``docs/images/``; names of pages as
arguments draw those only. Transactions come one by one, so that only the protocol is to be seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import simrep

__all__ = ["draw"]

IMAGES = Path(__file__).parent / "images"
NETWORK = {
    "rtt_ms": 10,
    "path": [{"from": "n1", "to": "n3", "rtt_ms": 40}, {"from": "n2", "to": "n3", "rtt_ms": 30}],
}
NEAR = {
    "rtt_ms": 0.5,
    "path": [{"from": "n1", "to": "n3", "rtt_ms": 1.6}, {"from": "n2", "to": "n3", "rtt_ms": 1.2}],
}
LOAD = {"rate_tps": 5, "nodes": ["n1"], "preset": "sysbench-oltp-insert"}
FRAGMENTS = {"wsrep_trx_fragment_unit": "rows", "wsrep_trx_fragment_size": 1}
DIAGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "galera": ("Galera", {}),
    "group-replication": ("Group Replication", {"cluster": {"model": "group_replication"}}),
    "semi-synchronous": ("Semi-synchronous replication", {"cluster": {"model": "semisync"}}),
    "asynchronous": (
        "Asynchronous replication",
        {"cluster": {"model": "asynchronous"}, "network": NEAR},
    ),
    "streaming-replication": (
        "Streaming replication",
        {
            "cluster": {"model": "galera", "options": FRAGMENTS},
            "workload": {"rate_tps": 2, "nodes": ["n1"], "class": [{"rows": 3}]},
        },
    ),
}


CRASH = {
    "name": "A node of Galera is killed",
    "cluster": {"model": "galera", "version": "mariadb-11.8"},
    "network": {"rtt_ms": 0.2},
    "workload": {
        "think_time_ms": 20,
        "think_time": "exponential",
        "group": [{"name": node, "node": node, "threads": 4} for node in ("n1", "n2", "n3")],
    },
    "fault": [{"name": "crash", "what": "kill", "node": "n3", "at_s": 3}],
    "run": {"duration_s": 12},
}
BROKEN = "when-galera-breaks"
CRASHES = {
    "name": "A secondary of Group Replication is killed and comes back, then the primary is killed",
    "cluster": {"model": "group_replication", "version": "mysql-9"},
    "network": {"rtt_ms": 0.1},
    "workload": {
        "think_time_ms": 20,
        "think_time": "exponential",
        "clients": {"on_error": "next"},
        "group": [{"name": "writers", "node": "n1", "threads": 4}],
    },
    "fault": [
        {"name": "crash", "what": "kill", "node": "n3", "at_s": 5},
        {"name": "back", "what": "restart", "node": "n3", "at_s": 35},
        {"name": "failover", "what": "kill", "node": "n1", "at_s": 60},
    ],
    "run": {"duration_s": 90},
}
WAVE = CRASHES | {
    "name": "Commits after the death of n3, 10 ms between the members",
    "network": {"rtt_ms": 10},
    "fault": CRASHES["fault"][:1],
    "run": {"duration_s": 10},
}
GROUP_BROKEN = "when-group-replication-breaks"


def draw(names: Iterable[str] = (*DIAGRAMS, BROKEN, GROUP_BROKEN)) -> None:
    """Explain a usual transaction of each page's protocol, and draw it."""
    for name in names:
        if name == BROKEN:
            result = simrep.run(CRASH, seed=1)
            result.plot(IMAGES / f"{BROKEN}-stall.png")
            result.explain_fault("crash").plot(IMAGES / f"{BROKEN}-view.png")
            continue
        if name == GROUP_BROKEN:
            simrep.run(CRASHES, seed=1).plot(IMAGES / f"{GROUP_BROKEN}-slow.png")
            window = simrep.run(WAVE, seed=1).explain_fault("crash", from_s=7.6, until_s=8.0)
            window.plot(IMAGES / f"{GROUP_BROKEN}-wave.png")
            continue
        title, tables = DIAGRAMS[name]
        scenario = {
            "name": title,
            "cluster": {"model": "galera"},
            "network": NETWORK,
            "workload": LOAD,
            "run": {"duration_s": 10},
            **tables,
        }
        simrep.explain(scenario, txn="p50").plot(IMAGES / f"messages-{name}.png")


if __name__ == "__main__":
    draw(sys.argv[1:] or (*DIAGRAMS, BROKEN, GROUP_BROKEN))
