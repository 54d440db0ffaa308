"""Backups of a Galera node: how long they take, what they share with the load, what they lock."""

from __future__ import annotations

from typing import Any

import pytest

import simrep

MB = 1_000_000
BACKUP = {
    "node": "n3", "at_s": 1.0, "bytes": 200 * MB, "read_mb_per_s": 100, "locked_bytes": 10 * MB,
}  # fmt: skip


def run(backup: dict[str, Any], think_time_ms: float = 40.0, **changes: Any) -> simrep.Result:
    """Writers on n1 and a backup of n3."""
    scenario: dict[str, Any] = {
        "cluster": {"model": "galera", "nodes": 3},
        "network": {"rtt_ms": 0.5},
        "workload": {"threads": 4, "nodes": ["n1"], "think_time_ms": think_time_ms},
        "backup": [{key: value for key, value in backup.items() if value is not None}],
        "run": {"duration_s": 6.0},
    } | changes
    return simrep.run(simrep.load(scenario))


def times(result: simrep.Result, *words: str, node: str = "n3") -> list[float]:
    """When a node noted each of these words, once."""
    lines = [line for line in result.timeline().lines if line.node == node]
    found = [[line.at_s for line in lines if line.what == word] for word in words]
    assert [len(one) for one in found] == [1] * len(words)
    return [at_s for (at_s,) in found]


def duration_s(result: simrep.Result) -> float:
    began_s, ended_s = times(result, "backup-begins", "backup-ends")
    return ended_s - began_s


def test_it_takes_its_bytes_by_the_speed_of_the_disk() -> None:
    result = run(BACKUP)
    copied_s, paused_s, resumed_s = times(result, "backup-copied", "paused", "resumed")
    assert copied_s - 1.0 == pytest.approx(2.0, rel=0.01)
    assert resumed_s - paused_s == pytest.approx(0.1, rel=0.01)
    assert paused_s - copied_s < 0.01


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        ({"limit_mb_per_s": 80}, 2.5),
        ({"network_mbit_per_s": 480}, 200 / 60),
        ({"network_mbit_per_s": 480, "ratio": 2.0}, 2.0),
        ({"cpu_ns_per_byte": 15.0}, 3.0),
        ({"method": "dump", "read_mb_per_s": 50}, 4.0),
    ],
)
def test_the_slowest_stage_decides(limits: dict[str, Any], seconds: float) -> None:
    free = {"method": "xtrabackup", "locked_bytes": None}
    assert duration_s(run(BACKUP | free | limits)) == pytest.approx(seconds, rel=0.05)


def test_a_link_is_shared_with_the_cluster() -> None:
    """On a link of 400 Mbit/s 200 MB take four seconds, and writesets wait behind its pieces."""
    network = {"rtt_ms": 0.5, "bandwidth_mbit": 400}
    free = BACKUP | {"method": "clone", "locked_bytes": None, "node": "n1"}
    beside = run(free | {"to": "n2"}, 7.0, network=network)
    apart = run(free, 7.0, network=network)
    began_s, ended_s = times(beside, "backup-begins", "backup-ends", node="n1")
    assert ended_s - began_s == pytest.approx(4.0, rel=0.05)
    assert beside.latency_s["mean"] > apart.latency_s["mean"] + 2e-3


def test_it_shares_the_disk_with_pages_that_clients_need() -> None:
    cluster = {
        "model": "galera",
        "nodes": 3,
        "data_bytes": 10**10,
        "options": {"innodb_buffer_pool_size": 10**9},
        "costs": {"page_reads_at_a_time": 1},
    }
    workload = {"class": [{"name": "look", "statements": 0, "reads": 5}],
                "threads": 2, "nodes": ["n3"], "think_time_ms": 7.0}  # fmt: skip
    free = BACKUP | {"method": "xtrabackup", "locked_bytes": None, "bytes": 400 * MB}
    beside = run(free, cluster=cluster, workload=workload)
    alone = run(free | {"node": "n2"}, cluster=cluster, workload=workload)
    assert beside.latency_s["mean"] > 2.0 * alone.latency_s["mean"]
    assert duration_s(beside) > 4.05


@pytest.mark.parametrize(
    ("backup", "paused", "desynced"),
    [
        ({"method": "clone", "locked_bytes": None}, 0, 0),
        ({"method": "rsync", "locked_bytes": None}, 1, 1),
        ({}, 1, 1),
        ({"desync": True}, 1, 2),
    ],
)
def test_what_each_locks(backup: dict[str, Any], paused: int, desynced: int) -> None:
    words = [line.what for line in run(BACKUP | backup).timeline().lines if line.node == "n3"]
    assert words.count("paused") == words.count("resumed") == paused
    assert words.count("desynced") == desynced
    assert words.count("synced") == (desynced > 0)


def test_rsync_has_the_node_fall_behind_for_all_of_it_and_mariabackup_for_the_end() -> None:
    most = [
        run(BACKUP | how, think_time_ms=7.0).counters["n3"]["wsrep_local_recv_queue_max"]
        for how in ({}, {"method": "rsync", "locked_bytes": None})
    ]
    assert most[1] == pytest.approx(20.0 * most[0], rel=0.3)


@pytest.mark.parametrize(
    ("backup", "problem"),
    [
        ({"read_mb_per_s": None}, "no machine tells how fast 'n3' reads"),
        ({"locked_bytes": None}, "how long the server stands still"),
        ({"method": "clone"}, "only goes with lock"),
        ({"to": "n3"}, "is the node that is backed up"),
        ({"to": "n9"}, "no node 'n9'"),
        ({"method": "dump", "locked_bytes": None, "cpu_ns_per_byte": 1.0}, "follows from"),
    ],
)
def test_what_it_needs_is_said(backup: dict[str, Any], problem: str) -> None:
    with pytest.raises(simrep.ScenarioError, match=problem):
        run(BACKUP | backup)


def test_a_backup_of_a_server_that_dies_ends_with_it() -> None:
    fault = [{"what": "kill", "node": "n3", "at_s": 2.0}]
    result = run(BACKUP, fault=fault)
    assert not [line for line in result.timeline().lines if line.what == "backup-ends"]
