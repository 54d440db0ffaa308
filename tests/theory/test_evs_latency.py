"""Group communication against closed forms: latency, messages, windows, relays, keepalives.

Nothing here takes time but the network, so that the closed forms are exact; a hop is one second
where only ratios matter.
"""

from __future__ import annotations

from functools import partial
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.kernel.streams import Streams
from simrep.models.galera.gcomm.evs import EvsOptions
from tests.groups import EvsGroup, Matrix, saturate, symmetric
from tests.theory.closed_forms import (
    longest_triangle_s,
    safe_delivery_s,
    safe_message_copies,
    shortest_paths,
    window_throughput,
)

EXACT = 1e-9
FRAGMENT = 32_000  # two do not fit into one message
SMALL = 100
GALERA, PXC, OPEN = (4, 2), (10, 4), (512, 512)


@st.composite
def metric_delays(draw: st.DrawFn) -> Matrix:
    size = draw(st.integers(2, 7))
    delay = st.floats(1e-4, 0.3)
    row = st.lists(delay, min_size=size, max_size=size)
    delays = draw(st.lists(row, min_size=size, max_size=size))
    for i in range(size):
        delays[i][i] = 0.0
    return shortest_paths(delays)


def sites(*sizes: int, wan_hop_s: float, lan_hop_s: float) -> Matrix:
    """Sites of the given sizes; members are numbered site by site."""
    place = [site for site, size in enumerate(sizes) for _ in range(size)]
    return [
        [0.0 if i == j else lan_hop_s if a == b else wan_hop_s for j, b in enumerate(place)]
        for i, a in enumerate(place)
    ]


def windows(windows: tuple[int, int]) -> EvsOptions:
    return EvsOptions(send_window=windows[0], user_send_window=windows[1])


# -- an isolated message ---------------------------------------------------------------------


@settings(max_examples=150)
@given(metric_delays())
def test_origin_delivers_after_the_longest_triangle(delays: Matrix) -> None:
    for origin in range(len(delays)):
        latency = EvsGroup(delays).isolated(origin)[origin]
        assert latency == pytest.approx(longest_triangle_s(delays, origin), abs=EXACT)
        farthest = max(delays[origin][x] + delays[x][origin] for x in range(len(delays)))
        assert latency >= farthest - EXACT


@settings(max_examples=100)
@given(metric_delays())
def test_every_member_delivers_after_the_longest_walk_to_it(delays: Matrix) -> None:
    walks = [safe_delivery_s(delays, 0, member) for member in range(len(delays))]
    assert EvsGroup(delays).isolated(0) == pytest.approx(walks, abs=EXACT)


def test_two_equal_members_take_two_hops_and_three() -> None:
    assert EvsGroup(symmetric(2)).isolated() == pytest.approx([2.0, 3.0], abs=EXACT)


@pytest.mark.parametrize("size", range(3, 10))
def test_equidistant_members_take_three_hops(size: int) -> None:
    assert EvsGroup(symmetric(size)).isolated() == pytest.approx([3.0] * size, abs=EXACT)


@pytest.mark.parametrize("layout", [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3)])
def test_two_sites_take_a_round_trip_and_a_half(layout: tuple[int, int]) -> None:
    wan, lan = 0.1, 0.0005  # round trips
    delays = sites(*layout, wan_hop_s=wan / 2, lan_hop_s=lan / 2)
    origin, *others = EvsGroup(delays).isolated()
    here, there = others[: layout[0] - 1], others[layout[0] - 1 :]
    assert origin == pytest.approx(wan + (lan / 2 if layout != (1, 1) else 0.0), abs=EXACT)
    assert here == pytest.approx([wan] * len(here), abs=2 * lan)
    assert there == pytest.approx([1.5 * wan] * len(there), abs=2 * lan)


@pytest.mark.parametrize("writer", [0, 2])
def test_one_slow_sender_delays_everybody_once(writer: int) -> None:
    hop, slow = 0.001, 0.1
    delays = [[0.0 if i == j else hop + slow * (i == 2) for j in range(3)] for i in range(3)]
    assert EvsGroup(delays).isolated(writer)[writer] == pytest.approx(slow + 3 * hop, abs=EXACT)


@pytest.mark.parametrize(("size", "copies"), [(2, 3), (3, 12), (4, 24), (5, 40), (7, 84)])
def test_messages_of_an_isolated_message(size: int, copies: int) -> None:
    group = EvsGroup(symmetric(size))
    group.isolated()
    assert group.messages == copies == safe_message_copies(size)


# -- windows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "window", "seen"), [(2, GALERA, 1.9), (3, GALERA, 1.24), (3, PXC, 3.24)]
)
def test_large_messages_are_limited_by_the_window(
    size: int, window: tuple[int, int], seen: float
) -> None:
    throughput, _ = saturate(EvsGroup(symmetric(size), windows(window)), 24, FRAGMENT)
    delivery_s = 2.0 if size == 2 else 3.0
    assert throughput == pytest.approx(window_throughput(window[0], delivery_s), rel=0.01)
    # Figures of another implementation, which include the start.
    assert throughput == pytest.approx(seen, rel=0.08)


