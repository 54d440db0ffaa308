"""Changes of view: when they come, who may go on, and what becomes of what was under way.

Nothing here takes time but the network; a hop is one second.
"""

from __future__ import annotations

import pytest

from simrep.models.galera.gcomm.evs import EvsOptions
from simrep.models.galera.gcomm.view import View
from tests.changing_groups import ChangingGroup
from tests.groups import symmetric

SUSPECT_S = 5.0
# Join, install, commit gap and install gap; the states; the view itself.
ROUNDS = 4 + 2 + 3
RECOVERY = 1  # what some lacked
EXACT = 1e-9


def summary(view: View) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]:
    return view.members, view.joined, view.left, view.primary


# -- time ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(4, 8))
@pytest.mark.parametrize("hop_s", [0.05, 1.0])
def test_a_crash_costs_the_suspect_timeout_and_the_rounds(size: int, hop_s: float) -> None:
    group = ChangingGroup(symmetric(size, hop_s), SUSPECT_S)
    group.crash(10.0, 1)
    group.clock.run()
    for member in {*range(size)} - {1}:
        assert group.told_at(member) == pytest.approx(10.0 + SUSPECT_S + ROUNDS * hop_s, abs=EXACT)
    assert group.views(1) == []


def test_two_that_stay_need_less() -> None:
    # The first hears of the other's commit gap when it has its own: two gaps take two hops.
    group = ChangingGroup(symmetric(3), SUSPECT_S)
    group.crash(10.0, 2)
    group.clock.run()
    assert [group.told_at(0), group.told_at(1)] == [10.0 + SUSPECT_S + 7, 10.0 + SUSPECT_S + 8]


def test_who_leaves_is_not_suspected_but_heard() -> None:
    group = ChangingGroup(symmetric(4), SUSPECT_S)
    group.leave(10.0, 3)
    group.clock.run()
    assert [group.told_at(member) for member in range(3)] == [10.0 + 1 + ROUNDS] * 3


def test_who_joins_is_heard() -> None:
    group = ChangingGroup(symmetric(4), SUSPECT_S)
    group.leave(10.0, 3)
    group.join(100.0, 3)
    group.clock.run()
    assert [group.told_at(member) for member in range(4)] == [100.0 + 1 + ROUNDS] * 4
    views = [summary(view) for view in group.views(0)]
    assert views == [((0, 1, 2), (), (3,), True), ((0, 1, 2, 3), (3,), (), True)]
    assert group.views(3) == group.views(0)[1:]


def test_who_is_back_before_it_is_suspected_has_left_and_joined() -> None:
    group = ChangingGroup(symmetric(4), SUSPECT_S)
    group.crash(10.0, 3)
    group.join(11.0, 3)
    group.clock.run()
    (view,) = group.views(0)
    assert summary(view) == ((0, 1, 2, 3), (3,), (3,), True)
    assert group.told_at(0) == 11.0 + 1 + ROUNDS
    assert group.views(3) == [view]


def test_a_crash_during_a_change_begins_it_anew() -> None:
    group = ChangingGroup(symmetric(5), SUSPECT_S)
    group.crash(10.0, 4)
    group.crash(10.0 + SUSPECT_S + 2.5, 0)  # after its install message
    group.clock.run()
    (view,) = group.views(1)
    assert summary(view) == ((1, 2, 3), (), (0, 4), True)
    assert group.told_at(1) == 10.0 + SUSPECT_S + 2.5 + SUSPECT_S + ROUNDS


def test_who_has_not_heard_that_all_are_ready_follows_those_who_have() -> None:
    # What member 1 sends is there at once, but it hears from member 2 late. So the others begin
    # the view without member 4 at 21.6 s, and when the crash of member 3 is noticed at 22 s,
    # member 1 has not begun it: they come from different views.
    delays = symmetric(5)
    delays[1] = [0.1] * 5
    delays[2][1] = 3.5
    group = ChangingGroup(delays, suspect_timeout_s=1.3)
    group.crash(13.7, 4)
    group.send(14.0, 2)
    group.send(21.8, 0)
    group.crash(20.7, 3)
    group.clock.run()
    for member in range(3):
        (view,) = group.views(member)
        assert summary(view) == ((0, 1, 2), (), (3, 4), True)
        assert view.number == 2
        assert [log.what for log in group.logs[member]] == [0, view, 1]


def test_two_crashes_at_once_are_one_change() -> None:
    group = ChangingGroup(symmetric(5), SUSPECT_S)
    group.crash(10.0, 4)
    group.crash(10.0, 2)
    group.clock.run()
    assert [summary(view) for view in group.views(0)] == [((0, 1, 3), (), (2, 4), True)]
    assert group.told_at(0) == 10.0 + SUSPECT_S + ROUNDS


