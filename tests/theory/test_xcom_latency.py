"""XCom against closed forms: latency, messages, the event horizon, throughput.

Nothing here takes time but the network, so that the closed forms are exact; a hop is one second
where only ratios matter.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.kernel.streams import Streams
from simrep.models.group_replication.xcom.paxos import XcomOptions
from tests.groups import Matrix, XcomGroup, saturate, started, symmetric
from tests.theory.closed_forms import (
    consensus_s,
    slot_delivery_s,
    slot_message_copies,
    window_throughput,
)

EXACT = 1e-9
SMALL = 100
LEADER = XcomOptions(leader=0)
ONE_BY_ONE = XcomOptions(largest_batch=1)
WAVE = 9  # slots of one member that the horizon of 10 leaves after a delivery


@st.composite
def delay_matrices(draw: st.DrawFn, smallest: int = 2) -> Matrix:
    """Any delays, the triangle inequality not respected."""
    size = draw(st.integers(smallest, 6))
    delay = st.floats(1e-4, 0.3)
    row = st.lists(delay, min_size=size, max_size=size)
    delays = draw(st.lists(row, min_size=size, max_size=size))
    for i in range(size):
        delays[i][i] = 0.0
    return delays


def egress(slow: int, hop_s: float, delay_s: float) -> Matrix:
    """Three members, one of which sends everything later."""
    return [
        [0.0 if i == j else hop_s + (delay_s if i == slow else 0.0) for j in range(3)]
        for i in range(3)
    ]


# -- an isolated message ---------------------------------------------------------------------------


@settings(max_examples=60)
@given(delay_matrices())
def test_every_member_delivers_when_the_slowest_has_skipped(delays: Matrix) -> None:
    for sender in range(len(delays)):
        latencies = started(delays, sender=sender).isolated(sender)
        walks = [slot_delivery_s(delays, sender, member) for member in range(len(delays))]
        assert latencies == pytest.approx(walks, abs=EXACT)


def test_a_skip_over_a_third_member_is_earlier_than_a_slow_learn_message() -> None:
    """Measured on MySQL 9.7: 33 ms with 40 ms to the third member and 10 back, 5 elsewhere."""
    delays = [[0.0, 5.0, 40.0], [5.0, 0.0, 5.0], [10.0, 5.0, 0.0]]
    accepted, learned_by_the_second, its_skip, back = 10.0, 5.0, 5.0, 10.0
    latency = started(delays).isolated(0)[0]
    assert latency == pytest.approx(accepted + learned_by_the_second + its_skip + back, abs=EXACT)


@settings(max_examples=60)
@given(delay_matrices(), st.integers(0, 5))
def test_a_single_leader_delivers_after_consensus(delays: Matrix, leader: int) -> None:
    leader %= len(delays)
    group = started(delays, XcomOptions(leader=leader), leader)
    walks = [
        slot_delivery_s(delays, leader, member, single_leader=True) for member in range(len(delays))
    ]
    assert group.isolated(leader) == pytest.approx(walks, abs=EXACT)
    assert walks[leader] == consensus_s(delays, leader)


@settings(max_examples=40)
@given(delay_matrices(), st.integers(1, 5))
def test_others_ask_the_leader_for_a_slot_first(delays: Matrix, sender: int) -> None:
    sender = 1 + sender % (len(delays) - 1)
    latency = started(delays, LEADER).isolated(sender)[sender]
    asking_s = delays[sender][0] + delays[0][sender]
    assert latency == pytest.approx(asking_s + consensus_s(delays, sender), abs=EXACT)


def test_nobody_has_an_earlier_slot_than_the_first() -> None:
    assert XcomGroup(symmetric(3)).isolated(0) == pytest.approx([2.0, 3.0, 3.0], abs=EXACT)
    assert XcomGroup(symmetric(3)).isolated(2) == pytest.approx([4.0] * 3, abs=EXACT)


@pytest.mark.parametrize("size", range(2, 10))
def test_equidistant_members_take_two_round_trips(size: int) -> None:
    # Of two members, the second waits for nobody but itself.
    others = [4.0 if size > 2 else 3.0] * (size - 1)
    assert started(symmetric(size)).isolated() == pytest.approx([4.0, *others], abs=EXACT)
    followers = [3.0] * (size - 1)
    assert started(symmetric(size), LEADER).isolated() == pytest.approx([2.0, *followers])


HOP, SLOW = 0.001, 0.05


@pytest.mark.parametrize(
    ("slow", "writer", "leader", "hops", "delays"),
    [
        (None, 0, None, 4, 0),
        (None, 0, 0, 2, 0),
        (2, 0, None, 4, 1),
        (2, 2, None, 4, 2),
        (2, 0, 0, 2, 0),
        (2, 2, 2, 2, 1),
    ],
)
def test_a_delayed_member_is_not_hidden_by_the_majority(
    slow: int | None, writer: int, leader: int | None, hops: int, delays: int
) -> None:
    matrix = symmetric(3, HOP) if slow is None else egress(slow, HOP, SLOW)
    latency = started(matrix, XcomOptions(leader=leader), writer).isolated(writer)[writer]
    assert latency == pytest.approx(hops * HOP + delays * SLOW, abs=EXACT)


def test_the_delayed_member_itself_delivers_without_its_delay() -> None:
    delays = egress(2, HOP, SLOW)
    near, far = SLOW + 4 * HOP, 4 * HOP
    assert started(delays).isolated() == pytest.approx([near, near, far], abs=EXACT)
    followers = [3 * HOP] * 2
    assert started(delays, LEADER).isolated() == pytest.approx([2 * HOP, *followers], abs=EXACT)


@pytest.mark.parametrize(
    ("layout", "wan_round_trips"), [((0, 1, 1), 2.0), ((0, 0, 1), 1.0), ((0, 1), 2.0)]
)
def test_two_sites_take_one_round_trip_or_two(layout: tuple[int, ...], wan_round_trips: float):
    # The majority is near the writer or it is not; the skips come from both sites.
    wan, lan = 0.1, 0.0005
    delays = [
        [0.0 if i == j else (lan if a == b else wan) / 2 for j, b in enumerate(layout)]
        for i, a in enumerate(layout)
    ]
    latency = started(delays).isolated()[0]
    assert latency == pytest.approx(wan_round_trips * wan, abs=lan + EXACT)


@pytest.mark.parametrize(("size", "copies"), [(2, 4), (3, 10), (4, 18), (5, 28), (9, 88)])
def test_messages_of_an_isolated_message(size: int, copies: int) -> None:
    group = started(symmetric(size))
    before = group.messages
    group.isolated()
    assert group.messages - before == copies == slot_message_copies(size)
    led = started(symmetric(size), LEADER)
    before = led.messages
    led.isolated()
    assert led.messages - before == 3 * (size - 1) == slot_message_copies(size, single_leader=True)


# -- the event horizon -----------------------------------------------------------------------------


def waves(group: XcomGroup, count: int) -> list[float]:
    """When member 0 delivers each of many messages that are sent now, from now, in order."""
    began, before = group.clock.now, len(group.deliveries)
    group.at_once(0, range(count))
    group.clock.run()
    ends = [(d.payload, d.time_s - began) for d in group.deliveries[before:] if d.member == 0]
    assert [payload for payload, _ in ends] == list(range(count))
    return [end for _, end in ends]


def test_nine_slots_are_left_after_a_delivery() -> None:
    # The slot after the delivered one, of another member, is the next to be executed; the tenth
    # message number is too far from it. The next wave begins when all of this one is delivered.
    ends = waves(started(symmetric(3), ONE_BY_ONE), 4 * WAVE)
    assert ends == pytest.approx([4.0 * (1 + i // WAVE) for i in range(4 * WAVE)], abs=EXACT)
    # In an empty group nobody has an earlier slot than the first message.
    ends = waves(XcomGroup(symmetric(3), ONE_BY_ONE), 10)
    assert ends == pytest.approx([2.0] + [4.0] * 9, abs=EXACT)


@pytest.mark.parametrize("horizon", [10, 12, 15])
def test_the_horizon_limits_a_writer_that_is_not_batched(horizon: int) -> None:
    # As many proposers, so that they are not what limits it.
    options = XcomOptions(event_horizon=horizon, proposers=horizon, largest_batch=1)
    throughput, latency = saturate(started(symmetric(3), options), 6 * horizon, SMALL)
    assert throughput == pytest.approx(window_throughput(horizon - 1, 4.0), rel=0.01)
    assert latency == pytest.approx(6 * horizon / throughput, rel=0.01)


def test_the_horizon_of_a_single_leader_is_used_in_full() -> None:
    # After a delivery its own next slot is the next one; the first of a wave moves the horizon.
    ends = waves(started(symmetric(3), XcomOptions(largest_batch=1, leader=0)), 30)
    assert ends == pytest.approx([2.0 * (1 + i // 10) for i in range(30)], abs=EXACT)


@pytest.mark.parametrize("proposers", [1, 3, 10])
def test_proposers_are_busy_until_they_learn(proposers: int) -> None:
    # Two hops, then the next round; delivery takes two more.
    options = XcomOptions(event_horizon=200, proposers=proposers, largest_batch=1)
    ends = waves(started(symmetric(3), options), 40)
    assert ends == pytest.approx([4.0 + 2.0 * (i // proposers) for i in range(40)], abs=EXACT)


# -- one member's messages before another's --------------------------------------------------------


def behind_another(sender: int, after_s: float) -> float:
    """Latency of a transaction of member 0 that is sent after another member's message."""
    group = started(egress(2, HOP, SLOW))
    began = group.clock.now
    group.send_at(began, sender, "statistics")
    group.send_at(began + after_s, 0, "transaction")
    group.clock.run()
    return group.delivered(0)["transaction"] - began - after_s


