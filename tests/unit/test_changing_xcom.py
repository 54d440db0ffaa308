"""XCom members that fall silent, go and come: who decides about their slots, and when they end."""

from __future__ import annotations

import pytest

from simrep.models.group_replication.xcom.cache import MessageCache
from simrep.models.group_replication.xcom.paxos import XcomOptions
from simrep.models.group_replication.xcom.proposal_times import ProposalTimes
from simrep.models.group_replication.xcom.site import Site, Sites
from simrep.models.group_replication.xcom.slots import Batch
from tests.changing_groups import LossyLink
from tests.groups import symmetric
from tests.xcom_groups import ChangingXcomGroup

HOP = 0.001


def group_of(size: int, options: XcomOptions | None = None, **how: int) -> ChangingXcomGroup:
    group = ChangingXcomGroup(symmetric(size, HOP), options, **how)
    group.tell_statistics()
    return group


def isolate(group: ChangingXcomGroup, member: int, from_s: float, to_s: float) -> None:
    """Nothing comes from a member, nor to it."""
    for other in range(len(group.members)):
        for pair in ((member, other), (other, member)):
            if other != member:
                link = LossyLink(group, *pair)
                link.begin_s, link.end_s = from_s, to_s


def payloads(group: ChangingXcomGroup, member: int) -> list[object]:
    return [payload for _, payload in group.order(member) if isinstance(payload, str | int)]


# -- what a silent member had proposed -------------------------------------------------------------


@pytest.mark.parametrize("reaches", [(), (0,), (1,)])
def test_what_one_survivor_has_accepted_is_adopted_and_else_nothing(
    reaches: tuple[int, ...],
) -> None:
    group = group_of(3)
    for other in {0, 1} - {*reaches}:
        link = LossyLink(group, 2, other)
        link.begin_s, link.end_s = 1.0, 9.0
    group.send_at(1.0, 2, "last words")
    group.at(1.0 + 1.5 * HOP, lambda: group.kill(2))
    group.send_at(1.01, 0, "later")
    group.clock.run(10.0)
    expected = ["later", "last words"] if reaches else ["later"]
    assert payloads(group, 0) == payloads(group, 1) == expected
    if reaches == (0,):  # who has accepted it leaves it alone for half a second
        assert 0.5 < group.delivered(0)["last words"] - 1.0 < 1.5


def test_a_message_whose_slot_was_given_away_gets_another() -> None:
    group = group_of(3)
    isolate(group, 2, 1.0, 3.0)
    group.send_at(1.5, 2, "kept")
    group.send_at(1.4, 0, "other")
    group.clock.run(30.0)
    assert [*payloads(group, 0)] == [*payloads(group, 2)] == ["other", "kept"]


# -- configurations --------------------------------------------------------------------------------


def test_a_member_that_leaves_in_order_stops_nobody() -> None:
    group = group_of(3)
    done = group.clients(0, 4)
    group.at(2.0, lambda: group.members[2].remove((2,)))
    group.clock.run(8.0)
    assert max(latency for time_s, latency in done if time_s > 1.0) < 0.1
    (exit_s, member, why) = group.exits[0]
    assert (member, why, len(group.exits)) == (2, "removed", 1)
    assert exit_s == pytest.approx(5.0, abs=0.15)
    ends = group.order(2)
    assert ends == group.order(0)[: len(ends)]
    assert {site.members for site in (group.members[0].site, group.members[1].site)} == {(0, 1)}


def test_a_removed_member_reads_that_it_is_out() -> None:
    group = group_of(3)
    isolate(group, 2, 1.0, 20.0)
    group.at(1.0, lambda: group.silent.update({2: 1.0}))
    group.clients(0, 2)
    group.at(10.0, lambda: group.members[0].remove((2,)))
    group.clock.run(60.0)
    assert [(member, why) for _, member, why in group.exits] == [(2, "removed")]
    ends = group.order(2)
    assert len(ends) > 200
    assert ends == group.order(0)[: len(ends)]


def test_a_member_that_joins_makes_gaps_until_it_has_a_snapshot() -> None:
    group = group_of(3)
    done = group.clients(0, 2)
    group.at(1.0, lambda: group.kill(2))
    group.at(5.0, lambda: group.members[0].remove((2,)))
    group.at(8.0, lambda: group.rejoin(2, 0))
    group.clock.run(14.0)

    def slowest(from_s: float, to_s: float) -> float:
        return max(latency for time_s, latency in done if from_s < time_s <= to_s)

    assert slowest(6.5, 8.0) < 0.02
    assert slowest(8.1, 9.0) > 0.2  # the snapshot comes a second after the request
    assert slowest(9.6, 14.0) < 0.02
    assert group.members[2].site.members == (0, 1, 2)
    later = group.order(2)[-50:]
    assert later == group.order(0)[-len(later) :]


