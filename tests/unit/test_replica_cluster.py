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
def test_what_has_left_is_safe(model):
    """Nothing waits on a wide way: all is received half a round trip after its commit."""
    single = {"cluster": {"model": model, "nodes": ["n1"]}} if model == "standalone" else {}
    lag = simrep.run(scenario(model, **single)).replica_cluster
    assert 0.9 * HALF_S <= lag.late.percentile(100) <= 1.05 * HALF_S
    assert lag.most.median == 0


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


def test_a_narrow_way_makes_a_line():
    """Little's law: what is missing in the mean is the rate times the time that it waits."""
    workload = scenario()["workload"] | {"think_time": "exponential", "think_time_ms": 20}
    narrow = {"rtt_ms": RTT_MS, "bandwidth_mbit": 0.1}
    result = simrep.run(scenario(workload=workload, replica_cluster=narrow))
    lag = result.replica_cluster
    waited_s = lag.late.sum_s / lag.late.count - HALF_S
    assert lag.mean.median == pytest.approx(result.throughput_tps * waited_s, rel=0.1)
    assert lag.most.median >= 5


def test_all_nodes_are_lost():
    """What had not left is lost: an operator reads it where the fault began, and at the end."""
    faults = [killed(name, 4) for name in ("n1", "n2", "n3")]
    narrow = {"rtt_ms": RTT_MS, "bandwidth_mbit": 0.01}
    lag = simrep.run(scenario(fault=faults, replica_cluster=narrow)).replica_cluster
    at_fault = lag.faults["fault.0"]
    assert at_fault.transactions.median > 50
    assert lag.end.transactions.median >= at_fault.transactions.median
    assert "when n1 killed (4 s)" in str(lag)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"follows": ["n9"]}, r"replica_cluster.follows.0: no node 'n9'"),
        ({"follows": ["n1", "n1"]}, r"replica_cluster.follows.1: node 'n1' is there twice"),
        ({"name": "n2"}, r"replica_cluster.name: a node is called 'n2', too"),
    ],
)
def test_names_that_say_nothing_are_refused(table, said):
    with pytest.raises(simrep.ScenarioError, match=said):
        simrep.load(scenario(replica_cluster={"rtt_ms": 1, **table}))


def test_figures_have_paths():
    base = scenario(run={"duration_s": 5})
    points = {"replica_cluster.bandwidth_mbit": [10, 0.01]}
    table = simrep.sweep(base, points, of=["replica_cluster.mean"]).to_frame()
    wide, narrow = table["replica_cluster.mean"]
    assert narrow > 5 > wide


def test_a_scenario_without_one_has_no_figures():
    base = {name: table for name, table in scenario().items() if name != "replica_cluster"}
    result = simrep.run(base)
    assert result.replica_cluster is None
    assert "replica_cluster" not in result.to_dict()


def test_a_connection_whose_machine_lost_power_is_of_no_use():
    """It is given up after silence_s; what the machine commits when it is back stays there."""
    clients = {"on_error": "next", "read_timeout_s": 2, "connect_timeout_s": 2}
    faults = [
        {"what": "power-loss", "node": "n1", "at_s": 2},
        {"what": "restart", "node": "n1", "at_s": 12},
    ]
    far = {"name": "oregon", "rtt_ms": RTT_MS, "silence_s": 30}
    workload = scenario()["workload"] | {"clients": clients, "think_time_ms": 100}
    run = {"duration_s": 35}
    result = simrep.run(scenario(workload=workload, fault=faults, replica_cluster=far, run=run))
    said = {noted.what: noted.at_s for noted in result.runs[0].noted if noted.actor == "oregon"}
    assert said["link-closed"] == pytest.approx(32)
    first_s = result.faults["fault.0"].stalls["clients"].stall_s.median + 2
    assert result.replica_cluster.longest_s.median == pytest.approx(32 - first_s, abs=0.5)
    assert result.replica_cluster.end.transactions.median == 0
