"""Status variables of a Galera node."""

from __future__ import annotations

from typing import Any

from simrep.models.mysql.rollback_counters import rollback_counters
from simrep.workload.session import Sessions

from .node import GaleraNode
from .streaming import Streams

__all__ = ["status"]


def status(node: GaleraNode, sessions: Sessions[Any], streams: Streams) -> dict[str, float]:
    """By their names in ``SHOW STATUS``, and what the product does not count, in small letters."""
    elapsed = (node.clock.now if node.died_s is None else node.died_s) - node.started_s
    paused = min(node.sender.monitor.paused_until_now_s(), elapsed)
    latency, certifier = node.repl_latency, node.certifier
    return {
        "wsrep_last_committed": node.last_committed,
        "wsrep_replicated": node.sender.replicated,
        "wsrep_replicated_bytes": node.sender.replicated_bytes,
        "wsrep_received": node.received,
        "wsrep_received_bytes": node.received_bytes,
        "wsrep_local_commits": node.local_commits,
        "wsrep_local_cert_failures": node.cert_failures,
        "wsrep_local_bf_aborts": sessions.victims,
        "wsrep_local_recv_queue_avg": _mean(node.recv_queue_sum, node.received),
        "wsrep_local_recv_queue_max": node.recv_queue_max,
        "wsrep_max_ws_size_exceeded": node.too_large,
        "wsrep_flow_control_paused": paused / elapsed if elapsed else 0.0,
        "wsrep_flow_control_sent": node.flow_control.sent,
        "wsrep_flow_control_recv": node.flow_control.received,
        "wsrep_cert_deps_distance": _mean(certifier.distance_sum, certifier.passed),
        "wsrep_evs_repl_latency_min": latency.minimum if latency.count else 0.0,
        "wsrep_evs_repl_latency_avg": latency.mean,
        "wsrep_evs_repl_latency_max": latency.maximum if latency.count else 0.0,
        "wsrep_evs_repl_latency_stddev": latency.deviation,
        "wsrep_cert_index_size": len(certifier.index),
        "evs_messages_sent": node.mesh.sent,
        "evs_messages_received": node.mesh.received,
        "fragments_replicated": streams.fragments,
        "streams_rolled_back": streams.rollbacks,
        "streams_open": len(node.streams),
        "rows_locked": len(node.locks),
        "commits_out_of_order": node.commits_out_of_order,
        **rollback_counters(sessions, "1047", "1180", "1205", "1213", "2013"),
    }


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0
