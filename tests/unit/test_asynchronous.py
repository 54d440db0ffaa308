"""Asynchronous replication: what the source does not wait for, and how far replicas are behind."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.errors import ScenarioError
from simrep.runs.result import Result
from simrep.runs.run import run
from simrep.scenario.options import versions
from tests.server_runs import MS, US, scenario, until_quiet

EXECUTE, FSYNC, APPLY = 0.2 * MS, 1 * MS, 0.5 * MS
COSTS = {"statement_us": EXECUTE / US, "fsync_us": FSYNC / US, "apply_us": APPLY / US}
DISTANT = {"rtt_ms": 100.0}


def cluster(size: int = 2, **how: Any) -> Result:
    how.setdefault("costs", COSTS)
    return run(scenario("asynchronous", size, **how))


def behind_s(result: Result, which: str = "_avg", node: str = "n2") -> float:
    return result.counters[node][f"Seconds_Behind_Source{which}"]


# ------------------------------------------------------------- the source --


@pytest.mark.parametrize("rtt_ms", [0.0, 10.0, 300.0])
def test_a_commit_waits_for_no_replica(rtt_ms):
    load = {"threads": 8, "transactions_per_client": 50}
    alone = cluster(1, **load)
    three = cluster(3, network={"rtt_ms": rtt_ms}, **load)
    assert three.latency_s == alone.latency_s
    assert three.makespan_s == alone.makespan_s


def test_the_source_is_a_standalone_server_with_a_binary_log():
    load = {"threads": 8, "transactions_per_client": 50}
    costs = {key: value for key, value in COSTS.items() if key != "apply_us"}
    standalone = run(scenario("standalone", 1, costs=costs, **load))
    replicated = cluster(2, **load)
    assert replicated.latency_s == standalone.latency_s
    assert replicated.counters["n1"] == standalone.counters["n1"]


def test_writes_on_a_replica_are_refused_but_reads_are_not():
    reading = {"class": [{"statements": 0, "reads": 1}]}
    result = cluster(nodes=["n2"], transactions_per_client=5, **reading)
    assert result.latency_s["max"] == pytest.approx(EXECUTE)
    with pytest.raises(ScenarioError, match="'n2', a replica"):
        cluster(nodes=["n2"], transactions_per_client=5)


# ------------------------------------------------- one transaction's way ----


@pytest.mark.parametrize(
    ("options", "way_s"),
    [
        # Written - fsync of the binary log - half a round trip - apply - two fsyncs.
        ({}, FSYNC + 50 * MS + APPLY + 2 * FSYNC),
        # It may be sent at once when it is not synchronised; the replica syncs only its redo.
        ({"sync_binlog": 0}, 50 * MS + APPLY + FSYNC),
        # Without a binary log of its own, a replica shows a commit before its redo is flushed.
        ({"log_replica_updates": False}, FSYNC + 50 * MS + APPLY),
        # GTID, BEGIN, table map, rows, Xid: five events, each with an fsync of the relay log.
        ({"sync_relay_log": 1}, FSYNC + 50 * MS + 5 * FSYNC + APPLY + 2 * FSYNC),
        ({"sync_relay_log": 2}, FSYNC + 50 * MS + 2 * FSYNC + APPLY + 2 * FSYNC),
        ({"replica_parallel_workers": 0}, FSYNC + 50 * MS + APPLY + 2 * FSYNC),
    ],
)
def test_a_lone_transaction_is_on_the_replica_after(options, way_s):
    content = scenario(
        "asynchronous", 2, costs=COSTS, options=options, network=DISTANT, transactions_per_client=1
    )
    replica = until_quiet(content).counters["n2"]
    assert replica["Seconds_Behind_Source_max"] == pytest.approx(way_s, rel=1e-9)
    assert replica["Seconds_Behind_Source"] == 0.0


def test_every_step_of_the_way_costs_what_it_is_said_to_cost():
    costs = {
        "send_us": 10.0,
        "receive_us": 20.0,
        "byte_ns": 100.0,
        "schedule_us": 40.0,
        "switch_us": 80.0,
        "apply_us": 160.0,
        "apply_row_us": 320.0,
        "commit_us": 640.0,
    }
    content = scenario(
        "asynchronous", 2, costs=costs, network={"rtt_ms": 0.0}, transactions_per_client=1
    )
    received_bytes = 100 + 185
    journals_us = 2 * 80  # an fsync of either binary log wakes a thread of the file system
    way_us = 10 + 20 + 0.1 * received_bytes + 40 + 80 + 160 + 320 + 640 + journals_us
    behind = until_quiet(content).counters["n2"]["Seconds_Behind_Source_max"]
    assert behind == pytest.approx(way_us * US, rel=1e-9)


def test_bandwidth_delays_a_large_transaction_and_those_behind_it():
    content = scenario(
        "asynchronous", 2, network={"rtt_ms": 0.0, "bandwidth_mbit": 80}, threads=2,
        transactions_per_client=1, **{"class": [{"row_bytes": 10_000_000}]},
    )  # fmt: skip
    replica = until_quiet(content).counters["n2"]
    assert replica["Seconds_Behind_Source_max"] == pytest.approx(2.0, rel=0.01)
    assert replica["Seconds_Behind_Source_avg"] == pytest.approx(1.5, rel=0.01)


# -------------------------------------------------------------- the appliers --


def test_a_single_applier_is_bound_by_its_own_work_and_fsyncs():
    result = cluster(options={"replica_parallel_workers": 0}, threads=16, duration_s=2.0)
    rate = result.counters["n2"]["Executed_Gtid_Set"] / 2.0
    assert rate == pytest.approx(1 / (APPLY + 2 * FSYNC), rel=0.01)
    assert result.throughput_tps > 10 * rate
    assert behind_s(result, "") > 1.5


def test_lag_grows_when_workers_are_too_few_and_not_when_there_are_enough():
    def lag(workers: int, duration_s: float) -> float:
        options = {"replica_parallel_workers": workers}
        return behind_s(cluster(options=options, threads=16, duration_s=duration_s), "_max")

    lags = [lag(workers, 0.4) for workers in (1, 4, 8, 64)]
    assert lags == sorted(lags, reverse=True)
    assert lag(4, 0.8) == pytest.approx(2 * lags[1], rel=0.05)
    assert lag(64, 0.8) == pytest.approx(lags[3], rel=0.3)
    assert lag(64, 0.8) < 20 * FSYNC


def applied(result: Result) -> float:
    """The share of the source's transactions that the replica has applied."""
    return result.counters["n2"]["Executed_Gtid_Set"] / result.counters["n1"]["Handler_commit"]


