"""Sessions with a consistency of their own: who reads waits, and nobody else does."""

from __future__ import annotations

from typing import Any

import pytest

import simrep

SYNC, LEVEL = "wsrep_sync_wait", "group_replication_consistency"
CASES = [("galera", {SYNC: 1}), ("group_replication", {LEVEL: "BEFORE"})]


def scenario(model: str, session: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One who writes on n1; on n3 a reader with this session, and one as ever."""
    return {
        "cluster": {"model": model},
        "network": {"rtt_ms": 10},
        "workload": {
            "class": [
                {"name": "write"},
                {"name": "waits", "statements": 0, "reads": 1, "session": session},
                {"name": "plain", "statements": 0, "reads": 1},
            ],
            "group": [
                {"node": "n1", "class": ["write"], "rate_tps": 500, "name": "writers"},
                {"node": "n3", "class": ["waits"], "rate_tps": 100, "name": "waiting"},
                {"node": "n3", "class": ["plain"], "rate_tps": 400, "name": "plain"},
            ],
        },
        "run": {"duration_s": 4, "warmup_s": 1, "staleness": True},
        **more,
    }


@pytest.mark.parametrize(("model", "session"), CASES)
def test_only_the_session_that_asks_for_it_waits_and_it_reads_nothing_stale(
    model: str, session: dict[str, Any]
) -> None:
    run = simrep.run(scenario(model, session))
    assert run.stale is not None
    waiting, plain = run.stale.groups["waiting"], run.stale.groups["plain"]
    assert waiting.reads == 0
    assert waiting.of_reads > 300
    assert plain.reads > 0
    assert run.classes["waits"].latency_s["p95"] > 0.005
    assert run.classes["plain"].latency_s["p95"] < 0.002


@pytest.mark.parametrize(("model", "session"), CASES)
def test_it_does_so_where_servers_come_and_go(model: str, session: dict[str, Any]) -> None:
    fault = [{"what": "kill", "node": "n2", "at_s": 2.0}]
    run = simrep.run(scenario(model, session, fault=fault))
    assert run.stale is not None
    assert run.stale.groups["waiting"].reads == 0
    assert run.stale.groups["plain"].reads > 0


def test_a_session_may_do_without_the_wait_of_all_others() -> None:
    asked = scenario("galera", {SYNC: 0})
    asked["cluster"]["options"] = {SYNC: 1}
    run = simrep.run(asked)
    assert run.stale is not None
    assert run.stale.groups["waiting"].reads > 0
    assert run.stale.groups["plain"].reads == 0


def test_beside_after_no_session_has_a_level_of_its_own() -> None:
    asked = scenario("group_replication", {LEVEL: "BEFORE"})
    asked["cluster"]["options"] = {LEVEL: "AFTER"}
    with pytest.raises(simrep.ScenarioError, match="not simulated for single sessions"):
        simrep.run(asked)


def test_a_read_waits_for_the_next_message_if_one_of_its_own_node_is_under_way() -> None:
    """What it waits for may be safe already: it is looked at when a message comes or leaves.

    A write of n1 is under way for a round trip. A read there that meets it waits for the first
    message that comes back, which is at most that round trip away: no read takes longer.
    """
    asked = scenario("galera", {SYNC: 1})
    asked["workload"]["group"][1]["node"] = "n1"
    asked["cluster"]["options"] = {"evs.causal_keepalive_period": 3600.0}
    run = simrep.run(asked)
    waits = run.classes["waits"].latency_s
    assert waits["max"] < 0.0125
    # 500 writes a second that take 10 ms each: most reads meet one.
    assert waits["mean"] > 0.001