@pytest.mark.parametrize("after_s", [0.0011, 0.010, 0.025, 0.045, 0.075, 0.098])
def test_a_message_of_the_delayed_member_delays_the_next_of_others(after_s: float) -> None:
    # Its accept and its learn message take the delay each; its slot is before the transaction's.
    learned_s = 3 * HOP + 2 * SLOW
    assert behind_another(2, after_s) == pytest.approx(learned_s - after_s, abs=EXACT)


def test_whoever_comes_after_that_message_needs_no_skip() -> None:
    # All slots before its own have been used or skipped.
    assert behind_another(2, 0.150) == pytest.approx(2 * HOP, abs=EXACT)


def test_a_message_under_way_is_not_delayed_by_it() -> None:
    group = started(egress(2, HOP, SLOW))
    began = group.clock.now
    group.send_at(began, 0, "transaction")
    # From when the slot before the transaction's is skipped.
    group.send_at(began + 3 * HOP + 1e-6, 2, "statistics")
    group.clock.run()
    assert group.delivered(0)["transaction"] - began == pytest.approx(SLOW + 4 * HOP, abs=EXACT)


@pytest.mark.parametrize("after_s", [0.0011, 0.010, 0.045])
def test_messages_of_the_others_delay_nobody(after_s: float) -> None:
    assert behind_another(1, after_s) == pytest.approx(SLOW + 4 * HOP, abs=EXACT)