# -- the primary component -------------------------------------------------------------------


def test_half_of_the_members_is_no_majority() -> None:
    group = ChangingGroup(symmetric(4), SUSPECT_S)
    group.crash(10.0, 1)
    group.crash(10.0, 2)
    group.send(50.0, 0)
    group.send(50.0, 3)
    group.clock.run(90.0)
    assert [summary(view) for view in group.views(0)] == [((0, 3), (), (1, 2), False)]
    assert group.views(3) == group.views(0)
    assert group.delivered(0) == group.delivered(3) == []
    assert group.group.members[0].queued == 1
    # One back is not enough: the other may have gone on with somebody else.
    group.join(100.0, 1)
    group.join(200.0, 2)
    group.clock.run()
    assert [view.primary for view in group.views(0)] == [False, False, True]
    assert group.delivered(0) == group.delivered(1) == group.delivered(2) == [0, 1]


def test_who_leaves_in_order_takes_its_vote_along() -> None:
    group = ChangingGroup(symmetric(3), SUSPECT_S)
    for number, member in enumerate((2, 1)):
        group.leave(10.0 + 50 * number, member)
    group.send(200.0, 0)
    group.clock.run()
    assert [(view.members, view.primary) for view in group.views(0)] == [
        ((0, 1), True),
        ((0,), True),
    ]
    assert group.delivered(0) == [0]


def test_two_of_three_may_leave_at_once() -> None:
    group = ChangingGroup(symmetric(3), SUSPECT_S)
    group.leave(10.0, 1)
    group.leave(10.0, 2)
    group.clock.run()
    assert group.views(0)[-1].members == (0,)
    assert group.views(0)[-1].primary


@pytest.mark.parametrize("crash", [True, False])
def test_of_two_the_other_goes_on_only_after_an_orderly_leave(crash: bool) -> None:
    group = ChangingGroup(symmetric(2), SUSPECT_S)
    (group.crash if crash else group.leave)(10.0, 1)
    group.send(30.0, 0)
    group.clock.run(40.0)
    assert group.views(0)[-1].primary is not crash
    assert group.delivered(0) == ([] if crash else [0])
    group.join(50.0, 1)
    group.send(80.0, 1)
    group.clock.run()
    assert group.views(0)[-1].primary
    assert group.delivered(0) == [0, 1]
    assert group.delivered(1) == ([0, 1] if crash else [1])


def test_a_majority_of_what_is_left_is_enough() -> None:
    group = ChangingGroup(symmetric(5), SUSPECT_S)
    for number, member in enumerate((4, 3, 2, 1)):
        group.crash(10.0 + 50 * number, member)
    group.clock.run()
    assert [view.primary for view in group.views(0)] == [True, True, True, False]


def test_after_a_power_cut_all_must_be_back() -> None:
    group = ChangingGroup(symmetric(3), SUSPECT_S)
    for member in range(3):
        group.crash(10.0, member)
        group.join(20.0 + 50 * member, member)
    group.clock.run()
    # The last one is told that it has no quorum before it finds that this is the whole view.
    assert [view.primary for view in group.views(0)] == [False, False, False, True]


# -- what was under way ----------------------------------------------------------------------


def test_the_rest_of_a_view_is_delivered_before_the_next() -> None:
    group = ChangingGroup(symmetric(4), SUSPECT_S)
    group.crash(10.0, 3)
    for member in range(3):
        group.send(10.5, member)  # can no longer become safe
    group.clock.run()
    for member in range(3):
        assert group.delivered(member) == [0, 1, 2]
        assert group.logs[member][-1].what == group.views(member)[0]
        assert {told.time_s for told in group.logs[member][:-1]} == {10.0 + SUSPECT_S + 4}


@pytest.mark.parametrize("lacking", range(4))
def test_what_one_lacks_is_recovered(lacking: int) -> None:
    # The way to it from the one that crashes is longer than the suspicion takes.
    delays = symmetric(5)
    delays[4][lacking] = 20.0
    group = ChangingGroup(delays, SUSPECT_S)
    group.send(9.0, 4)
    group.send(9.5, 4)
    group.crash(10.0, 4)
    group.clock.run()
    assert [group.delivered(member) for member in range(5)] == [[0, 1]] * 4 + [[]]
    # The first sends what it has together with its install message.
    recovery = RECOVERY if lacking == 0 else 0
    assert group.told_at(lacking) == 10.0 + SUSPECT_S + ROUNDS + recovery


def test_what_no_one_has_is_lost() -> None:
    delays = symmetric(4)
    delays[3] = [20.0, 20.0, 20.0, 0.0]
    group = ChangingGroup(delays, SUSPECT_S)
    group.send(9.5, 3)
    group.crash(10.0, 3)
    group.send(40.0, 0)
    group.clock.run()
    assert group.sent[0].sender == 3
    assert [group.delivered(member) for member in range(4)] == [[1], [1], [1], []]