@pytest.mark.parametrize("size_bytes", [SMALL, FRAGMENT])
def test_open_windows_let_every_message_take_three_hops(size_bytes: int) -> None:
    throughput, latency = saturate(EvsGroup(symmetric(3), windows(OPEN)), 24, size_bytes)
    assert latency == pytest.approx(3.0, abs=EXACT)
    assert throughput == pytest.approx(24 / 3)


@pytest.mark.parametrize(
    ("size", "clients", "seen"),
    [(2, 2, 1.0), (2, 32, 10.5), (3, 2, 0.66), (3, 32, 9.0), (3, 128, 34.0)],
)
def test_small_messages_are_hardly_limited(size: int, clients: int, seen: float) -> None:
    # Which phase groups the clients form depends on how they start and pause.
    throughputs = []
    for seed in range(4):
        pause_s = Streams(seed).exponential("pause", 0.01)
        group = EvsGroup(symmetric(size), windows(GALERA))
        throughput, latency = saturate(group, clients, SMALL, pause_s)
        hops = 2.0 if size == 2 else 3.0
        assert hops - EXACT <= latency <= hops + 1.001  # at most one more hop in the queue
        throughputs.append(throughput)
    assert fmean(throughputs) == pytest.approx(seen, rel=0.07)


def test_without_aggregation_small_messages_are_limited_like_large_ones() -> None:
    options = EvsOptions(use_aggregate=False)
    throughput, _ = saturate(EvsGroup(symmetric(3), options), 24, SMALL)
    assert throughput == pytest.approx(window_throughput(4, 3.0))


def test_aggregation_saves_messages() -> None:
    group = EvsGroup(symmetric(3), windows(GALERA))
    throughput, _ = saturate(group, 32, SMALL)
    assert group.messages / (throughput * group.clock.now) < safe_message_copies(3) / 5


@pytest.mark.parametrize(("burst", "answers"), [(1, 1), (5, 1), (6, 2), (10, 2), (11, 3)])
def test_a_burst_is_answered_once_per_128_kib(burst: int, answers: int) -> None:
    # The first message goes alone, and what is queued behind it when the first answer arrives;
    # every fifth of these crosses 128 KiB.
    group = EvsGroup(symmetric(3), EvsOptions(send_window=512, user_send_window=1))
    for number in range(1 + burst):
        group.members[0].send(number, FRAGMENT)
    group.clock.run()
    assert [d.payload for d in group.deliveries if d.member == 1] == list(range(1 + burst))
    # An answer is a completion and, when everything has come from everybody, a gap.
    assert group.network.link(1, 0).messages == 2 * (1 + answers)


@pytest.mark.parametrize("burst", [1, 5, 6, 11])
def test_before_that_limit_a_burst_is_answered_once(burst: int) -> None:
    # Versions that limit the output queue to 128 messages ask for answers at the end of a burst.
    options = EvsOptions(send_window=512, user_send_window=1, queue_limit_messages=128)
    group = EvsGroup(symmetric(3), options)
    for number in range(1 + burst):
        group.members[0].send(number, FRAGMENT)
    group.clock.run()
    assert [d.payload for d in group.deliveries if d.member == 1] == list(range(1 + burst))
    assert group.network.link(1, 0).messages == 2 * (1 + 1)


def test_a_full_output_queue_refuses() -> None:
    member = EvsGroup(symmetric(3)).members[0]
    taken = 0
    while member.send("message", FRAGMENT):
        taken += 1
    assert member.queued == taken - 2  # the window took two
    assert (member.queued - 1) * FRAGMENT < 1 << 20 <= member.queued * FRAGMENT
    old = EvsGroup(symmetric(3), EvsOptions(queue_limit_messages=128)).members[0]
    for _ in range(2 + 128):
        assert old.send("message", SMALL)
    assert not old.send("message", SMALL)


def test_two_members_with_a_window_of_one_need_the_acknowledgement_when_blocked() -> None:
    # Both use number 0 and have more to send: without it neither ever learns that 0 is safe.
    for acknowledges, delivered in ((True, 6), (False, 0)):
        options = EvsOptions(
            send_window=1, user_send_window=1, use_aggregate=False, gap_when_blocked=acknowledges
        )
        group = EvsGroup(symmetric(2), options)
        for number in range(3):
            for member in group.members:
                member.send(number, SMALL)
        group.clock.run()
        assert [sum(d.member == member for d in group.deliveries) for member in (0, 1)] == [
            delivered
        ] * 2


# -- segments --------------------------------------------------------------------------------


