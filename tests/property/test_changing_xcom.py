"""What a group promises whose members may fall silent: one order for all, whatever is lost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, NamedTuple

from hypothesis import event, given, settings
from hypothesis import strategies as st

from simrep.models.group_replication.xcom.paxos import XcomOptions
from tests.changing_groups import LossyLink
from tests.groups import Group, XcomGroup, symmetric
from tests.xcom_groups import ChangingXcomGroup


@settings(max_examples=8)
@given(st.integers(1, 9), st.integers(0, 1000), st.sampled_from([2, 10]))
def test_without_faults_it_orders_as_if_there_could_be_none(
    size: int, seed: int, horizon: int
) -> None:
    options = XcomOptions(event_horizon=horizon)
    how = {"message_s": 1e-5, "jitter_s": 1e-4, "seed": seed}

    def run(group: Group) -> Group:
        random = Random(seed)
        for number in range(60):
            group.send_at(random.random() / 5.0, random.randrange(size), number)
        group.clock.run(3.0)
        return group

    plain = run(XcomGroup(symmetric(size, 0.004), options, **how))
    changing = run(ChangingXcomGroup(symmetric(size, 0.004), options, **how))
    assert changing.deliveries == plain.deliveries
    assert changing.messages == plain.messages


class Loss(NamedTuple):
    """A share of the messages of one member to another is lost for a while."""

    source: int
    target: int
    from_s: float
    for_s: float
    share: float


@dataclass(frozen=True)
class Case:
    """A group, what its members send and what happens to it."""

    size: int
    hop_s: float
    options: XcomOptions
    sends: list[tuple[float, int]]
    losses: list[Loss]
    killed: list[tuple[float, int, bool]]  # when, whom, and whether it is removed and comes back
    jitter_s: float
    seed: int

    def run(self) -> ChangingXcomGroup:
        """Run it until waits, which grow to 20 s, are over."""
        group = ChangingXcomGroup(
            symmetric(self.size, self.hop_s), self.options, jitter_s=self.jitter_s, seed=self.seed
        )
        group.tell_statistics()
        links = {
            (i, j): LossyLink(group, i, j)
            for i in range(self.size)
            for j in range(self.size)
            if i != j
        }
        for loss in self.losses:
            group.at(loss.from_s, partial(self._lose, group, links, loss))
        for number, (time_s, sender) in enumerate(self.sends):
            group.at(time_s, partial(group.members[sender].send, number, 100))
        for time_s, position, replaced in self.killed:
            group.at(time_s, partial(group.kill, position))
            for later_s in (5.0, 40.0, 80.0):  # detectors ask again if configurations have changed
                group.at(time_s + later_s, partial(self._agree, group))
            if replaced:
                group.at(10.0 + time_s, partial(self._replace, group, position))
        group.at(120.0, partial(self._hear, group))
        group.clock.run(160.0)
        return group

    @staticmethod
    def _lose(group: ChangingXcomGroup, links: dict[Any, LossyLink], loss: Loss) -> None:
        for (source, target), link in links.items():
            all_of_it = loss.source == loss.target and loss.source in (source, target)
            if all_of_it or (source, target) == (loss.source, loss.target):
                link.begin_s, link.end_s = group.clock.now, group.clock.now + loss.for_s
                link.share = loss.share

    @staticmethod
    def _agree(group: ChangingXcomGroup) -> None:
        there = [member for member in range(len(group.members)) if group.members[member].running]
        group.members[there[0]].present(frozenset(there))

    @staticmethod
    def _replace(group: ChangingXcomGroup, position: int) -> None:
        donor = next(m for m in range(len(group.members)) if group.members[m].running)
        group.members[donor].remove((position,))
        group.rejoin(position, donor)

    @staticmethod
    def _hear(group: ChangingXcomGroup) -> None:
        for member in group.members:
            for other in group.members:
                if other.running:
                    member.heard_of(other._me, other.group, other.known, other.delivered)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size = draw(st.integers(3, 5))
    who = st.integers(0, size - 1)
    when = st.floats(0.0, 5.0)
    options = XcomOptions(
        event_horizon=draw(st.sampled_from([3, 10, 20])),
        largest_batch=draw(st.sampled_from([1, 5000])),
        leader=draw(st.none() | st.none() | who),
    )
    share = st.sampled_from([0.1, 0.5, 1.0])
    losses = st.builds(Loss, who, who, when, st.sampled_from([0.1, 0.5, 3.0]), share)
    victims = draw(st.lists(who, max_size=(size - 1) // 2, unique=True))
    return Case(
        size,
        draw(st.sampled_from([1e-4, 0.005, 0.05])),
        options,
        draw(st.lists(st.tuples(when, who), min_size=1, max_size=60)),
        draw(st.lists(losses, max_size=4)),
        [(draw(when), victim, draw(st.booleans())) for victim in victims],
        draw(st.sampled_from([0.0, 1e-3])),
        draw(st.integers(0, 1000)),
    )


@settings(max_examples=10)
@given(cases())
def test_whatever_is_lost_and_whoever_is_silent_every_promise_is_kept(case: Case) -> None:
    group = case.run()
    event(f"waves: {any(member.waves for member in group.members)}")
    gone = {position for _, position, _ in case.killed}
    live = [member for member in range(case.size) if member not in gone]
    all_members_deliver_the_same_in_one_order(case, group, live)
    what_a_live_member_sends_is_delivered(case, group, live)


def all_members_deliver_the_same_in_one_order(
    case: Case, group: ChangingXcomGroup, live: list[int]
) -> None:
    orders = [group.order(member) for member in range(case.size)]
    longest = max((orders[member] for member in live), key=len)
    places = {what: place for place, what in enumerate(longest)}
    assert len(places) == len(longest)  # nothing twice
    for member, order in enumerate(orders):
        if member in live:  # in full, but for what is under way
            assert order == longest[: len(order)]
            assert len(longest) - len(order) < 20
        elif order:  # a beginning, and from where it came back on without a gap
            begins = [places[what] for what in order]
            breaks = [i for i in range(1, len(begins)) if begins[i] != begins[i - 1] + 1]
            assert begins[0] == 0 or not breaks
            assert len(breaks) <= 1


def what_a_live_member_sends_is_delivered(
    case: Case, group: ChangingXcomGroup, live: list[int]
) -> None:
    delivered = {number for _, number in group.order(live[0])}
    for number, (_, sender) in enumerate(case.sends):
        if sender in live:
            assert number in delivered
