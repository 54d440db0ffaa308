"""The second opinion against simulations of the same scenarios, where closed forms hold.

A lone client meets nobody: what is left is the network and the work, and the forms differ from the
simulation only by keepalives and statistics of the group, and by who else is on the same thread
(2 %, in a LAN 5 %). With several clients the
forms are means of a decomposition, while the engine's service times are constant and its clients
fall into step: 15 % is what such approximations promise. Nothing of it is fitted to a simulation.
"""

from __future__ import annotations

from typing import Any

import pytest

import simrep

LONE, LONE_LAN, SEVERAL = 0.02, 0.05, 0.15


def content(model: str, **tables: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "cluster": {"model": model, "machine": {"cores": 8}},
        "workload": {"threads": 1},
        "run": {"duration_s": 2.0, "warmup_s": 0.5},
    }
    for name, table in tables.items():
        found[name] = found.get(name, {}) | table
    return found


def assert_agrees(scenario: dict[str, Any], tolerance: float) -> simrep.Result:
    opinion = simrep.analytic(scenario)
    assert opinion.holds, opinion.reasons
    result = simrep.run(scenario)
    differences = opinion.against(result)
    assert set(differences) == {"throughput_tps", "latency_s.mean"}
    for name, difference in differences.items():
        assert abs(difference) < tolerance, f"{name}: {difference:+.1%}"
    assert sum(opinion.stages_s.values()) == pytest.approx(opinion.latency_s, rel=1e-6)
    return result


