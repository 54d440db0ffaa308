"""Parts of a Galera group that are cut off from each other, meet again, and come back from crashes.

The views are given by hand, as EVS would give them; every message of a view is delivered at once,
in one order, to all of its members.

References
----------
codership/galera ``gcomm/src/pc_proto.cpp``: ``handle_trans``, ``handle_state``, ``is_prim``,
``handle_trans_install``, ``deliver_view``.
"""

from __future__ import annotations

import pytest

from simrep.models.galera.gcomm.primary import Presence
from tests.primary_groups import PrimaryGroup

# -- cuts and merges -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "parts", "primary"),
    [
        ((1, 1, 1), [(0, 1), (2,)], [0, 1]),
        ((1, 1, 1, 1), [(0, 1), (2, 3)], []),
        ((1, 1, 1, 1, 1), [(0, 1, 4), (2, 3)], [0, 1, 4]),
        ((2, 1, 1), [(0,), (1, 2)], []),
        ((1, 1, 1), [(0,), (1,), (2,)], []),
        ((3, 1, 1), [(0,), (1, 2)], [0]),
    ],
)
def test_of_a_group_that_is_cut_one_part_at_most_goes_on(
    weights: tuple[int, ...], parts: list[tuple[int, ...]], primary: list[int]
) -> None:
    group = PrimaryGroup(len(weights), *weights)
    group.split(*parts)
    assert group.primary == primary
    for me in range(group.size):
        # Without quorum it is told before any message of the new view, and again in it.
        assert group.states(me) == ("P" if me in primary else "Nn")
    group.merge(*parts)
    assert group.primary == list(range(group.size))


def test_who_is_there_and_who_is_new_is_told_by_the_primary_component() -> None:
    group = PrimaryGroup(3)
    group.split((0, 1), (2,))
    group.merge((0, 1), (2,))
    first, second = group.members[0].told
    assert (first.members, first.joined, first.left) == ((0, 1), (), (2,))
    assert (second.members, second.joined, second.left) == ((0, 1, 2), (2,), ())
    assert group.members[2].told[-1] == second


def test_parts_without_quorum_wait_for_all_of_the_last_primary_view() -> None:
    group = PrimaryGroup(5)
    group.split((0, 1, 2), (3, 4))  # the last primary view has three members
    group.split((0,), (1,), (2,))
    group.merge((0,), (1,), (3, 4))  # most of all, but not all of the three
    assert group.primary == []
    group.merge((0, 1, 3, 4), (2,))
    assert group.primary == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("left", [(), (1,)])
def test_who_leaves_in_order_does_not_stop_the_rest(left: tuple[int, ...]) -> None:
    group = PrimaryGroup(3)
    group.split((0, 1), left=(2,))
    group.split((0,), left=left)
    assert (0 in group.primary) == bool(left)


# -- an end in the middle of an installation -------------------------------------------------------


def test_a_view_that_ends_before_it_is_installed_counts_by_the_one_before() -> None:
    group = PrimaryGroup(5)
    group.end(0, 1, 2)
    group.begin(0, 1, 2)
    group.deliver(0, 1, 2, most=2)  # not all states
    group.end(0, 1)
    assert group.members[0].primary.primary is False  # two of five


def test_who_may_have_installed_a_view_elsewhere_is_waited_for() -> None:
    group = PrimaryGroup(4, 1, 1, 2, 2)
    group.split((0, 1), left=(2, 3))
    group.crash(2, 3, how=Presence.LEFT)
    group.come_back(2, 3)
    group.end(0, 1)
    group.begin(0, 1, 2, 3)
    group.deliver(0, 1, 2, 3, most=4)
    ((_, install),) = group.sent
    for me in (2, 3):
        group.members[me].deliver_to(0, install)
    group.end(2, 3)
    group.end(0, 1)  # these get the install message when the view has ended
    for me in (0, 1):
        group.members[me].deliver_to(0, install)
    group.sent.clear()
    assert group.primary == [2, 3]
    group.begin(0, 1)  # all of what they know to be the last primary view
    group.deliver(0, 1)
    assert group.primary == [2, 3]


# -- two primary components ------------------------------------------------------------------------


@pytest.mark.parametrize("later", [0, 1])
def test_of_two_primary_components_that_meet_the_one_with_the_smaller_view_ends(later: int) -> None:
    group = PrimaryGroup(2, ignore_quorum=True)
    group.split((1 - later,), (later,))
    assert group.primary == [0, 1]
    group.merge((0,), (1,))
    assert [member.aborted for member in group.members] == [me != later for me in (0, 1)]


def test_half_is_enough_only_if_a_split_brain_is_ignored() -> None:
    group = PrimaryGroup(4, ignore_sb=True)
    group.split((0, 1), (2,))
    assert group.primary == [0, 1, 3]  # who was not told is still there
    assert group.states(2) == "Nn"


# -- by hand, and from the disk --------------------------------------------------------------------


def test_a_part_may_be_bootstrapped_once() -> None:
    group = PrimaryGroup(4)
    group.split((0, 1), (2, 3))
    assert group.members[0].primary.bootstrap()
    assert group.members[1].primary.bootstrap()  # both are told before they hear of each other
    group.deliver(0, 1)
    assert group.primary == [0, 1]
    assert group.states(0) == group.states(1) == "NnP"
    assert not group.members[0].primary.bootstrap()
    group.merge((0, 1), (2, 3))
    assert group.primary == [0, 1, 2, 3]


@pytest.mark.parametrize("recovery", [True, False])
def test_after_a_power_cut_the_last_primary_view_goes_on_by_itself(recovery: bool) -> None:
    group = PrimaryGroup(3, recovery=recovery)
    group.split((0, 1), (2,))
    group.crash(0, 1, 2)
    group.start(0, 2)
    assert group.primary == []
    group.crash(0, 2)
    group.start(0, 1)  # these two were the last primary view
    assert group.primary == ([0, 1] if recovery else [])


def test_a_server_that_was_shut_down_is_no_part_of_the_last_primary_view() -> None:
    group = PrimaryGroup(2)
    group.crash(0)
    group.crash(1, how=Presence.LEFT)
    group.start(0, 1)
    assert group.primary == []
    group.crash(0, 1, how=Presence.LEFT)
    group.members[1].primary.start_primary()
    group.start(0, 1)
    assert group.primary == [0, 1]


def test_a_survivor_knows_those_who_come_back_from_a_crash() -> None:
    group = PrimaryGroup(3)
    group.split((0,))
    group.crash(1, 2)
    group.come_back(1, 2)
    group.end(0)
    group.begin(0, 1, 2)
    group.deliver(0, 1, 2)
    assert group.primary == [0, 1, 2]


def test_who_is_evicted_is_not_waited_for() -> None:
    group = PrimaryGroup(3)
    group.split((0,), (1,))
    for me in (0, 1):
        group.members[me].evicted.add((2, 0))
    group.merge((0,), (1,))
    assert group.primary == [0, 1, 2]  # the third was told nothing yet