def test_one_client_leaves_nothing_to_do_in_parallel_unless_rows_are_tracked():
    slow = {**COSTS, "apply_us": 10_000.0}

    def one_client(**options: Any) -> float:
        options = {"replica_parallel_workers": 16, **options}
        return applied(cluster(options=options, costs=slow, duration_s=2.0))

    # Commit order: it knows each as committed before the next; 2.2 ms of work become 12 ms.
    commit_order = one_client(binlog_transaction_dependency_tracking="COMMIT_ORDER")
    assert commit_order == pytest.approx(2.2 / 12.0, rel=0.03)
    assert one_client(binlog_transaction_dependency_tracking="WRITESET") > 0.98
    assert one_client(replica_parallel_type="DATABASE") == pytest.approx(commit_order, rel=0.03)


def test_one_client_on_mariadb_is_followed_only_in_optimistic_mode():
    slow = {**COSTS, "apply_us": 10_000.0}

    def one_client(mode: str) -> float:
        options = {
            "slave_parallel_threads": 16,
            "slave_parallel_mode": mode,
            "sync_binlog": 1,
            "log_slave_updates": "ON",
        }
        result = cluster(version="mariadb-11.8", options=options, costs=slow, duration_s=2.0)
        return applied(result)

    assert one_client("conservative") == pytest.approx(2.2 / 12.0, rel=0.03)
    assert one_client("optimistic") > 0.98


@pytest.mark.parametrize("tracking", ["COMMIT_ORDER", "WRITESET"])
def test_a_hot_row_is_applied_one_after_the_other_whatever_is_tracked(tracking):
    options = {
        "binlog_transaction_dependency_tracking": tracking,
        "replica_parallel_workers": 16,
    }
    hot = {"class": [{"keys": {"distribution": "hot", "rows": 1, "hot_rows": 1}}]}
    result = cluster(options=options, threads=16, duration_s=2.0, **hot)
    # Source: 1 / (execute + 2 fsyncs). Replica: 1 / (apply + 2 fsyncs).
    assert applied(result) == pytest.approx((0.2 + 2) / (0.5 + 2), rel=0.02)


