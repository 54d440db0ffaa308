"""Locks and backups on servers with a binary log: who stops, who is late, and who is not."""

from __future__ import annotations

from typing import Any

import pytest

import simrep

MB = 1_000_000
HELD = {"at_s": 0.5, "until_s": 1.5}
LOCKS: dict[str, dict[str, Any]] = {
    "LOCK TABLES": {"maintenance": [{"what": "lock-tables", **HELD}]},
    "FTWRL": {"maintenance": [{"what": "flush-tables-with-read-lock", **HELD}]},
    "rsync": {
        "backup": [{"method": "rsync", "at_s": 0.5, "bytes": 100 * MB, "read_mb_per_s": 100}]
    },
}


def run(model: str, node: str, told: dict[str, Any], **changes: Any) -> simrep.Result:
    """Writers on n1, and something that is done on a node."""
    cluster = {"model": model, "nodes": 1 if model == "standalone" else 3}
    workload = {"nodes": ["n1"], "threads": 2, "think_time_ms": 19.0}
    done = {table: [{"node": node, **one} for one in ones] for table, ones in told.items()}
    return simrep.run(
        {
            "cluster": cluster | changes.pop("cluster", {}),
            "network": {"rtt_ms": 0.5},
            "workload": workload | changes.pop("workload", {}),
            "run": {"duration_s": 2.5},
            **done,
            **changes,
        }
    )


def words(result: simrep.Result, node: str) -> list[tuple[str, float]]:
    return [(one.what, one.at_s) for one in result.timeline().lines if one.node == node]


@pytest.mark.parametrize(
    ("model", "lock"),
    [
        ("standalone", "LOCK TABLES"),
        ("standalone", "rsync"),
        ("asynchronous", "FTWRL"),
        ("group_replication", "FTWRL"),
    ],
)
def test_where_transactions_are_written_writers_wait_for_the_lock(model: str, lock: str) -> None:
    result = run(model, "n1", LOCKS[lock])
    assert result.stall_max_s == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize(
    ("model", "lock", "workers"),
    [
        ("asynchronous", "LOCK TABLES", 8),
        ("asynchronous", "FTWRL", 8),
        ("semisync", "FTWRL", 0),
        ("semisync", "rsync", 8),
        ("group_replication", "LOCK TABLES", 8),
        ("group_replication", "FTWRL", 1),
    ],
)
def test_on_a_replica_nobody_waits_and_it_is_late(model: str, lock: str, workers: int) -> None:
    """Parallel appliers of one commit order do not wait for each other and the lock for ever."""
    options = {"options": {"replica_parallel_workers": workers}}
    result = run(model, "n2", LOCKS[lock], cluster=options)
    assert result.stall_max_s < 0.05
    commits = [result.counters[node]["Handler_commit"] for node in ("n1", "n2", "n3")]
    assert max(commits) - min(commits) <= 5  # caught up
    if model != "group_replication":
        late_s = {node: result.counters[node]["Seconds_Behind_Source_max"] for node in ("n2", "n3")}
        assert late_s == pytest.approx({"n2": 1.0, "n3": 0.0}, abs=0.05)


def test_tools_that_take_the_backup_lock_stop_nobody() -> None:
    for method in ("xtrabackup", "clone"):
        copy = {"method": method, "at_s": 0.5, "bytes": 100 * MB, "read_mb_per_s": 100}
        result = run("standalone", "n1", {"backup": [copy]})
        assert result.stall_max_s < 0.05
        (_, began_s), (_, ended_s) = words(result, "n1")
        assert ended_s - began_s == pytest.approx(1.0, rel=0.01)


def test_mariabackup_stops_commits_at_its_end_and_not_who_reads() -> None:
    copy = {"at_s": 0.5, "bytes": 50 * MB, "locked_bytes": 30 * MB, "read_mb_per_s": 100}
    groups = [
        {"name": name, "node": "n1", "threads": 1, "class": [name], "think_time_ms": 8.0}
        for name in ("write", "look")
    ]
    classes = [{"name": "write"}, {"name": "look", "statements": 0, "reads": 1}]
    result = simrep.run(
        {
            "cluster": {"model": "standalone", "nodes": 1},
            "workload": {"group": groups, "class": classes},
            "backup": [{"node": "n1", **copy}],
            "run": {"duration_s": 2.0},
        }
    )
    at = dict(words(result, "n1"))
    assert at["resumed"] - at["paused"] == pytest.approx(0.3, rel=0.02)
    longest_s = {name: one.latency_s["max"] for name, one in result.classes.items()}
    assert longest_s["write"] == pytest.approx(0.3, rel=0.05)
    assert longest_s["look"] < 0.01


