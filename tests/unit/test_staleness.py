"""Reads that miss what clients had been told: who may have them, and what a run tells of them."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.kernel.clock import Event
from simrep.runs import build
from simrep.workload.freshness import WaitingServer
from simrep.workload.transaction import Transaction
from tests.legible import problems
from tests.own_models import install


def scenario(model: str, options: Mapping[str, Any] | None = None, **tables: Any) -> dict[str, Any]:
    """Writes on n1, and reads on n1 and n3."""
    groups = [
        ("writers", "n1", "write", 200),
        ("near", "n1", "read", 100),
        ("far", "n3", "read", 300),
    ]
    return {
        "cluster": {"model": model, "options": dict(options or {})},
        "network": {"rtt_ms": 20},
        "workload": {
            "class": [{"name": "write"}, {"name": "read", "statements": 0, "reads": 1}],
            "group": [
                {"name": name, "node": node, "class": [kind], "rate_tps": rate}
                for name, node, kind, rate in groups
            ],
        },
        "run": {"duration_s": 1.5, "warmup_s": 0.2, "staleness": True},
        **tables,
    }


def stale(result: simrep.Result) -> Any:
    assert result.stale is not None
    return result.stale


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("asynchronous", {}),
        ("galera", {}),
        ("group_replication", {"group_replication_consistency": "EVENTUAL"}),
    ],
)
def test_only_other_nodes_than_the_writers_answer_stale_reads(
    model: str, options: Mapping[str, Any]
) -> None:
    found = stale(simrep.run(scenario(model, options)))
    assert found.nodes["n1"].reads == 0
    assert 0 < found.nodes["n3"].reads < found.nodes["n3"].of_reads
    assert found.reads == found.nodes["n3"].reads
    assert 0.0 <= found.age_s["p50"] <= found.age_s["max"]


def test_servers_that_know_nothing_of_each_other_miss_nothing() -> None:
    assert stale(simrep.run(scenario("standalone"))).share == 0.0


@pytest.mark.parametrize("model", ["asynchronous", "galera", "group_replication"])
def test_to_ask_changes_no_other_figure(model: str) -> None:
    asked = scenario(model)
    plain = asked | {"run": {**asked["run"], "staleness": False}}
    figures, others = (simrep.run(one, replications=1).to_dict() for one in (asked, plain))
    assert figures.pop("stale")["of_reads"] > 0
    del figures["scenario"], others["scenario"]
    # Group Replication computes members without clients otherwise, and adds up in another order.
    stations = [one.pop("stations") for one in (figures, others)]
    busy = [[one.pop("utilisation") for one in of] for of in stations]
    assert busy[0] == pytest.approx(busy[1], rel=1e-12)
    assert stations[0] == stations[1]
    assert figures == others


def test_every_way_of_a_result_tells_of_them() -> None:
    content = scenario("asynchronous", run={"duration_s": 1, "staleness": True, "replications": 2})
    result = simrep.run(content)
    found = stale(result)
    told = json.loads(json.dumps(result.to_dict()))["stale"]
    assert told["nodes"]["n3"]["reads"] == found.nodes["n3"].reads
    low, high = found.intervals["share"]
    assert low <= found.share <= high
    assert {*found.to_frame()["group"]} == {"near", "far"}
    assert "Reads that miss an answered commit" in str(result)
    swept = simrep.sweep(content, {"network.rtt_ms": [2, 8]}, of="stale.nodes.n3.age_s.p95")
    near, far = (point.values["stale.nodes.n3.age_s.p95"][0] for point in swept.points)
    assert near < far
    with pytest.raises(ScenarioError, match=r"run\.staleness = true"):
        simrep.run(content | {"run": {"duration_s": 1}}, precision=0.5, of="stale.share")


def test_a_phase_begins_with_every_fault() -> None:
    fault = {"what": "slow", "node": "n3", "cpu_factor": 20, "at_s": 0.6, "until_s": 1.2}
    found = stale(
        simrep.run(
            scenario("asynchronous", network={"rtt_ms": 2}, fault=[{"name": "slow", **fault}])
        )
    )
    assert list(found.phases) == ["before", "slow", "after slow"]
    ages = [one.age_s["p50"] for one in found.phases.values()]
    assert ages[1] > 1.5 * ages[0]
    assert found.of_reads == sum(one.of_reads for one in found.phases.values())
    assert problems(found.plot()) == []


def test_a_run_without_reads_says_so() -> None:
    content = scenario("galera")
    content["workload"]["group"] = [{"node": "n1", "class": ["write"], "threads": 1}]
    content["workload"]["class"] = [c for c in content["workload"]["class"] if c["name"] == "write"]
    assert "no transaction that begins with a read was answered" in str(simrep.run(content))


@pytest.mark.parametrize(
    ("kind", "said"), [("write", "which nodes have committed"), ("read", "takes its snapshot")]
)
def test_a_model_that_does_not_tell_is_refused(
    kind: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, silent="tests.own_models:Silent")
    content = scenario("silent")
    content["workload"]["group"] = [{"node": "n1", "class": [kind], "threads": 1}]
    content["workload"]["class"] = [c for c in content["workload"]["class"] if c["name"] == kind]
    with pytest.raises(ScenarioError, match=said):
        simrep.run(content)


def test_galera_waits_until_a_read_sees_all_that_was_answered() -> None:
    waiting = {"wsrep_sync_wait": 1}
    result = simrep.run(scenario("galera", waiting))
    assert (stale(result).reads, stale(result).own_writes) == (0, 0)
    assert result.counters["n3"]["wsrep_causal_reads"] > 400
    assert result.breakdown("read").stages["consistency"] > 0.0
    dirty = stale(simrep.run(scenario("galera", waiting | {"wsrep_dirty_reads": True})))
    assert dirty.reads == stale(simrep.run(scenario("galera"))).reads > 0
    only_inserts = stale(simrep.run(scenario("galera", {"wsrep_sync_wait": 4})))
    assert only_inserts.reads > 0


def test_an_idle_galera_cluster_asks_its_group_once_a_second() -> None:
    content = scenario("galera", {"wsrep_sync_wait": 1}, network={"rtt_ms": 50})
    content["workload"] = {"threads": 1, "nodes": ["n3"], "think_time_ms": 20} | {
        "class": [{"name": "read", "statements": 0, "reads": 1}]
    }
    result = simrep.run(content | {"run": {"duration_s": 6, "log": True}})
    log = result.runs[0].measurement.log
    assert log is not None
    # A safe delivery on three equidistant nodes takes three one-way delays.
    asked = log.latency_s[log.latency_s > 0.030]
    assert 5 <= len(asked) <= 6
    assert asked.max() == pytest.approx(0.075, abs=0.002)
    assert len(log) > 200


def test_a_causal_read_that_waits_too_long_fails() -> None:
    options = {"wsrep_sync_wait": 1, "repl.causal_read_timeout": "PT0.02S"}
    content = scenario("galera", options, network={"rtt_ms": 50})
    result = simrep.run(content)
    assert result.nodes["n3"].errors["1205"] > 0
    assert result.nodes["n3"].classes["read"].latency.max_s < 0.021


class ReadsElsewhere(WaitingServer):
    """Reads of all clients go to the last node."""

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        if not transaction.rows:
            transaction.node = 2
        return super().transact(transaction)


@pytest.mark.parametrize("model", ["asynchronous", "group_replication"])
@pytest.mark.parametrize("breaks", [False, True])
def test_who_waits_for_its_own_write_finds_it(
    model: str, breaks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "WaitingServer", ReadsElsewhere)
    content = scenario(model, network={"rtt_ms": 20})
    content["workload"] = {
        "class": content["workload"]["class"], "threads": 3, "think_time_ms": 4,
        "clients": {"read_your_writes": "gtid-wait"},
    }  # fmt: skip
    if breaks:
        times = {"pause": (0.5, 0.8), "kill": (1.0, None), "restart": (1.1, None)}
        content["fault"] = [
            {"what": what, "node": "n3", "at_s": at_s} | ({"until_s": end_s} if end_s else {})
            for what, (at_s, end_s) in times.items()
        ]
    kept = simrep.run(content)
    assert stale(kept).own_writes == 0
    assert stale(kept).total.of_own > 20
    content["workload"]["clients"]["gtid_wait_timeout_s"] = 0.001
    hurried = simrep.run(content)
    if model == "asynchronous":  # its source does not wait for replicas
        assert stale(hurried).own_writes > 0
        stages = [one.breakdown("read").stages["consistency"] for one in (hurried, kept)]
        assert 0.0 < stages[0] < stages[1]


def test_who_cannot_wait_for_a_transaction_is_told_what_can() -> None:
    content = scenario("galera")
    content["workload"]["clients"] = {"read_your_writes": "gtid-wait"}
    with pytest.raises(ScenarioError, match=r"read_your_writes.*asynchronous.*semisync"):
        simrep.run(content)
    content["workload"]["clients"] = {"gtid_wait_timeout_s": 1}
    with pytest.raises(ScenarioError, match="nobody waits"):
        simrep.run(content)


def test_what_is_lost_is_missing_no_more_when_the_others_go_on_without_it() -> None:
    """The source is cut off, loses power, and another server is promoted."""
    content = scenario("asynchronous", network={"rtt_ms": 40})
    content["workload"]["clients"] = {"read_timeout_s": 0.1, "connect_timeout_s": 0.1}
    content["workload"]["group"][0]["clients"] = {"on_error": "next", "retry_pause_s": 0.05}
    content["fault"] = [
        {"what": "cut", "node": "n1", "at_s": 0.5, "until_s": 1.7},
        {"what": "power-loss", "node": "n1", "at_s": 0.6},
        {"what": "promote", "node": "n2", "at_s": 1.1},
    ]
    result = simrep.run(content)
    phases, found = result.faults.phases, stale(result).phases
    assert result.faults.fates is not None
    lost = {name: phase.lost.median for name, phase in phases.items() if phase.lost.median}
    assert lost == {"n1 cut off": result.faults.fates.lost.median}
    seen = {name: phase.phantom.median for name, phase in phases.items() if phase.phantom.median}
    assert seen == {"n1 cut off": result.faults.fates.phantom.median}
    # Until then what only the lost server has is missing, and after it no more.
    waits, goes_on = found["n1 loses power"], found["n2 promoted by hand"]
    assert waits.reads == waits.of_reads > 0
    assert waits.age_s["max"] > 0.5
    assert 0.0 < goes_on.age_s["max"] < 1.7 - 1.1
    assert "Answers and reads of clients, from fault to fault" in str(result)