def test_what_waits_during_a_change_is_sent_in_the_next_view() -> None:
    group = ChangingGroup(symmetric(4), SUSPECT_S)
    group.crash(10.0, 3)
    for time_s in (15.5, 16.0, 17.0):
        group.send(time_s, 1)
    group.clock.run(18.0)
    assert group.group.members[1].queued == 3
    group.clock.run()
    told = 10.0 + SUSPECT_S + ROUNDS
    for member in range(3):
        assert [log.what for log in group.logs[member]] == [*group.views(member), 0, 1, 2]
        assert group.logs[member][-1].time_s == told + 3


def test_a_full_queue_refuses_during_a_change() -> None:
    group = ChangingGroup(symmetric(4), SUSPECT_S, options=EvsOptions(queue_limit_messages=2))
    group.crash(10.0, 3)
    group.clock.run(16.0)
    member = group.group.members[0]
    assert [member.send(number, 100) for number in range(3)] == [True, True, False]


@pytest.mark.parametrize("slow_s", [1.0, 1.6, 2.5, 3.5, 9.0])
def test_who_leaves_leaves_nothing_behind(slow_s: float) -> None:
    # One payload is under way, and the window lets none of the others go. Member 1 hears of it
    # from the one who leaves, or earlier from the others.
    delays = symmetric(4)
    delays[3][1] = slow_s
    options = EvsOptions(send_window=1, user_send_window=1, use_aggregate=False)
    group = ChangingGroup(delays, SUSPECT_S, options=options)
    for _ in range(4):
        group.send(10.0, 3)
    group.leave(10.5, 3)
    group.clock.run()
    assert [group.delivered(member) for member in range(4)] == [[0, 1, 2, 3]] * 3 + [[]]


def test_who_joins_delivers_nothing_of_before() -> None:
    group = ChangingGroup(symmetric(4), SUSPECT_S)
    group.crash(10.0, 3)
    group.join(50.0, 3)
    for time_s in (50.5, 52.5, 55.0, 70.0):
        group.send(time_s, 0)
    group.clock.run()
    assert [log.what for log in group.logs[0]][1:] == [0, group.views(0)[-1], 1, 2, 3]
    assert [log.what for log in group.logs[3]] == [group.views(0)[-1], 1, 2, 3]


# -- segments, keepalives, misuse ------------------------------------------------------------


@pytest.mark.parametrize("gone", range(3, 6))
@pytest.mark.parametrize("sender", range(3))
def test_a_relay_that_is_gone_relays_no_more(sender: int, gone: int) -> None:
    group = ChangingGroup(symmetric(6), SUSPECT_S, segments=[0, 0, 0, 1, 1, 1])
    group.crash(10.0, gone)
    group.send(10.5, sender)  # while nobody knows
    group.send(100.0, sender)
    group.clock.run(100.0)
    before = [link_messages(group, sender, peer) for peer in range(3, 6)]
    group.clock.run(100.5)
    more = [
        link_messages(group, sender, peer) - n for peer, n in zip((3, 4, 5), before, strict=True)
    ]
    assert sum(more) == 1  # one copy for the other segment
    assert more[gone - 3] == 0
    group.clock.run()
    for member in {*range(6)} - {gone}:
        assert group.delivered(member) == [0, 1]


def link_messages(group: ChangingGroup, source: int, target: int) -> int:
    return group.group.network.link(source, target).messages


def test_keepalives_of_a_view_begin_with_it() -> None:
    group = ChangingGroup(symmetric(4, 1e-3), SUSPECT_S, keepalives_s=[0.1, 0.2, 0.3, 0.4])
    group.leave(10.0, 3)
    group.clock.run(10.9)
    began = 10.0 + 5e-3  # leave, join, install, two gaps; the others tell the view
    quiet = sum(mesh.sent for mesh in group.group.meshes)
    group.clock.run(began + 1.0 - 1e-6)
    assert sum(mesh.sent for mesh in group.group.meshes) == quiet
    group.clock.run(began + 1.0 + 1e-6)
    assert sum(mesh.sent for mesh in group.group.meshes) == quiet + 3 * 2


def test_nobody_goes_or_comes_twice() -> None:
    group = ChangingGroup(symmetric(3), SUSPECT_S)
    with pytest.raises(ValueError, match="member 1 is not away"):
        group.membership.join(1)
    group.membership.crash(1)
    for go in (group.membership.crash, group.membership.leave):
        with pytest.raises(ValueError, match="member 1 is away"):
            go(1)
