"""The shortcuts of the engine do what the slow, obvious way does."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy
from hypothesis import given
from hypothesis import strategies as st

from simrep.kernel.clock import Clock
from simrep.kernel.queues import Fifo, OrderedGate
from simrep.server.host import Host
from simrep.server.locks import LockTable

seconds = st.floats(0.0, 10.0, allow_nan=False)
work = st.floats(1e-6, 1.0)
Job = tuple[float, float]  # time since the arrival before, demand
jobs = st.lists(st.tuples(seconds, work), min_size=1, max_size=30)
crowded = st.lists(st.tuples(st.floats(0.0, 0.5), work), min_size=1, max_size=30)
servers = st.integers(1, 4)


def arrivals(jobs: list[Job]) -> list[Job]:
    now = 0.0
    result = []
    for gap, demand in jobs:
        now += gap
        result.append((now, demand))
    return result


def departures_from_resource(jobs: list[Job], servers: int) -> list[float]:
    """The obvious way: a process per job, and a shared resource."""
    environment = simpy.Environment()
    resource = simpy.Resource(environment, servers)
    ends = [0.0] * len(jobs)

    def job(number: int, demand: float) -> Generator[simpy.Event, Any, None]:
        with resource.request() as request:
            yield request
            yield environment.timeout(demand)
        ends[number] = environment.now

    def source() -> Generator[simpy.Event, Any, None]:
        for number, (gap, demand) in enumerate(jobs):
            yield environment.timeout(gap)
            environment.process(job(number, demand))

    environment.process(source())
    environment.run()
    return ends


@given(jobs | crowded, servers)
def test_fifo_equals_resource(jobs: list[Job], servers: int) -> None:
    clock = Clock()
    station = Fifo(clock, servers)
    ends: list[float] = []
    for at, demand in arrivals(jobs):
        clock.at(at, lambda demand: ends.append(station.book(demand)), demand)
    clock.run()
    assert ends == departures_from_resource(jobs, servers)


@given(jobs | crowded, servers)
def test_host_equals_resource_for_work_within_a_slice(jobs: list[Job], servers: int) -> None:
    clock = Clock()
    host = Host(clock, servers, slice_s=1.0)
    ends = [0.0] * len(jobs)

    def end(number: int) -> None:
        ends[number] = clock.now

    for number, (at, demand) in enumerate(arrivals(jobs)):
        clock.at(at, lambda job: host.run(job[1], end, job[0]), (number, demand))
    clock.run()
    assert ends == departures_from_resource(jobs, servers)


@given(jobs | crowded)
def test_slices_conserve_work(jobs: list[Job]) -> None:
    # Whatever the order in which slices are served, a core is never idle while there is work: the
    # last job ends when it would have ended first come, first served.
    clock = Clock()
    host = Host(clock, 1, slice_s=0.1)
    ends: list[float] = []
    for at, demand in arrivals(jobs):
        clock.at(at, lambda demand: host.run(demand, lambda _: ends.append(clock.now)), demand)
    clock.run()
    assert len(ends) == len(jobs)
    assert abs(max(ends) - max(departures_from_resource(jobs, 1))) < 1e-9
    assert abs(host.busy_s - sum(demand for _, demand in jobs)) < 1e-9


@given(st.permutations(range(1, 12)), st.lists(st.booleans(), min_size=12, max_size=12))
def test_gate_is_passed_in_order_by_one_at_a_time(order: list[int], at_once: list[bool]) -> None:
    gate = OrderedGate()
    inside: list[int] = []
    entered: list[int] = []

    def enter(position: int) -> None:
        assert not inside
        entered.append(position)
        if at_once[position]:
            gate.leave()
        else:
            inside.append(position)

    for position in order:
        gate.enter(position, enter, position)
        if inside and at_once[0]:  # otherwise holders leave only after all have arrived
            inside.pop()
            gate.leave()
    while inside:
        inside.pop()
        gate.leave()
    assert entered == sorted(order)
    assert len(gate) == 0


class Transaction:
    """Takes locks one after the other, as told, and ends when it is refused or aborted."""

    def __init__(self, crowd: Crowd, number: int, *, protected: bool) -> None:
        self.crowd = crowd
        self.number = number
        self.protected = protected
        self.has: set[int] = set()
        self.wants: int | None = None
        self.ended = False

    def __repr__(self) -> str:
        return f"{'applier' if self.protected else 'local'} {self.number}"

    def ask(self, row: int) -> None:
        if self.ended or self.wants is not None:
            return
        self.wants = row
        crowd = self.crowd
        if self.protected:
            crowd.expect_force(self, row)
            crowd.table.force(self, row, self.got, row)
        else:
            crowd.expect_acquire(self, row)
            if not crowd.table.acquire(self, row, self.got, row):
                assert crowd.circle(self, row), "refused without a deadlock"
                crowd.queues[row].remove(self)
                self.end()

    def got(self, row: int) -> None:
        assert not self.ended
        assert self.wants == row
        self.wants = None
        self.has.add(row)
        self.crowd.got(self, row)

    def abort(self) -> None:
        assert not self.protected
        self.end()

    def end(self) -> None:
        if not self.ended:
            self.ended = True
            self.crowd.leave(self)
            self.crowd.table.release_all(self)


class Crowd:
    """A plain model of the table: per row who has it, and the queue in the right order."""

    def __init__(self) -> None:
        self.table = LockTable(Clock())
        self.holder: dict[int, Transaction] = {}
        self.queues: dict[int, list[Transaction]] = {row: [] for row in range(ROWS)}
        self.members = [
            Transaction(self, number, protected=number >= LOCALS)
            for number in range(LOCALS + APPLIERS)
        ]

    def expect_acquire(self, who: Transaction, row: int) -> None:
        queue = self.queues[row]
        queue.insert(0 if row in who.has else len(queue), who)

    def expect_force(self, who: Transaction, row: int) -> None:
        holder = self.holder.get(row)
        queue = self.queues[row]
        if holder is who:
            queue.insert(0, who)
        elif holder is not None and not holder.protected:  # the victim loses all it has
            queue.insert(0, who)
            del self.holder[row]
            holder.has.discard(row)
        else:
            queue.insert(sum(other.protected for other in queue), who)

    def got(self, who: Transaction, row: int) -> None:
        assert self.holder.get(row) in (None, who), "two holders"
        assert self.queues[row][0] is who, "out of turn"
        self.queues[row].pop(0)
        self.holder[row] = who

    def leave(self, who: Transaction) -> None:
        for row in who.has:
            del self.holder[row]
        who.has.clear()
        if who.wants is not None and who in self.queues[who.wants]:
            self.queues[who.wants].remove(who)

    def circle(self, who: Transaction, row: int) -> bool:
        """Whether waiting for the row's holder leads back, found the slow way."""
        seen = {who}
        other: Transaction | None = self.holder[row]
        while other is not None and other not in seen:
            seen.add(other)
            other = None if other.wants is None else self.holder.get(other.wants)
        return other is who

    def check(self) -> None:
        for row in range(ROWS):
            assert self.table.holder(row) is self.holder.get(row)
            assert self.table.waiting(row) == tuple(self.queues[row])
            assert row in self.holder or not self.queues[row], "a waiter for a free row"
        assert len(self.table) == len(self.holder)


ROWS, LOCALS, APPLIERS = 4, 5, 2
steps = st.lists(
    st.tuples(st.integers(0, LOCALS + APPLIERS - 1), st.integers(0, ROWS - 1) | st.none()),
    max_size=60,
)


@given(steps)
def test_lock_table_equals_plain_queues(steps: list[tuple[int, int | None]]) -> None:
    crowd = Crowd()
    for number, row in steps:
        who = crowd.members[number]
        if row is None:
            who.end()
        elif not who.protected or not who.has or row > max(who.has):  # appliers in row order
            who.ask(row)
        crowd.check()
    while alive := [who for who in crowd.members if not who.ended and who.wants is None]:
        alive[0].end()
        crowd.check()
    assert all(who.ended for who in crowd.members), "somebody waits for ever"
    assert len(crowd.table) == 0
