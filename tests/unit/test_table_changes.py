"""ALTER TABLE on servers with a binary log: who waits, for how long, and how late replicas are."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.runs.run import simulate

AT_S = 1.0
DEFINITION_S, ROW_S, COPIED_ROW_S = 0.05, 4e-6, 10e-6
COSTS = {
    "ddl_ms": 1e3 * DEFINITION_S,
    "ddl_row_us": 1e6 * ROW_S,
    "ddl_copied_row_us": 1e6 * COPIED_ROW_S,
    "ddl_byte_ns": 0.0,
}
ROWS = 100_000
LONGEST_S = {
    "copy": COPIED_ROW_S * ROWS + DEFINITION_S,
    "inplace": DEFINITION_S,
    "instant": DEFINITION_S,
}
WHOLE_S = {
    "copy": COPIED_ROW_S * ROWS + DEFINITION_S,
    "inplace": ROW_S * ROWS + 2.0 * DEFINITION_S,
    "instant": DEFINITION_S,
}
REPLICATED = ("asynchronous", "semisync", "group_replication")
PLAYED = ("standalone", *REPLICATED)


def scenario(
    model: str, ddl: dict[str, Any], options: dict[str, Any] | None = None, **tables: Any
) -> dict[str, Any]:
    workload = {"threads": 2, "think_time_ms": 8.0, "nodes": ["n1"]} | tables.pop("workload", {})
    return {
        "cluster": {
            "model": model,
            "nodes": 1 if model == "standalone" else 3,
            "options": options or {},
            "costs": COSTS,
        }
        | tables.pop("cluster", {}),
        "workload": workload | {"ddl": [{"at_s": AT_S, "rows": ROWS, "name": "new column", **ddl}]},
        "run": {"duration_s": 4.5},
        **tables,
    }


def group(name: str, of: str) -> dict[str, Any]:
    return {"name": name, "node": "n1", "threads": 2, "class": [of], "think_time_ms": 8.0}


def ends(result: simrep.Result) -> dict[str, float]:
    """When each node had changed the table."""
    return {one.node: one.at_s for one in result.timeline().lines if one.what == "ddl-ends"}


@pytest.mark.parametrize("model", PLAYED)
@pytest.mark.parametrize("kind", ["copy", "inplace", "instant"])
def test_writers_stop_for_as_long_as_the_algorithm_says(model: str, kind: str) -> None:
    """The longest wait is that for the definition; of a copy, that for all rows as well."""
    result = simrep.run(scenario(model, {"kind": kind}))
    (stall,) = result.faults["new column"].stalls.values()
    assert stall.longest_wait_s.median == pytest.approx(LONGEST_S[kind], abs=0.02)
    assert ends(result)["n1"] == pytest.approx(AT_S + WHOLE_S[kind], abs=0.05)


@pytest.mark.parametrize("model", REPLICATED)
@pytest.mark.parametrize("kind", ["copy", "inplace"])
def test_replicas_begin_when_the_source_has_ended_and_take_as_long(model: str, kind: str) -> None:
    result = simrep.run(scenario(model, {"kind": kind}))
    first = ends(result)
    done = result.faults["new column"].done_s
    assert {node: AT_S + own.median for node, own in done.items()} == pytest.approx(first)
    for replica in ("n2", "n3"):
        assert first[replica] - first["n1"] == pytest.approx(WHOLE_S[kind], abs=0.01)


@pytest.mark.parametrize("model", ["asynchronous", "semisync"])
def test_a_replica_is_as_late_as_the_statement_takes(model: str) -> None:
    """Lag: what the source commits just after it waits on the replica for all of it."""
    result = simrep.run(scenario(model, {"kind": "copy"}))
    for replica in ("n2", "n3"):
        late_s = result.counters[replica]["Seconds_Behind_Source_max"]
        assert late_s == pytest.approx(WHOLE_S["copy"], abs=0.01)
        assert result.counters[replica]["Seconds_Behind_Source"] < 0.01  # it has caught up


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("asynchronous", {"replica_parallel_workers": 8}),
        ("asynchronous", {"replica_parallel_workers": 0}),
        ("group_replication", {"replica_parallel_workers": 8}),
    ],
)
def test_it_is_a_barrier_to_parallel_appliers(model: str, options: dict[str, Any]) -> None:
    """While a replica changes the table it commits nothing, and nothing comes out of order."""
    told = simrep.load(scenario(model, {"kind": "copy"}, options))
    run = simulate(told, 1, trace=True)
    assert run.trace is not None
    last_s = max(one.at_s for one in run.noted if one.what == "ddl-ends")
    commits = [one for one in run.trace if one.node == 1 and one.what == "commit"]
    during = [
        one for one in commits if last_s - WHOLE_S["copy"] + 0.01 < one.time_s < last_s - 0.01
    ]
    assert not during
    positions = [one.seqno for one in commits]
    assert positions == sorted(positions)
    assert any(one.time_s > last_s for one in commits)


def test_optimistic_appliers_of_mariadb_take_nothing_before_it() -> None:
    told = scenario(
        "asynchronous",
        {"kind": "copy"},
        {"slave_parallel_threads": 8},
        cluster={"version": "mariadb-11.8"},
    )
    result = simrep.run(told)
    first = ends(result)
    assert first["n2"] - first["n1"] == pytest.approx(WHOLE_S["copy"], abs=0.01)
    assert (
        result.counters["n2"]["Executed_Gtid_Set"] > 0.95 * result.counters["n1"]["Handler_commit"]
    )


def test_one_long_transaction_holds_up_the_statement_and_everybody_behind_it() -> None:
    """The pile-up: even an instant change waits, and all that comes later queues behind it."""
    told = scenario(
        "standalone",
        {"kind": "instant"},
        workload={
            "class": [{"name": "write"}],
            "group": [
                {"node": "n1", "threads": 4, "class": ["write"], "think_time_ms": 4.0},
            ],
            "scheduled": [
                {"name": "long", "node": "n1", "at_s": 0.5, "reads": 2, "statements": 0,
                 "pause_ms": 2000.0}
            ],
        },
    )  # fmt: skip
    for key in ("threads", "think_time_ms", "nodes"):
        del told["workload"][key]
    result = simrep.run(told)
    stalls = result.faults["new column"].stalls
    (stall,) = stalls.values()
    assert stall.longest_wait_s.median == pytest.approx(0.5 + 2.0 - AT_S + DEFINITION_S, abs=0.02)
    assert [one.what for one in result.timeline().lines if one.node] == [
        "ddl-waits", "ddl-locks", "ddl-ends",
    ]  # fmt: skip


def test_other_tables_are_not_held_up() -> None:
    """Classes that use other tables commit all the time; those of the table do not."""
    told = scenario(
        "group_replication",
        {"kind": "copy", "class": ["orders"]},
        workload={
            "class": [{"name": "orders"}, {"name": "log"}],
            "group": [
                {
                    "name": "orders",
                    "node": "n1",
                    "threads": 2,
                    "class": ["orders"],
                    "think_time_ms": 8.0,
                },
                group("log", "log"),
            ],
        },
    )
    for key in ("threads", "think_time_ms", "nodes"):
        del told["workload"][key]
    stalls = simrep.run(told).faults["new column"].stalls
    assert stalls["orders"].longest_wait_s.median == pytest.approx(LONGEST_S["copy"], abs=0.02)
    assert stalls["log"].longest_wait_s.median < 0.01


def test_reads_go_on_while_rows_are_copied() -> None:
    told = scenario(
        "standalone",
        {"kind": "copy"},
        workload={
            "class": [{"name": "read", "reads": 1, "statements": 0}, {"name": "write"}],
            "group": [
                {
                    "name": "readers",
                    "node": "n1",
                    "threads": 2,
                    "class": ["read"],
                    "think_time_ms": 8.0,
                },
                {
                    "name": "writers",
                    "node": "n1",
                    "threads": 2,
                    "class": ["write"],
                    "think_time_ms": 8.0,
                },
            ],
        },
    )
    for key in ("threads", "think_time_ms", "nodes"):
        del told["workload"][key]
    stalls = simrep.run(told).faults["new column"].stalls
    assert stalls["writers"].longest_wait_s.median == pytest.approx(LONGEST_S["copy"], abs=0.02)
    assert stalls["readers"].longest_wait_s.median == pytest.approx(DEFINITION_S, abs=0.02)


def test_what_is_written_meanwhile_is_caught_up_with() -> None:
    """Inplace: rows written by others take time at its end, a copied row's each."""
    quiet, busy = (
        ends(simrep.run(scenario("standalone", {"kind": "inplace"}, workload=load)))["n1"]
        for load in ({"threads": 1, "think_time_ms": 500.0}, {"threads": 8, "think_time_ms": 1.0})
    )
    assert busy > quiet + 0.01