@pytest.mark.parametrize("sender", range(6))
def test_each_other_segment_gets_one_copy(sender: int) -> None:
    segments = [0, 0, 0, 1, 1, 2]
    lan, wan = 1.0, 10.0
    group = EvsGroup(sites(3, 2, 1, wan_hop_s=wan, lan_hop_s=lan), segments=segments)
    arrivals: list[tuple[int, float]] = []

    def arrived(member: int, _: object) -> None:
        arrivals.append((member, group.clock.now))

    for member, mesh in enumerate(group.meshes):
        mesh.on_message(partial(arrived, member))
    group.meshes[sender].broadcast("message", SMALL)
    group.clock.run()
    assert wan_copies(group, segments) == 2
    assert sorted(member for member, _ in arrivals) == [i for i in range(6) if i != sender]
    for segment in range(3):
        delays = sorted(delay for member, delay in arrivals if segments[member] == segment)
        if segment == segments[sender]:
            assert set(delays) <= {lan}
        else:  # the relay, and those behind it
            assert delays == [wan] + [wan + lan] * (len(delays) - 1)


def wan_copies(group: EvsGroup, segments: list[int]) -> int:
    size = len(segments)
    return sum(
        group.network.link(i, j).messages
        for i in range(size)
        for j in range(size)
        if segments[i] != segments[j]
    )


def test_relays_are_spread_by_the_place_of_the_sender_in_its_segment() -> None:
    group = EvsGroup(symmetric(7), segments=[0, 0, 0, 1, 1, 2, 2])
    for sender, first, second in ((3, 0, 5), (4, 1, 6)):  # place 0 and 1 of segment 1
        group.meshes[sender].broadcast("message", SMALL)
        assert [i for i in (0, 1, 2) if group.network.link(sender, i).messages] == [first]
        assert [i for i in (5, 6) if group.network.link(sender, i).messages] == [second]


def test_a_relay_adds_a_local_hop_to_the_triangle() -> None:
    lan, wan = 0.001, 0.05
    segments = [0, 0, 0, 1, 1, 1]
    delays = sites(3, 3, wan_hop_s=wan, lan_hop_s=lan)
    # As the relays make it: who relays for whom depends on sender and segment alone.
    place = [i % 3 for i in range(6)]
    relay = [[3 * segments[j] + (place[i] + segments[j]) % 3 for j in range(6)] for i in range(6)]
    relayed = [
        [
            delays[i][j] + (lan if segments[i] != segments[j] and relay[i][j] != j else 0.0)
            for j in range(6)
        ]
        for i in range(6)
    ]
    latencies = EvsGroup(delays, segments=segments).isolated()
    assert latencies == pytest.approx(
        [safe_delivery_s(relayed, 0, member) for member in range(6)], abs=EXACT
    )
    direct = EvsGroup(delays).isolated()
    assert latencies[0] > direct[0] + lan / 2


# -- keepalives ------------------------------------------------------------------------------

LAN, SLOW = 0.00005, 0.05  # hop, and what the third member's messages take longer
SPREAD = (0.0, 0.0004, 0.0003)  # keepalives of a group come together, but more than a hop apart


def latency_beside_keepalives(
    submitted_s: float,
    options: EvsOptions | None = None,
    spread_s: tuple[float, ...] = SPREAD,
    first_s: float = 1.0,
) -> float:
    delays = [[0.0 if i == j else LAN + SLOW * (i == 2) for j in range(3)] for i in range(3)]
    group = EvsGroup(delays, options, keepalives_s=[first_s + offset for offset in spread_s])
    group.clock.at(submitted_s, lambda _: group.members[0].send("message", SMALL))
    group.clock.run(submitted_s + 1.0)
    return next(d.time_s for d in group.deliveries if d.member == 0) - submitted_s


@pytest.mark.parametrize("after_s", [0.002, 0.01, 0.025, 0.045])
def test_a_message_that_meets_keepalives_waits_for_their_answer(after_s: float) -> None:
    latency = latency_beside_keepalives(1.0 + after_s)
    assert SLOW < latency < 2 * SLOW + 4 * LAN
    # Queued until the slow member answers the keepalives, then a delivery of its own.
    assert latency == pytest.approx(SLOW + (SLOW - after_s), abs=SPREAD[1] + 4 * LAN)


@pytest.mark.parametrize("submitted_s", [0.98, 1.06])
def test_a_message_before_or_after_the_keepalives_does_not(submitted_s: float) -> None:
    assert latency_beside_keepalives(submitted_s) == pytest.approx(SLOW + 3 * LAN, abs=LAN)


@pytest.mark.parametrize("after_s", [0.002, 0.025])
def test_wide_windows_do_not_wait_for_keepalives(after_s: float) -> None:
    latency = latency_beside_keepalives(1.0 + after_s, windows(OPEN))
    assert latency == pytest.approx(SLOW + 3 * LAN, abs=2 * LAN)


def test_rare_keepalives_are_rarely_met() -> None:
    options = EvsOptions(keepalive_period_s=20.0)
    for submitted_s in (2.01, 3.01):  # a second later and two, when default ones would come
        latency = latency_beside_keepalives(submitted_s, options)
        assert latency == pytest.approx(SLOW + 3 * LAN, abs=LAN)
        assert latency_beside_keepalives(submitted_s) > 1.5 * SLOW


def test_keepalives_within_a_hop_share_a_number_and_leave_room() -> None:
    together = (0.0, LAN / 4, LAN / 2)
    latency = latency_beside_keepalives(1.01, spread_s=together)
    assert latency == pytest.approx(SLOW + 3 * LAN, abs=2 * LAN)
