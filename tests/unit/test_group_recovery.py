"""How members of a replication group get what they have missed, and come back by themselves."""

from __future__ import annotations

import re
from functools import cache
from math import inf

import pytest

import simrep
from simrep.kernel.clock import Clock
from simrep.models.group_replication.auto_rejoin import AutoRejoin
from simrep.models.group_replication.catch_up import CatchUp
from tests.group_runs import NAMES, Run, fault, scenario

AWAY = fault("leave", "n3", 2.0)


def returns(*faults, at_s=6.0, duration_s=30.0, transfer_s=None, data_bytes=None, **how):
    """A member that was away for some seconds; what it gets takes ``transfer_s``."""
    keys = {} if transfer_s is None else {"transfer_s": transfer_s}
    content = scenario(
        AWAY, fault("restart", "n3", at_s, **keys), *faults, duration_s=duration_s, **how
    )
    if data_bytes is not None:
        content["cluster"]["data_bytes"] = data_bytes
    return Run(content)


# -- what a loss of power leaves -------------------------------------------------------------------


def powerless(node, what="power-loss", version="mysql-9", **options):
    """A member whose machine loses power after 10.3 s, and what crash recovery finds."""
    content = scenario(fault(what, node, 10.3), fault("restart", node, 12.0), duration_s=50.0)
    content["cluster"] |= {"options": options, "version": version}
    content["workload"]["clients"]["read_timeout_s"] = 3.0
    content["workload"]["think_time_ms"] = 30.0
    run = Run(content)
    assert run.done.fates.lost == 0
    assert run.noted("synced", node)
    return run, "; ".join(one.how for one in run.noted("recovered", node))


@pytest.mark.parametrize(
    ("node", "options", "told"),
    [
        ("n1", {}, ""),
        # The last second of the engine; the binary log tells the group that nothing is missing.
        ("n1", {"innodb_flush_log_at_trx_commit": 2}, r"the storage engine lacks (?!0)\d+ that.*"),
        # Nothing of the engine: what the binary log lacks, the member has all the same.
        ("n3", {"sync_binlog": 0}, r"the binary log lacks \d+ that are in the storage engine"),
        # Both: it gets what it has lost from a donor.
        (
            "n1",
            {"sync_binlog": 10**6, "innodb_flush_log_at_trx_commit": 2},
            r"lost (\d+); the bin.*",
        ),
    ],
)
def test_a_member_gets_what_neither_of_its_logs_has(node, options, told):
    run, text = powerless(node, **options)
    lost = re.fullmatch(told, text).groups()
    assert not run.noted("aborted")
    had = run.commits["n2"] - run.commits[node]  # when it started again
    before = (run.commits_s() < 10.3).sum()
    assert before - had == pytest.approx(sum(map(int, lost)), abs=2)
    assert not lost or 0 < int(lost[0]) < 80  # of a second


def test_who_has_lost_its_binary_log_is_no_donor():
    ends = [fault("power-loss", name, 10.4) for name in NAMES]
    returns = [fault("bootstrap", "n2", 15.0), fault("restart", "n1", 20.0)]
    content = scenario(*ends, *returns, duration_s=40.0)
    content["cluster"]["options"] = {"sync_binlog": 0, "innodb_flush_log_at_trx_commit": 2}
    content["workload"]["clients"]["read_timeout_s"] = 3.0
    (aborted,) = Run(content).noted("aborted")
    assert (NAMES[aborted.node], aborted.how) == ("n1", "1236 no binary log has what it has missed")
    content["cluster"]["options"]["group_replication_clone_threshold"] = 10**6
    content["cluster"]["data_bytes"] = 10**6
    run = Run(content)
    assert run.noted("joiner", "n1")[0].how == "clone"
    assert run.noted("synced", "n1")


