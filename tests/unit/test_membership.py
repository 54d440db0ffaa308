"""Changes of view: when they come, who may go on, and what becomes of what was under way.

Groups over links that lose nothing, on machines that take no time. The figures are those of
Galera's timers.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from simrep.models.galera.gcomm.evs import EvsOptions
from simrep.models.galera.gcomm.membership import MembershipOptions
from simrep.models.galera.gcomm.view import View
from tests.changing_groups import ChangingGroup
from tests.groups import symmetric

HOP_S = 5e-5  # RTT 0.1 ms
WAN_S = 0.025  # RTT 50 ms
SUSPECT_S = 5.0
TICK_S = 0.5
JOIN_AGAIN_S = 1.0
LATE_S = 0.03  # of ticks that drift apart, and the age of the last progress under load
CHANGE_S = 8.0  # after that a crash is over, whatever was lost on the way
CRASH_S = 10.0
BEGIN_S = 5.0


def summary(view: View) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]:
    return view.members, view.joined, view.left, view.primary


def loaded(group: ChangingGroup, until_s: float, every_s: float = 0.02) -> None:
    """Let every member send all the time."""
    for number in range(int((until_s - BEGIN_S) / every_s)):
        for member in range(group.size):
            group.send(BEGIN_S + number * every_s + 1e-4 * member, member)


def stall_s(group: ChangingGroup, member: int) -> float:
    """The longest time in which a member delivers nothing."""
    times = [told.time_s for told in group.logs[member] if not isinstance(told.what, View)]
    return max(later - earlier for earlier, later in pairwise(times))


def noted_s(group: ChangingGroup, what: str) -> list[float]:
    return [time_s for time_s, _, word, _ in group.noted if word == what]


# -- time ------------------------------------------------------------------------------------


def crashed(
    seed: int, size: int = 3, hop_s: float = HOP_S, timers: MembershipOptions | None = None
) -> ChangingGroup:
    group = ChangingGroup(symmetric(size, hop_s), timers, drift=True, seed=seed)
    timeout_s = timers.suspect_timeout_s if timers else SUSPECT_S
    loaded(group, CRASH_S + 0.3)
    group.crash(CRASH_S + 0.03 * seed, size - 1)
    group.clock.run(CRASH_S + timeout_s + 6.0)
    return group


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [3, 5])
def test_a_crash_on_a_lan_costs_suspicion_a_tick_and_a_second_join_message(
    size: int, seed: int
) -> None:
    group = crashed(seed, size)
    for member in range(size - 1):
        assert 6.0 - LATE_S < stall_s(group, member) < 6.5 + LATE_S + 20 * HOP_S
    first, *others = noted_s(group, "suspect")
    assert SUSPECT_S <= first - CRASH_S - 0.03 * seed + LATE_S < SUSPECT_S + TICK_S + LATE_S
    # Whom its join message reaches before their own ticks look again half a second later.
    assert all(TICK_S <= at - first < TICK_S + LATE_S for at in others)
    for at in noted_s(group, "stable"):
        assert JOIN_AGAIN_S <= at - first < JOIN_AGAIN_S + 8 * HOP_S


def test_on_a_wan_ticks_within_a_hop_save_the_second() -> None:
    fast = []
    for seed in range(12):
        group = crashed(seed, hop_s=WAN_S)
        first, second = noted_s(group, "suspect")
        for at in noted_s(group, "stable"):
            assert (at - first) % JOIN_AGAIN_S < 10 * WAN_S
            fast.append(at - first < JOIN_AGAIN_S)
            assert second - first < WAN_S or not fast[-1]
    assert not all(fast)


@pytest.mark.parametrize("crash_s", [10.05, 10.35, 10.85])
def test_an_idle_group_counts_from_the_last_keepalive(crash_s: float) -> None:
    group = ChangingGroup(symmetric(3, HOP_S), drift=True, seed=3)
    group.crash(crash_s, 2)  # all send one at every full second
    group.clock.run(crash_s + 8.0)
    first = noted_s(group, "suspect")[0]
    assert SUSPECT_S <= first - 10.0 + LATE_S < SUSPECT_S + TICK_S + LATE_S


@pytest.mark.parametrize(
    ("suspect_s", "check_s", "join_s", "keepalive_s"),
    [(3.0, 0.1, 0.2, 1.0), (1.0, 0.3, 0.5, 0.3), (30.0, 0.5, 1.0, 3.0)],
)
def test_other_timers_cost_what_they_say(
    suspect_s: float, check_s: float, join_s: float, keepalive_s: float
) -> None:
    timers = MembershipOptions(
        suspect_timeout_s=suspect_s, inactive_check_period_s=check_s,
        join_retrans_period_s=join_s, keepalive_period_s=keepalive_s,
        inactive_timeout_s=60.0, install_timeout_s=60.0,
    )  # fmt: skip
    group = crashed(2, timers=timers)
    joins_s = join_s * max(1, -(-check_s // join_s))  # until the second tick has come, too
    stall = noted_s(group, "stable")[0] - CRASH_S - 0.06
    assert suspect_s + joins_s - LATE_S < stall < suspect_s + check_s + joins_s + LATE_S


@pytest.mark.parametrize(("late_s", "waits_s"), [(0.0, 0.0), (0.0025, JOIN_AGAIN_S)])
def test_what_comes_before_all_are_in_the_view_is_dropped_until_the_next_keepalive(
    late_s: float, waits_s: float
) -> None:
    # 0 is in the view a hop after all have sent their install gaps, and sends. If that of 1 is late
    # then 2 has that of 0, but is not in the view when the message of 0 comes.
    hop_s, begins_s = 0.001, 15.504
    group = ChangingGroup(symmetric(4, hop_s))
    link = group.lose(1, 2)
    link.late_s = late_s
    link.begin_s, link.end_s = begins_s - 1.5 * hop_s, begins_s - 0.5 * hop_s
    group.crash(10.0, 3)
    group.clock.run(20.0)
    first_s, *_, last_s = noted_s(group, "stable")
    assert first_s == pytest.approx(begins_s)
    assert last_s - first_s == pytest.approx(late_s, abs=1e-9)
    for member in range(3):
        assert 0.0 < group.told_at(member) - last_s - waits_s < 10 * hop_s


def test_who_is_left_alone_says_so_after_a_second_join_message() -> None:
    group = ChangingGroup(symmetric(2, HOP_S), drift=True, seed=1)
    loaded(group, CRASH_S + 1.0)
    group.crash(CRASH_S, 1)
    group.clock.run(CRASH_S + CHANGE_S)
    (lost,) = group.lost[0]
    assert 6.0 - LATE_S < lost - CRASH_S < 6.5 + LATE_S
    assert lost - noted_s(group, "suspect")[0] == pytest.approx(JOIN_AGAIN_S, abs=1e-9)


def test_who_leaves_is_not_suspected_but_heard() -> None:
    group = ChangingGroup(symmetric(4, HOP_S))
    group.leave(10.0, 3)
    group.clock.run(15.0)
    for member in range(3):
        assert group.told_at(member) - 10.0 < 1.1
    assert not noted_s(group, "suspect")


@pytest.mark.parametrize("crashes", [True, False])
def test_who_starts_is_heard_at_the_end_of_a_slice(crashes: bool) -> None:
    group = ChangingGroup(symmetric(4, HOP_S))
    (group.crash if crashes else group.leave)(10.0, 3)
    group.join(30.0, 3)
    group.clock.run(40.0)
    for member in range(4):
        # By now, or when the join messages are repeated.
        late = group.told_at(member) - 30.5
        assert 0.0 < late < 2.1
    views = [summary(view) for view in group.views(0)]
    assert views == [((0, 1, 2), (), (3,), True), ((0, 1, 2, 3), (3,), (), True)]
    assert group.views(3)[-1] == group.views(0)[-1]


def test_who_is_back_before_it_is_missed_waits_until_it_has_been() -> None:
    group = ChangingGroup(symmetric(4, HOP_S))
    group.crash(10.0, 3)
    group.join(11.0, 3)
    group.clock.run(30.0)
    views = [summary(view) for view in group.views(0)]
    assert views == [((0, 1, 2), (), (3,), True), ((0, 1, 2, 3), (3,), (), True)]
    assert group.told_at(0, 0) > 15.0


def test_a_crash_during_a_change_takes_its_own_suspicion() -> None:
    group = ChangingGroup(symmetric(5, HOP_S))
    group.crash(10.0, 4)
    group.crash(15.6, 0)
    group.clock.run(40.0)
    view = group.views(1)[-1]
    assert view.members == (1, 2, 3)
    assert 15.6 + SUSPECT_S - 1.0 < group.told_at(1) < 15.6 + SUSPECT_S + 4.0


def test_two_crashes_at_once_are_one_change() -> None:
    group = ChangingGroup(symmetric(5, HOP_S))
    group.crash(10.0, 4)
    group.crash(10.0, 2)
    group.clock.run(20.0)
    assert [summary(view) for view in group.views(0)] == [((0, 1, 3), (), (2, 4), True)]


# -- the primary component -------------------------------------------------------------------


def test_half_of_the_members_is_no_majority() -> None:
    group = ChangingGroup(symmetric(4, HOP_S))
    group.crash(10.0, 1)
    group.crash(10.0, 2)
    group.clock.run(90.0)
    assert summary(group.views(0)[-1]) == ((0, 3), (), (1, 2), False)
    assert group.views(3) == group.views(0)
    # One back is not enough: the other may have gone on with somebody else.
    group.join(100.0, 1)
    group.clock.run(150.0)
    assert not group.views(0)[-1].primary
    group.join(200.0, 2)
    group.send(220.0, 0)
    group.clock.run(230.0)
    assert group.views(0)[-1].primary
    assert group.delivered(0) == group.delivered(1) == group.delivered(2) == [0]


def test_who_leaves_in_order_takes_its_vote_along() -> None:
    group = ChangingGroup(symmetric(3, HOP_S))
    for number, member in enumerate((2, 1)):
        group.leave(10.0 + 50 * number, member)
    group.send(200.0, 0)
    group.clock.run(210.0)
    told = [(view.members, view.primary) for view in group.views(0)]
    assert told == [((0, 1), True), ((0,), True)]
    assert group.delivered(0) == [0]


def test_two_of_three_may_leave_at_once() -> None:
    group = ChangingGroup(symmetric(3, HOP_S))
    group.leave(10.0, 1)
    group.leave(10.0, 2)
    group.clock.run(30.0)
    assert group.views(0)[-1].members == (0,)
    assert group.views(0)[-1].primary


@pytest.mark.parametrize("crash", [True, False])
def test_of_two_the_other_goes_on_only_after_an_orderly_leave(crash: bool) -> None:
    group = ChangingGroup(symmetric(2, HOP_S))
    (group.crash if crash else group.leave)(10.0, 1)
    group.clock.run(40.0)
    assert group.views(0)[-1].primary is not crash
    group.join(50.0, 1)
    group.send(80.0, 1)
    group.clock.run(90.0)
    assert group.views(0)[-1].primary
    assert group.delivered(0) == group.delivered(1) == [0]


def test_a_majority_of_what_is_left_is_enough() -> None:
    group = ChangingGroup(symmetric(5, HOP_S))
    for number, member in enumerate((4, 3, 2, 1)):
        group.crash(10.0 + 50 * number, member)
    group.clock.run(200.0)
    assert [view.primary for view in group.views(0)] == [True, True, True, False]


# -- what was under way ----------------------------------------------------------------------


def test_the_rest_of_a_view_is_delivered_before_the_next() -> None:
    group = ChangingGroup(symmetric(4, HOP_S))
    group.crash(10.0, 3)
    for member in range(3):
        group.send(10.5, member)  # can no longer become safe
    group.clock.run(20.0)
    for member in range(3):
        assert group.delivered(member) == [0, 1, 2]
        assert group.logs[member][-1].what == group.views(member)[0]


@pytest.mark.parametrize("lacking", range(4))
def test_what_one_lacks_is_asked_for(lacking: int) -> None:
    group = ChangingGroup(symmetric(5, HOP_S), drift=True, seed=lacking)
    group.lose(4, lacking).begin_s = 9.8
    group.send(9.9, 4)
    group.crash(9.95, 4)
    group.clock.run(25.0)
    assert [group.delivered(member) for member in range(5)] == [[0]] * 4 + [[]]


def test_a_lost_message_is_asked_for_when_the_next_one_comes() -> None:
    group = ChangingGroup(symmetric(3, HOP_S))
    lost = group.lose(0, 1)
    lost.begin_s = 10.1
    group.send(10.2, 0)
    group.clock.run(10.3)
    assert group.delivered(1) == []
    lost.heal()
    group.clock.run(11.0 + 10 * HOP_S)  # a keepalive shows that there is a hole
    assert [group.delivered(member) for member in range(3)] == [[0]] * 3
    assert not group.views(0)


def test_a_full_queue_and_a_change_of_view_refuse() -> None:
    options = EvsOptions(queue_limit_messages=2)
    group = ChangingGroup(symmetric(4, HOP_S), options=options, drift=True)
    group.crash(10.0, 3)
    group.clock.run(15.9)
    member = group.group.members[0]
    assert not member.send(0, 100)  # the view changes
    group.clock.run(20.0)
    assert member.send(1, 100)


@pytest.mark.parametrize("slow_s", [1.0, 1.6, 2.5, 3.5])
def test_who_leaves_leaves_nothing_behind(slow_s: float) -> None:
    # One payload is under way, and the window lets none of the others go.
    delays = [list(row) for row in symmetric(4, 1.0)]
    delays[3][1] = slow_s
    options = EvsOptions(send_window=1, user_send_window=1, use_aggregate=False)
    group = ChangingGroup(delays, options=options)
    for _ in range(4):
        group.send(10.0, 3)
    group.leave(10.5, 3)
    group.clock.run(60.0)
    assert [group.delivered(member) for member in range(3)] == [[0, 1, 2, 3]] * 3


def test_two_parts_go_their_own_ways_and_meet_again() -> None:
    group = ChangingGroup(symmetric(5, HOP_S), drift=True, seed=5)
    loaded(group, 9.9)
    cuts = [
        group.lose(source, target)
        for side, other in (((0, 1), (2, 3, 4)), ((2, 3, 4), (0, 1)))
        for source in side
        for target in other
    ]
    group.clock.at(30.0, lambda _: [cut.heal() for cut in cuts])
    for cut in cuts:
        cut.begin_s = 10.0
    for member in range(5):
        group.send(25.0, member)
        group.send(45.0, member)
    group.clock.run(29.0)
    assert [summary(group.views(at)[-1])[0] for at in (0, 4)] == [(0, 1), (2, 3, 4)]
    assert [group.views(at)[-1].primary for at in (0, 4)] == [False, True]
    assert 6.0 - LATE_S < group.lost[0][0] - 10.0 < 6.5 + LATE_S
    group.clock.run(50.0)
    for member in range(5):
        assert group.views(member)[-1].members == (0, 1, 2, 3, 4)
        assert group.views(member)[-1].primary
    assert group.delivered(0)[-5:] == group.delivered(4)[-5:]
    numbers = [view.number for at in (0, 4) for view in group.views(at)[:-1] if view.members != ()]
    assert numbers


def test_nobody_goes_or_comes_twice() -> None:
    group = ChangingGroup(symmetric(3))
    with pytest.raises(ValueError, match="member 1 is not away"):
        group.membership.join(1)
    group.membership.leave(1)
    with pytest.raises(ValueError, match="member 1 is away"):
        group.membership.leave(1)
