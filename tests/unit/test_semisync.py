"""Semi-synchronous replication: what each generation waits for, in closed forms."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.errors import ScenarioError
from simrep.runs.result import Result
from simrep.runs.run import run
from simrep.scenario.options import versions
from tests.server_runs import MS, US, Quiet, scenario, until_quiet

RTT, FSYNC, EXECUTE = 100 * MS, 1 * MS, 0.2 * MS
DISTANT = {"rtt_ms": RTT / MS}
COSTS = {"statement_us": EXECUTE / US, "fsync_us": FSYNC / US}
HOT = {"class": [{"keys": {"distribution": "hot", "rows": 1, "hot_rows": 1}}]}

OLD = {"version": "mysql-5.6", "options": {"sync_binlog": 1}}
AFTER_SYNC = {"version": "mysql-9", "options": {}}
AFTER_COMMIT = {
    "version": "mysql-9",
    "options": {"rpl_semi_sync_source_wait_point": "AFTER_COMMIT"},
}
MARIADB_COMMIT = {"version": "mariadb-11.8", "options": {"sync_binlog": 1}}
MARIADB_SYNC = {
    "version": "mariadb-11.8",
    "options": {"sync_binlog": 1, "rpl_semi_sync_master_wait_point": "AFTER_SYNC"},
}
ALL = [OLD, AFTER_SYNC, AFTER_COMMIT, MARIADB_COMMIT, MARIADB_SYNC]


def content(size: int = 2, *, more: dict[str, Any] | None = None, **how: Any) -> dict[str, Any]:
    """A scenario; ``more`` are options beside those of a generation."""
    how["options"] = {**how.get("options", {}), **(more or {})}
    how = {"costs": COSTS, "network": DISTANT} | how
    return scenario("semisync", size, **how)


def cluster(size: int = 2, **how: Any) -> Result:
    return run(content(size, **how))


def status(result: Result | Quiet, name: str) -> float:
    return result.counters["n1"][f"Rpl_semi_sync_source_{name}"]


# ---------------------------------------------------------- one transaction --


@pytest.mark.parametrize("generation", ALL)
def test_a_lone_client_waits_a_round_trip_more_than_the_control(generation):
    result = cluster(transactions_per_client=20, **generation)
    control = cluster(
        transactions_per_client=20, more={"rpl_semi_sync_source_enabled": False}, **generation
    )
    for which in ("mean", "max"):
        assert result.latency_s[which] - control.latency_s[which] == pytest.approx(RTT, abs=1e-9)
    assert status(result, "yes_tx") == status(result, "tx_waits") == 20
    assert status(result, "tx_avg_wait_time") == pytest.approx(RTT / US)
    assert status(result, "no_tx") == status(control, "yes_tx") == 0


def test_switched_off_it_is_asynchronous_replication():
    load: dict[str, Any] = {"threads": 8, "transactions_per_client": 20, "network": DISTANT}
    control = cluster(3, more={"rpl_semi_sync_source_enabled": "OFF"}, **load)
    asynchronous = run(scenario("asynchronous", 3, costs=COSTS, **load))
    assert control.latency_s == asynchronous.latency_s
    assert control.counters["n2"] == asynchronous.counters["n2"]


def test_the_way_to_the_relay_log_and_back_costs_what_it_is_said_to_cost():
    costs = {
        "send_us": 10.0,
        "receive_us": 20.0,
        "byte_ns": 100.0,
        "reply_us": 40.0,
        "acknowledge_us": 80.0,
        "switch_us": 160.0,
    }
    result = cluster(transactions_per_client=1, costs=costs, network={"rtt_ms": 0.0})
    # Two wake-ups: of the journal's thread, and of the leader that has waited.
    way_us = 10 + 20 + 0.1 * 285 + 40 + 80 + 2 * 160
    assert result.latency_s["max"] == pytest.approx(way_us * US, rel=1e-9)


def test_the_relay_log_is_synchronised_before_the_acknowledgement():
    result = cluster(transactions_per_client=1, more={"sync_relay_log": 1})
    alone = cluster(transactions_per_client=1)
    assert result.latency_s["max"] - alone.latency_s["max"] == pytest.approx(5 * FSYNC)


def test_it_is_sent_during_the_fsync_if_the_binary_log_is_not_synchronised_with_every_group():
    fsyncs = {"costs": {"fsync_us": 150 * MS / US}, "transactions_per_client": 2}
    # The second group's fsync and the way of its only transaction overlap.
    result = cluster(more={"sync_binlog": 2}, **fsyncs)
    assert result.latency_s["max"] == pytest.approx(2 * 150 * MS)
    assert cluster(**fsyncs).latency_s["max"] == pytest.approx(2 * 150 * MS + RTT)


# -------------------------------------------------------------- many clients --


@pytest.mark.parametrize("version", ["mysql-5.5", "mysql-5.6"])
@pytest.mark.parametrize("threads", [2, 32])
def test_before_5_7_there_is_one_transaction_per_round_trip_for_any_number_of_clients(
    version, threads
):
    result = cluster(version=version, costs={}, threads=threads, duration_s=20.0)
    assert result.throughput_tps == pytest.approx(1 / RTT, rel=0.01)
    waiting = threads - 1  # before its turn has come
    assert result.latency_s["max"] >= 0.99 * waiting * RTT


@pytest.mark.parametrize("generation", [AFTER_SYNC, AFTER_COMMIT, MARIADB_COMMIT])
@pytest.mark.parametrize("threads", [4, 64])
def test_from_5_7_on_every_client_has_its_own_round_trips(generation, threads):
    result = cluster(threads=threads, duration_s=10.0, **generation)
    # At least two fsyncs; at most those of two groups before as well.
    assert result.throughput_tps <= threads / (RTT + EXECUTE + 2 * FSYNC) * 1.001
    assert result.throughput_tps >= threads / (RTT + EXECUTE + 6 * FSYNC)


def test_mariadb_lets_one_more_group_be_written_while_one_waits():
    # Of four clients the first is alone in its group, the second in the next; the others wait
    # until the first is acknowledged. So in the end two groups of two follow each other with two
    # round trips between them, or three with one and a half.
    result = cluster(threads=4, duration_s=20.0, **MARIADB_SYNC)
    assert 4 / (2 * RTT + 10 * FSYNC) < result.throughput_tps < 4 / (1.2 * RTT)
    mysql = cluster(threads=4, duration_s=20.0, **AFTER_SYNC)
    assert mysql.throughput_tps > 1.2 * result.throughput_tps


@pytest.mark.parametrize("generation", [AFTER_SYNC, MARIADB_SYNC])
def test_a_hot_row_is_updated_once_per_round_trip_if_its_lock_is_held_meanwhile(generation):
    result = cluster(threads=16, duration_s=50.0, **HOT, **generation)
    assert result.throughput_tps == pytest.approx(1 / (RTT + EXECUTE + 2 * FSYNC), rel=0.005)
    assert result.throughput_tps < 1 / RTT


@pytest.mark.parametrize("generation", [AFTER_COMMIT, MARIADB_COMMIT])
def test_a_hot_row_is_not_bound_by_the_round_trip_after_the_commit(generation):
    result = cluster(threads=16, duration_s=10.0, **HOT, **generation)
    # The row's lock is held for execution and two fsyncs; 16 clients wait a round trip each.
    expected = 16 / (RTT + 16 * (EXECUTE + 2 * FSYNC))
    assert result.throughput_tps > 0.8 * expected > 8 / RTT


def test_waits_are_counted_by_group_or_by_transaction_as_the_servers_do():
    load = {"threads": 16, "transactions_per_client": 10}
    groups = cluster(**AFTER_SYNC, **load)
    # Groups of the binary log merge in the queue of the COMMIT stage.
    assert 10 < status(groups, "yes_tx") < groups.counters["n1"]["Binlog_group_commits"] < 80
    for generation in (OLD, AFTER_COMMIT, MARIADB_COMMIT, MARIADB_SYNC):
        assert status(cluster(**generation, **load), "yes_tx") == 160


def test_of_a_group_that_is_waited_for_as_a_whole_only_the_last_is_acknowledged():
    # The dump thread begins to send when the leader waits already.
    load = {"threads": 10, "transactions_per_client": 1, "costs": COSTS | {"send_us": 100.0}}
    together = {"binlog_group_commit_sync_delay": 50_000}
    assert status(cluster(more=together, **load, **AFTER_SYNC), "net_waits") == 1
    assert status(cluster(more=together, **load, **AFTER_COMMIT), "net_waits") == 10


# ------------------------------------------------------------ several replicas --

TRIANGLE = {
    "path": [{"from": "n1", "to": f"n{2 + k}", "rtt_ms": rtt} for k, rtt in enumerate([20, 50, 90])]
}


@pytest.mark.parametrize(("count", "rtt"), [(1, 20 * MS), (2, 50 * MS), (3, 90 * MS)])
@pytest.mark.parametrize("generation", [AFTER_SYNC, AFTER_COMMIT])
def test_the_kth_fastest_replica_decides(count, rtt, generation):
    more = {"rpl_semi_sync_master_wait_for_slave_count": count}
    result = cluster(4, transactions_per_client=20, costs={}, network=TRIANGLE, more=more,
                     **generation)  # fmt: skip
    assert result.latency_s["mean"] == pytest.approx(rtt, rel=1e-9)


def test_before_5_7_the_fastest_replica_serves_one_by_one_and_slow_ones_do_not_hold_it_up():
    result = cluster(4, threads=8, duration_s=10.0, costs={}, network=TRIANGLE, version="mysql-5.6")
    # What the fastest has acknowledged no other is asked for, so that they skip it.
    assert result.throughput_tps >= 0.99 / (20 * MS)
    replicas = [result.counters[f"n{k}"]["Retrieved_Gtid_Set"] for k in (2, 3, 4)]
    assert min(replicas) > 0.9 * max(replicas)


# --------------------------------------------------------------------- outages --

CUT_OFF = DISTANT | {"outage": [{"node": "n2", "from_s": 2.0, "to_s": 20.0}]}


@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")  # which is the point
@pytest.mark.parametrize("generation", ALL)
def test_the_timeout_ends_the_waiting_and_the_source_goes_on_asynchronously(generation):
    result = cluster(network=CUT_OFF, threads=4, duration_s=15.0, **generation)
    assert result.latency_s["max"] == pytest.approx(10.0 + 2 * RTT, abs=2.1 * RTT)
    assert status(result, "status") == 0
    assert status(result, "no_times") == 1
    assert status(result, "clients") == 1
    # Three seconds without waiting are worth more than two with it.
    assert status(result, "no_tx") > status(result, "yes_tx")
    assert result.counters["n1"]["Unacknowledged_commits"] > 100


@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")  # which is the point
@pytest.mark.parametrize("timeout_ms", [300, 2000])
def test_the_timeout_is_the_longest_wait(timeout_ms):
    more = {"rpl_semi_sync_master_timeout": timeout_ms}
    result = cluster(network=CUT_OFF, duration_s=6.0, more=more, **AFTER_SYNC)
    assert result.latency_s["max"] == pytest.approx(timeout_ms * MS + EXECUTE + 2 * FSYNC)


def test_an_outage_shorter_than_the_timeout_costs_time_and_nothing_else():
    short = DISTANT | {"outage": [{"node": "n2", "from_s": 2.0, "to_s": 5.0}]}
    result = cluster(network=short, duration_s=12.0, **AFTER_SYNC)
    assert 3.0 < result.latency_s["max"] < 9.9
    assert status(result, "no_times") == status(result, "no_tx") == 0
    assert status(result, "status") == 1


@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")  # which is the point
def test_it_recovers_when_a_replica_has_acknowledged_the_end_of_the_binary_log():
    load = {"think_time_ms": 500, "duration_s": 60.0}
    result = cluster(network=CUT_OFF, **load, **AFTER_SYNC)
    assert status(result, "status") == status(result, "no_times") == 1
    trace = until_quiet(
        content(network=CUT_OFF, think_time_ms=500, transactions_per_client=60, **AFTER_SYNC)
    )
    (off,), (on,) = trace.of(0, "switched_off"), trace.of(0, "switched_on")
    assert 12.0 < off.time_s < 12.7
    assert on.time_s > 20.0
    late = [event for event in trace.of(0, "answer") if event.time_s > on.time_s + 0.7]
    acknowledged = {event.seqno: event.time_s for event in trace.of(0, "acknowledged")}
    assert late
    assert all(acknowledged[event.seqno] <= event.time_s for event in late)


@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")  # which is the point
def test_under_steady_load_over_a_long_way_it_never_recovers():
    short = DISTANT | {"outage": [{"node": "n2", "from_s": 1.0, "to_s": 1.5}]}
    more = {"rpl_semi_sync_source_timeout": 300}
    costs = COSTS | {"receive_us": 10.0}
    result = cluster(network=short, threads=4, duration_s=4.0, more=more, costs=costs, **AFTER_SYNC)
    assert status(result, "status") == 0
    committed = result.counters["n1"]["Handler_commit"]
    assert result.counters["n2"]["Retrieved_Gtid_Set"] > 0.9 * committed


def test_one_replica_that_is_cut_off_does_not_matter_beside_another():
    result = cluster(3, network=CUT_OFF, duration_s=15.0, **AFTER_SYNC)
    assert result.latency_s["max"] < 1.1 * RTT
    assert status(result, "no_tx") == 0


@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")  # which is the point
@pytest.mark.parametrize(("wait", "first_s"), [(True, 10.0), (False, 0.0)])
def test_too_few_replicas_are_waited_for_only_if_wait_no_replica_is_on(wait, first_s):
    more = {
        "rpl_semi_sync_source_wait_for_replica_count": 2,
        "rpl_semi_sync_source_wait_no_replica": wait,
    }
    result = cluster(transactions_per_client=5, more=more, **AFTER_SYNC)
    local = EXECUTE + 2 * FSYNC
    assert result.latency_s["max"] == pytest.approx(first_s + local)
    assert result.makespan_s == pytest.approx(first_s + 5 * local)
    assert status(result, "no_tx") == result.counters["n1"]["Unacknowledged_commits"] == 5


# ------------------------------------------------------------------- breakdown --


@pytest.mark.parametrize("generation", ALL)
def test_the_breakdown_tells_how_long_replicas_were_waited_for(generation):
    breakdown = cluster(transactions_per_client=20, **generation).breakdown()
    assert breakdown.stages["acknowledgement"] == pytest.approx(RTT)


# -------------------------------------------------------------------- versions --


@pytest.mark.parametrize("version", versions("simrep.models", "semisync"))
def test_every_version_replicates_with_its_defaults(version):
    quiet = until_quiet(
        {
            "cluster": {"model": "semisync", "version": version},
            "workload": {
                "preset": "sysbench-oltp-read-write",
                "threads": 4,
                "transactions_per_client": 20,
            },
        }
    )
    assert quiet.committed > 0
    assert quiet.counters["n1"]["Unacknowledged_commits"] == 0
    for node in ("n2", "n3"):
        assert quiet.counters[node]["Executed_Gtid_Set"] == quiet.committed


@pytest.mark.parametrize(
    ("version", "options", "path"),
    [
        ("mysql-5.6", {"rpl_semi_sync_master_wait_point": "AFTER_SYNC"}, "wait_point"),
        ("mysql-5.5", {"rpl_semi_sync_source_wait_for_replica_count": 2}, "replica_count"),
        ("mariadb-11.8", {"rpl_semi_sync_source_wait_for_replica_count": 2}, "replica_count"),
        ("mysql-9", {"rpl_semi_sync_source_timeout": -1}, "timeout"),
    ],
)
def test_a_variable_that_the_version_does_not_have_is_refused_by_name(version, options, path):
    with pytest.raises(ScenarioError, match=path):
        cluster(version=version, options=options, transactions_per_client=1)
