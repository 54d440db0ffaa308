"""Programs that tell which of their threads sleeps, and which one wakes, on cores with queues."""

from __future__ import annotations

import pytest

from simrep.kernel.clock import Clock
from tests.unit.test_core_host import MS, Done, clock, done, machine

__all__ = ["clock", "done"]  # fixtures


def test_a_thread_that_is_told_apart_wakes_where_it_fell_asleep(clock: Clock) -> None:
    host = machine(clock, 2)
    program, other = host.program(), host.program()
    program.tell_threads()
    other.run(0.1 * MS, lambda _: None)  # on the first core, so that the next is on the second
    dozing: list[object] = []
    program.run(0.5 * MS, lambda _: dozing.append(program.doze()))
    for _ in range(20):  # others of its program, asleep on the first core
        clock.at(1 * MS, lambda _: program.run(0.01 * MS, lambda _: None))
    awake: list[int] = []

    def wake(_: object) -> None:
        other.run(5 * MS, lambda _: None)  # on one of the cores
        program.rouse(dozing[0], 0.1 * MS, lambda _: awake.append(host._waker.place))  # type: ignore[union-attr]

    clock.at(2 * MS, wake)
    clock.run()
    assert awake == [1]


def test_who_is_not_told_apart_is_one_of_many(clock: Clock) -> None:
    program = machine(clock, 2).program()
    dozing: list[object] = []
    program.run(0.5 * MS, lambda _: dozing.append(program.doze()))
    clock.run()
    assert dozing == [None]
    assert len(program.asleep) == 1


def test_work_proceeds_on_its_core_only_where_threads_are_told_apart(
    clock: Clock, done: Done
) -> None:
    for told, names in ((True, "tellers"), (False, "others")):
        host = machine(clock)
        program = host.program()
        if told:
            program.tell_threads()
        before = host.visits
        program.run(0.1 * MS, lambda _, p=program, n=names: p.proceed(0.1 * MS, done, n))
        clock.run()
        assert host.visits - before == (1 if told else 2)
    assert list(done.at) == ["tellers", "others"]


def test_a_thread_that_has_waited_busily_gives_way_to_all_that_wake_in_its_program(
    clock: Clock, done: Done
) -> None:
    host = machine(clock)
    program = host.program()
    program.tell_threads()
    spin = program.spin()
    clock.at(1 * MS, lambda _: host.stop(spin, lambda _: program.go_on(0.5 * MS, done, "spinner")))
    clock.at(1.1 * MS, lambda _: program.run(0.2 * MS, done, "worker"))
    clock.run()
    # It has yielded a slice of what it may use each time, so the other one comes at once.
    assert done.at == pytest.approx({"worker": 1.3 * MS, "spinner": 1.7 * MS})


def test_some_threads_go_to_the_core_of_the_one_that_wakes_them(clock: Clock) -> None:
    """Of 200, 30 % do as that core has less to do; a false alarm in 100,000 (binomial)."""
    host = machine(clock, 2)
    program, other = host.program(), host.program()
    program.tell_threads()
    program.follow_wakers()
    dozing: list[object] = []
    places: list[int] = []

    def sleep(_: object) -> None:
        dozing.append(program.doze())

    def wake(_: object) -> None:
        for sleeper in dozing:
            program.rouse(sleeper, 1e-5 * MS, lambda _: places.append(host._waker.place))  # type: ignore[union-attr]

    other.run(0.0, lambda _: None)
    for number in range(200):  # all fall asleep on the first core
        clock.at(number * MS, lambda _: program.run(0.01 * MS, sleep))
    clock.at(300 * MS, lambda _: other.run(500 * MS, lambda _: None))  # on the first core
    clock.at(500 * MS, lambda _: host.program().run(0.01 * MS, wake))  # on the second
    clock.run()
    assert len(places) == 200
    assert 32 <= places.count(1) <= 89


def test_one_that_waits_busily_remains_a_whole_load_when_others_leave_its_core(
    clock: Clock,
) -> None:
    host = machine(clock, 2)
    program, other, third = host.program(), host.program(), host.program()
    program.tell_threads()
    dozing: list[object] = []
    places: list[int] = []
    loads: list[float] = []

    def sleep(_: object) -> None:
        places.append(host._waker.place)  # type: ignore[union-attr]
        loads.append(program.parts[0].load_at(clock.now))
        dozing.append(program.doze())

    def nothing(_: object) -> None:
        pass

    def rouse(_: object) -> None:
        if places[-1] == 0:
            program.rouse(dozing[-1], 0.01 * MS, sleep)

    other.run(0.01 * MS, nothing)
    clock.at(1 * MS, lambda _: program.run(0.01 * MS, sleep))  # both sleep on the first core
    clock.at(2 * MS, lambda _: program.spin())
    for number in range(20):
        at = (300 + 10 * number) * MS
        clock.at(at, lambda _: third.run(0.15 * MS, nothing))  # on the second core
        clock.at(at, lambda _: other.run(MS, nothing))
        clock.at(at, rouse)  # it waits, until the second core takes it over
    clock.run(until=500 * MS)
    assert places[-1] == 1
    assert loads[-1] > 0.95
    assert [part.threads for part in program.parts] == [1, 1]