MODELS = ["standalone", "asynchronous", "semisync", "group_replication", "galera"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rtt_ms", [0.2, 40.0])
def test_a_lone_client(model, rtt_ms):
    tolerance = LONE_LAN if rtt_ms < 1.0 else LONE
    scenario = content(model, network={"rtt_ms": rtt_ms})
    if model in {"galera", "group_replication"} and rtt_ms > 1.0:
        scenario["run"]["duration_s"] = 30.0  # what happens once a second has its share
    assert_agrees(scenario, tolerance)


@pytest.mark.parametrize("model", MODELS)
def test_a_lone_client_of_uneven_distances_elsewhere_with_statements_and_a_think_time(model):
    scenario = content(
        model,
        network={
            "rtt_ms": 30.0,
            "path": [{"from": "n1", "to": "n3", "rtt_ms": 90.0}],
            "egress": [{"node": "n2", "delay_ms": 5.0}],
        },
        workload={
            "client": "own",
            "client_rtt_ms": 2.0,
            "think_time_ms": 20.0,
            "class": [{"statements": 3, "rows": 2, "reads": 2}],
        },
        run={"duration_s": 10.0},
    )
    # Statistics of the group, once a second and member, save some transactions a round trip: with
    # three of them a second beside seven transactions, one in ten at most, and not all of its wait.
    tolerance = 0.08 if model == "group_replication" else LONE
    assert_agrees(scenario, tolerance)


@pytest.mark.parametrize("version", ["mysql-5.1", "mysql-5.5", "mysql-5.6", "mysql-8.4",
                                     "mariadb-11.8"])  # fmt: skip
@pytest.mark.parametrize("log_bin", [True, False])
def test_a_lone_client_of_every_generation_of_logs(version, log_bin):
    options = {"log_bin": log_bin} | ({"sync_binlog": 1} if log_bin else {})
    assert_agrees(
        content("standalone", cluster={"model": "standalone", "version": version,
                                       "options": options}),
        LONE,
    )  # fmt: skip


def group_commit(version: str, threads: int, *, log_bin: bool) -> dict[str, Any]:
    return content(
        "standalone",
        cluster={
            "model": "standalone",
            "version": version,
            "options": {"log_bin": log_bin} | ({"sync_binlog": 1} if log_bin else {}),
            "costs": {"fsync_us": 1000.0},
            "machine": {"cores": 8},
        },
        workload={"threads": threads},
    )


@pytest.mark.parametrize("threads", [2, 4, 8, 16])
@pytest.mark.parametrize("version", ["mysql-8.4", "mariadb-11.8"])
def test_several_clients_share_a_group_commit(version, threads):
    assert_agrees(group_commit(version, threads, log_bin=True), SEVERAL)


@pytest.mark.parametrize("threads", [2, 4, 8, 16, 32, 64])
def test_several_clients_share_a_redo_log(threads):
    assert_agrees(group_commit("mysql-8.4", threads, log_bin=False), SEVERAL)


@pytest.mark.parametrize("threads", [4, 8, 16, 32])
def test_two_groups_of_their_own_in_56(threads):
    # Groups of the redo log are split and joined again on their way: three tenths.
    assert_agrees(group_commit("mysql-5.6", threads, log_bin=True), 0.30)


@pytest.mark.parametrize(("threads", "log_bin"), [(64, True), (128, False)])
def test_no_answer_where_the_sizes_of_groups_decide(threads, log_bin):
    opinion = simrep.analytic(group_commit("mysql-8.4", threads, log_bin=log_bin))
    assert "fall into step" in opinion.reasons[0]


def test_clients_that_take_turns_in_the_binary_log_of_55():
    scenario = content(
        "standalone",
        cluster={
            "model": "standalone",
            "version": "mysql-5.5",
            "options": {"log_bin": True, "sync_binlog": 1},
            "costs": {"fsync_us": 1000.0},
            "machine": {"cores": 8},
        },
        workload={"threads": 16},
    )
    assert_agrees(scenario, SEVERAL)


@pytest.mark.parametrize("variation", [0.0, 1.0])
@pytest.mark.parametrize("threads", [2, 4, 8, 32])
def test_cpu_alone_is_a_machine_repairman(threads, variation):
    scenario = content(
        "standalone",
        cluster={
            "model": "standalone",
            "options": {"log_bin": False, "innodb_flush_log_at_trx_commit": 0},
            "costs": {"statement_us": 2000.0, "switch_us": 0.0},
            "machine": {"cores": 2, "variation": variation},
        },
        workload={"threads": threads, "think_time_ms": 3.0, "think_time": "exponential"},
        run={"duration_s": 10.0},
    )
    assert_agrees(scenario, SEVERAL)


@pytest.mark.parametrize("model", ["asynchronous", "semisync", "group_replication", "galera"])
def test_arrivals_at_a_moderate_rate(model):
    scenario = content(
        model,
        network={"rtt_ms": 20.0},
        workload={"rate_tps": 100.0, "threads": None},
        run={"duration_s": 10.0},
    )
    del scenario["workload"]["threads"]
    # How many of Galera's messages find the window taken is taken from as many independent ones.
    assert_agrees(scenario, 0.10 if model == "galera" else 0.05)


@pytest.mark.parametrize(
    ("version", "wait_point"),
    [
        ("mysql-5.6", None),
        ("mysql-8.4", "AFTER_SYNC"),
        ("mysql-8.4", "AFTER_COMMIT"),
        ("mariadb-11.8", "AFTER_SYNC"),
        ("mariadb-11.8", "AFTER_COMMIT"),
    ],
)
@pytest.mark.parametrize("threads", [1, 16])
def test_who_waits_for_which_acknowledgement(version, wait_point, threads):
    options: dict[str, Any] = {"sync_binlog": 1}
    if wait_point is not None:
        options["rpl_semi_sync_source_wait_point"] = wait_point
    scenario = content(
        "semisync",
        cluster={
            "model": "semisync",
            "version": version,
            "options": options,
            "machine": {"cores": 8},
        },
        network={"rtt_ms": 20.0},
        workload={"threads": threads},
    )
    assert_agrees(scenario, LONE if threads == 1 else SEVERAL)


def test_the_kth_fastest_replica_decides():
    paths = [{"from": "n1", "to": f"n{k}", "rtt_ms": 20.0 * k} for k in (2, 3, 4)]
    for count, rtt_s in ((1, 0.040), (2, 0.060), (3, 0.080)):
        options = {"rpl_semi_sync_source_wait_for_replica_count": count}
        scenario = content(
            "semisync", cluster={"model": "semisync", "nodes": 4, "options": options},
            network={"path": paths},
        )  # fmt: skip
        assert_agrees(scenario, LONE)
        assert simrep.analytic(scenario).latency_s == pytest.approx(rtt_s, rel=0.05)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("threads", [2, 16, 48])
def test_clients_of_one_galera_node_share_its_send_window(size, threads):
    scenario = content(
        "galera",
        cluster={"model": "galera", "nodes": size, "machine": {"cores": 8}},
        network={"rtt_ms": 40.0},
        workload={"threads": threads},
        run={"duration_s": 4.0},
    )
    assert_agrees(scenario, SEVERAL)


@pytest.mark.parametrize("window", [4, 10])
def test_without_aggregation_the_window_limits_them(window):
    scenario = content(
        "galera",
        cluster={
            "model": "galera",
            "options": {"evs.use_aggregate": False, "evs.send_window": window,
                        "evs.user_send_window": window},
        },
        network={"rtt_ms": 40.0},
        workload={"threads": 32},
        run={"duration_s": 4.0},
    )  # fmt: skip
    result = assert_agrees(scenario, SEVERAL)
    assert result.throughput_tps == pytest.approx(window / 0.060, rel=0.05)


@pytest.mark.parametrize("leader", [True, False])
def test_clients_of_one_group_member_in_slots_of_their_own(leader):
    scenario = content(
        "group_replication",
        cluster={"model": "group_replication", "machine": {"cores": 8},
                 "options": {"group_replication_paxos_single_leader": leader}},
        network={"rtt_ms": 40.0},
        workload={"threads": 4},
    )  # fmt: skip
    assert_agrees(scenario, SEVERAL)


def test_writers_on_all_nodes_of_a_cluster_that_seldom_meet():
    scenario = content(
        "galera",
        network={"rtt_ms": 10.0},
        workload={"rate_tps": 6.0, "nodes": ["*"]},
        run={"duration_s": 60.0},
    )
    del scenario["workload"]["threads"]
    assert_agrees(scenario, 0.05)


def test_no_answer_where_their_messages_meet():
    scenario = content("galera", network={"rtt_ms": 20.0}, workload={"nodes": ["*"], "threads": 6})
    assert "several nodes write at a time" in simrep.analytic(scenario).reasons[0]


def test_machines_whose_caches_get_cold():
    scenario = content(
        "semisync",
        cluster={"model": "semisync", "machine": {"cores": 8, "cold_factor": 5.0,
                                                  "wakeup_us": 30.0}},
        network={"rtt_ms": 1.0},
    )  # fmt: skip
    assert_agrees(scenario, LONE_LAN)


def test_a_fixed_number_of_transactions_includes_the_connections():
    scenario = {
        "cluster": {"model": "standalone", "costs": {"connect_us": 20_000.0}},
        "workload": {"threads": 2, "transactions_per_client": 50},
    }
    result = assert_agrees(scenario, SEVERAL)
    assert result.throughput_tps < 0.8 * 2 / result.latency_s["mean"]  # connecting is most of it