def test_a_member_that_joins_asks_nobody_for_what_is_pushed_behind_its_snapshot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So it may not hear a survivor whose connection is not agreed, and waits for that."""
    group = group_of(3)
    group.clients(0, 2)
    joiner, asked = group.members[2], []
    read = joiner.read
    monkeypatch.setattr(joiner, "read", lambda slot: (asked.append(group.clock.now), read(slot)))
    group.at(1.0, lambda: group.kill(2))
    group.at(5.0, lambda: group.members[0].remove((2,)))
    group.at(8.0, lambda: group.rejoin(2, 0))
    group.clock.run(10.0)
    assert joiner.running
    assert joiner.executed > joiner.site.start
    assert [at_s for at_s in asked if 8.0 < at_s < 9.1] == []


def test_a_configuration_is_forced_by_those_who_are_left() -> None:
    group = group_of(5)
    for member in (1, 3, 4):
        group.at(22.0, lambda member=member: group.kill(member))
    group.send_at(23.0, 0, "blocked")
    group.at(28.0, lambda: group.members[0].force((0, 2)))
    group.send_at(36.0, 2, "after")
    group.clock.run(37.0)
    assert payloads(group, 0) == payloads(group, 2) == ["blocked", "after"]
    assert 28.0 < group.delivered(2)["blocked"] < 33.0
    assert group.delivered(0)["after"] == pytest.approx(36.0, abs=0.1)
    assert group.members[2].site.members == (0, 2)
    assert not group.members[2].force((0, 1))


def test_a_view_message_tells_who_is_alive_when_it_gets_its_slot() -> None:
    group = group_of(3)
    told: list[frozenset[int]] = []
    group.members[0].on_present(lambda _, alive: told.append(alive))
    group.at(1.0, lambda: group.kill(2))
    group.at(8.0, lambda: group.members[0].present(frozenset({0, 1, 2})))
    group.clock.run(11.0)
    assert told == [{0, 1}]


def test_a_dead_leader_is_followed_by_the_first_that_is_alive() -> None:
    group = group_of(3, XcomOptions(leader=0))
    group.at(1.0, lambda: group.kill(0))
    group.send_at(2.0, 1, "waits")
    group.at(6.2, lambda: group.members[1].present(frozenset({1, 2})))
    group.send_at(10.0, 2, "after")
    group.clock.run(20.0)
    # A leader that is silent for 4 s may be dead: the first that is alive takes one of its slots.
    assert 5.0 < group.delivered(2)["waits"] < 6.0
    assert group.delivered(2)["after"] == pytest.approx(10.0, abs=0.1)
    assert group.members[2].site.leader == 1


def test_nothing_happens_any_more_to_a_member_that_ends_with_a_delivery() -> None:
    group = group_of(3)
    member = group.members[1]
    heard: list[object] = []

    def deliver(sender: int, payload: object) -> None:
        heard.append(payload)
        if payload == "end":
            member.end()

    member.on_deliver(deliver)
    group.send_at(1.0, 0, "end")
    group.send_at(1.0, 0, "not heard")
    group.clock.run(5.0)
    assert heard[-1] == "end"
    assert not member.running
    assert not member.send("refused", 100)
    assert (member.known, member.waves) == (-1, 0)
    assert payloads(group, 0) == payloads(group, 2) == ["end", "not heard"]


# -- what can be read ------------------------------------------------------------------------------


@pytest.mark.parametrize(("cache_bytes", "why"), [(1 << 30, None), (50_000, "too far behind")])
def test_whoever_is_behind_reads_what_others_still_have(cache_bytes: int, why: str | None) -> None:
    group = group_of(3, cache_bytes=cache_bytes)
    isolate(group, 2, 1.0, 20.0)
    group.at(1.0, lambda: group.silent.update({2: 1.0}))
    group.clients(0, 4)
    group.clock.run(50.0)
    assert [reason for _, _, reason in group.exits] == ([] if why is None else [why])
    if why is None:
        assert len(group.order(0)) - len(group.order(2)) < 60


def test_the_cache_forgets_by_bytes_and_only_what_all_heard_have_delivered() -> None:
    cache = MessageCache(100_000)
    for slot in range(0, 3000 * 16, 16):
        if cache.keep(slot, Batch([slot], 800, 0, 0.0)):
            cache.forget(slot - 500 * 16, 0)
    # 100,000 bytes are 100 values; but 500 numbers and ten more are not delivered by all.
    assert 3000 - 510 - 64 <= cache.first // 16 <= 3000 - 510
    cache.keep_for([(2900 * 16, 2910 * 16)])
    cache.forget(0, 2950 * 16)
    kept = [slot // 16 for slot in range(0, 3000 * 16, 16) if cache.get(slot) is not None]
    assert kept == [*range(2900, 2910), *range(2950, 3000)]


# -- small things ----------------------------------------------------------------------------------


def test_waits_follow_the_median_of_the_last_19_proposals() -> None:
    times = ProposalTimes(lambda: 0.5)
    assert times.median_s == 0.1
    for seconds in [9.0] * 19 + [0.01] * 10 + [0.02] * 9:
        times.add(seconds)
    assert times.median_s == 0.01
    assert times.first_wait() == pytest.approx(0.1 + 5.5 * 0.01)
    for _ in range(10):
        times.add(9.0)
    assert times.first_wait() == pytest.approx(0.1 + 5.5 * 2.0)  # 9 s counts as 2
    assert times.next_wait(19.0) == 15.0  # at random between 10 and 20 s
    times.clear()
    times.add(3.0)
    assert times.median_s == 0.1  # of a server that has just started


def test_configurations_are_valid_from_their_message_number_on() -> None:
    first = Site(0, (0, 1, 2))
    second = first.without((1,), 20, 9 * 16)
    third = second.with_added(1, 40, 30 * 16)
    sites = Sites((first, second, third))
    assert [sites.at(number) for number in (0, 19, 20, 39, 40)] == [
        first, first, second, second, third,
    ]  # fmt: skip
    assert (third.members, third.number_of(1), third.majority) == ((0, 2, 1), 2, 2)
    assert third.formed == third.boot == 30 * 16
    assert sites.next_start(20) == 40
    led = Site(0, (2, 0, 1), single=True, preferred=1, present=frozenset({0, 2}))
    assert (led.leader, led.first) == (2, 0)
    assert led.led_by(0, 20, 9).leader == 0