def test_who_was_copied_has_no_binary_log_from_before():
    """n1 lacks less than the threshold, and its only donor has a copy of all data, and no more."""
    goes = [fault("leave", "n3", 2.0), fault("leave", "n1", 19.5), fault("leave", "n2", 40.0)]
    comes = [fault("restart", "n3", 20.0), fault("restart", "n1", 76.0)]
    content = scenario(*goes, *comes, duration_s=90.0, options={"clone_threshold": 80})
    content["cluster"]["data_bytes"] = 10**6
    run = Run(content)
    assert run.noted("joiner", "n3")[0].how == "clone"
    assert run.noted("joiner", "n1")[0].how == "clone"
    assert run.noted("synced", "n1")
    assert run.done.fates.lost == 0


def test_a_release_that_keeps_gtids_in_its_binary_log_alone_is_refused_without_its_end():
    with pytest.raises(simrep.ScenarioError, match=r"end of its binary log.*sync_binlog = 1"):
        powerless("n3", version="mysql-5.7.17", sync_binlog=0)


# -- incrementally ---------------------------------------------------------------------------------


@cache
def undisturbed():
    return returns(transfer_s=4.0)


def test_a_donor_and_its_joiner_are_noted():
    run = undisturbed()
    (joiner,), (joined,), (synced,) = (run.noted(word) for word in ("joiner", "joined", "synced"))
    (donor,) = run.noted("donor")
    assert NAMES[joiner.node] == "n3"
    assert joiner.of == (donor.node,)
    assert joined.at_s == pytest.approx(joiner.at_s + 4.0, abs=0.1)
    assert synced.at_s < joined.at_s + 1.0
    assert run.commits["n1"] == run.commits["n2"]


@pytest.mark.parametrize("what", ["kill", "leave"])
def test_the_next_donor_is_asked_when_one_goes(what):
    (first,) = undisturbed().noted("joiner")
    gone = NAMES[first.of[0]]
    run = returns(fault(what, gone, first.at_s + 2.0), transfer_s=4.0, duration_s=45.0)
    before, after = run.noted("joiner")
    assert before.of == first.of
    assert after.of == (1 - first.of[0],)
    assert first.at_s + 2.0 < after.at_s <= first.at_s + 4.0
    assert run.noted("synced", "n3")
    assert run.done.fates.lost == 0


@pytest.mark.parametrize(("tries", "pauses"), [(3, 1), (10, 4)])
def test_a_member_that_finds_no_donor_leaves(tries, pauses):
    (first,) = undisturbed().noted("joiner")
    killed_s = first.at_s + 2.0
    # Each time both that it believes to be ONLINE are asked, and then it pauses.
    options = {"recovery_retry_count": tries, "recovery_reconnect_interval": 5}
    gone = [fault("kill", name, killed_s) for name in NAMES[:2]]
    run = returns(*gone, transfer_s=4.0, duration_s=80.0, options=options)
    (aborted,) = run.noted("aborted", "n3")
    assert aborted.how == "no donor was found"
    asked_s = first.at_s + 4.0  # it learns of the first one when something should have come
    assert aborted.at_s == pytest.approx(asked_s + 5.0 * pauses, abs=0.2)
    assert not run.noted("synced")
    assert "6400" in run.errors("n3")  # group_replication_exit_state_action, not auto-rejoin


def test_a_member_catches_up_as_fast_as_it_applies_more_than_comes():
    classes = [{"name": "write"}]
    group = {"name": "writers", "node": "n1", "threads": 10, "think_time_ms": 300.0}
    content = scenario(AWAY, fault("restart", "n3", 8.0), duration_s=40.0, costs={"apply_us": 2e4})
    content["workload"] = {"group": [group | {"class": ["write"]}], "class": classes}
    content["cluster"]["options"]["replica_parallel_workers"] = 1
    run = Run(content)
    (joiner,), (synced,) = run.noted("joiner"), run.noted("synced")
    load_s = len(run.commits_s()) / 40.0
    speed_s = 1.0 / 0.0205  # it applies one after the other
    backlog = load_s * (joiner.at_s - 2.0)
    expected_s = backlog / (speed_s - load_s)
    assert 0.8 * expected_s < synced.at_s - joiner.at_s < 1.1 * expected_s + 2.0


