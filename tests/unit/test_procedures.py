"""An operator takes one node after the other: restarts, a cluster that grows or shrinks."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import simrep
from simrep.runs.procedure_record import ProcedureRecord

RESTART = {"what": "rolling-restart", "at_s": 3.0, "down_s": 2.0, "pause_s": 1.0}
LEADERS = {"group_replication", "semisync", "asynchronous"}


def scenario(model: str = "galera", **tables: Any) -> dict[str, Any]:
    return {
        "cluster": {"model": model},
        "workload": {"rate_tps": 60, "clients": {"on_error": "next"}},
        "procedure": [RESTART],
        "run": {"duration_s": 45.0},
    } | tables


@cache
def restarted(model: str) -> simrep.Result:
    return simrep.run(scenario(model))


def record(result: simrep.Result) -> ProcedureRecord:
    (one,) = result.procedures.values()
    return one


@pytest.mark.parametrize("model", ["galera", "group_replication", "semisync", "asynchronous"])
def test_a_rolling_restart_takes_as_long_as_its_parts(model: str) -> None:
    one = record(restarted(model))
    assert list(one.steps) == ["n2", "n3", "n1"]  # the one that takes writes last
    total = 0.0
    for step in one.steps.values():
        parts = (step.ready_s, step.stop_s, step.down_s, step.back_s, step.pause_s)
        assert step.duration_s.median == pytest.approx(sum(part.median for part in parts), abs=1e-9)
        assert step.down_s.median == 2.0
        assert step.back_s.median > 0.0
        assert step.began_s.median == pytest.approx(3.0 + total, abs=1e-9)
        total += step.duration_s.median
    assert one.total_s.median == pytest.approx(total, abs=1e-9)
    assert not one.stopped


@pytest.mark.parametrize("model", ["galera", "group_replication", "semisync", "asynchronous"])
def test_one_node_at_a_time_is_missing_and_nobody_loses_its_quorum(model: str) -> None:
    result = restarted(model)
    one = record(result)
    assert one.serving.median == 2.0
    assert one.without_quorum.median == 0.0
    away_s = sum(
        step.stop_s.median + step.down_s.median + step.back_s.median for step in one.steps.values()
    )
    assert one.reduced_s.median == pytest.approx(away_s, abs=1.0)
    assert result.faults.fates is not None
    assert result.faults.fates.lost.median == 0.0 or model == "asynchronous"


@pytest.mark.parametrize("model", sorted(LEADERS))
def test_another_node_takes_writes_before_the_writer_goes(model: str) -> None:
    result = restarted(model)
    one = record(result)
    assert [step.promoted for step in one.steps.values()] == [(), (), ("n2",)]
    words = [line.how for line in result.timeline().lines if line.node == "operator"]
    promoted = words.index("n2 is promoted by hand")
    assert words.index("n1 shuts down") == promoted + 1


def test_every_step_of_galera_has_its_dip_when_the_node_comes_back() -> None:
    result = restarted("galera")
    before = max(one.stall_s.median for one in record(result).steps.values())
    assert before > 0.0
    joins = [f"{node} starts" for node in ("n2", "n3", "n1")]
    attempts = result.runs[0].attempts
    assert attempts is not None
    quiet_s = attempts.longest_gap(0.0, 3.0).seconds
    for name in joins:
        assert result.faults[name].stalls["clients"].stall_s.median > 2.0 * quiet_s


def test_a_node_that_does_not_come_back_ends_the_procedure() -> None:
    late = RESTART | {"timeout_s": 1.0, "check_s": 0.5}
    result = simrep.run(scenario(procedure=[late], run={"duration_s": 12.0}))
    one = record(result)
    assert one.stopped == ("n2 has not come back within 1 s",)
    assert list(one.steps) == ["n2"]
    assert one.total_s.known == []
    assert one.serving.median == 2.0
    assert "stopped, as n2 has not come back" in str(result)


def test_an_operator_does_not_go_on_when_another_node_has_died() -> None:
    died = [{"what": "kill", "node": "n3", "at_s": 1.0}]
    result = simrep.run(scenario("semisync", fault=died, run={"duration_s": 20.0}))
    one = record(result)
    assert one.stopped == ("n3 is not there, or does not serve",)
    assert list(one.steps) == ["n2", "n3"]


def test_a_cluster_grows_by_nodes_that_were_away() -> None:
    nodes = ["n1", "n2", "n3", "n4", "n5"]
    grow = {"what": "grow", "nodes": ["n4", "n5"], "at_s": 4.0, "transfer_s": 3.0, "pause_s": 1.0}
    result = simrep.run(
        scenario(
            cluster={"model": "galera", "nodes": nodes},
            workload={"rate_tps": 60, "nodes": ["n1"]},
            procedure=[grow],
            run={"duration_s": 25.0},
        )
    )
    one = record(result)
    assert [names for _, names in one.looks] == [
        ("n1", "n2", "n3"),
        ("n1", "n2", "n3", "n4"),
        ("n1", "n2", "n3", "n4", "n5"),
    ]
    assert all(step.back_s.median >= 3.0 for step in one.steps.values())
    assert not one.stopped


def test_a_cluster_shrinks() -> None:
    shrink = {"what": "shrink", "nodes": ["n3"], "at_s": 4.0, "pause_s": 1.0}
    one = record(simrep.run(scenario(procedure=[shrink], run={"duration_s": 10.0})))
    assert one.looks[-1][1] == ("n1", "n2")
    assert one.total_s.median == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("what", ["grow", "shrink"])
def test_galera_between_three_and_five_nodes(what: str) -> None:
    step = {"what": what, "nodes": ["n5", "n4"], "at_s": 3.0, "pause_s": 1.0}
    result = simrep.run(
        scenario(
            cluster={"model": "galera", "nodes": 5},
            workload={"rate_tps": 30, "nodes": ["n1"]},
            procedure=[step | ({"transfer_s": 2.0} if what == "grow" else {})],
            run={"duration_s": 20.0},
        )
    )
    one = record(result)
    three, five = ("n1", "n2", "n3"), ("n1", "n2", "n3", "n4", "n5")
    ends = (one.looks[0][1], one.looks[-1][1])
    assert ends == ((five, three) if what == "shrink" else (three, five))
    assert not one.stopped
    (run,) = result.runs
    assert run.fates is not None
    assert run.fates.lost == 0
    lines = result.timeline().lines
    views = [line for line in lines if line.what == "primary" and line.node == "n1"]
    assert views[-1].of == (three if what == "shrink" else five)
    last = {run.counters[name]["wsrep_last_committed"] for name in ends[1]}
    assert len(last) == 1


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ({"procedure": [{"what": "grow", "at_s": 1.0}]}, "is required: which nodes grow is about"),
        (
            {"procedure": [{"what": "grow", "at_s": 1.0, "nodes": ["n3"]}]},
            "is required: a new node has no data",
        ),
        (
            {"procedure": [{"what": "shrink", "at_s": 1.0, "nodes": ["n1", "n2", "n3"]}]},
            "is about all nodes",
        ),
        ({"procedure": [RESTART | {"nodes": ["n2", "n2"]}]}, "node 'n2' is there twice"),
        ({"procedure": [RESTART | {"nodes": ["n9"]}]}, "no node 'n9'"),
        ({"procedure": [RESTART | {"transfer_s": 1.0}]}, "is not for 'rolling-restart'"),
        ({"procedure": [RESTART, RESTART]}, "one procedure at a time"),
        (
            {"fault": [{"what": "leave", "node": "n3", "at_s": 1.0}]},
            "'leave' does not go with procedure.0",
        ),
    ],
)
def test_a_procedure_that_cannot_be_is_an_error(tables: Any, problem: str) -> None:
    with pytest.raises(simrep.ScenarioError, match=problem):
        simrep.run(scenario(**tables))


def test_the_record_is_one_of_all_replications() -> None:
    result = simrep.run(scenario(run={"duration_s": 45.0}), replications=2, jobs=1)
    one = record(result)
    assert len(one.total_s.values) == 2
    content = result.to_dict()["procedures"]["procedure.0"]
    assert content["steps"]["n2"]["down_s"] == 2.0
    assert content["stopped"] == []
