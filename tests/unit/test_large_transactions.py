"""Large transactions in every model: what they cost, whom they hold up, how they fail."""

from __future__ import annotations

from math import ceil, isnan
from typing import Any

import pytest

import simrep
from simrep.kernel.clock import Clock
from simrep.models.mysql.dependencies import WritesetOrder
from simrep.server.locks import LockTable
from tests.large_scenario import (
    MODELS,
    MYSQL,
    NO_PRIMARY,
    ROW_BYTES,
    ROWS,
    STATEMENT_S,
    held_up_s,
    large_scenario,
    outcome,
)

# -- every model -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")  # a source without replicas
@pytest.mark.parametrize("nodes", [1, 2, 3])
@pytest.mark.parametrize("model", MODELS)
def test_a_run_ends_when_all_nodes_have_it(model: str, nodes: int) -> None:
    row_us, apply_s = 4.0, 0.0
    costs = {"row_us": row_us}
    if model != "standalone":
        costs["apply_row_us"] = 6.0
        apply_s = ROWS * 6e-6 if nodes > 1 else 0.0
    result, large = outcome(large_scenario(model, nodes, costs=costs))
    assert not large.error
    assert large.execution_s == pytest.approx(ROWS * row_us * 1e-6 + STATEMENT_S, abs=1e-3)
    assert large.commit_s <= large.end_s
    assert large.end_s - large.commit_s == pytest.approx(apply_s, abs=0.02)
    if model == "standalone":
        assert isnan(large.replicate_s)
    elif nodes > 1:
        assert large.executed_s <= large.replicate_s <= large.commit_s
    assert result.counters["n1"]["rolled_back_rows"] == 0