class Steady:
    """A member that applies so many transactions a second, while others come."""

    def __init__(self, clock, waiting, speed_s, load_s):
        self.clock, self.waiting, self.speed_s, self.load_s = clock, waiting, speed_s, load_s

    @property
    def applied(self):
        return int(self.clock.now * self.speed_s)

    @property
    def unapplied(self):
        return max(0, self.waiting + int(self.clock.now * (self.load_s - self.speed_s)))

    queued = 0
    unread = unapplied


@pytest.mark.parametrize(
    ("waiting", "speed_s", "online_s"),
    # 1000 - 100 t <= 300 at the seventh period; nothing to do; never.
    [(1000, 300, 7.0), (0, 300, 0.0), (10_000, 150, None)],
)
def test_who_has_less_to_do_than_it_did_in_a_period_is_online(waiting, speed_s, online_s):
    clock, ended = Clock(), []
    pace = Steady(clock, waiting, speed_s, 200)
    catch_up = CatchUp(clock, pace, lambda call: call(), lambda: ended.append(clock.now))

    def period(_=None):
        catch_up.period()
        clock.at(clock.now + 1.0, period)

    catch_up.begin()
    clock.at(1.0, period)
    clock.run(30.0)
    assert ended == ([] if online_s is None else [pytest.approx(online_s, abs=0.02)])


# -- by a copy of all data -------------------------------------------------------------------------


def copied(data_bytes, threshold=50, faults=(), **how):
    options = {"clone_threshold": threshold}
    return returns(*faults, options=options, data_bytes=data_bytes, at_s=10.0, **how)


def test_a_member_that_misses_much_gets_a_copy_of_all_data_and_starts_anew():
    run = copied(2_000_000_000, 80)
    clone, rest = run.noted("joiner")
    assert (clone.how, rest.how) == ("clone", "incremental")
    copied_s, _ = (one.at_s for one in run.noted("joined"))
    # 122 GiB in 250 s: 4 to 5 minutes were measured.
    assert copied_s - clone.at_s == pytest.approx(2e9 * 250.0 / (122 * 2**30), rel=0.02)
    # It leaves in order (3 s), lets clients go (2 s), starts (1.8 s), and joins once more.
    assert 6.8 < rest.at_s - copied_s < 13.0
    assert run.noted("synced", "n3")
    assert not run.noted("suspect")
    assert "2003" not in run.errors("n1")
    absence = run.done.faults["fault.1"].absences["n3"]
    assert absence.how == ("clone", "incremental")
    assert absence.donor == tuple(dict.fromkeys(NAMES[one.of[0]] for one in (clone, rest)))
    assert copied_s - 10.0 < absence.joined_s.median < absence.synced_s.median
    assert run.done.fates.lost == 0


def test_a_slow_network_takes_longer_for_a_copy():
    content = scenario(
        AWAY, fault("restart", "n3", 8.0), duration_s=16.0, options={"clone_threshold": 20}
    )
    content["cluster"]["data_bytes"] = 100_000_000
    content["network"]["bandwidth_mbit"] = 200.0
    run = Run(content)
    (clone,), (joined,) = run.noted("joiner"), run.noted("joined")
    assert joined.at_s - clone.at_s == pytest.approx(4.0, rel=0.1)


def test_few_missing_transactions_need_no_copy():
    run = copied(2_000_000_000, threshold=1000)
    assert [one.how for one in run.noted("joiner")] == ["incremental"]


def test_who_misses_too_much_again_after_a_copy_gets_another_one():
    run = copied(1_000_000_000, threshold=1)
    assert {one.how for one in run.noted("joiner")} == {"clone"}
    assert len(run.noted("joiner")) == 2
    assert not run.noted("synced")


def test_a_copy_of_which_the_donor_goes_begins_anew_at_another_one():
    (first, *_) = copied(2_000_000_000).noted("joiner")
    gone = fault("kill", NAMES[first.of[0]], first.at_s + 2.0)
    run = copied(2_000_000_000, faults=[gone])
    before, after, *_ = run.noted("joiner")
    assert (before.how, after.how) == ("clone", "clone")
    assert after.of == (1 - before.of[0],)
    assert run.noted("joined")[0].at_s == pytest.approx(after.at_s + 3.8, abs=0.1)