def test_the_log_of_what_is_written_meanwhile_may_be_too_small() -> None:
    told = scenario(
        "asynchronous",
        {"kind": "inplace"},
        {"innodb_online_alter_log_max_size": 65536},
        workload={"class": [{"row_bytes": 5000}]},
    )
    words = [one.what for one in simrep.run(told).timeline().lines if one.what.startswith("ddl")]
    assert words[-1] == "ddl-fails"
    assert "ddl-ends" not in words


def test_flow_control_of_a_group_slows_down_those_who_write_meanwhile() -> None:
    """Secondaries apply nothing: their queues pass the threshold, and writers get a quota."""
    options = {"group_replication_flow_control_applier_threshold": 50}
    slowed, free = (
        simrep.run(scenario("group_replication", {"kind": "inplace", "rows": 250_000}, given))
        for given in (options, {})
    )
    assert slowed.counters["n1"]["Gr_flow_control_throttle_count"] > 0
    assert free.counters["n1"]["Gr_flow_control_throttle_count"] == 0
    assert slowed.throughput_tps < 0.9 * free.throughput_tps


def test_in_a_multi_primary_group_another_member_writes_on_until_it_applies() -> None:
    told = scenario(
        "group_replication",
        {"kind": "copy"},
        {"group_replication_single_primary_mode": False},
        workload={"nodes": ["n1", "n2"]},
    )
    result = simrep.run(told)
    first = ends(result)
    assert first["n2"] - first["n1"] == pytest.approx(WHOLE_S["copy"], abs=0.05)
    assert result.counters["n2"]["metadata_lock_waits"] > 0


