"""When a member of Group Replication is removed, and how slow the others are until then.

Exact consequences of timers: a member is unreachable at a tick of a second, 5 s after it was heard
last; who asks for its removal looks at the timeout when it notes that, and 15 s later; the removal
takes effect at the next tick but one. Until then, slots of the silent member are filled in waves of
2.414 * (0.1 + 5.5 m) + 4 h seconds, where h is a hop and m, about 2 h, how long a message takes to
be agreed on: all that waits is released together. Ranges are those of MySQL 9.7, and of the rules.
"""

from functools import cache

import numpy as np
import pytest

from simrep.runs.replication import simulate
from simrep.scenario import load

FAULT_S = 1.3
CLIENTS = 4
OPTION = "group_replication_"
TIMEOUT = f"{OPTION}member_expel_timeout"


@cache
def run(what, *, node="n3", rtt_ms=0.1, lasts_s=23.0, until_s=None, moves=False, **options):
    """A group in which a member is hit after 1.3 s, and does not come back."""
    end = {} if until_s is None else {"until_s": FAULT_S + until_s}
    return simulate(
        load(
            {
                "cluster": {
                    "model": "group_replication",
                    "nodes": 3,
                    "options": {f"{OPTION}{name}": value for name, value in options.items()},
                },
                "network": {"rtt_ms": rtt_ms},
                "workload": {
                    "think_time_ms": 20.0,
                    "clients": {"on_error": "next" if moves else "stay", "retry_pause_s": 0.5},
                    "group": [{"node": "n1", "threads": CLIENTS}],
                },
                "fault": [{"what": what, "node": node, "at_s": FAULT_S, **end}],
                "run": {"duration_s": FAULT_S + lasts_s},
            }
        ),
        seed=1,
    )


def first(of, what, *nodes, without=None):
    """When a node notes something for the first time after the fault, in seconds from it."""
    return min(
        one.at_s - FAULT_S
        for one in of.noted
        if one.what == what and one.at_s >= FAULT_S and one.node in (nodes or (0, 1))
        if without is None or without not in one.of
    )


def commits(of, low_s, high_s):
    """When transactions were committed, in seconds from the fault."""
    return of.attempts.between(FAULT_S + low_s, FAULT_S + high_s).commits_s - FAULT_S


def rate(of, low_s, high_s):
    """How many a second."""
    return len(commits(of, low_s, high_s)) / (high_s - low_s)


def waves_s(of):
    """The median time between two waves of commits, before anybody is unreachable."""
    gaps = np.diff(commits(of, 0.5, 5.0))
    return float(np.median(gaps[gaps > 0.1]))


@pytest.mark.parametrize("what", ["kill", "power-loss", "cut"])
def test_a_silent_member_is_unreachable_after_five_seconds_however_it_fell_silent(what):
    hit = run(what, **({} if what == "kill" else {"lasts_s": 6.3}))
    noticed = [first(hit, "suspect", node) for node in (0, 1)]
    assert all(5.0 <= noticed_s <= 6.2 for noticed_s in noticed)
    # They look in step, since the last member joined: 0.003 to 0.09 s apart in most real groups.
    assert abs(noticed[0] - noticed[1]) < 0.01


def test_it_is_removed_sixteen_seconds_later():
    crashed = run("kill")
    killer_s = first(crashed, "suspect", 0)
    assert first(crashed, "expel") - killer_s == pytest.approx(15.0, abs=0.3)
    removed_s = first(crashed, "primary", without=2)
    assert removed_s - killer_s == pytest.approx(16.0, abs=0.3)
    assert 21.0 <= removed_s <= 22.6


def test_timeouts_of_5_and_15_s_are_alike():
    noted = [
        [(one.at_s, one.node, one.what, one.of) for one in run("kill", **kind).noted]
        for kind in ({}, {"member_expel_timeout": 15})
    ]
    assert noted[0] == noted[1]