# -- throughput ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clients", "seen", "latency_seen"), [(4, 0.99, 4.0), (32, 7.1, 4.45), (256, 57.0, 4.45)]
)
def test_throughput_grows_with_the_clients(clients: int, seen: float, latency_seen: float) -> None:
    # Figures of another implementation, for clients in lockstep: all that finds no idle proposer
    # is one batch.
    throughput, latency = saturate(XcomGroup(symmetric(3)), clients, SMALL)
    assert throughput == pytest.approx(seen, rel=0.01)
    assert latency == pytest.approx(latency_seen, rel=0.01)


@pytest.mark.parametrize("clients", [32, 256])
def test_clients_out_of_step_use_the_horizon_up_with_small_batches(clients: int) -> None:
    pause_s = Streams(0).exponential("pause", 0.01)
    group = XcomGroup(symmetric(3))
    _, spread_s = saturate(group, clients, SMALL, pause_s, round_s=4.0)
    _, lockstep_s = saturate(XcomGroup(symmetric(3)), clients, SMALL)
    assert 1.4 * lockstep_s < spread_s < 8.0  # at most a round of waiting before one's own


def test_members_that_all_write_fill_each_others_slots() -> None:
    for seed in range(4):
        pause_s = Streams(seed).exponential("pause", 0.01)
        _, latency = saturate(XcomGroup(symmetric(3)), 8, SMALL, pause_s, senders=3, until_s=200.0)
        assert 2.3 <= latency <= 3.2


def test_batches_save_messages() -> None:
    pause_s = Streams(0).exponential("pause", 0.01)
    group = XcomGroup(symmetric(3))
    throughput, _ = saturate(group, 256, SMALL, pause_s, until_s=200.0)
    assert 0.4 <= group.messages / (throughput * group.clock.now) <= 1.0