def test_one_long_query_has_ftwrl_stop_all_writers() -> None:
    """The lock waits for a query of about 1 s that runs, and who wants to write for the lock."""
    groups = [
        {"name": name, "node": "n1", "threads": 1, "class": [name], "think_time_ms": 8.0}
        for name in ("write", "report")
    ]
    classes = [{"name": "write"}, {"name": "report", "statements": 0, "reads": 1}]
    result = simrep.run(
        {
            "cluster": {"model": "standalone", "nodes": 1, "costs": {"row_read_us": 1e6}},
            "workload": {"group": groups, "class": classes},
            "maintenance": [
                {"what": "flush-tables-with-read-lock", "node": "n1", "at_s": 0.5, "until_s": 1.1}
            ],
            "run": {"duration_s": 2.5, "warmup_s": 0.0},
        }
    )
    locked_s = dict(words(result, "n1"))["locked"]
    assert 0.9 < locked_s < 1.1
    assert result.classes["write"].latency_s["max"] == pytest.approx(0.6, abs=0.03)
    assert result.classes["report"].latency_s["max"] < 1.2  # the next one is let in


def test_a_server_that_is_killed_meanwhile_forgets_its_locks() -> None:
    told = {"maintenance": [{"what": "flush-tables-with-read-lock", "at_s": 0.5, "until_s": 2.0}]}
    faults = [
        {"what": "kill", "node": "n1", "at_s": 1.0},
        {"what": "restart", "node": "n1", "at_s": 1.2},
    ]
    result = run(
        "standalone",
        "n1",
        told,
        cluster={"costs": {"start_ms": 200.0}},
        workload={"clients": {"retry_pause_s": 0.05}},
        fault=faults,
    )
    assert "unlocked" not in dict(words(result, "n1"))
    assert result.stall_max_s < 1.2


def test_who_is_away_refuses() -> None:
    faults = [{"what": "kill", "node": "n2", "at_s": 0.2}]
    result = run("asynchronous", "n2", LOCKS["FTWRL"], fault=faults)
    assert dict(words(result, "n2"))["refused"] == pytest.approx(0.5)


def test_alter_table_waits_for_ftwrl_and_ftwrl_for_alter_table() -> None:
    change = {"rows": 50_000, "kind": "copy", "bytes": 0}
    costs = {"ddl_ms": 10.0, "ddl_copied_row_us": 10.0, "ddl_byte_ns": 0.0}
    for ddl_s, ended_s, locked_s in ((0.7, 2.01, 0.5), (0.2, 0.71, 0.71)):
        load = {"ddl": [{"node": "n1", "at_s": ddl_s, **change}]}
        result = run("standalone", "n1", LOCKS["FTWRL"], cluster={"costs": costs}, workload=load)
        at = dict(words(result, "n1"))
        assert at["ddl-ends"] == pytest.approx(ended_s, abs=0.02)
        assert at["locked"] == pytest.approx(locked_s, abs=0.02)


def test_what_they_wait_for_is_told() -> None:
    told = {"maintenance": [{"what": "flush-tables-with-read-lock", "node": "n1", **HELD}]}
    scenario = {
        "cluster": {"model": "standalone", "nodes": 1},
        "workload": {"threads": 2, "think_time_ms": 19.0},
        "run": {"duration_s": 2.0},
    }
    said = " ".join(str(simrep.explain_stall(scenario | told)).split())
    assert "global read lock on n1 waited" in said
    assert "for FLUSH TABLES WITH READ LOCK; 2 waited" in said


def test_leaving_flow_control_is_of_galera() -> None:
    with pytest.raises(simrep.ScenarioError, match="does not play 'desync'"):
        run("semisync", "n2", {"maintenance": [{"what": "desync", **HELD}]})