def test_semi_synchronous_commits_do_not_wait_for_replicas_that_apply_it() -> None:
    """A replica acknowledges what it has received: however long it applies."""
    options = {"rpl_semi_sync_source_timeout": 500}
    result = simrep.run(scenario("semisync", {"kind": "copy"}, options))
    assert result.counters["n1"]["Unacknowledged_commits"] == 0


def test_a_result_tells_when_each_node_had_changed_the_table() -> None:
    told = scenario("asynchronous", {"kind": "instant"})
    told["run"]["replications"] = 2
    result = simrep.run(told)
    assert len(result.faults["new column"].done_s["n2"].values) == 2
    assert result.to_dict()["faults"]["new column"]["done_s"]["n1"] == pytest.approx(0.05, abs=0.02)
    assert "When nodes had done it, in seconds after it was asked for" in str(result)


def test_scheduled_transactions_use_the_table_by_their_names() -> None:
    told = scenario("standalone", {"kind": "instant", "class": ["coffee"]})
    told["workload"]["scheduled"] = [
        {"name": "coffee", "node": "n1", "at_s": 0.5, "statements": 0, "reads": 2, "pause_ms": 2e3}
    ]
    result = simrep.run(told)
    assert ends(result)["n1"] == pytest.approx(2.5 + DEFINITION_S, abs=0.01)
    assert result.counters["n1"]["metadata_lock_waits"] == 0


def test_two_statements_on_one_table_come_one_after_the_other() -> None:
    told = scenario("standalone", {"kind": "copy"})
    told["workload"]["ddl"].append({"at_s": AT_S + 0.1, "rows": ROWS, "kind": "copy"})
    lines = [one for one in simrep.run(told).timeline().lines if one.what == "ddl-ends"]
    assert lines[1].at_s - lines[0].at_s == pytest.approx(WHOLE_S["copy"], abs=0.02)


@pytest.mark.parametrize("model", REPLICATED)
def test_with_its_server_the_statement_ends(model: str) -> None:
    fault = [{"what": "kill", "node": "n1", "at_s": AT_S + 0.5}]
    lines = simrep.run(scenario(model, {"kind": "copy"}, fault=fault)).timeline().lines
    assert "ddl-ends" not in [one.what for one in lines]


def test_a_replica_that_comes_back_applies_it_again() -> None:
    fault = [
        {"what": "kill", "node": "n2", "at_s": AT_S + 1.5},
        {"what": "restart", "node": "n2", "at_s": AT_S + 1.7},
    ]
    told = scenario("asynchronous", {"kind": "copy"}, fault=fault)
    told["run"]["duration_s"] = 9.0
    result = simrep.run(told)
    assert ends(result)["n2"] > ends(result)["n3"] + 0.5
    assert result.counters["n2"]["Seconds_Behind_Source"] < 0.01


@pytest.mark.parametrize(
    ("model", "ddl", "cluster", "problem"),
    [
        ("asynchronous", {"node": "n2"}, {}, "'n2' is read-only"),
        ("group_replication", {"node": "n3"}, {}, "'n3' is read-only"),
        ("standalone", {"method": "TOI"}, {}, "is of Galera alone"),
        ("semisync", {"kind": "inplace"}, {"version": "mysql-5.5"}, "'inplace' does not exist"),
        ("standalone", {"kind": "instant"}, {"version": "mysql-5.7"}, "'instant' does not exist"),
        (
            "group_replication",
            {"kind": "instant"},
            {"version": "mysql-5.7.17"},
            "'instant' does not exist",
        ),
    ],
)
def test_what_a_server_would_refuse_is_an_error(
    model: str, ddl: dict[str, Any], cluster: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ScenarioError, match=problem):
        simrep.run(scenario(model, ddl, cluster=cluster))


def test_an_explanation_names_the_statement_and_whom_it_waits_for() -> None:
    told = simrep.load(scenario("asynchronous", {"kind": "copy"}))
    run = simulate(told, 1, watch_s=0.1)
    assert run.waited is not None
    (stall,) = (one for one in run.waited if one.station == "metadata lock")
    assert stall.holder.text == "ALTER TABLE (copy)"
    assert stall.ended_s - stall.began_s == pytest.approx(LONGEST_S["copy"], abs=0.02)


def test_an_explanation_names_the_open_transaction_that_the_statement_waits_for() -> None:
    told = scenario("standalone", {"kind": "instant"})
    told["workload"]["scheduled"] = [
        {"name": "coffee", "node": "n1", "at_s": 0.5, "statements": 0, "reads": 2, "pause_ms": 2e3}
    ]
    said = " ".join(simrep.explain_stall(told).sentences())
    assert "metadata lock on n1 waited 1.55 s for ALTER TABLE (instant); 2 waited" in said
    assert "metadata lock of ALTER TABLE on n1 was held 1.50 s by coffee" in said
    assert "scheduled transaction coffee, begun at 0.500 s" in said
