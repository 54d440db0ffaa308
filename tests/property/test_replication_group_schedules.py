"""Whatever happens to the members of a group: one order, nothing answered is lost, one view."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from random import Random
from typing import Any

import pytest

from simrep.models.group_replication.xcom.paxos import XcomOptions
from simrep.network.trouble import Trouble
from tests.replication_groups import Members

_LAST_FAULT_S = 40.0
_LAST_WRITE_S = 90.0
_END_S = 160.0

Payload = tuple[int, int, int]
"""Who has sent it, in which life, and its number."""


class Schedule:
    """A group with a client at each member, and what happens to it; all drawn by a number."""

    def __init__(self, number: int) -> None:
        self.random = random = Random(number)
        self.size = size = random.choice([2, 3, 3, 4, 5])
        self.members = Members(
            size,
            random.choice([1e-4, 0.005]),
            random.choice([0.0, 5.0, 30.0]),
            troubles=self._troubles(),
            options=XcomOptions(leader=0 if random.random() < 0.25 else None),
            seed=number,
        )
        self.up = [True] * size
        # What each member has delivered, in each of its lives.
        self.delivered: list[list[list[Payload]]] = [[[]] for _ in range(size)]
        self.answered: set[Payload] = set()
        self._numbers = iter(range(10**6))
        for me, group in enumerate(self.members.groups):
            group.on_deliver(partial(self._deliver, me))
            group.on_expelled(partial(self._expelled, me))
            self._later(1.0, self._write, me)
        for _ in range(random.randint(1, 4)):
            me, at_s = random.randrange(size), random.uniform(3.0, _LAST_FAULT_S)
            self._later(at_s, random.choice([self._kill, self._kill, self._leave]), me)
            self._later(at_s + random.uniform(0.1, 40.0), self._join, me)

    def _troubles(self) -> dict[tuple[int, int], tuple[Trouble, ...]]:
        random = self.random
        troubles: dict[tuple[int, int], tuple[Trouble, ...]] = {}
        for _ in range(random.randint(0, 3)):
            one, other = random.sample(range(self.size), 2)
            pairs = [(one, other)]
            if random.random() < 0.8:
                pairs.append((other, one))
            if random.random() < 0.6:  # from all others
                pairs = [(i, j) for i in range(self.size) for j in range(self.size)
                         if i != j and one in (i, j)]  # fmt: skip
            from_s = random.uniform(3.0, _LAST_FAULT_S)
            cut = Trouble(from_s, from_s + random.choice([1.0, 8.0, 30.0]), cut=True)
            for pair in pairs:
                troubles[pair] = (*troubles.get(pair, ()), cut)
        return troubles

    def _later(self, at_s: float, call: Callable[[int], object], me: int) -> None:
        self.members.clock.at(at_s, call, me)

    def _deliver(self, me: int, _: int, payload: Payload) -> None:
        self.delivered[me][-1].append(payload)
        if payload[:2] == (me, len(self.delivered[me])):
            self.answered.add(payload)
            self._later(self.members.clock.now + self.random.expovariate(6.0), self._write, me)

    def _write(self, me: int) -> None:
        if self.members.clock.now > _LAST_WRITE_S:
            return
        if self.up[me] and self.members.groups[me].view is not None:
            payload = me, len(self.delivered[me]), next(self._numbers)
            self.members.groups[me].send(payload, 300)
        else:
            self._later(self.members.clock.now + 1.0, self._write, me)

    def _kill(self, me: int) -> None:
        if self.up[me]:
            self.up[me] = False
            self.members.groups[me].die()

    def _leave(self, me: int) -> None:
        if self.up[me] and self.members.groups[me].view is not None:
            self.members.groups[me].leave(partial(self._left, me))

    def _left(self, me: int) -> None:
        self.up[me] = False

    def _expelled(self, me: int, _: str) -> None:
        self.up[me] = False
        self._later(self.members.clock.now + 0.5, self._join, me)

    def _join(self, me: int) -> None:
        if not self.up[me]:
            self.up[me] = True
            self.delivered[me].append([])
            self.members.groups[me].join()
            self._write(me)


@pytest.mark.parametrize("number", range(6))
def test_a_random_schedule_breaks_no_promise_of_the_order(number: int) -> None:
    schedule = Schedule(number)
    schedule.members.clock.run(until=_END_S)
    lives: list[list[Any]] = [life for lives in schedule.delivered for life in lives if life]
    for one, other in combinations(lives, 2):
        places = {payload: place for place, payload in enumerate(one)}
        common = [places[payload] for payload in other if payload in places]
        # In one order, and without a gap: what both had, both had in a row.
        assert common == list(range(common[0], common[0] + len(common))) if common else True
    groups = schedule.members.groups
    whole = [me for me, group in enumerate(groups) if group.view and group.has_majority]
    if whole:
        known = {payload for me in whole for life in schedule.delivered[me] for payload in life}
        assert schedule.answered <= known
        assert len({schedule.members.members(me) for me in whole}) == 1
        last = {schedule.delivered[me][-1][-1] for me in whole if schedule.delivered[me][-1]}
        assert len(last) <= 1