def test_a_server_that_ends_in_the_middle_of_a_copy_has_no_data():
    (first, *_) = copied(2_000_000_000).noted("joiner")
    gone = [fault("kill", name, first.at_s + 2.0) for name in NAMES]
    with pytest.raises(simrep.ScenarioError, match="'n3' has no data"):
        copied(2_000_000_000, faults=[*gone, fault("bootstrap", "n3", first.at_s + 3.0)])
    again = [fault("bootstrap", "n1", first.at_s + 3.0), fault("restart", "n3", first.at_s + 5.0)]
    run = copied(2_000_000_000, faults=[*gone, *again], duration_s=40.0)
    assert run.noted("joiner")[-2].how == "clone"
    assert run.noted("synced", "n3")
    assert run.done.fates.lost == 0


def test_releases_without_clones_do_not_take_a_threshold():
    content = scenario(AWAY, options={"clone_threshold": 10})
    content["cluster"]["options"]["release"] = "5.7"
    with pytest.raises(simrep.ScenarioError, match="clone_threshold"):
        Run(content)


# -- who is let in ---------------------------------------------------------------------------------


def test_a_member_that_is_back_too_soon_is_refused_until_its_former_process_is_removed():
    faults = fault("kill", "n3", 2.0), fault("restart", "n3", 5.0)
    run = Run(scenario(*faults, duration_s=50.0))
    (refused,) = run.noted("refused", "n3")
    removed, added, *_ = run.noted("stable", "n1")
    assert refused.at_s == pytest.approx(5.0 + 1.8, abs=0.1)
    assert removed.of == (0, 1)
    assert removed.at_s < added.at_s < removed.at_s + 2.0
    assert run.noted("synced", "n3")


def test_a_member_tries_again_five_minutes_after_an_attempt_has_failed():
    clock, tried = Clock(), []

    def join(number, failed):
        tried.append((clock.now, number))
        if number == 2:
            clock.at(clock.now + 5.0, lambda _: failed())

    rejoin = AutoRejoin(clock, 3, join, lambda: None, lambda: tried.append((clock.now, inf)))
    clock.at(10.0, lambda _: rejoin.begin())
    clock.run(2000.0)
    # The first and the last attempt wait for a minute.
    assert tried == [(10.0, 1), (370.0, 2), (675.0, 3), (735.0, inf)]


def test_an_isolated_member_that_leaves_comes_back_at_its_second_attempt():
    cut = fault("cut", "n3", 2.0, 100.0)
    options = {"unreachable_majority_timeout": 10}
    run = Run(scenario(cut, duration_s=390.0, threads=1, options=options))
    assert [one.how for one in run.noted("rejoin", "n3")] == ["1 of 3", "2 of 3"]
    first, second = (one.at_s for one in run.noted("rejoin", "n3"))
    # Each of its two seeds does not answer for 3 s, ten times over; that is when its time is up.
    assert second == pytest.approx(first + 60.0 + 300.0, abs=0.1)
    (synced,) = run.noted("synced", "n3")
    assert synced.at_s < second + 10.0
    assert run.done.faults["fault.0"].absences["n3"].rejoin == ("2 of 3",)


def test_who_is_killed_before_it_has_left_stays_away_until_it_is_restarted():
    leaves = [fault("leave", "n3", 2.0), fault("restart", "n3", 4.0), fault("kill", "n3", 6.0)]
    faults = [fault("cut", "n3", 1.9, 7.0), *leaves, fault("restart", "n3", 30.0)]
    run = Run(scenario(*faults, duration_s=50.0))
    assert not [one for one in run.done.noted if one.node == 2 and 6.0 < one.at_s < 30.0]
    (synced,) = run.noted("synced", "n3")
    assert synced.at_s > 31.8
