"""Galera nodes without clients, computed ahead, do and count what they do when they are played.

A run of which a trace is kept plays all nodes, so that the two forms are compared by that alone.
"""

import warnings
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

import simrep
from simrep.contract.cluster import Cluster
from simrep.contract.setup import setup_of
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.runs.build import build_cluster

OPTIONS: dict[str, Any] = {
    "gcs.fc_limit": [1, 4, 16, 1000],
    "gcs.fc_factor": [0.5, 1.0],
    "innodb_flush_log_at_trx_commit": [0, 1, 2],
    "evs.send_window": [1, 4, 64],
    "wsrep_slave_threads": [1, 4],
}
COSTS: dict[str, Any] = {
    "send_us": [1.0, 8.0, 300.0],
    "receive_us": [1.0, 15.0, 1500.0],  # longer than a slice of a core
    "action_us": [1.0, 8.0, 100.0],
    "apply_us": [40.0, 2500.0],
    "fsync_us": [1.0, 150.0, 3000.0],
}


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    nodes = draw(st.integers(2, 7))
    served = draw(st.integers(1, nodes))
    return {
        "cluster": {
            "model": "galera",
            "nodes": nodes,
            "options": {
                name: draw(st.sampled_from(values))
                for name, values in OPTIONS.items()
                if draw(st.booleans())
            },
            "costs": {
                name: draw(st.sampled_from(values))
                for name, values in COSTS.items()
                if draw(st.booleans())
            },
        },
        "network": {
            "rtt_ms": draw(st.sampled_from([0.1, 0.5, 3.0, 20.0])),
            "loss": draw(st.sampled_from([0.0, 0.01])),
            "bandwidth_mbit": draw(st.sampled_from([50.0, 10_000.0])),
        },
        "workload": {
            "preset": draw(st.sampled_from(["sysbench-oltp-insert", "sysbench-oltp-write-only"])),
            "threads": draw(st.sampled_from([1, 8, 64])),
            "nodes": [f"n{number}" for number in range(1, served + 1)],
        },
        "run": {"duration_s": 0.08, "warmup_s": 0.04, "seed": draw(st.integers(0, 99))},
    }


def told(scenario: dict[str, Any], *, trace: bool) -> dict[str, Any]:
    """All that a run tells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simrep.run(scenario, replications=1, trace=trace)
    return {**result.to_dict(), "versions": None, "buckets": repr(result.histogram.buckets())}


LONG_QUEUES: dict[str, Any] = {  # which stop the cluster, from the first writesets on
    "cluster": {"model": "galera", "nodes": 3},
    "network": {"rtt_ms": 0.5},
    "workload": {"preset": "sysbench-oltp-insert", "threads": 64},
    "run": {"duration_s": 0.1, "warmup_s": 0.0, "seed": 1},
}
LONG_RUNS = {
    **LONG_QUEUES,
    "network": {"rtt_ms": 5},
    "run": {"duration_s": 0.3, "warmup_s": 0.05, "seed": 1},
}

FAILED_AS_FETCHED: dict[str, Any] = {  # what is fetched lets the cluster go on, fails, is reported
    "cluster": {"model": "galera", "nodes": 5, "options": {"gcs.fc_limit": 40}},
    "network": {"rtt_ms": 0.5},
    "workload": {"preset": "sysbench-oltp-write-only", "threads": 64, "nodes": ["n1", "n3"]},
    "run": {"duration_s": 0.17, "warmup_s": 0.05, "seed": 1},
}


@given(scenarios())
@example(LONG_QUEUES)
@example(LONG_RUNS)
@example(FAILED_AS_FETCHED)
@settings(max_examples=8, deadline=None, derandomize=True)
def test_nodes_without_clients_computed_ahead_are_those_that_are_played(
    scenario: dict[str, Any],
) -> None:
    assert told(scenario, trace=False) == told(scenario, trace=True)


def cluster(**changes: Any) -> Cluster:
    content: dict[str, Any] = {
        "cluster": {"model": "galera", "nodes": 3},
        "workload": {"preset": "sysbench-oltp-insert", "threads": 4},
        "run": {"duration_s": 1.0},
    }
    for name, value in changes.items():
        content.setdefault(name, {})
        content[name] = value if isinstance(value, list) else {**content[name], **value}
    setup = setup_of(simrep.load(content))
    return build_cluster(setup, Clock(), Streams(1), ahead=True)


def test_only_nodes_that_nobody_can_tell_apart_from_played_ones_are_quiet() -> None:
    assert list(cluster().quiet) == [1, 2]
    assert list(cluster(workload={"nodes": ["n1", "n3"]}).quiet) == [1]
    assert not cluster(cluster={"shared_host": True}).quiet
    assert not cluster(cluster={"machine": {"variation": 0.1}}).quiet
    assert not cluster(cluster={"machine": {"cold_factor": 2.0}}).quiet
    assert not cluster(workload={"clients": {"on_error": "stay"}}).quiet
    assert not cluster(fault=[{"what": "kill", "node": "n2", "at_s": 0.1}]).quiet
