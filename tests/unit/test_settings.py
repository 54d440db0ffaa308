"""Options that are set on running servers: what changes, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.runs.replication import Replication, simulate

SLOW = {"apply_us": 4000.0, "apply_row_us": 0.0}
FOUR = {"wsrep_applier_threads": 4}
CLOSED = {"threads": 16, "nodes": ["n1"], "think_time_ms": 8.0}  # at most 2,000 per second
FLOW = "group_replication_flow_control_"
THREE: dict[str, Any] = {"nodes": ["n1", "n2", "n3"]}


def scenario(model: str, costs: Any = None, options: Any = None, **tables: Any) -> dict[str, Any]:
    cluster = {"model": model, "costs": costs or {}, "options": options or {}}
    return {
        "cluster": cluster | THREE,
        "workload": {"rate_tps": 800, "nodes": ["n1"]},
        "run": {"duration_s": 6.0},
    } | tables


def setting(at_s: float, **options: Any) -> dict[str, Any]:
    return {"at_s": at_s, "options": options}


def ran(**how: Any) -> Replication:
    return simulate(simrep.load(scenario(**how)), 1)


def rate(run: Replication, from_s: float, to_s: float) -> float:
    assert run.attempts is not None
    return len(run.attempts.between(from_s, to_s).commits_s) / (to_s - from_s)


def test_four_appliers_drain_four_times_as_much_as_one() -> None:
    """Flow control holds the writers to what the appliers do."""
    run = ran(model="galera", costs=SLOW, workload=CLOSED, setting=[setting(3.0, **FOUR)])
    before, after = rate(run, 1.0, 3.0), rate(run, 4.0, 6.0)
    assert 3.5 < after / before < 4.5
    assert before == pytest.approx(250.0, rel=0.1)  # 4 ms each


def test_fewer_appliers_end_after_their_next_writeset() -> None:
    how = {"model": "galera", "costs": SLOW, "options": FOUR, "workload": CLOSED}
    run = ran(**how, setting=[setting(3.0, wsrep_slave_threads=1)])
    before, after = rate(run, 1.0, 3.0), rate(run, 4.0, 6.0)
    assert 3.5 < before / after < 4.5


def test_a_higher_limit_lets_the_queue_grow_before_flow_control_stops_the_cluster() -> None:
    how = {"model": "galera", "costs": SLOW, "workload": CLOSED}
    run = ran(**how, setting=[setting(3.0, **{"gcs.fc_limit": 100_000})])
    assert rate(run, 4.0, 6.0) > 3.0 * rate(run, 1.0, 3.0)


def test_flow_control_of_group_replication_begins_when_it_is_told_to() -> None:
    run = ran(
        model="group_replication",
        costs={"apply_us": 5000.0},
        options={f"{FLOW}mode": "DISABLED", "replica_parallel_workers": 1},
        workload=CLOSED,
        setting=[setting(3.0, **{f"{FLOW}mode": "QUOTA", f"{FLOW}applier_threshold": 10})],
    )
    assert rate(run, 5.0, 6.0) < 0.5 * rate(run, 1.0, 3.0)
    assert run.counters["n1"]["Gr_flow_control_throttle_count"] > 0


def test_a_source_waits_for_as_many_replicas_as_it_is_told() -> None:
    """The farther replica is 40 ms away: it decides the latency as soon as two must have it."""
    far = {"path": [{"from": "n1", "to": "n3", "rtt_ms": 40.0}], "rtt_ms": 1.0}
    run = simrep.run(
        scenario(
            "semisync",
            network=far,
            workload={"rate_tps": 50, "nodes": ["n1"]},
            setting=[setting(3.0, rpl_semi_sync_master_wait_for_slave_count=2)],
        )
    )
    phases = list(run.faults.phases.values())
    before, after = (phase.clients.latency.percentile(50) for phase in phases)
    assert before < 0.01
    assert 0.04 < after < 0.05


@pytest.mark.parametrize(
    "model", ["standalone", "asynchronous", "semisync", "group_replication", "galera"]
)
def test_a_server_that_stops_to_sync_answers_sooner_by_an_fsync(model: str) -> None:
    """One client: an fsync of 5 ms is what a commit consists of, or two with a binary log."""
    relaxed = {"innodb_flush_log_at_trx_commit": 2}
    if model != "galera":
        relaxed["sync_binlog"] = 0
    told = scenario(
        model,
        {"fsync_us": 5000.0},
        workload={"rate_tps": 20, "nodes": ["n1"]},
        setting=[setting(1.5, **relaxed), setting(3.0, innodb_flush_log_at_trx_commit=1)],
        run={"duration_s": 4.5, "warmup_s": 0.0},
    )
    if model == "semisync":
        told["cluster"]["options"] = {"sync_relay_log": 10000}
    strict, loose, mixed = (
        phase.clients.latency.percentile(50) for phase in simrep.run(told).faults.phases.values()
    )
    syncs = 1 if model == "galera" else 2
    assert strict - loose == pytest.approx(5e-3 * syncs, abs=0.4e-3)
    assert mixed - loose == pytest.approx(5e-3, abs=0.4e-3)


def test_a_power_loss_takes_what_was_not_synced_after_the_setting() -> None:
    dead = [{"what": "power-loss", "node": "n1", "at_s": 3.0}]
    dead += [{"what": "restart", "node": "n1", "at_s": 3.2}]
    lost = []
    for settings in ([], [setting(0.5, innodb_flush_log_at_trx_commit=2, sync_binlog=0)]):
        told = scenario("standalone", {"start_ms": 200.0}, fault=dead, setting=settings)
        told["cluster"]["nodes"] = ["n1"]
        told["workload"]["rate_tps"] = 100
        told["run"] = {"duration_s": 4.0, "warmup_s": 0.0}
        lost.append(simrep.run(told).runs[0].fates.lost)
    assert lost[0] == 0
    assert 20 < lost[1] <= 260


def test_sync_binlog_without_a_binary_log_is_refused() -> None:
    told = scenario("standalone", options={"log_bin": False}, setting=[setting(1.0, sync_binlog=0)])
    with pytest.raises(simrep.ScenarioError, match="has no binary log"):
        simrep.run(told)


def test_a_shorter_timeout_ends_the_waits_of_those_who_come_later() -> None:
    dead = [{"what": "kill", "node": node, "at_s": 1.0} for node in ("n2", "n3")]
    run = ran(
        model="semisync",
        fault=dead,
        workload={"rate_tps": 20, "nodes": ["n1"]},
        setting=[{**setting(0.5, rpl_semi_sync_source_timeout=500), "nodes": ["n1"]}],
    )
    assert run.attempts is not None
    assert run.attempts.longest_gap(1.0, 6.0).seconds < 1.0


@pytest.mark.parametrize(
    ("model", "options", "problem"),
    [
        ("galera", {"gcs.fc_limits": 5}, "no option 'gcs.fc_limits'"),
        ("galera", {"innodb_buffer_pool_size": 5}, "cannot be set on running servers"),
        ("galera", {"wsrep_slave_threads": 0}, "must be at least 1"),
        ("semisync", {"replica_parallel_workers": 4}, "counts from their next start"),
        ("standalone", {"log_bin": False}, "cannot be set on running servers"),
    ],
)
def test_what_cannot_be_set_is_an_error(model: str, options: Any, problem: str) -> None:
    with pytest.raises(simrep.ScenarioError, match=problem):
        simrep.run(scenario(model, setting=[{"at_s": 1.0, "options": options}]))


def test_nothing_can_be_set_on_a_server_that_is_away() -> None:
    dead = [{"what": "kill", "node": "n2", "at_s": 1.0}]
    with pytest.raises(simrep.ScenarioError, match="'n2' is away at 2 s"):
        simrep.run(scenario("galera", fault=dead, setting=[setting(2.0, wsrep_slave_threads=2)]))
