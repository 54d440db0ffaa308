"""How much programs weigh on the cores of a machine with a queue for each."""

from __future__ import annotations

from itertools import pairwise

import pytest

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.server.core import CoreProgram
from simrep.server.core_host import CoreHost

MS = 1e-3


@pytest.fixture
def clock() -> Clock:
    return Clock()


def machine(clock: Clock, cores: int) -> CoreHost:
    return CoreHost(clock, cores, streams=Streams(1), name="m", slice_s=1 * MS, newidle_s=0.0)


def test_a_program_weighs_on_a_core_by_how_many_of_its_threads_are_there(clock: Clock) -> None:
    host = machine(clock, 2)
    program = host.program()
    for _ in range(4):
        program.run(1000 * MS, lambda _: None)
    first, second = program.parts
    there = [first.runnable, second.runnable]
    assert sum(there) == 4
    assert min(there) >= 1
    clock.run(500 * MS)  # 32 ms are half of the average
    first.count(0, clock.now, 1 * MS)
    assert first.weight == pytest.approx(there[0] / 4.0, abs=0.01)


def test_half_of_a_program_gets_half_as_much_of_a_core_as_a_whole_one(clock: Clock) -> None:
    clock_s = 0.6
    host = machine(clock, 2)
    spread, whole = host.program(), host.program()
    used = {"spread": 0.0, "whole": 0.0}

    def work(program: CoreProgram, name: str) -> None:
        def again(_: object) -> None:
            used[name] += 0.5 * MS
            program.go_on(0.5 * MS, again)

        program.run(0.5 * MS, again)

    work(spread, "spread")
    work(spread, "spread")
    work(whole, "whole")
    clock.run(clock_s)
    # Both cores are busy, and the thread of the one shares its core with half of the other:
    # 2/3 of it is its own.
    assert used["whole"] + used["spread"] == pytest.approx(2 * clock_s, rel=0.01)
    assert used["whole"] == pytest.approx(2 / 3 * clock_s, rel=0.1)


def longest_wait_s(*, elsewhere: bool) -> float:
    """Of a program that works half a millisecond at a time beside a busy wait.

    The waiting program has a thread that wakes each tenth of a millisecond, but not while the
    other one gets ahead, and one on the other core, if not elsewhere.
    """
    clock = Clock()
    host = machine(clock, 2)
    server, far, other = host.program(), host.program(), host.program()
    spin = server.spin()
    (far if elsewhere else server).run(60 * MS, lambda _: None)
    waits: list[float] = []

    def wake(_: object) -> None:
        if clock.now < 50 * MS:
            server.run(0.01 * MS, slept)

    def slept(_: object) -> None:
        next_s = clock.now + 0.1 * MS
        clock.at(2.1 * MS if 0.9 * MS < next_s < 2.1 * MS else next_s, wake)

    def work(asked_s: float) -> None:
        waits.append(clock.now - asked_s - 0.5 * MS)
        if clock.now < 50 * MS:
            other.go_on(0.5 * MS, work, clock.now)

    clock.at(0.1 * MS, wake)
    clock.at(1 * MS, lambda _: other.run(0.5 * MS, work, clock.now))
    clock.at(55 * MS, lambda _: server.stop(spin, lambda _: None))
    clock.run()
    return max(waits)


def test_a_program_that_is_weighed_often_keeps_a_core_from_others() -> None:
    assert longest_wait_s(elsewhere=True) <= 2 * MS  # its weight is always the same
    assert longest_wait_s(elsewhere=False) >= 20 * MS


def test_a_program_that_keeps_its_core_is_weighed_anew_at_ticks(clock: Clock) -> None:
    host = machine(clock, 2)
    server, other = host.program(), host.program()
    spin = server.spin()
    server.run(20 * MS, lambda _: None)  # on the second core: afterwards it counts less and less
    for _ in range(2):  # on both cores
        other.run(200 * MS, lambda _: None)
    weights: list[float] = []

    def look(number: int) -> None:
        weights.append(server.parts[0].weight)
        if number < 300:
            clock.at(clock.now + 0.2 * MS, look, number + 1)

    clock.at(40 * MS, look, 0)
    clock.at(150 * MS, lambda _: server.stop(spin, lambda _: None))
    clock.run()
    changes = sum(one != next_one for one, next_one in pairwise(weights))
    assert weights[-1] > weights[0] + 0.1
    assert 9 <= changes <= 15  # in 60 ms, of which each program has half; a slice lasts for 1 ms