def order_of_commits(**options: Any) -> list[int]:
    """Commits on a replica of small transactions and, among them, one of many rows."""
    content = scenario(
        "asynchronous",
        2,
        costs={**COSTS, "apply_row_us": 1000.0},
        options={"replica_parallel_workers": 8, **options},
        threads=8,
        transactions_per_client=6,
        **{"class": [{"name": "small", "weight": 4.0}, {"name": "large", "rows": 40}]},
    )
    return [event.seqno for event in until_quiet(content).of(1, "commit")]


def test_replicas_commit_in_order_only_if_asked_to():
    in_order = list(range(1, 49))
    assert order_of_commits() == in_order
    any_order = order_of_commits(replica_preserve_commit_order=False)
    assert any_order != in_order
    assert sorted(any_order) == in_order


def test_workers_that_are_ready_share_their_fsyncs():
    result = cluster(options={"replica_parallel_workers": 32}, threads=32, duration_s=1.0)
    counters = result.counters["n2"]
    assert counters["Binlog_commits"] > 4 * counters["Binlog_group_commits"]


def test_a_replica_reports_what_it_has_received_and_not_yet_applied():
    result = cluster(options={"replica_parallel_workers": 0}, threads=16, duration_s=1.0)
    counters = result.counters["n2"]
    waiting = counters["Retrieved_Gtid_Set"] - counters["Executed_Gtid_Set"]
    assert waiting > 1000
    assert counters["Relay_Log_Space"] == pytest.approx(285 * waiting, abs=2 * 285)
    stations = {station.name: station for station in result.stations}
    assert stations["n2/appliers"].utilisation == pytest.approx(1.0, abs=0.01)


# ------------------------------------------------------------------ versions --


@pytest.mark.parametrize("version", versions("simrep.models", "asynchronous"))
def test_every_version_replicates_with_its_defaults(version):
    content = {
        "cluster": {"model": "asynchronous", "version": version},
        "workload": {
            "preset": "sysbench-oltp-read-write",
            "threads": 4,
            "transactions_per_client": 20,
        },
    }
    quiet = until_quiet(content)
    assert quiet.committed > 0
    for node in ("n2", "n3"):
        assert quiet.counters[node]["Executed_Gtid_Set"] == quiet.committed


@pytest.mark.parametrize(
    ("version", "options", "path"),
    [
        ("mysql-5.5", {"replica_parallel_workers": 4}, "replica_parallel_workers"),
        ("mysql-5.6", {"replica_preserve_commit_order": False}, "replica_preserve_commit_order"),
        ("mariadb-11.8", {"slave_parallel_type": "DATABASE"}, "replica_parallel_type"),
        ("mysql-8.4", {"slave_parallel_mode": "conservative"}, "slave_parallel_mode"),
        ("mysql-9", {"log_bin": False}, "log_bin"),
    ],
)
def test_a_variable_that_the_version_does_not_have_is_refused_by_name(version, options, path):
    with pytest.raises(ScenarioError, match=path):
        cluster(version=version, options=options, transactions_per_client=1)


def retried(mode: str, **workload: Any) -> tuple[float, int]:
    """Transactions that an optimistic replica has rolled back, and how many it has applied."""
    options = {"slave_parallel_threads": 16, "slave_parallel_mode": mode, "log_slave_updates": "ON"}
    content = scenario(
        "asynchronous",
        2,
        version="mariadb-11.8",
        options=options,
        costs={**COSTS, "apply_row_us": 300.0},
        transactions_per_client=40,
        **workload,
    )
    content["cluster"]["machine"] = {"variation": 0.5}
    quiet = until_quiet(content)
    counters = quiet.counters["n2"]
    assert counters["Executed_Gtid_Set"] == quiet.committed == 40 * workload["threads"]
    return counters["Slave_retried_transactions"], quiet.committed


HOT = {"class": [{"rows": 3, "keys": {"distribution": "hot", "rows": 5, "hot_rows": 5}}]}


def test_only_conflicts_are_rolled_back_by_an_optimistic_replica():
    assert retried("optimistic", threads=8)[0] == 0
    # One client waits for nobody, and the replica is too eager.
    few, committed = retried("optimistic", threads=1, **HOT)
    assert 0 < few < committed
    # What had to wait for a row at the source does not hurry at the replica, unless that is
    # aggressive.
    patient, eager = (retried(mode, threads=8, **HOT)[0] for mode in ("optimistic", "aggressive"))
    assert patient < eager
