"""Another cluster that follows this one: what it lacks at any time is what would be lost."""

import pytest

import simrep

RTT_MS = 70
HALF_S = RTT_MS * 1e-3 / 2


def scenario(model: str = "galera", **tables) -> dict:
    return {
        "cluster": {"model": model},
        "replica_cluster": {"name": "oregon", "rtt_ms": RTT_MS},
        "workload": {
            "preset": "mysqlslap-insert",
            "threads": 4,
            "think_time_ms": 40,
            "nodes": ["n1"],
        },
        "run": {"duration_s": 8},
    } | tables


def killed(node: str, at_s: float) -> dict:
    return {"what": "kill", "node": node, "at_s": at_s}


@pytest.mark.parametrize(
    "model", ["galera", "group_replication", "semisync", "asynchronous", "standalone"]
)
def test_it_lacks_what_is_on_the_way(model):
    """Little's law: what is missing in the mean is the rate times the time that it is missing."""
    single = {"cluster": {"model": model, "nodes": ["n1"]}} if model == "standalone" else {}
    result = simrep.run(scenario(model, **single))
    lag = result.replica_cluster
    assert lag.late.percentile(100) == pytest.approx(HALF_S, rel=0.05)
    expected = result.throughput_tps * lag.late.sum_s / lag.late.count
    assert lag.mean.median == pytest.approx(expected, rel=0.02)
    assert lag.end.seconds.median <= HALF_S


def test_it_turns_to_the_next_node_when_its_source_is_gone():
    """Ten attempts, three seconds apart, the first one at once; then what it lacks comes."""
    clients = {"on_error": "next"}
    workload = scenario()["workload"] | {"clients": clients}
    result = simrep.run(
        scenario(workload=workload, fault=[killed("n1", 2)], run={"duration_s": 42})
    )
    said = {noted.what: noted.at_s for noted in result.runs[0].noted if noted.actor == "oregon"}
    assert said["link-closed"] == pytest.approx(2 + HALF_S)
    assert said["link-open"] == pytest.approx(2 + HALF_S + 10 * 3 + 4 * 2 * HALF_S)
    lag = result.replica_cluster
    assert lag.longest_s.median > 20
    assert lag.end.seconds.median <= HALF_S


def test_all_nodes_are_lost():
    """What had left before arrives; nothing else does. Times tell what an operator would lose."""
    faults = [killed(name, 4) for name in ("n1", "n2", "n3")]
    lag = simrep.run(scenario(fault=faults)).replica_cluster
    at_fault = lag.faults["fault.0"]
    assert at_fault.transactions.median <= 4
    assert at_fault.seconds.median <= HALF_S
    assert "n1 killed" in at_fault.when
    assert "when n1 killed (4 s)" in str(lag)


def test_a_narrow_link_falls_behind():
    narrow = {"rtt_ms": RTT_MS, "bandwidth_mbit": 0.01}
    lag = simrep.run(scenario(replica_cluster=narrow)).replica_cluster
    assert lag.end.transactions.median > 50


def test_a_node_that_is_not_there():
    with pytest.raises(simrep.ScenarioError, match=r"replica_cluster.follows.0: no node 'n9'"):
        simrep.load(scenario(replica_cluster={"rtt_ms": 1, "follows": ["n9"]}))


def test_figures_have_paths():
    base = scenario(run={"duration_s": 5})
    points = {"replica_cluster.rtt_ms": [10, 100]}
    table = simrep.sweep(base, points, of=["replica_cluster.mean"]).to_frame()
    near, far = table["replica_cluster.mean"]
    assert far > 5 * near


def test_a_scenario_without_one_has_no_figures():
    base = {name: table for name, table in scenario().items() if name != "replica_cluster"}
    result = simrep.run(base)
    assert result.replica_cluster is None
    assert "replica_cluster" not in result.to_dict()