@pytest.mark.parametrize(("timeout_s", "low_s", "high_s"), [(0, 6.0, 7.4), (16, 36.0, 38.0)])
def test_other_steps_of_the_timeout(timeout_s, low_s, high_s):
    crashed = run("kill", lasts_s=max(high_s, 8.0), member_expel_timeout=timeout_s)
    assert low_s <= first(crashed, "primary", without=2) <= high_s


def test_over_a_wan_each_step_of_the_removal_waits_for_a_wave():
    crashed = run("kill", rtt_ms=50.0, lasts_s=24.6)
    assert 22.4 <= first(crashed, "primary", without=2) <= 24.5


@pytest.mark.parametrize(("rtt_ms", "wave"), [(0.1, 0.25), (10, 0.4), (50, 1.0), (100, 1.8)])
def test_until_then_each_commit_waits_for_a_wave(rtt_ms, wave):
    lasts_s = {0.1: 23.0, 50: 24.6}.get(rtt_ms, 6.5)
    crashed = run("kill", rtt_ms=rtt_ms, lasts_s=lasts_s)
    assert waves_s(crashed) == pytest.approx(wave, rel=0.2)
    one_wave_tps = 1.01 * CLIENTS / 5.0
    expected = CLIENTS / wave
    assert rate(crashed, 1.0, 6.0) == pytest.approx(expected, abs=max(one_wave_tps, expected / 4))


def test_then_commits_are_as_fast_as_before():
    crashed = run("kill", lasts_s=8.0, member_expel_timeout=0)
    assert rate(crashed, 7.4, 8.0) >= 0.9 * rate(crashed, -0.8, 0.0)


def test_who_leaves_in_order_costs_no_wave():
    left = run("leave", lasts_s=2.0)
    assert first(left, "primary", without=2) < 1.5
    assert left.attempts.longest_gap(FAULT_S).seconds < 0.2


def test_a_stop_of_3_s_makes_waves_and_no_suspicion():
    stopped = run("pause", until_s=3.0, lasts_s=5.0)
    assert not [one for one in stopped.noted if one.what in {"suspect", "expel"}]
    assert rate(stopped, 0.3, 2.8) == pytest.approx(16.0, rel=0.25)
    assert stopped.attempts.longest_gap(FAULT_S, FAULT_S + 3.0).seconds < 0.4
    assert rate(stopped, 4.0, 5.0) >= 0.9 * rate(stopped, -0.8, 0.0)


def test_who_waits_for_all_members_waits_until_the_view():
    crashed = run("kill", lasts_s=7.5, member_expel_timeout=0, consistency="AFTER")
    removed_s = first(crashed, "primary", without=2)
    assert crashed.attempts.longest_gap(FAULT_S).seconds == pytest.approx(removed_s, abs=0.2)


def test_with_a_single_leader_a_dead_secondary_costs_no_wave():
    crashed = run("kill", lasts_s=4.0, paxos_single_leader=True)
    assert crashed.attempts.longest_gap(FAULT_S).seconds < 0.2
    assert rate(crashed, 0.5, 4.0) >= 0.9 * rate(crashed, -0.8, 0.0)


@pytest.mark.parametrize("what", ["kill", "cut"])
def test_the_new_primary_takes_writes_with_the_view_that_has_it(what):
    crashed = run(what, node="n1", moves=True, lasts_s=8.0, member_expel_timeout=0)
    removed_s = first(crashed, "primary", 1, 2, without=0)
    assert 6.0 <= removed_s <= 7.4
    assert first(crashed, "elected", 1) == pytest.approx(removed_s, abs=0.1)
    assert first(crashed, "writable", 1) - removed_s < 0.24
    assert crashed.fates.lost == 0


def test_without_a_majority_writes_wait_and_nobody_is_told_anything():
    alone = run("cut", node="n1", lasts_s=8.0, member_expel_timeout=0)
    assert first(alone, "non-primary", 0) <= 6.2
    after = alone.attempts.between(FAULT_S + 0.1)
    assert not len(after.commits_s)
    assert not len(after.ended_s[after.ended_s < alone.attempts.end_s])
