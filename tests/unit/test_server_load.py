"""What counters of a server say: the round trip, and the load."""

from functools import partial

import pytest

from simrep.errors import ScenarioError
from simrep.runs.run import run
from tests.server_files import (
    GALERA_AFTER,
    GALERA_BEFORE,
    SEMISYNC_AFTER,
    SEMISYNC_BEFORE,
    described_from,
    finding,
)


@pytest.fixture
def described(tmp_path):
    return partial(described_from, tmp_path)


# -- network -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "latency", "rtt_ms"),
    [
        ("3", "0.15/0.2/0.9/0.1/50", 100.0),
        ("2", "0.1/0.2/0.9/0.1/50", 100.0),
        ("3", "0.1/0.15/0.9/0.01/50", 100.0),
        ("3", "0/0/0/0/0", 0.1),
        ("3", "0.15/0.2", 0.1),
    ],
)
def test_round_trip_of_galera(described, size, latency, rtt_ms):
    status = GALERA_AFTER | {"wsrep_cluster_size": size, "wsrep_evs_repl_latency": latency}
    one = described("", status)
    assert one.scenario["network"]["rtt_ms"] == pytest.approx(rtt_ms)
    assert finding(one, "network.rtt_ms").default == (rtt_ms == 0.1)


@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_the_simulated_latency_gives_the_round_trip_back(described, nodes):
    """The formula is that of the automaton: what is simulated at 40 ms is read as 40 ms.

    Without keepalives, which hold up or hurry a message now and then.
    """
    options = {"evs.keepalive_period": 1000.0}
    scenario = {
        "cluster": {"model": "galera", "nodes": nodes, "options": options},
        "network": {"rtt_ms": 40.0},
        "workload": {"queries": 200},
    }
    counters = run(scenario, seed=1).counters["n1"]
    figures = [counters[f"wsrep_evs_repl_latency_{one}"] for one in ("min", "avg", "max", "stddev")]
    latency = {"wsrep_evs_repl_latency": "/".join([*map(str, figures), "200"])}
    one = described("", GALERA_AFTER | latency | {"wsrep_cluster_size": str(nodes)})
    assert one.scenario["network"]["rtt_ms"] == pytest.approx(40.0, rel=0.02)


def test_round_trip_of_semisync(described):
    one = described("", SEMISYNC_BEFORE, SEMISYNC_AFTER)
    assert one.scenario["network"]["rtt_ms"] == pytest.approx(1.44)
    assert "upper bound" in finding(one, "network.rtt_ms").note


# -- load ----------------------------------------------------------------------------------------


def test_a_semisynchronous_server(described):
    one = described("", SEMISYNC_BEFORE, SEMISYNC_AFTER)
    assert one.scenario["cluster"]["model"] == "semisync"
    assert one.scenario["workload"]["rate_tps"] == pytest.approx(3523 / 5, rel=1e-3)
    [kind] = one.scenario["workload"]["class"]
    assert (kind["statements"], kind["rows"], kind["range_reads"]) == (4, 1, 14)
    assert kind["range_rows"] == 31
    assert finding(one, "workload.class.0.row_bytes").default


def test_statements_that_commit_by_themselves_are_classes(described):
    counted = {
        "Uptime": "100",
        "Com_insert": "3000",
        "Com_update": "1000",
        "Com_select": "6000",
        "Handler_write": "9000",
        "Handler_update": "3000",
        "Rows_read": "9000",
        "Binlog_commits": "4000",
        "Binlog_bytes_written": "2000000",
        "Aria_pagecache_reads": "1",
    }
    one = described("[mysqld]\nlog-bin\n", counted)
    workload = one.scenario["workload"]
    assert workload["rate_tps"] == pytest.approx(100.0)
    kinds = {kind["name"]: kind for kind in workload["class"]}
    assert {name: kind["weight"] for name, kind in kinds.items()} == {
        "insert": 30.0,
        "update": 10.0,
        "read": 60.0,
    }
    assert kinds["insert"]["rows"] == 3
    assert kinds["read"]["statements"] == 0
    assert kinds["read"]["reads"] == 1
    assert "keys" not in kinds["insert"]
    assert one.scenario["cluster"]["options"]["log_bin"] is True
    scenario = {**one.scenario, "cluster": {**one.scenario["cluster"]}}
    del scenario["cluster"]["pack"]
    scenario["run"] = {"duration_s": 20.0}
    counters = run(scenario, seed=1).counters["n1"]
    size = counters["Binlog_bytes_written"] / counters["Binlog_commits"]
    assert size == pytest.approx(500.0, rel=0.02)


def test_nodes_that_write_too_have_clients_of_their_own(described):
    """Half of the writesets come from two other nodes: rows of them are counted here, too."""
    after = GALERA_AFTER | {"wsrep_received": str(1000 + 4478)}
    workload = described("", GALERA_BEFORE, after).scenario["workload"]
    rates = {group["node"]: group["rate_tps"] for group in workload["group"]}
    assert rates == {"n1": 895.6, "n2": pytest.approx(447.8), "n3": pytest.approx(447.8)}
    assert workload["class"][0]["statements"] == 2


def test_counters_of_a_node_that_only_applies_are_refused(described):
    after = GALERA_AFTER | {"wsrep_replicated": GALERA_BEFORE["wsrep_replicated"]}
    with pytest.raises(ScenarioError, match="applies those of others"):
        described("", GALERA_BEFORE, after)


def test_counters_of_the_provider_alone_give_a_rate(described):
    alone = {name: value for name, value in GALERA_AFTER.items() if name.startswith("wsrep")}
    one = described("", alone | {"Uptime": "1005"})
    assert one.scenario["workload"]["rate_tps"] == pytest.approx(104478 / 1005, rel=1e-3)
    assert finding(one, "workload.class.0.statements").default


def test_an_idle_server_has_a_load_to_begin_with(described):
    one = described("", GALERA_BEFORE, GALERA_BEFORE | {"Uptime": "1010"})
    assert one.scenario["workload"]["threads"] == 1
    assert "have not grown" in finding(one, "workload").note


def test_only_reads(described):
    one = described("", {"Uptime": "10", "Com_select": "500", "Aria_x": "1"})
    assert one.scenario["workload"]["rate_tps"] == 50.0
    assert one.scenario["workload"]["class"][0]["statements"] == 0


def test_one_snapshot_is_the_time_since_the_start_and_says_so(described):
    note = finding(described("", GALERA_AFTER), "workload.rate_tps").note
    assert "16.8 min" in note
    assert "two --status files" in note


def test_counters_to_compare_with_are_named(described):
    remarks = " ".join(described("", GALERA_BEFORE, GALERA_AFTER).remarks)
    assert "wsrep_cert_deps_distance 81.3" in remarks
    assert "Innodb_row_lock_waits 98.2 per second" in remarks
