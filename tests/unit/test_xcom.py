"""XCom: what is taken in which order, batches, sweepers, slots of a single leader.

Nothing here takes time but the network; a hop is one second where only ratios matter.
"""

from __future__ import annotations

import pytest

from simrep.models.group_replication.xcom.paxos import XcomOptions
from tests.groups import started, symmetric

EXACT = 1e-9
SMALL = 100
WAVE = 9  # slots of one member that the horizon of 10 leaves after a delivery
LEADER = XcomOptions(leader=0)


# -- batch, slot, horizon --------------------------------------------------------------------------


def test_a_batch_is_taken_before_a_slot_and_a_slot_before_the_horizon() -> None:
    group = started(symmetric(3))
    began, (member, *_) = group.clock.now, group.members
    # Nine messages, one after the other, have slots; a tenth has a batch and a slot of its own and
    # waits for the horizon. All proposers are taken then: what comes later piles up.
    for number in range(30):
        group.send_at(began + 0.01 * number, 0, number)
    group.clock.run(began + 1.0)
    assert (member.batches - 1, member.proposed - 1) == (10, 10)
    group.clock.run()
    assert (member.batches - 1, member.proposed - 1) == (11, 30)
    ends = {
        number: end - began for number, end in group.delivered(0).items() if number != "message"
    }
    assert list(ends) == list(range(30))
    assert [ends[i] for i in range(WAVE)] == pytest.approx(
        [4.0 + 0.01 * i for i in range(WAVE)], abs=EXACT
    )
    # The first delivery of the wave moves the horizon by one number: there the tenth goes. The
    # large batch has a slot since the first proposer was free, and goes with the second delivery.
    assert ends[9] == pytest.approx(8.0, abs=EXACT)
    assert [ends[i] for i in range(10, 30)] == pytest.approx([8.01] * 20, abs=EXACT)


def test_what_waits_together_goes_together() -> None:
    group = started(symmetric(3))
    group.at_once(0, ["first", *range(50)])
    began = group.clock.now
    group.clock.run()
    # The first finds an idle proposer; another is idle for the second; so it goes on.
    assert group.members[0].batches == 1 + 11
    assert max(group.delivered(0).values()) - began == pytest.approx(8.0, abs=EXACT)


# -- batches ---------------------------------------------------------------------------------------


def pile_up(options: XcomOptions, sizes: list[int]) -> list[int]:
    """Messages per batch, of those that find the only proposer busy."""
    group = started(symmetric(3), options)
    began, member = group.clock.now, group.members[0]
    group.send_at(began, 0, "first")
    for number, size in enumerate(sizes):
        group.send_at(began + 0.1, 0, number, size)
    group.clock.run(began + 1.0)
    before, counts = member.proposed, []
    while member.proposed < 2 + len(sizes):
        group.clock.run(group.clock.now + 1.0)
        if member.proposed > before:
            counts.append(member.proposed - before)
            before = member.proposed
    group.clock.run()
    assert len(group.delivered(2)) == 2 + len(sizes)
    return counts


def test_a_batch_has_so_many_messages_at_most() -> None:
    one = {"proposers": 1}
    assert pile_up(XcomOptions(**one), [SMALL] * 60) == [60]
    assert pile_up(XcomOptions(largest_batch=25, **one), [SMALL] * 60) == [25, 25, 10]
    assert pile_up(XcomOptions(**one), [SMALL] * 5001) == [5000, 1]


def test_a_batch_is_closed_by_the_message_that_makes_it_too_large() -> None:
    options = XcomOptions(proposers=1, largest_batch_bytes=2500)
    assert pile_up(options, [1000] * 7) == [3, 3, 1]
    assert pile_up(options, [9000, 1000, 1000, 1000, 9000]) == [1, 3, 1]


# -- sweepers --------------------------------------------------------------------------------------


def test_a_sweeper_that_is_stopped_by_the_horizon_looks_again_every_10_ms() -> None:
    # What member 1 skips reaches member 2 late, which then cannot skip further than its horizon.
    hop, late = 0.001, 1.0037
    delays = [[0.0, hop, hop], [hop, 0.0, late], [hop, hop, 0.0]]
    group = started(delays)
    began = group.clock.now
    for number in range(15):
        group.send_at(began + 0.02 * number, 0, number)
    group.clock.run()
    ends = [group.delivered(0)[number] - began for number in range(15)]
    # Its horizon begins at the first message's slot of member 1, which it has not: it can skip so
    # far as message 9, and message 10 is delivered at once, which needs its skips up to there.
    assert ends[:WAVE] == pytest.approx([0.02 * i + 4 * hop for i in range(WAVE)], abs=EXACT)
    stopped = next(number for number in range(15) if ends[number] > 0.02 * number + 5 * hop)
    learned_s = 0.02 * stopped + 3 * hop
    skipped_s = ends[stopped] - hop
    polls = (skipped_s - learned_s) / 0.010
    assert polls == pytest.approx(round(polls), abs=1e-6)
    # The first skip of member 1 reaches it one late hop after the first learn message.
    arrived_s = 3 * hop + late
    assert 0.0 <= skipped_s - arrived_s < 0.010


def test_a_sweeper_that_is_stopped_looks_again_with_every_proposal_that_comes() -> None:
    # As above: message 10 waits for the skips of member 2, whose horizon member 1 has moved.
    hop, late = 0.001, 1.0037
    group = started([[0.0, hop, hop], [hop, 0.0, late], [hop, hop, 0.0]])
    began = group.clock.now
    for number in range(11):
        group.send_at(began + 0.02 * number, 0, number)
    moved_s = 3 * hop + late
    comes_s = moved_s + 0.0005
    group.send_at(began + comes_s - hop, 0, "proposal")
    group.clock.run()
    assert group.delivered(0)[10] - began == pytest.approx(comes_s + hop, abs=EXACT)


# -- a single leader's slots -----------------------------------------------------------------------


def test_a_member_that_gets_no_slot_asks_again() -> None:
    # The leader's own messages use its horizon up for as long as a hop to the others is long.
    hop = 0.4
    group = started(symmetric(3, hop), XcomOptions(leader=0, largest_batch=1))
    began = group.clock.now
    group.at_once(0, range(10))
    group.send_at(began, 1, "other")
    group.clock.run()
    # It asks every 0.1 s; the horizon moves when the first ten are accepted.
    free_s = 2 * hop
    asked_s = next(0.1 * k for k in range(100) if 0.1 * k + hop >= free_s - EXACT)
    latency = group.delivered(1)["other"] - began
    assert latency == pytest.approx(asked_s + 2 * hop + 2 * hop, abs=0.1 + EXACT)


def test_slots_that_were_asked_for_too_often_are_used_up() -> None:
    # A round trip to the leader is longer than 0.1 s: several slots are granted for one message.
    group = started(symmetric(3, 0.4), LEADER)
    group.isolated(2)
    assert group.isolated(0) == pytest.approx([0.8, 1.2, 1.2], abs=EXACT)
    assert group.isolated(1)[1] == pytest.approx(1.6, abs=EXACT)
