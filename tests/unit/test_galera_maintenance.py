"""Locks and desync on a Galera node: who stops, how far it falls behind, when it is back."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

import simrep

BEGIN_S, END_S = 1.0, 4.0
LOCK = {"what": "lock-tables", "node": "n3", "at_s": BEGIN_S, "until_s": END_S}
FTWRL = LOCK | {"what": "flush-tables-with-read-lock"}
DESYNC = LOCK | {"what": "desync"}


def run(*operations: dict[str, Any], think_time_ms: float = 7.0, **changes: Any) -> simrep.Result:
    """Four writers on n1, of three nodes half a millisecond apart."""
    scenario: dict[str, Any] = {
        "cluster": {"model": "galera", "nodes": 3, "options": {"wsrep_slave_threads": 4}},
        "network": {"rtt_ms": 0.5},
        "workload": {"threads": 4, "nodes": ["n1"], "think_time_ms": think_time_ms},
        "maintenance": list(operations),
        "run": {"duration_s": 6.0},
    }
    scenario["workload"] |= changes.pop("workload", {})
    scenario["cluster"]["options"] |= changes.pop("options", {})
    scenario |= changes
    return simrep.run(simrep.load(scenario))


def noted(result: simrep.Result, node: str, *words: str) -> list[float]:
    return [
        line.at_s for line in result.timeline().lines if line.node == node and line.what in words
    ]


def held(result: simrep.Result) -> Any:
    """What clients saw while the operation lasted."""
    (name,) = result.faults
    return next(phase for phase in result.faults.phases.values() if phase.from_s == BEGIN_S), name


def stall_s(result: simrep.Result) -> float:
    (incident,) = result.faults.values()
    (stall,) = incident.stalls.values()
    return stall.stall_s.median


def test_a_locked_node_stops_the_others_after_the_writesets_that_fit() -> None:
    """Four appliers hold one each, and the queue may have 28: the 29th in it stops the cluster.

    What the four clients have on their way is still delivered.
    """
    result = run(LOCK)
    (phase, _) = held(result)
    commits = phase.clients.throughput_tps.median * (END_S - BEGIN_S)
    assert 4 + 29 <= commits <= 4 + 29 + 4 + 4
    assert stall_s(result) == pytest.approx(END_S - BEGIN_S, rel=0.1)
    assert len(noted(result, "n3", "fc-stop")) == 1
    assert result.counters["n3"]["wsrep_flow_control_sent"] == 1


@pytest.mark.parametrize("limit", [50, 200])
def test_the_limit_decides_when_the_others_stop(limit: int) -> None:
    result = run(LOCK, options={"gcs.fc_limit": limit, "gcs.fc_master_slave": True})
    (phase, _) = held(result)
    commits = phase.clients.throughput_tps.median * (END_S - BEGIN_S)
    assert 4 + limit + 1 <= commits <= 4 + limit + 1 + 8


@pytest.mark.parametrize("operation", [FTWRL, DESYNC | {"node": "n2"}])
def test_a_node_out_of_flow_control_stops_nobody(operation: dict[str, Any]) -> None:
    result, undisturbed = run(operation), run(LOCK | {"at_s": 5.9, "until_s": 5.9001})
    assert stall_s(result) < 0.05
    assert result.counters["n3"]["wsrep_flow_control_sent"] == 0
    assert result.throughput_tps == pytest.approx(undisturbed.throughput_tps, rel=0.02)


def test_the_backlog_of_a_stopped_node_is_rate_times_time() -> None:
    result = run(FTWRL)
    (phase, name) = held(result)
    rate = phase.clients.throughput_tps.median
    most = result.counters["n3"]["wsrep_local_recv_queue_max"]
    assert most == pytest.approx(rate * (END_S - BEGIN_S), abs=10)
    assert name == "maintenance.0"


@pytest.mark.parametrize("apply_us", [1000.0, 3000.0])
def test_it_catches_up_in_backlog_by_what_it_applies_beyond_what_comes(apply_us: float) -> None:
    """One applier on a free core takes as long for each; others come at a known rate."""
    result = run(
        FTWRL,
        cluster={
            "model": "galera",
            "nodes": 3,
            "machine": {"cores": 16, "cold_factor": 1.0},
            "options": {"wsrep_slave_threads": 1, "innodb_flush_log_at_trx_commit": 0},
            "costs": {"apply_us": apply_us, "commit_us": 0.0},
        },
        think_time_ms=20.0,
        run={"duration_s": 8.0},
    )
    (phase, _) = held(result)
    rate = phase.clients.throughput_tps.median
    backlog = result.counters["n3"]["wsrep_local_recv_queue_max"]
    (incident,) = result.faults.values()
    caught_up_s = incident.absences["n3"].synced_s.median
    lower = 22
    speeds = backlog / (1e6 / apply_us - rate), (backlog - lower) / (0.9e6 / apply_us - rate)
    assert speeds[0] * 0.95 < caught_up_s < speeds[1] * 1.15


def test_a_version_that_does_not_leave_flow_control_stops_all() -> None:
    result = run(FTWRL, options={"ftwrl_desyncs": False})
    assert stall_s(result) == pytest.approx(END_S - BEGIN_S, rel=0.1)
    assert not noted(result, "n3", "desynced")


def test_it_is_joined_when_the_lock_is_given_back_and_synced_when_it_has_caught_up() -> None:
    result = run(FTWRL)
    order = ("desynced", "paused", "resumed", "joined", "synced")
    times = [noted(result, "n3", word) for word in order]
    assert [len(one) for one in times] == [1] * 5
    assert times == sorted(times)


@pytest.mark.parametrize(("mode", "waits"), [("read", False), ("write", True)])
def test_who_waits_for_a_lock_on_its_own_node(mode: str, waits: bool) -> None:
    """Readers of the locked node wait for LOCK TABLES ... WRITE, and not for READ."""
    result = run(
        LOCK | {"mode": mode},
        workload={
            "class": [{"name": "write"}, {"name": "look", "statements": 0, "reads": 1}],
            "threads": None,
            "nodes": None,
            "group": [
                {"name": "A", "node": "n1", "class": ["write"], "threads": 1},
                {"name": "R", "node": "n3", "class": ["look"], "threads": 1},
            ],
        },
    )
    (incident,) = result.faults.values()
    longest_s = incident.stalls["R"].stall_s.median
    assert (longest_s > 0.9 * (END_S - BEGIN_S)) is waits


def test_writers_of_the_locked_node_wait_and_fail_with_nothing() -> None:
    result = run(FTWRL, workload={"nodes": ["n3"]})
    assert stall_s(result) == pytest.approx(END_S - BEGIN_S, rel=0.1)
    assert result.aborted == 0


def test_other_tables_are_not_locked() -> None:
    """Writesets of another class are applied, as long as none of the locked one is before them."""
    workload = {
        "class": [{"name": "a"}, {"name": "b"}],
        "threads": None,
        "nodes": None,
        "group": [{"name": "B", "node": "n1", "class": ["b"], "threads": 4, "think_time_ms": 7.0},
                  {"name": "A", "node": "n2", "class": ["a"], "threads": 1, "think_time_ms": 5e3}],
    }  # fmt: skip
    free = run(LOCK | {"class": ["a"], "until_s": 2.0}, workload=workload)
    assert stall_s_of(free, "B") < 0.2
    assert stall_s_of(run(LOCK | {"class": ["b"]}, workload=workload), "B") > 2.0


def stall_s_of(result: simrep.Result, group: str) -> float:
    (incident,) = result.faults.values()
    return float(incident.stalls[group].stall_s.median)


def test_desync_in_time_lets_the_others_go_on() -> None:
    """Whoever leaves flow control takes its stop back."""
    result = run(LOCK, DESYNC | {"at_s": 2.0})
    (first, _) = result.faults.values()
    assert first.stalls["clients"].stall_s.median == pytest.approx(1.0, abs=0.3)
    assert len(noted(result, "n3", "fc-continue")) == 1


def test_desync_twice_is_undone_twice() -> None:
    result = run(DESYNC | {"name": "long"}, FTWRL | {"name": "short", "at_s": 2.0, "until_s": 3.0})
    (synced_s,) = noted(result, "n3", "synced")
    assert synced_s > END_S


def test_a_node_that_is_cut_off_while_it_is_out_of_flow_control_comes_back() -> None:
    """It is out of it twice, loses the state, and gets that as any other node does."""
    result = run(
        DESYNC | {"name": "long", "until_s": 10.0},
        FTWRL | {"name": "short", "until_s": 9.5},
        fault=[{"what": "cut", "node": "n3", "at_s": 2.0, "until_s": 9.0}],
        run={"duration_s": 16.0},
        think_time_ms=100.0,
    )
    assert len(noted(result, "n3", "joiner")) == 1
    assert noted(result, "n3", "synced")[-1] > noted(result, "n3", "joiner")[0]
    committed = {one["wsrep_last_committed"] for one in result.counters.values()}
    assert max(committed) - min(committed) <= 4


def test_a_node_that_is_away_refuses() -> None:
    result = run(DESYNC | {"until_s": 5.0}, fault=[{"what": "kill", "node": "n3", "at_s": 0.5}])
    assert len(noted(result, "n3", "refused")) == 1


def test_a_server_that_dies_takes_its_lock_along() -> None:
    killed = {"what": "kill", "node": "n3", "at_s": 2.0}
    result = run(LOCK | {"until_s": 11.5}, fault=[killed], run={"duration_s": 12.0})
    assert not noted(result, "n3", "unlocked")
    assert result.faults["fault.0"].stalls["clients"].stall_s.median < 8.0


def test_a_stall_says_which_lock_it_comes_from() -> None:
    scenario = {
        "cluster": {"model": "galera", "nodes": 3},
        "workload": {"threads": 4, "nodes": ["n1"], "think_time_ms": 7.0},
        "maintenance": [LOCK],
        "run": {"duration_s": 6.0},
    }
    told = simrep.explain_stall(simrep.load(scenario))
    names = [phase.name for phase in told.phases]
    assert "flow control" in names
    flow = told.phases[names.index("flow control")]
    assert "n3" in flow.why
    assert "LOCK TABLES WRITE" in flow.why
    assert sum(phase.seconds for phase in told.phases) == pytest.approx(told.stall.seconds)
    assert flow.seconds < inf


@pytest.mark.parametrize("key", [{"mode": "read"}, {"class": ["transaction"]}])
def test_words_of_a_lock_go_with_a_lock(key: dict[str, Any]) -> None:
    with pytest.raises(simrep.ScenarioError, match="only goes with lock-tables"):
        run(DESYNC | key)
