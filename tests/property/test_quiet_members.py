"""Members of a group without clients, computed by themselves, do and count what played ones do.

A run of which a trace is kept plays all members, so that the two forms are compared by that alone.
Utilisations are sums whose parts come in another order: they are compared to their last digits.
"""

import warnings
from math import isclose
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simrep
from simrep.contract.setup import setup_of
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.models.group_replication import member
from simrep.models.group_replication.options import (
    GroupReplicationCosts,
    GroupReplicationOptions,
)
from simrep.models.group_replication.quiet.member import quiet_members
from simrep.runs.build import build_cluster

OPTIONS: dict[str, Any] = {
    "group_replication_single_primary_mode": [False],
    "group_replication_set_write_concurrency": [10, 40],
    "group_replication_compression_threshold": [0, 500],
    "replica_parallel_workers": [0, 1, 2, 16],
    "replica_parallel_type": ["LOGICAL_CLOCK", "DATABASE"],
    "sync_relay_log": [0, 1, 7, 100],
    "sync_binlog": [0, 1, 3],
    "innodb_flush_log_at_trx_commit": [0, 1, 2],
}
COSTS: dict[str, Any] = {
    "send_us": [1.0, 8.0, 300.0],
    "receive_us": [1.0, 15.0, 1500.0],  # longer than a slice of a core
    "deliver_us": [1.0, 100.0],
    "certify_us": [1.0, 300.0],
    "apply_us": [40.0, 2500.0],
    "fsync_us": [1.0, 150.0, 3000.0],
}


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    nodes = draw(st.integers(2, 7))
    served = draw(st.integers(1, nodes - 1))
    options = {
        name: draw(st.sampled_from(values))
        for name, values in OPTIONS.items()
        if draw(st.booleans())
    }
    several = "group_replication_single_primary_mode" in options
    return {
        "cluster": {
            "model": "group_replication",
            "nodes": nodes,
            "machine": {"cores": draw(st.sampled_from([1, 2, 4, 8]))},
            "options": options,
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
            "nodes": [f"n{number}" for number in range(1, (served if several else 1) + 1)],
        },
        "run": {"duration_s": 0.04, "warmup_s": 0.02, "seed": draw(st.integers(0, 99))},
    }


def told(scenario: dict[str, Any], *, trace: bool) -> dict[str, Any]:
    """All that a run tells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simrep.run(scenario, replications=1, trace=trace)
    return {**result.to_dict(), "versions": None, "buckets": repr(result.histogram.buckets())}


def assert_alike(scenario: dict[str, Any]) -> None:
    """What is told is the same whether members are played or computed by themselves."""
    quiet, played = told(scenario, trace=False), told(scenario, trace=True)
    for quiet_station, played_station in zip(quiet["stations"], played["stations"], strict=True):
        utilisation = quiet_station.pop("utilisation"), played_station.pop("utilisation")
        assert isclose(*utilisation, rel_tol=1e-12, abs_tol=1e-12), quiet_station
    assert quiet == played


@given(scenarios())
@settings(max_examples=10, deadline=None, derandomize=True)
def test_members_without_clients_computed_by_themselves_are_those_that_are_played(
    scenario: dict[str, Any],
) -> None:
    assert_alike(scenario)


def test_statistics_and_garbage_collection_are_those_of_played_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(member, "_GTID_BROADCAST_PERIODS", 1)  # garbage once a second
    scenario = {
        "cluster": {
            "model": "group_replication",
            "nodes": 3,
            "costs": {"apply_us": 3000.0, "garbage_ns": 900.0, "garbage_transaction_ns": 7e4},
        },
        "network": {"rtt_ms": 5.0},
        "workload": {"preset": "sysbench-oltp-insert", "threads": 4},
        "run": {"duration_s": 1.2, "warmup_s": 0.1, "seed": 1},
    }
    assert_alike(scenario)


def quiet(costs: dict[str, Any] | None = None, **options: Any) -> list[int]:
    content: dict[str, Any] = {
        "cluster": {
            "model": "group_replication", "nodes": 3, "costs": costs or {}, "options": options
        },
        "workload": {"preset": "sysbench-oltp-insert", "threads": 4},
        "run": {"duration_s": 1.0},
    }  # fmt: skip
    setup = setup_of(simrep.load(content))
    made = build_cluster(setup, Clock(), Streams(1), ahead=True)
    assert isinstance(setup.options, GroupReplicationOptions)
    assert isinstance(setup.costs, GroupReplicationCosts)
    return list(quiet_members(made, setup.options, setup.costs))


def test_only_members_whose_parts_are_known_are_quiet() -> None:
    assert quiet() == [1, 2]
    assert quiet(group_replication_single_primary_mode=False) == [1, 2]
    assert quiet(group_replication_consistency="AFTER") == []
    assert quiet(group_replication_paxos_single_leader=True) == []
    assert quiet(replica_preserve_commit_order=False) == []
    assert quiet(binlog_group_commit_sync_delay=100) == []
    assert quiet(costs={"schedule_us": 0.0}) == []