@pytest.mark.parametrize("nodes", [2, 3])
@pytest.mark.parametrize("model", MODELS)
def test_a_run_ends_when_it_fails(model: str, nodes: int) -> None:
    options = {"max_binlog_cache_size": ROWS * ROW_BYTES // 2}
    error, written = "1197", ROWS // 2 + 1
    if model == "galera":
        options = {"wsrep_max_ws_size": ROWS * ROW_BYTES // 2}
        error, written = "1180", ROWS
    costs = {"row_us": 4.0, "rollback_us": 7000.0}
    result, large = outcome(large_scenario(model, nodes, options=options, costs=costs))
    assert large.error.startswith(error)
    assert isnan(large.commit_s)
    assert isnan(large.replicate_s)
    counters = result.counters["n1"]
    assert counters[f"errors.{error}"] == 1
    assert counters["errors.1205"] == counters["errors.1213"] == 0
    assert counters["rolled_back_rows"] == written
    # Executed and rolled back, row by row.
    expected_s = STATEMENT_S + 2 * written * 4e-6 + 0.007
    assert counters["rolled_back_s"] == pytest.approx(expected_s, abs=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_a_seed_determines_everything(model: str) -> None:
    options = NO_PRIMARY if model == "group_replication" else {}
    nodes = ["*"] if model in {"galera", "group_replication"} else ["n1"]
    content = large_scenario(
        model,
        3,
        options=options,
        costs={"row_us": 4.0, "rollback_us": 20.0},
        payload={"table": "big", "keys": {"distribution": "uniform", "rows": ROWS}},
        workload={"threads": None, "rate_tps": 300, "connections": 4, "nodes": nodes},
        rows=4000,
        statements=3,
        pause_ms=100,
        keys={"distribution": "uniform", "rows": ROWS},
    )
    del content["workload"]["threads"]
    first, again = (simrep.run(content, seed=7, trace=True).runs[0] for _ in range(2))
    assert first.trace_digest == again.trace_digest
    assert simrep.run(content, seed=8, trace=True).runs[0].trace_digest != first.trace_digest


# -- locks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_who_waits_too_long_for_one_of_its_rows_fails(model: str) -> None:
    # It has the first row for two and a half seconds.
    content = large_scenario(
        model,
        options={"innodb_lock_wait_timeout": 1},
        costs={"row_us": 2.5e6 / ROWS},
        payload={"table": "big", "keys": {"distribution": "hot", "rows": 1, "hot_rows": 1}},
    )
    result, large = outcome(content)
    assert not large.error
    counters = result.counters["n1"]
    assert counters["errors.1205"] == 2
    assert counters["rolled_back_s"] == pytest.approx(2.0, abs=0.01)
    assert result.aborted == 2


@pytest.mark.parametrize("model", MODELS)
def test_it_fails_itself_if_it_waits_too_long(model: str) -> None:
    # The client has the first row for two seconds out of two.
    content = large_scenario(
        model,
        options={"innodb_lock_wait_timeout": 1},
        payload={
            "table": "big",
            "statements": 2,
            "pause_ms": 2000,
            "keys": {"distribution": "scan", "rows": ROWS},
        },
        at_s=2.5,
    )
    result, large = outcome(content)
    assert large.error == "1205 lock wait timeout exceeded"
    assert result.counters["n1"]["errors.1205"] == 1
    assert result.counters["n1"]["rolled_back_rows"] == 0


class Client:
    """An owner of locks."""

    def __init__(self, *, protected: bool) -> None:
        self.protected = protected
        self.aborts = 0

    def abort(self) -> None:
        self.aborts += 1


@pytest.mark.parametrize("listed", [True, False])
def test_a_hundred_thousand_rows_change_hands(listed: bool) -> None:
    table, rows = LockTable(Clock()), range(100_000)
    client, applier = Client(protected=False), Client(protected=True)
    assert not table.take_range(client, rows)
    assert table.take(client, 100_007)
    done: list[str] = []
    if listed:
        table.force_all(applier, rows, done.append, "locked")
    else:
        table.force_range(applier, rows, done.append, "locked")
    assert done == ["locked"]
    assert client.aborts >= 1
    assert table.holder(0) is table.holder(99_999) is applier
    assert table.holder(100_007) is client
    table.release_all(applier)
    assert table.holder(0) is table.holder(99_999) is None
    table.release_all(client)
    assert len(table) == 0


# -- the binary log of the origin ------------------------------------------------------------------


@pytest.mark.parametrize("model", MYSQL)
def test_everybody_waits_while_it_is_written_into_the_binary_log(model: str) -> None:
    content = large_scenario(model, costs={"binlog_byte_ns": 50.0})
    assert held_up_s(content) == pytest.approx(ROWS * ROW_BYTES * 50e-9, abs=0.01)


@pytest.mark.parametrize("megabytes", [10, 40])
def test_its_logs_are_transferred_but_no_more_redo_than_the_buffer_holds(megabytes: int) -> None:
    content = large_scenario(
        "standalone",
        1,
        costs={"disk_mb_per_s": 100.0},
        rows=megabytes * 10_000,
        row_bytes=100,
    )
    redo_s = min(megabytes * 1e6, 16 * 2**20) / 100e6
    assert held_up_s(content) == pytest.approx(redo_s + megabytes / 100, abs=0.01)


# -- asynchronous and semi-synchronous replicas ----------------------------------------------------


@pytest.mark.parametrize("workers", [0, 4])
@pytest.mark.parametrize("model", ["asynchronous", "semisync"])
def test_a_replica_lags_by_as_long_as_it_applies(model: str, workers: int) -> None:
    costs = {"apply_row_us": 10.0}
    options = {"replica_parallel_workers": workers}
    result, _ = outcome(large_scenario(model, options=options, costs=costs))
    lag_s = result.counters["n2"]["Seconds_Behind_Source_max"]
    assert lag_s == pytest.approx(ROWS * 10e-6, abs=0.02)
    assert result.latency_s["max"] < 0.02  # nobody waits for that


def test_a_semisynchronous_commit_waits_until_a_replica_has_all_of_it() -> None:
    costs = {"byte_ns": 100.0}
    waited_s = held_up_s(large_scenario("semisync", costs=costs))
    assert waited_s == pytest.approx(ROWS * ROW_BYTES * 100e-9, abs=0.01)
    assert held_up_s(large_scenario("asynchronous", costs=costs)) < 0.01


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("mysql-9", {"rpl_semi_sync_source_wait_point": "AFTER_COMMIT"}),
        ("mysql-9", {"rpl_semi_sync_source_wait_no_replica": False}),
        ("mysql-9", {"rpl_semi_sync_source_enabled": False, "log_replica_updates": False}),
        ("mysql-9", {"replica_preserve_commit_order": False}),
        ("mysql-5.5", {}),
        ("mysql-5.6", {}),
        ("mysql-5.7", {}),
        ("mariadb-11.8", {}),
        ("mariadb-11.8", {"slave_parallel_mode": "conservative", "slave_parallel_threads": 4}),
    ],
)
def test_semisynchronous_runs_end_whatever_is_waited_for(
    version: str, options: dict[str, Any]
) -> None:
    content = large_scenario("semisync", 3, version=version, options=options)
    large = outcome(content)[1]
    assert not large.error
    assert large.end_s == pytest.approx(large.commit_s, abs=0.02)


@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")  # which is the point
@pytest.mark.parametrize("wait_no_replica", [True, False])
def test_semisynchronous_runs_end_without_enough_replicas(wait_no_replica: bool) -> None:
    options = {
        "rpl_semi_sync_source_wait_for_replica_count": 2,
        "rpl_semi_sync_source_wait_no_replica": wait_no_replica,
        "rpl_semi_sync_source_timeout": 300,
    }
    result, large = outcome(large_scenario("semisync", 2, options=options))
    assert not large.error
    assert result.counters["n1"]["Rpl_semi_sync_source_status"] == 0


def test_its_events_fill_the_relay_log() -> None:
    once = {"think_time_ms": 1500.0}
    content = large_scenario("asynchronous", options={"sync_relay_log": 100}, workload=once)
    result, _ = outcome(content)
    assert result.committed == 1
    events = ceil(ROWS * ROW_BYTES / 8192) + 4 + 5
    assert result.counters["n2"]["Relay_log_fsyncs"] == events // 100


def test_a_transaction_above_the_history_size_has_no_write_set() -> None:
    order = WritesetOrder(100)
    assert order.parent(1, 0, ("a",)) == 0
    assert order.parent(2, 1, (), (range(101),)) == 1  # as in commit order
    assert order.parent(3, 0, ("b",)) == 0  # never more than that
    assert order.parent(4, 3, ("c",)) == 2  # but nothing goes before it
    assert order.parent(5, 4, ("a",)) == 2
    # What fits is compared row by row.
    assert order.parent(6, 5, (), (range(50),)) == 2
    assert order.parent(7, 6, (49,)) == 6
    assert order.parent(8, 7, (50,)) == 2
