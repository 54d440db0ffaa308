"""What XCom promises, for random groups and messages: one order, nothing lost, senders' order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import event, given, settings
from hypothesis import strategies as st

from simrep.models.group_replication.xcom.paxos import XcomOptions
from tests.groups import Matrix, XcomGroup

Send = tuple[float, int, int]  # when, sender, bytes


@dataclass(frozen=True)
class Case:
    """A group and what its members send."""

    delays_s: Matrix
    options: XcomOptions
    jitter_s: float
    message_s: float
    sends: list[Send]

    def run(
        self, seed: int = 0, look: tuple[float, Callable[[XcomGroup], object]] | None = None
    ) -> XcomGroup:
        """Run it to its end; on the way, at a time in seconds, ``look`` may have a look at it."""
        group = XcomGroup(
            self.delays_s,
            self.options,
            jitter_s=self.jitter_s,
            message_s=self.message_s,
            seed=seed,
        )
        for number, (time_s, sender, size_bytes) in enumerate(self.sends):
            group.send_at(time_s, sender, number, size_bytes)
        if look is not None:
            time_s, call = look
            group.clock.run(time_s)
            call(group)
        group.clock.run()
        return group


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size = draw(st.integers(2, 6))
    hop = st.sampled_from([0.0, 1e-4, 0.01, 0.3]) | st.floats(0.0, 0.1)
    delays = [[0.0 if i == j else draw(hop) for j in range(size)] for i in range(size)]
    options = XcomOptions(
        event_horizon=draw(st.sampled_from([2, 3, 10, 200])),
        proposers=draw(st.sampled_from([1, 3, 10])),
        largest_batch=draw(st.sampled_from([1, 3, 5000])),
        largest_batch_bytes=draw(st.sampled_from([0, 1000, 1 << 30])),
        leader=draw(st.none() | st.integers(0, size - 1)),
    )
    when = st.sampled_from([0.0, 0.0, 0.05]) | st.floats(0.0, 0.5)
    send = st.tuples(when, st.integers(0, size - 1), st.sampled_from([10, 700, 100_000]))
    return Case(
        delays,
        options,
        draw(st.sampled_from([0.0, 0.0, 0.01])),
        draw(st.sampled_from([0.0, 0.0, 1e-3])),
        draw(st.lists(send, min_size=1, max_size=60)),
    )


@settings(max_examples=180)
@given(cases(), st.integers(0, 1000), st.floats(0.001, 1.0))
def test_whatever_the_group_and_the_load_every_promise_is_kept(
    case: Case, seed: int, look_s: float
) -> None:
    group = case.run(seed, (look_s, lambda running: members_are_at_a_beginning(case, running)))
    all_members_deliver_all_messages_in_one_order(case, group)
    a_senders_messages_stay_in_order(case, group)
    what_is_delivered_anywhere_comes_before_what_is_sent_later(case, group)
    no_message_is_delivered_before_a_majority_can_have_it(case, group)


def all_members_deliver_all_messages_in_one_order(case: Case, group: XcomGroup) -> None:
    first, *others = (list(group.delivered(i)) for i in range(len(case.delays_s)))
    assert sorted(first) == list(range(len(case.sends)))
    assert all(other == first for other in others)
    # Nothing twice, and everything from whom it was.
    assert len(group.deliveries) == len(case.sends) * len(case.delays_s)
    assert all(one.sender == case.sends[one.payload][1] for one in group.deliveries)


def a_senders_messages_stay_in_order(case: Case, group: XcomGroup) -> None:
    order = list(group.delivered(0))
    for sender in range(len(case.delays_s)):
        own = [number for number in order if case.sends[number][1] == sender]
        assert own == sorted(own, key=lambda number: case.sends[number][0])


def members_are_at_a_beginning(case: Case, group: XcomGroup) -> None:
    # At any time all have delivered a beginning of the same order.
    orders = [list(group.delivered(i)) for i in range(len(case.delays_s))]
    longest = max(orders, key=len)
    event(f"in flight: {len(longest) < len(case.sends)}")
    assert all(order == longest[: len(order)] for order in orders)


def what_is_delivered_anywhere_comes_before_what_is_sent_later(
    case: Case, group: XcomGroup
) -> None:
    # Whoever has seen a message delivered sends after it: reads at level BEFORE rely on it.
    order = {number: place for place, number in enumerate(group.delivered(0))}
    earliest: dict[int, float] = {}
    for one in group.deliveries:
        earliest.setdefault(one.payload, one.time_s)
    for number, time_s in earliest.items():
        for later, (sent_s, _, _) in enumerate(case.sends):
            if sent_s > time_s:
                assert order[number] < order[later]


def no_message_is_delivered_before_a_majority_can_have_it(case: Case, group: XcomGroup) -> None:
    size = len(case.delays_s)
    for one in group.deliveries:
        sent_s, sender, _ = case.sends[one.payload]
        delays = case.delays_s
        round_trips = sorted(
            delays[sender][i] + delays[i][sender] for i in range(size) if i != sender
        )
        assert one.time_s >= sent_s + round_trips[size // 2 - 1] - 1e-9


@settings(max_examples=40)
@given(cases(), st.integers(0, 1000))
def test_a_seed_determines_everything(case: Case, seed: int) -> None:
    assert case.run(seed).deliveries == case.run(seed).deliveries
