"""A model of one's own whose explanations give reasons, by parts that the contract hands out."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.runs.replication import simulate
from simrep.scenario import load
from tests.own_models import install

HOT = {"distribution": "hot", "rows": 10, "hot_rows": 1, "hot_fraction": 1}
MS = 1e-3


@pytest.fixture(autouse=True)
def quorum(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, quorum="tests.quorum_model:Quorum")


def scenario(*, nodes: int = 3, threads: int = 1, **how: Any) -> dict[str, Any]:
    """The second node is the nearest of the followers."""
    return {
        "cluster": {"model": "quorum", "nodes": nodes},
        "network": {"rtt_ms": 20, "path": [{"from": "n1", "to": "n2", "rtt_ms": 10}]},
        "workload": {"threads": threads, "nodes": ["n1"], "class": [{"name": "update", **how}]},
        "run": {"duration_s": 1.0},
    }


def test_a_commit_waits_for_the_round_trip_and_the_fsync_of_the_nearest() -> None:
    explanation = simrep.explain(scenario(), txn="p50")
    (order,) = [stage for stage in explanation.stages if stage.name == "order"]
    assert order.seconds == pytest.approx(10 * MS + 0.5 * MS, rel=1e-3)
    assert order.reason.startswith("synced ")
    assert order.reason.endswith(" from n2 made it safe to deliver, 5.00 ms on its way")
    labels = [message.label.split()[0] for message in explanation.messages if message.critical]
    assert labels == ["append", "synced"]


def test_who_waits_for_a_row_is_told_whose_commit_it_waits_for() -> None:
    explanation = simrep.explain(scenario(threads=4, keys=HOT))
    (wait,) = [stage for stage in explanation.stages if stage.name == "lock wait"]
    assert "row 0 was held by update of client " in wait.reason
    assert "then in its stage order" in wait.reason
    tail = simrep.explain_tail(scenario(threads=4, keys=HOT))
    assert tail.stages[0].blockers[0].who == "update on n1"


def test_a_stall_names_the_nodes_that_have_not_synced() -> None:
    content = scenario()
    content["network"]["outage"] = [
        {"node": node, "from_s": 0.4, "to_s": 0.8} for node in ("n2", "n3")
    ]
    stall = simrep.explain_stall(content)
    cause = stall.blockages[stall.causes[0].blockage]
    assert (cause.node, cause.station) == ("n1", "quorum")
    assert cause.waited_for.startswith("n2 or n3 to sync transaction ")
    assert stall.unexplained_s == pytest.approx(0.0, abs=0.1 * stall.stall.seconds)


def test_a_gate_is_waited_for_until_what_is_next_arrives() -> None:
    """Of a follower that applies slowly, the next transaction waits for the one before."""
    content = scenario(threads=8)
    content["cluster"]["costs"] = {"apply_us": 200_000.0}
    stall = simrep.explain_stall(content)
    orders = [one for one in stall.blockages if one.station == "commit order"]
    assert {one.node for one in orders} == {"n2", "n3"}
    assert orders[0].waited_for.startswith("transaction ")
    assert orders[0].doing == "being applied"


def test_a_watch_changes_nothing() -> None:
    content = load(scenario(threads=8, keys=HOT))
    plain, watched = simulate(content, 1), simulate(content, 1, watch_s=1e-9)
    assert watched.traffic == plain.traffic
    assert watched.counters == plain.counters
    assert watched.measurement.latency.sum_s == plain.measurement.latency.sum_s
    assert watched.waited
