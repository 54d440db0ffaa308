"""Servers of a replication group crash, leave, are cut off and come back."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import simrep
from simrep.kernel.clock import Clock
from simrep.models.group_replication.partition import Partition
from simrep.runs.replication import simulate
from simrep.scenario import load
from tests.group_runs import NAMES, Run, fault, scenario


@cache
def killed_primary():
    return Run(scenario(fault("kill", "n1", 5.0), fault("restart", "n1", 30.0), duration_s=50.0))


def test_clients_find_the_new_primary_of_a_group():
    run = killed_primary()
    assert set(run.errors("n1")) == {"2013", "2003"}
    assert set(run.errors("n2")) == set(run.errors("n3")) == {"1290"}
    gap_s, began_s = run.gap()
    assert 4.6 < began_s < 5.0
    assert 20.5 < gap_s < 22.8  # 21.4 to 22.1 s measured
    assert run.commits_s("n2").min() > 26.0
    assert [(one.node, one.of) for one in run.noted("elected")] == [(2, (1,)), (1, (1,))]
    assert [one.node for one in run.noted("writable")] == [1]


def test_a_member_that_comes_back_gets_what_it_has_missed():
    run = killed_primary()
    assert run.done.fates.lost == 0
    (joiner,), (synced,) = run.noted("joiner", "n1"), run.noted("synced", "n1")
    assert joiner.how == "incremental"
    assert 30.0 + 1.8 < joiner.at_s < synced.at_s < 49.0
    of_now = run.done.counters["n1"]["COUNT_TRANSACTIONS_REMOTE_APPLIED"]
    assert abs(of_now - len(run.commits_s("n2"))) <= 2
    assert run.commits["n2"] == run.commits["n3"]


def test_a_secondary_that_leaves_in_order_is_hardly_missed():
    run = Run(scenario(fault("leave", "n3", 5.0), duration_s=10.0))
    assert not run.noted("suspect")
    assert run.gap()[0] < 1.0
    assert not run.errors("n1")


def test_clients_of_a_primary_that_leaves_in_order_hang_until_it_closes_their_connections():
    """The group is left after 3 s (TERMINATE_DELAY), and clients have 2 s to go."""
    run = Run(scenario(fault("leave", "n1", 5.0), duration_s=13.0, think_time_ms=100.0))
    (elected,) = {one.at_s for one in run.noted("writable")}
    assert elected < 6.5
    first = run.errors("n1")
    assert first["2013"] == pytest.approx(10.0, abs=0.01)  # 5.05 s after the signal measured
    assert run.commits_s("n2").min() == pytest.approx(first["2013"], abs=0.05)
    assert run.gap()[0] == pytest.approx(5.05, abs=0.15)


def test_a_primary_of_5_7_has_its_clients_go_before_it_leaves_its_group():
    content = scenario(fault("leave", "n1", 5.0), duration_s=11.0, think_time_ms=100.0)
    content["cluster"]["version"] = "mysql-5.7.17"
    run = Run(content)
    assert run.errors("n1")["1053"] == pytest.approx(5.0, abs=0.1)
    assert run.commits_s("n2").min() == pytest.approx(7.0 + 0.5, abs=0.6)  # 2 s, then a tick


def test_a_server_whose_commits_have_no_verdict_ends_after_50_s():
    """55 and 56 s after the signal were measured."""
    faults = fault("leave", "n1", 5.0), fault("restart", "n1", 8.0)
    run = Run(scenario(*faults, duration_s=68.0))
    (joined,) = run.noted("joiner", "n1")
    assert 60.0 + 1.8 < joined.at_s < 66.0
    assert run.done.fates.lost == 0


def test_writers_on_an_isolated_primary_wait_until_it_is_expelled():
    run = Run(scenario(fault("cut", "n1", 5.0, 20.0), duration_s=75.0))
    assert set(run.errors("n1")) == {"3100"}
    (evicted,) = run.noted("evicted", "n1")
    assert run.errors("n1")["3100"] == pytest.approx(evicted.at_s, abs=0.01)
    assert evicted.at_s > 25.0
    assert run.done.fates.unknown == 2
    assert run.done.fates.lost == 0
    assert [one.how for one in run.noted("rejoin")] == ["1 of 3"]
    assert run.noted("synced", "n1")


@pytest.mark.parametrize(
    ("action", "errors"),
    [("READ_ONLY", {"3100", "1290"}), ("OFFLINE_MODE", {"3100", "2013", "6400"}),
     ("ABORT_SERVER", {"3100", "2013", "2003"})],
)  # fmt: skip
def test_a_member_without_majority_leaves_if_it_shall(action, errors):
    options = {"unreachable_majority_timeout": 4, "autorejoin_tries": 0}
    options["exit_state_action"] = action
    run = Run(scenario(fault("cut", "n1", 2.0), duration_s=14.0, on_error="stay", options=options))
    (lost,), (gone, *_) = run.noted("non-primary", "n1"), run.noted("aborted", "n1")
    assert gone.how == "no majority for 4 s"
    assert gone.at_s == pytest.approx(lost.at_s + 4.0)
    assert set(run.errors("n1")) - {"waiting"} <= errors
    assert {"3100", *errors - {"2013"}} <= set(run.errors("n1"))


def test_a_group_that_lost_all_is_begun_anew():
    faults = [fault("kill", name, 3.0) for name in NAMES]
    faults += [fault("bootstrap", "n2", 5.0), fault("restart", "n1", 8.0)]
    run = Run(scenario(*faults, fault("restart", "n3", 12.0), duration_s=30.0))
    assert [one.node for one in run.noted("writable")] == [1]
    assert {NAMES[one.node] for one in run.noted("synced")} == set(NAMES)
    assert run.done.fates.lost == 0
    assert run.commits["n1"] == run.commits["n2"] == run.commits["n3"]


def test_a_member_that_knows_more_than_the_group_does_not_join():
    faults = [fault("power-loss", "n3", 3.0), fault("kill", "n2", 30.0), fault("kill", "n1", 30.0)]
    faults += [fault("bootstrap", "n3", 32.0), fault("restart", "n1", 36.0)]
    run = Run(scenario(*faults, duration_s=45.0))
    (aborted,) = run.noted("aborted", "n1")
    assert "transactions that the group does not have" in aborted.how
    assert run.done.fates.lost == 0  # they are on its disk


@pytest.mark.parametrize(("size", "dead"), [(3, ("n1", "n2")), (5, ("n1", "n2", "n4"))])
def test_those_who_are_left_are_made_the_group(size, dead):
    faults = [fault("kill", name, 3.0) for name in dead] + [fault("bootstrap", "n3", 12.0)]
    faults += [fault("restart", name, 80.0) for name in dead]
    content = scenario(*faults, duration_s=120.0)
    names = [f"n{number}" for number in range(1, size + 1)]
    content["cluster"]["nodes"] = names
    content["workload"]["nodes"] = names
    run = Run(content)
    (writable,) = run.noted("writable")
    assert names[writable.node] == "n3"
    commits = run.commits_s()
    assert not ((commits > 5.0) & (commits < writable.at_s)).any()
    assert writable.at_s < 80.0
    assert (commits > 119.0).any()
    assert {names[one.node] for one in run.noted("synced")} == set(dead)
    assert run.done.fates.lost == 0


def test_a_group_is_forced_only_by_a_minority_of_which_the_others_are_down():
    cut = fault("cut", "n1", 2.0, 12.0), fault("kill", "n3", 2.0), fault("bootstrap", "n2", 10.0)
    with pytest.raises(simrep.ScenarioError, match="'n1' is not reached, and still in the old"):
        Run(scenario(*cut, duration_s=12.0))
    run = Run(scenario(fault("kill", "n3", 2.0), fault("bootstrap", "n1", 10.0), duration_s=12.0))
    assert not run.noted("stable")


def test_commits_at_level_after_wait_until_the_silent_member_is_removed():
    run = Run(scenario(fault("kill", "n3", 5.0), duration_s=30.0, options={"consistency": "AFTER"}))
    gap_s, began_s = run.gap()
    assert 4.6 < began_s < 5.0
    (view,) = run.noted("primary", "n1")
    assert began_s + gap_s == pytest.approx(view.at_s, abs=0.5)


@pytest.mark.parametrize(
    ("level", "waits"), [("EVENTUAL", False), ("BEFORE_ON_PRIMARY_FAILOVER", True)]
)
def test_a_new_primary_takes_writes_when_it_has_applied_its_backlog(level, waits):
    options = {"consistency": level, "member_expel_timeout": 0}
    readers = {"name": "readers", "node": "n2", "threads": 1, "class": ["read"]}
    writers = {"name": "writers", "node": "n1", "threads": 2, "class": ["write"]}
    groups = [group | {"think_time_ms": 20.0} for group in (readers, writers)]
    classes = [{"name": "read", "statements": 0, "reads": 1}, {"name": "write"}]
    content = scenario(
        fault("kill", "n1", 5.0), duration_s=25.0, options=options, costs={"apply_us": 4e4}
    )
    content["workload"] = {"group": groups, "class": classes, "clients": {"retry_pause_s": 1.0}}
    content["cluster"]["options"]["replica_parallel_workers"] = 1
    run = Run(content)
    (elected,), (writable,) = run.noted("elected", "n2"), run.noted("writable", "n2")
    assert writable.at_s > elected.at_s + 2.0
    log = run.attempts
    reads = np.sort(log.ended_s[~log.writes & (log.error == 0)])
    assert (np.diff(reads).max() > 2.0) == waits


def test_a_server_that_does_not_start_group_replication_takes_writes_of_its_own():
    faults = [fault("kill", "n3", 2.0), fault("restart", "n3", 5.0)]
    content = scenario(*faults, duration_s=40.0, options={"start_on_boot": False})
    groups = [{"name": name, "node": name, "threads": 1, "think_time_ms": 300.0}
              for name in ("n1", "n3")]  # fmt: skip
    content["workload"] = {"group": groups, "clients": {"retry_pause_s": 0.2}}
    run = Run(content)
    (alone,) = run.noted("not-started", "n3")
    assert set(run.errors("n3")) == {"1290", "2013", "2003"}  # as a secondary, and dead
    assert (run.commits_s("n3") > alone.at_s).all()
    assert len(run.commits_s("n3")) > 90
    assert run.commits["n1"] == run.commits["n2"] == len(run.commits_s("n1"))
    again = [fault("kill", "n3", 20.0), fault("kill", "n1", 20.0), fault("kill", "n2", 20.0)]
    content["fault"] += [*again, fault("bootstrap", "n3", 22.0)]
    with pytest.raises(simrep.ScenarioError, match="transactions that the group never saw"):
        Run(content)


def test_what_is_not_played_of_failures_is_refused():
    several = scenario(fault("kill", "n2", 1.0), fault("bootstrap", "n2", 2.0))
    with pytest.raises(simrep.ScenarioError, match=r"'n2' cannot begin a group.*'n1' is in one"):
        simulate(load(several), seed=1)


def test_a_majority_that_comes_back_in_time_is_enough():
    clock, left = Clock(), []
    partition = Partition(clock, 5.0, lambda why: left.append((clock.now, why)))
    for at_s, majority in ((1.0, False), (5.0, True), (7.0, False)):
        clock.at(at_s, lambda majority: partition.see(majority=majority), majority)
    clock.run(30.0)
    assert left == [(12.0, "no majority for 5 s")]


def test_the_new_primary_leads_the_order_of_a_group_with_one_leader():
    faults = fault("kill", "n1", 5.0), fault("restart", "n1", 30.0)
    run = Run(scenario(*faults, duration_s=50.0, options={"paxos_single_leader": True}))
    assert run.commits_s("n2").min() == pytest.approx(27.0, abs=0.8)  # 22.8 s measured
    assert run.noted("synced", "n1")
    assert run.commits["n2"] == run.commits["n3"]


def test_members_that_come_back_together_all_get_online():
    faults = [fault("kill", name, at_s) for name, at_s in zip(NAMES, (3.0, 5.0, 7.0), strict=True)]
    faults += [fault("bootstrap", "n3", 10.0), fault("restart", "n1", 14.0)]
    run = Run(scenario(*faults, fault("restart", "n2", 15.0), duration_s=25.0))
    assert {NAMES[one.node] for one in run.noted("synced")} == set(NAMES)
    assert run.done.fates.lost == 0


def test_members_that_look_for_a_group_ask_each_other_until_there_is_one():
    faults = [fault("cut", "n1", 2.0, 20.0), fault("cut", "n2", 2.0, 20.0)]
    faults += [fault("kill", "n2", 35.0), fault("bootstrap", "n2", 40.0)]
    options = {"unreachable_majority_timeout": 4}
    run = Run(scenario(*faults, duration_s=55.0, options=options))
    assert {one.how for one in run.noted("rejoin")} == {"1 of 3"}
    for name in ("n1", "n3"):  # within the minute that a try takes, not five minutes later
        (synced,) = run.noted("synced", name)
        assert synced.at_s > 40.0


def test_who_has_more_than_a_group_that_was_begun_anew_does_not_come_back_by_itself():
    faults = [fault("cut", "n3", 2.0, 30.0), fault("cut", "n2", 10.0, 30.0)]
    faults += [fault("kill", "n3", 35.0), fault("bootstrap", "n3", 37.0)]
    run = Run(scenario(*faults, duration_s=60.0, options={"unreachable_majority_timeout": 4}))
    for name in ("n1", "n2"):
        assert run.noted("rejoin", name)
        assert "transactions that the group does not have" in run.noted("aborted", name)[-1].how
        assert not run.noted("synced", name)


def promoted(*faults, **tables):
    return Run(scenario(fault("promote", "n2", 5.0, **tables), *faults, duration_s=12.0, **SLOW))


SLOW = {"scheduled": [{"name": "slow", "node": "n1", "at_s": 4.5, "statements": 2}
                      | {"pause_ms": 4000.0}]}  # fmt: skip


def test_a_switch_by_hand_waits_for_open_transactions():
    run = promoted()
    (writable,) = run.noted("writable")
    assert (writable.node, writable.at_s) == (1, pytest.approx(8.5, abs=0.01))
    assert set(run.errors("n1")) == {"1290"}
    assert run.done.scheduled[0].error == ""
    idle = Run(scenario(fault("promote", "n3", 5.0), duration_s=8.0))
    assert idle.noted("writable")[0].at_s == pytest.approx(5.002, abs=0.002)
    assert idle.done.fates.lost == 0


def test_a_switch_by_hand_with_a_timeout_ends_open_transactions():
    run = promoted(transactions_timeout_s=2.0)
    (writable,) = run.noted("writable")
    assert writable.at_s == pytest.approx(7.0, abs=0.01)
    assert 5.0 < run.errors("n1")["4094"] < 7.0  # until then, none begins
    assert run.done.scheduled[0].error.startswith("2013")


def test_who_cannot_become_primary_is_an_error():
    faults = fault("kill", "n3", 1.0), fault("restart", "n3", 5.0), fault("promote", "n3", 5.5)
    with pytest.raises(
        simrep.ScenarioError, match=r"fault\.2\.what: 'n3' cannot become primary at 5\.5 s"
    ):
        Run(scenario(*faults, duration_s=8.0))
    options = {"single_primary_mode": False}
    with pytest.raises(simrep.ScenarioError, match="all members take writes"):
        Run(scenario(fault("promote", "n3", 1.0), duration_s=2.0, options=options))


def test_members_that_join_in_one_view_share_nothing():
    faults = [fault("kill", name, 3.0) for name in NAMES]
    faults += [fault("bootstrap", "n1", 5.0), fault("restart", "n2", 9.0)]
    faults += [fault("restart", "n3", 9.0)]
    run = Run(scenario(*faults, duration_s=16.0, think_time_ms=40.0))
    assert {NAMES[one.node] for one in run.noted("synced")} == set(NAMES)
    assert (
        max(run.done.counters[n]["COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE"] for n in NAMES) < 3
    )


def test_who_joins_while_the_primary_leaves_sees_the_same_election():
    faults = fault("leave", "n1", 3.0), fault("restart", "n1", 10.0), fault("leave", "n2", 12.0)
    run = Run(scenario(*faults, duration_s=25.0))
    assert [NAMES[one.node] for one in run.noted("writable")] == ["n2", "n3"]
    assert {one.of for one in run.noted("elected") if one.at_s > 11.0} == {(2,)}


def test_a_server_that_finds_no_group_says_so_and_names_nobody():
    died = [fault("kill", node, 1.0) for node in ("n1", "n2", "n3")]
    again = Run(scenario(*died, fault("restart", "n2", 2.0), duration_s=6.0))
    (alone,) = again.noted("alone")
    assert (NAMES[alone.node], alone.of) == ("n2", ())
    begun = fault("bootstrap", "n2", 2.0), fault("restart", "n1", 4.0), fault("restart", "n3", 4.1)
    run = Run(scenario(*died, *begun, duration_s=10.0))
    assert run.noted("synced", "n1")
    assert run.noted("synced", "n3")
    assert not run.noted("refused")


@pytest.mark.parametrize(("shared", "kernels"), [(True, 1), (False, 3)])
def test_members_on_one_machine_have_the_timers_of_its_kernel(monkeypatch, shared, kernels):
    phases = []
    monkeypatch.setattr(
        "simrep.network.trouble.TroubledLink.coarsen_timers",
        lambda link, phase: phases.append(phase),
    )
    content = scenario(fault("cut", "n1", 0.5, 0.6), duration_s=1.0)
    content["cluster"]["shared_host"] = shared
    Run(content)
    assert len(phases) == 4  # n1 to both others, and back
    assert len(set(phases)) == kernels
