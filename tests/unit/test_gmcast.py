"""Links between the members of a Galera group: lost, found again, and gone round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.kernel.clock import Clock
from simrep.kernel.pace import Pace
from simrep.kernel.streams import Streams
from simrep.kernel.timeline import Timeline
from simrep.models.galera.gcomm.gmcast import Gmcast, LinkOptions
from simrep.network.link import Latency
from simrep.network.mesh import MessageWork
from simrep.network.network import EventfulNetwork, Path
from simrep.network.trouble import Trouble
from simrep.server.host import Host
from simrep.server.process import PacedHost, Process, ProcessClock
from simrep.server.thread import Thread

HOP_S = 0.001
EVERY_S = 0.1  # between messages of every member to all


class Word(NamedTuple):
    source: int
    number: int


class Links:
    """Members that talk all the time, with links that break.

    ``cuts`` are times from and to by ordered pair; ``pauses`` those of processes.
    """

    def __init__(
        self,
        size: int = 3,
        cuts: Mapping[tuple[int, int], tuple[float, float]] | None = None,
        *,
        segments: Sequence[int] | None = None,
        pauses: Mapping[int, tuple[float, float]] | None = None,
        talk: bool = True,
        seed: int = 1,
        hop_s: float = HOP_S,
    ) -> None:
        self.clock = Clock()
        self.timeline = Timeline(self.clock)
        streams = Streams(seed)
        pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
        paths = {
            pair: Path(Latency(hop_s), troubles=(Trouble(*cuts[pair], cut=True),))
            if cuts and pair in cuts
            else Path(Latency(hop_s))
            for pair in pairs
        }
        hosts: dict[int, Any] = {i: Host(self.clock, 1) for i in range(size)}
        clocks: dict[int, Clock] = dict.fromkeys(range(size), self.clock)
        gates = {}
        for i, pause in (pauses or {}).items():
            machine = PacedHost(self.clock, 1, pace=Pace())
            hosts[i] = Process(machine, Pace(), [pause])
            clocks[i] = ProcessClock(self.clock, hosts[i])
            gates[i] = hosts[i].receive
        names = [f"n{i}" for i in range(size)]
        network = EventfulNetwork(self.clock, streams, names, paths, None, gates)
        self.heard: list[list[tuple[float, Word]]] = [[] for _ in range(size)]
        self.members = []
        for i in range(size):
            work = MessageWork(hosts[i].routine(0.0), hosts[i].routine(0.0))
            chance = streams.uniform(f"links/{i}")
            thread = Thread(hosts[i])
            how = segments or [0] * size, thread, work, LinkOptions(), chance, self.timeline
            member = Gmcast(clocks[i], network, i, *how)
            member.on_message(partial(self._hear, i))
            self.members.append(member)
            if talk:
                clocks[i].at(EVERY_S * (i + 1) / size, self._talk, (i, 0))

    def _hear(self, i: int, word: Word) -> None:
        self.heard[i].append((self.clock.now, word))

    def _talk(self, turn: tuple[int, int]) -> None:
        i, number = turn
        self.members[i].broadcast(Word(i, number), 100)
        clock = self.members[i]._clock
        clock.at(clock.now + EVERY_S, self._talk, (i, number + 1))

    def run(self, until_s: float) -> Links:
        self.clock.run(until_s)
        return self

    def times(self, what: str, node: int, of: int) -> list[float]:
        """When a member noted something of another."""
        noted = self.timeline.noted
        return [n.at_s for n in noted if (n.what, n.node, n.of) == (what, node, (of,))]

    def from_(self, source: int, at: int, since_s: float, until_s: float = inf) -> list[int]:
        """Numbers of the words that a member heard of another."""
        return [
            word.number
            for time_s, word in self.heard[at]
            if word.source == source and since_s < time_s <= until_s
        ]


def around(node: int, size: int, *span: float) -> dict[tuple[int, int], Any]:
    """Cuts a member off from all others."""
    return both([(node, other) for other in range(size) if other != node], *span)


def both(pairs: Iterable[tuple[int, int]], *span: float) -> dict[tuple[int, int], Any]:
    return {pair: span for i, j in pairs for pair in ((i, j), (j, i))}


PAIRS = [(0, 2), (1, 2), (2, 0), (2, 1)]


@pytest.mark.parametrize("seed", range(4))
def test_a_silent_link_is_closed_by_both_ends_at_the_first_check_after_three_seconds(seed):
    links = Links(3, around(2, 3, 5.0, inf), seed=seed).run(12.0)
    for pair in PAIRS:
        (closed,) = links.times("link-closed", *pair)
        assert 8.0 - EVERY_S <= closed <= 8.5 + HOP_S
    assert not links.times("link-closed", 0, 1)
    assert {n.how for n in links.timeline.noted} == {"silence"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("heal_s", [16.0, 17.3, 18.0, 19.1])
def test_a_healed_link_is_found_by_one_try_in_four_seconds_and_its_repetitions(seed, heal_s):
    """Tries at 4 + 4k seconds after the last sign of life; SYN again one and two seconds later."""
    links = Links(3, around(2, 3, 5.0, heal_s), seed=seed).run(heal_s + 4.0)
    closed = links.times("link-closed", 2, 0)[0]
    (back,) = links.times("link-open", 2, 0)
    other_end = links.times("link-open", 0, 2)
    back = max(back, *other_end)  # who connects learns it a hop after the other
    assert other_end == [pytest.approx(back - HOP_S, abs=HOP_S + 1e-6)]
    tries = [closed + 1.0 + 4.0 * k + again for k in range(5) for again in range(3)]
    # Either end tries, since no view has told the majority to forget the other.
    closed = links.times("link-closed", 0, 2)[0]
    tries += [closed + 1.0 + 4.0 * k + again for k in range(5) for again in range(3)]
    first = min(at for at in tries if at >= heal_s)
    # SYN, its answer, then handshake, response, ok: three round trips for who connects.
    assert back == pytest.approx(first + 6 * HOP_S, abs=1e-5)


def test_after_a_kill_links_close_at_once_and_attempts_are_refused_every_second_and_a_half():
    links = Links(3)
    tries: list[float] = []
    links.clock.at(5.0, lambda _: links.members[2].close())
    connect = links.members[0]._connect

    def counted(peer: int) -> None:
        tries.append(links.clock.now)
        connect(peer)

    links.members[0]._connect = counted  # type: ignore[method-assign]
    links.run(12.0)
    assert links.times("link-closed", 0, 2) == [pytest.approx(5.0 + HOP_S)]
    assert links.times("link-closed", 1, 2) == [pytest.approx(5.0 + HOP_S)]
    assert 6.0 + HOP_S <= tries[0] <= 6.5 + HOP_S
    gaps = {round(later - before, 6) for before, later in pairwise(tries)}
    assert gaps == {1.5}


def test_what_was_sent_before_a_kill_still_arrives():
    links = Links(3, talk=False)

    def last_words(_: None) -> None:
        links.members[2].broadcast(Word(2, 7), 100)
        links.members[2].close()

    links.clock.at(5.0, last_words)
    links.run(6.0)
    assert [links.from_(2, i, 0.0) for i in (0, 1)] == [[7], [7]]


def test_a_member_that_starts_again_has_all_links_after_three_round_trips():
    links = Links(3)
    links.clock.at(5.0, lambda _: links.members[2].close())
    links.clock.at(8.2, lambda _: links.members[2].reopen())
    links.run(8.2 + 7 * HOP_S)
    assert links.times("link-open", 2, 0) == [pytest.approx(8.2 + 6 * HOP_S)]
    assert links.times("link-open", 0, 2) == [pytest.approx(8.2 + 5 * HOP_S)]
    links.run(8.5)
    assert links.from_(2, 0, 8.2)
    assert links.from_(1, 2, 8.2)
    assert [member.linked for member in links.members] == [(1, 2), (0, 2), (0, 1)]


def test_a_short_outage_is_repaired_by_tcp_and_no_link_is_closed():
    links = Links(3, around(2, 3, 5.0, 6.2)).run(9.0)
    assert not links.timeline.noted
    numbers = links.from_(2, 0, 0.0)
    assert numbers == list(range(len(numbers)))


def test_messages_of_a_closed_connection_are_lost():
    links = Links(3, around(2, 3, 5.0, 16.0)).run(25.0)
    numbers = links.from_(2, 0, 0.0)
    gap = [b for a, b in pairwise(numbers) if b != a + 1]
    assert len(gap) == 1
    assert numbers == sorted(set(numbers))
    assert links.times("link-open", 0, 2)[0] <= EVERY_S * (gap[0] + 2)


def test_round_a_single_broken_link_messages_go_by_way_of_a_third():
    links = Links(3, both([(0, 1)], 5.0, inf)).run(12.0)
    for i, j in ((0, 1), (1, 0)):
        (closed,) = links.times("link-closed", i, j)
        assert 8.0 - EVERY_S <= closed <= 8.5 + HOP_S
        assert not links.from_(i, j, 5.0 + HOP_S, closed - 0.1)
        numbers = links.from_(i, j, closed + 0.2)
        assert set(numbers) == set(range(min(numbers), max(numbers) + 1))
        links_of = links.members[i].linked
        assert links_of == (2,)
    assert not links.times("link-closed", 2, 0) + links.times("link-closed", 2, 1)


def test_what_is_for_one_member_without_a_link_reaches_it_only():
    links = Links(4, both([(0, 1)], 5.0, inf), talk=False)
    links.clock.at(10.0, lambda _: links.members[0].send(1, Word(0, 1), 100))
    links.clock.at(10.5, lambda _: links.members[0].send_each([1, 2], Word(0, 2), 100))
    links.clock.at(11.0, lambda _: links.members[0].send(3, Word(0, 3), 100))
    links.run(12.0)
    assert [sorted(set(links.from_(0, i, 9.0))) for i in (1, 2, 3)] == [[1, 2], [2], [3]]


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_a_cut_in_one_direction_closes_both(pair):
    links = Links(2, {pair: (5.0, inf)}).run(9.0)
    deaf = pair[1]
    (closed,) = links.times("link-closed", deaf, 1 - deaf)
    assert 8.0 - EVERY_S <= closed <= 8.5 + HOP_S
    # Without acknowledgements the other side is heard for 0.2 s and a round trip longer.
    (other,) = links.times("link-closed", 1 - deaf, deaf)
    assert 8.2 - EVERY_S <= other <= 8.7 + EVERY_S + 3 * HOP_S


def test_keepalives_keep_a_link_on_which_nobody_says_anything():
    links = Links(3, talk=False).run(30.0)
    assert not links.timeline.noted
    silent = Links(3, around(2, 3, 5.0, inf), talk=False).run(9.5)
    for pair in PAIRS:  # a sign of life every 0.5 s from the second on
        (closed,) = silent.times("link-closed", *pair)
        assert 7.0 <= closed <= 8.5 + HOP_S


def test_a_silent_relay_cuts_its_segment_off_until_its_links_close():
    segments = [0, 0, 1, 1]  # 0 sends to segment 1 by 3, 1 by 2
    links = Links(4, around(3, 4, 5.0, inf), segments=segments).run(12.0)
    (closed,) = links.times("link-closed", 0, 3)
    assert 8.0 - EVERY_S <= closed <= 8.5 + HOP_S
    assert not links.from_(0, 2, 5.0 + 2 * HOP_S, closed)
    numbers = set(links.from_(0, 2, closed))
    assert len(numbers) >= 30
    assert len(links.from_(1, 2, 5.1, closed)) >= 28


def test_a_killed_relay_is_replaced_at_once():
    links = Links(4, segments=[0, 0, 1, 1])
    links.clock.at(5.05, lambda _: links.members[3].close())
    links.run(7.0)
    assert len(links.from_(0, 2, 5.0)) >= 19


def test_who_is_not_in_the_primary_component_is_forgotten_and_may_come_back_later():
    links = Links(3, around(2, 3, 5.0, 13.0))
    for i in (0, 1):
        links.clock.at(11.0, lambda _, i=i: links.members[i].stable((0, 1), primary=True))
    links.run(30.0)
    closed = links.times("link-closed", 2, 0)[0]
    tries = [closed + 1.0 + 4.0 * k + again for k in range(5) for again in range(3)]
    first = min(at for at in tries if at >= 13.0)
    accepted = [at for at in links.times("link-open", 2, 0) if at >= 13.5]
    assert accepted[-1] >= first
    assert links.members[0].linked == (1, 2)


def test_who_has_left_may_come_back_at_once_as_another_process():
    links = Links(3)
    links.clock.at(5.0, lambda _: links.members[2].close())
    for i in (0, 1):
        links.clock.at(5.1, lambda _, i=i: links.members[i].stable((0, 1), (2,)))
    links.clock.at(6.0, lambda _: links.members[2].reopen())
    links.run(6.1)
    assert links.members[2].linked == (0, 1)


def test_an_evicted_member_is_refused_until_it_starts_anew():
    links = Links(3)
    told: list[float] = []
    links.members[2].on_evicted(lambda: told.append(links.clock.now))
    for i in (0, 1):
        links.clock.at(5.0, lambda _, i=i: links.members[i].evict((2, 0)))
        links.clock.at(5.1, lambda _, i=i: links.members[i].stable((0, 1), primary=True))
    links.run(8.0)
    assert links.members[0].linked == (1,)
    assert told
    assert told[0] > 6.0
    links.clock.at(12.0, lambda _: links.members[2].close())
    links.clock.at(20.0, lambda _: links.members[2].reopen())  # from a crash, as who it was
    links.clock.at(25.0, lambda _: links.members[2].close())
    links.clock.at(26.0, lambda _: setattr(links.members[2], "identity", 2))
    links.clock.at(26.0, lambda _: links.members[2].reopen())
    links.run(25.0)
    assert links.members[0].linked == (1,)
    links.run(27.0)
    assert links.members[0].linked == (1, 2)


def test_others_close_their_links_to_a_stopped_process_which_finds_out_when_it_goes_on():
    links = Links(3, pauses={2: (5.0, 15.0)})
    for i in (0, 1):  # after which they do not try any longer to connect
        links.clock.at(11.0, lambda _, i=i: links.members[i].stable((0, 1), primary=True))
    links.run(20.0)
    for i in (0, 1):
        closed = links.times("link-closed", i, 2)[0]
        assert 8.0 - EVERY_S <= closed <= 8.5 + HOP_S
    closed = links.times("link-closed", 2, 0)[0]
    assert closed == pytest.approx(15.0, abs=0.01)
    back = links.times("link-open", 2, 0)[0]
    assert 16.0 <= back <= 16.6
    assert links.members[2].linked == (0, 1)


def test_a_process_that_is_stopped_for_less_than_the_timeout_keeps_its_links():
    links = Links(3, pauses={2: (5.0, 7.8)}).run(12.0)
    assert not links.timeline.noted


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_after_any_cuts_kills_and_starts_all_links_are_there_again(data):
    size = data.draw(st.integers(2, 5))
    times = st.floats(1.0, 12.0)
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    cuts = data.draw(st.dictionaries(st.sampled_from(pairs), st.tuples(times, times)))
    cuts = {pair: (at, at + length_s) for pair, (at, length_s) in cuts.items()}
    segments = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    hop_s = data.draw(st.sampled_from([0.0001, 0.1]))
    links = Links(size, cuts, segments=segments, hop_s=hop_s, talk=False)
    for i in data.draw(st.sets(st.integers(0, size - 1))):
        at, length_s = data.draw(st.tuples(times, times))
        links.clock.at(at, lambda _, i=i: links.members[i].close())
        links.clock.at(at + length_s, lambda _, i=i: links.members[i].reopen())
    links.run(24.0 + 10.0)
    for i, member in enumerate(links.members):
        assert member.linked == tuple(j for j in range(size) if j != i)
