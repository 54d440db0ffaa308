"""An explanation of a stall names what the scenario lets happen, and then what follows from it."""

import pytest

import simrep

BATCH = {"name": "batch", "at_s": 0.3, "rows": 20_000, "row_bytes": 200}


def explained(model="galera", **tables):
    base = {
        "cluster": {"model": model, "nodes": 3},
        "network": {"rtt_ms": 1.0},
        "workload": {"threads": 8, "nodes": ["n1"], "think_time_ms": 3},
        "run": {"duration_s": 1.0, "seed": 3},
    }
    return simrep.explain_stall({**base, **tables}, longer_than_s=0.02)


def fault(what, node, **how):
    return [{"what": what, "node": node, "at_s": 0.3, "until_s": 0.48, **how}]


OUTAGE = {"rtt_ms": 1.0, "outage": [{"node": "n2", "from_s": 0.3, "to_s": 0.4}]}
CRASH = {"model": "galera", "nodes": 3, "change": [{"at_s": 0.3, "node": "n3", "what": "crash"}]}
SLOW = {"fsync_factor": 900.0, "cpu_factor": 900.0}


@pytest.mark.parametrize(
    ("tables", "cause"),
    [
        ({"fault": fault("pause", "n1")}, "n1 paused from 0.300 s to 0.480 s (fault.0)"),
        ({"fault": fault("pause", "n3")}, "n3 paused from 0.300 s to 0.480 s (fault.0)"),
        ({"fault": fault("disk-stall", "n2")}, "disk of n2 stalls from 0.300 s"),
        ({"fault": fault("slow", "n2", **SLOW)}, "n2 slow (CPU 900x, fsync 900x) from 0.300 s"),
        ({"network": OUTAGE}, "n2 cut off from 0.300 s to 0.400 s (network.outage.0)"),
        (
            {"cluster": CRASH, "run": {"duration_s": 6.0, "seed": 3}},
            "n3 killed at 0.300 s (cluster.change.0)",
        ),
        (
            {"workload": {"threads": 8, "think_time_ms": 3, "scheduled": [BATCH]}},
            "scheduled transaction batch, begun at 0.300 s (workload.scheduled.0)",
        ),
    ],
)
def test_what_the_scenario_lets_happen_is_on_top(tables, cause):
    found = explained(**tables)
    sentences = found.sentences()
    position = [line.startswith("Cause, for ") for line in sentences].index(True)
    first, *rest = sentences[position:]
    assert cause in first
    assert found.origins[0].seconds == pytest.approx(found.stall.seconds, rel=0.3)
    assert all(line.startswith("  ") for line in rest[:1])
    assert found.to_dict()["origins"][0]["path"] == found.origins[0].event.path


@pytest.mark.parametrize("model", ["asynchronous", "group_replication", "semisync", "standalone"])
def test_so_it_is_in_every_product(model):
    given = fault("pause", "n1")
    given[0]["until_s"] = 0.45
    found = explained(model, fault=given)
    assert "n1 paused" in found.sentences()[1]


def test_flow_control_is_told_once_as_a_consequence():
    said = explained(fault=fault("disk-stall", "n3")).sentences()
    paused = [line for line in said if "flow control" in line]
    assert len(paused) == 1
    assert paused[0].startswith("  ")


def test_what_happened_elsewhere_or_long_before_is_no_cause():
    before = [{"what": "pause", "node": "n2", "at_s": 0.01, "until_s": 0.04}]
    found = explained(fault=before + fault("pause", "n3"))
    assert [origin.event.path for origin in found.origins] == ["fault.1"]


def test_what_happens_while_others_wait_already_is_no_cause():
    later = [{"what": "kill", "node": "n3", "at_s": 1.5}]
    found = explained(fault=fault("cut", "n3", until_s=4.0) + later, run={"duration_s": 5.0})
    assert found.stall.began_s < 0.5
    assert found.stall.seconds > 2.0
    assert found.origins[0].event.path == "fault.0"


def test_who_waits_for_an_acknowledgement_does_nothing_else():
    found = explained(
        "semisync", fault=fault("pause", "n2"), cluster={"model": "semisync", "nodes": 2}
    )
    assert any("acknowledgement" in line for line in found.sentences())
    assert not any("was syncing" in line or "committing" in line for line in found.sentences())


