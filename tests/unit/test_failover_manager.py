"""A failover manager: when it acts, when it does not, and what an old source does meanwhile."""

import pytest

import simrep
from simrep.errors import ScenarioError

SETTINGS = {"on_error": "next", "read_timeout_s": 3.0, "retry_pause_s": 0.2}


def fault(what, node="n1", at_s=5.0, **more):
    return {"name": f"{what} {node} {at_s:g}", "what": what, "node": node, "at_s": at_s, **more}


def scenario(*faults, tool="mariadbmon", until_s=40.0, model="asynchronous", nodes=3, **options):
    return {
        "cluster": {"model": model, "nodes": nodes,
                    "options": {"failover_manager": tool, **options}},
        "workload": {"threads": 2, "nodes": ["n1"], "think_time_ms": 100, "clients": SETTINGS},
        "fault": list(faults),
        "run": {"duration_s": until_s, "warmup_s": 0},
    }  # fmt: skip


def noted(result, *words):
    """Who noted one of these words, and of whom or how."""
    lines = [line for line in result.timeline().lines if line.what in words]
    return [(line.what, line.node, line.of, line.how) for line in lines]


def roles(result):
    return [(what, node) for what, node, *_ in noted(result, "promoted", "repointed", "read-only")]


@pytest.mark.parametrize("model", ["asynchronous", "semisync"])
def test_another_server_takes_writes_and_clients_go_on(model):
    result = simrep.run(scenario(fault("kill"), model=model))
    assert roles(result) == [("promoted", "n2"), ("repointed", "n3")]
    (gone,) = result.faults.values()
    assert (gone.suspected_by, gone.elected) == (("mariadbmon",), ("n2",))
    assert 8.0 < gone.writable_s.median < gone.stalls["clients"].stall_s.median < 11.5
    fates = result.runs[0].fates
    assert fates.lost == 0
    assert fates.answered > 300  # in 40 s, 10 of which nobody answers


def test_a_run_in_which_nothing_happens_is_that_without_a_manager():
    results = []
    for tool in ("none", "orchestrator"):
        content = scenario(tool=tool, until_s=5.0)
        del content["workload"]["clients"]
        results.append(simrep.run(content).to_dict())
        del results[-1]["scenario"]
    assert results[0] == results[1]


def test_the_one_that_has_received_most_is_chosen():
    """n2 is cut off from its source before that dies, and n3 is not."""
    behind = {**fault("cut", at_s=2.0), "others": ["n2"]}
    result = simrep.run(scenario(behind, fault("kill"), tool="mha"))
    assert roles(result)[0] == ("promoted", "n3")


def test_what_the_new_source_has_received_is_applied_first_as_long_as_the_manager_waits():
    """A replica applies five transactions a second, and gets 20."""
    results = []
    for wait_s in (60.0, 3.0):
        content = scenario(
            fault("kill"), tool="orchestrator", manager_drain_timeout_s=wait_s,
            replica_parallel_workers=1,
        )  # fmt: skip
        content["cluster"]["costs"] = {"apply_us": 200_000.0}
        results.append(simrep.run(content))
    patient, hasty = results
    assert [run.fates.lost for run in patient.runs] == [0]
    assert noted(patient, "manager-drained", "manager-gives-up")[0][0] == "manager-drained"
    ((word, _, of, how),) = noted(hasty, "manager-drained", "manager-gives-up")
    assert (word, of) == ("manager-gives-up", ("n2",))
    assert hasty.runs[0].fates.lost == pytest.approx(int(how.split()[0]), abs=2)
    first, second = (next(iter(one.faults.values())).writable_s.median for one in results)
    assert second < first


def test_a_server_that_is_back_before_enough_polls_failed_stays_the_source():
    result = simrep.run(scenario(fault("kill"), fault("restart", at_s=8.0)))
    assert roles(result) == []
    assert noted(result, "suspect", "manager-hears") == [
        ("suspect", "mariadbmon", ("n1",), "connection refused"),
        ("manager-hears", "mariadbmon", ("n1",), ""),
    ]


def test_no_second_failover_so_soon():
    twice = fault("kill"), fault("kill", "n2", 20.0)
    blocked = simrep.run(scenario(*twice, tool="orchestrator"))
    assert roles(blocked) == [("promoted", "n2"), ("repointed", "n3")]
    refusal = ("manager-waits", "orchestrator", ("n2",), "no second failover within 3600 s")
    assert refusal in noted(blocked, "manager-waits")
    allowed = simrep.run(scenario(*twice, tool="orchestrator", manager_block_s=10.0))
    assert roles(allowed)[-1] == ("promoted", "n3")


def test_it_says_that_there_is_nobody_to_promote():
    result = simrep.run(scenario(fault("kill", "n2", 2.0), fault("kill"), nodes=2, until_s=25.0))
    assert roles(result) == []
    assert noted(result, "manager-waits") == [
        ("manager-waits", "mariadbmon", ("n1",), "no replica of it answers")
    ]


def test_its_machine_takes_it_along():
    lost = fault("power-loss", "n3", 2.0), fault("kill")
    assert roles(simrep.run(scenario(*lost, until_s=25.0))) == []
    elsewhere = simrep.run(scenario(*lost, manager_beside="n2"))  # n3 takes 3 s of every poll
    assert roles(elsewhere) == [("promoted", "n2")]
    again = simrep.run(scenario(*lost, fault("restart", "n3", 8.0), until_s=30.0))
    assert roles(again)[0][0] == "promoted"
    assert [line[0] for line in noted(again, "manager-ends", "manager-begins")] == [
        "manager-ends", "manager-begins",
    ]  # fmt: skip
    killed = simrep.run(scenario(fault("kill", "n3", 2.0), fault("kill"), until_s=25.0))
    assert roles(killed) == [("promoted", "n2")]  # a program of its own