def test_a_pause_between_commits_that_is_no_stall_has_no_origin():
    mild = fault("slow", "n3", cpu_factor=1.1)
    assert explained(fault=mild).origins == ()


@pytest.mark.parametrize("node", ["n1", "n3"])
def test_a_stage_of_a_transaction_tells_what_happened_meanwhile(node):
    found = simrep.explain(
        {
            "cluster": {"model": "galera", "nodes": 3},
            "workload": {"threads": 2, "nodes": ["n1"]},
            "run": {"duration_s": 0.5, "seed": 3},
            "fault": fault("pause", node),
        }
    )
    longest = max(found.stages, key=lambda stage: stage.ended_s - stage.began_s)
    assert f"{node} paused" in longest.reason


def test_without_an_event_it_is_told_as_before():
    found = explained(
        cluster={
            "model": "galera",
            "nodes": 3,
            "costs": {"fsync_us": 50_000.0, "apply_us": 20_000.0},
        }
    )
    assert found.origins == ()
    assert "origins" in found.to_dict()


def test_of_all_that_lasts_what_began_last_is_the_cause_of_a_stall():
    found = explained(
        "standalone",
        fault=fault("pause", "n2", at_s=0.1, until_s=0.9) + fault("pause", "n1"),
    )
    assert [origin.event.nodes for origin in found.origins] == [("n1",)]


def test_the_time_between_two_commits_has_no_origin():
    scenario = {
        "cluster": {"model": "asynchronous", "nodes": 2},
        "workload": {"threads": 2, "nodes": ["n1"]},
        "run": {"duration_s": 0.5},
        "fault": [{"what": "pause", "node": "n2", "at_s": 0.0, "until_s": 0.5}],
    }
    found = simrep.explain_stall(scenario, longer_than_s=1.0)
    assert found.origins == ()
    assert "nothing was blocked for 1 s or longer" in found.sentences()[1]


def test_reads_do_not_end_a_stall_of_those_that_write():
    classes = [{"name": "w"}, {"name": "r", "statements": 0, "reads": 1}]
    scenario = {
        "cluster": {"model": "galera", "nodes": 3},
        "workload": {
            "class": classes,
            "group": [
                {"node": "n1", "threads": 2, "class": ["w"], "think_time_ms": 1},
                {"node": "n2", "threads": 1, "class": ["r"], "think_time_ms": 10},
            ],
        },
        "run": {"duration_s": 2.0},
        "fault": [{"what": "pause", "node": "n3", "at_s": 0.5, "until_s": 1.3}],
    }
    found = simrep.explain_stall(scenario)
    assert found.stall.seconds == pytest.approx(0.8, abs=0.1)
    assert found.sentences()[0].startswith("Longest time without a commit of a transaction that")
    # Where all only read, reads are what may stall.
    reads = {"class": classes[1:], "think_time_ms": 10}
    alone = simrep.explain_stall({"cluster": {"model": "standalone"}, "workload": reads,
                                  "run": {"duration_s": 0.1}})  # fmt: skip
    assert 0.0 < alone.stall.seconds < 0.01
    assert alone.sentences()[0].startswith("Longest time without a commit: ")


def test_a_picture_of_nothing_is_an_error_of_simrep():
    found = simrep.explain_stall({"cluster": {"model": "standalone"}, "run": {"duration_s": 0.1}})
    with pytest.raises(simrep.SimrepError, match="nothing was blocked for 100 ms or longer"):
        found.plot()


def test_a_stall_while_a_server_is_let_in_again_is_that_of_its_restart():
    faults = [
        {"what": "leave", "node": "n3", "at_s": 1},
        {"what": "restart", "node": "n3", "at_s": 2},
    ]
    found = simrep.explain_stall(
        {
            "cluster": {"model": "group_replication", "nodes": 3},
            "workload": {"threads": 1, "nodes": ["n1"], "think_time_ms": 20},
            "fault": faults,
            "run": {"duration_s": 12},  # it takes 5 s to end, and starts
        }
    )
    assert found.stall.began_s > 2.0
    assert found.origins[0].event.what == "n3 restarts"