# --------------------------------------------------------------------- an old source lives on --


@pytest.mark.parametrize(("tool", "until_s"), [("mariadbmon", 40.0), ("orchestrator", 90.0)])
def test_split_brain_behind_a_cut(tool, until_s):
    """The clients of the old source go on with it, and what they are told is on no other server."""
    result = simrep.run(scenario(fault("cut"), tool=tool, until_s=until_s))
    assert roles(result) == [("promoted", "n2"), ("repointed", "n3")]
    (gone,) = result.faults.values()
    assert gone.stalls["clients"].stall_s.median < 1.0
    fates = result.runs[0].fates
    assert fates.lost == fates.diverged > 15 * (until_s - 5.0)


def test_only_the_manager_is_cut_off():
    """Replicas say what they receive; Orchestrator believes them, and mariadbmon, too."""
    cut = {**fault("cut", "n3", until_s=40.0), "others": ["n1"]}
    for tool in ("orchestrator", "mariadbmon"):
        result = simrep.run(scenario(cut, tool=tool, until_s=45.0))
        assert roles(result) == []
        (why,) = [how for _, _, _, how in noted(result, "manager-waits")]
        assert why.startswith("n2 has received" if tool == "mariadbmon" else "the IO thread of n2")
    assert roles(simrep.run(scenario(cut, tool="mha", until_s=45.0)))[0] == ("promoted", "n2")


def test_a_source_that_stood_still_is_writable_beside_the_new_one_or_is_fenced():
    frozen = fault("pause", until_s=35.0)
    both = simrep.run(scenario(frozen, until_s=45.0))
    assert ("read-only", "n1") not in roles(both)
    assert both.runs[0].fates.extra > 0  # its clients had gone, and nobody was told
    options = {"tool": "orchestrator", "replica_net_timeout": 4}
    fenced = simrep.run(scenario(frozen, until_s=45.0, **options))
    assert roles(fenced)[-1] == ("read-only", "n1")
    assert fenced.errors["1290"] > 0
    unseen = simrep.run(scenario(frozen, until_s=45.0, tool="replication-manager"))
    assert roles(unseen) == []  # its connection is accepted, and it waits for an answer


@pytest.mark.parametrize("read_only", [False, True])
def test_an_old_source_that_starts_read_only_makes_no_second_history(read_only):
    """Its clients have stayed with it: they write, or are told that they cannot."""
    content = scenario(fault("kill"), fault("restart", at_s=20.0), read_only=read_only)
    content["workload"]["clients"] = {"on_error": "stay"}
    result = simrep.run(content)
    assert roles(result)[0] == ("promoted", "n2")
    assert (("read-only", "n1") in roles(result)) == read_only
    assert (result.runs[0].fates.diverged > 0) != read_only
    assert (result.errors.get("1290", 0) > 0) == read_only
    by_hand = scenario(fault("kill"), fault("restart", at_s=8.0), fault("promote", at_s=15.0),
                       read_only=read_only, tool="none")  # fmt: skip
    if read_only:
        words = [line[0] for line in noted(simrep.run(by_hand), "read-only", "writable")]
        assert words == ["read-only", "writable"]
    else:
        with pytest.raises(ScenarioError, match="source already"):
            simrep.run(by_hand)


def test_an_old_source_becomes_a_replica_if_it_has_nothing_of_its_own():
    back = fault("restart", at_s=25.0)
    result = simrep.run(scenario(fault("kill"), back, tool="replication-manager"))
    assert roles(result)[-2:] == [("read-only", "n1"), ("repointed", "n1")]
    cut = simrep.run(scenario(fault("cut", until_s=50.0), tool="replication-manager", until_s=65.0))
    assert roles(cut)[-1] == ("read-only", "n1")
    ((_, _, of, how),) = noted(cut, "manager-leaves")
    assert of == ("n1",)
    assert "transactions that n2 lacks" in how
    alone = simrep.run(scenario(fault("kill"), back, manager_rejoins=False))
    assert ("repointed", "n1") not in roles(alone)


# -------------------------------------------------------------------------------- what is told --


def test_a_stall_is_told_by_the_steps_of_the_failover():
    content = scenario(fault("kill"), tool="replication-manager", manager_hooks_s=2.0)
    explained = simrep.explain_stall(content)
    steps = {phase.name: phase.seconds for phase in explained.phases}
    assert list(steps) == [
        "until a poll fails", "more polls of it fail", "replicas are asked", "hooks", "clients",
    ]  # fmt: skip
    assert steps["more polls of it fail"] == pytest.approx(8.0, abs=0.02)
    assert steps["replicas are asked"] == pytest.approx(6.0, abs=0.02)
    assert steps["hooks"] == pytest.approx(2.0, abs=0.02)
    assert sum(steps.values()) == pytest.approx(explained.stall.seconds, abs=0.02)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"failover_manager": "none", "manager_poll_s": 1.0}, "there is no failover manager"),
        ({"failover_manager": "mha", "manager_beside": "n9"}, "no node 'n9'"),
        ({"failover_manager": "mha", "log_replica_updates": False}, "log_replica_updates = true"),
        ({"failover_manager": "orchestrater"}, "orchestrator"),
    ],
)
def test_what_makes_no_sense_is_refused(options, said):
    with pytest.raises(ScenarioError, match=said):
        simrep.run(
            {"cluster": {"model": "asynchronous", "options": options}, "run": {"duration_s": 1}}
        )
