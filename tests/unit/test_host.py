"""Cores shared by everything on a machine, and the threads that use them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from simrep.kernel.clock import Clock, Event
from simrep.server.host import Host
from simrep.server.thread import Thread, WaitingThread

MS = 1e-3


class Done:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.at: dict[str, float] = {}

    def __call__(self, name: str) -> None:
        self.at[name] = self.clock.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def done(clock: Clock) -> Done:
    return Done(clock)


def test_short_work_is_served_first_come_first_served(clock: Clock, done: Done) -> None:
    host = Host(clock, 1)
    for name in "abc":
        host.run(0.5 * MS, done, name)
    clock.run()
    assert done.at == pytest.approx({"a": 0.5 * MS, "b": 1.0 * MS, "c": 1.5 * MS})
    assert host.busy_s == pytest.approx(1.5 * MS)


def test_cores_work_side_by_side(clock: Clock, done: Done) -> None:
    host = Host(clock, 2)
    for name, seconds in (("a", 1.0), ("b", 0.5), ("c", 0.25), ("d", 0.5)):
        host.run(seconds * MS, done, name)
    clock.run()
    assert done.at == pytest.approx({"a": 1 * MS, "b": 0.5 * MS, "c": 0.75 * MS, "d": 1.25 * MS})


def test_short_work_is_not_stuck_behind_long_work(clock: Clock, done: Done) -> None:
    host = Host(clock, 1, slice_s=1 * MS)
    host.run(10.5 * MS, done, "long")
    clock.at(0.25 * MS, lambda _: host.run(0.5 * MS, done, "short"))
    clock.run()
    assert done.at == pytest.approx({"short": 1.5 * MS, "long": 11 * MS})


def test_long_work_shares_a_core_fairly(clock: Clock, done: Done) -> None:
    host = Host(clock, 1, slice_s=1 * MS)
    host.run(2.5 * MS, done, "a")
    host.run(2.5 * MS, done, "b")
    clock.run()
    # a b a b, then the half slices that are left.
    assert done.at == pytest.approx({"a": 4.5 * MS, "b": 5 * MS})


def test_no_work_takes_no_time_on_an_idle_core(clock: Clock, done: Done) -> None:
    Host(clock, 1).run(0.0, done, "nothing")
    assert done.at == {"nothing": 0.0}


def test_a_generator_waits_for_its_work(clock: Clock, done: Done) -> None:
    host = Host(clock, 1, slice_s=1 * MS)

    def client(name: str, seconds: float) -> Generator[Event, Any, None]:
        yield host.work(seconds)
        done(name)
        yield host.work(seconds)
        done(name + " again")

    clock.process(client("long", 1.5 * MS))
    clock.process(client("short", 0.5 * MS))
    clock.run()
    # The short one keeps its core for its second piece of work.
    assert done.at == pytest.approx(
        {"short": 1.5 * MS, "short again": 2 * MS, "long": 2.5 * MS, "long again": 4 * MS}
    )


def test_a_thread_with_more_to_do_gives_up_its_core_after_a_slice(clock: Clock, done: Done) -> None:
    host = Host(clock, 1, slice_s=1 * MS)

    def more(left: int) -> None:
        done(f"{left} left")
        if left:
            host.go_on(0.6 * MS, more, left - 1)

    host.run(0.6 * MS, more, 2)
    host.run(0.5 * MS, done, "other")
    clock.run()
    assert done.at == pytest.approx(
        {"2 left": 0.6 * MS, "1 left": 1.2 * MS, "other": 1.7 * MS, "0 left": 2.3 * MS}
    )


def test_a_host_has_at_least_one_core(clock: Clock) -> None:
    with pytest.raises(ValueError, match="at least 1, given 0"):
        Host(clock, 0)


def test_a_thread_does_one_job_at_a_time(clock: Clock, done: Done) -> None:
    thread = Thread(Host(clock, 4))
    for name in "abc":
        thread.do(0.5 * MS, done, name)
    assert len(thread) == 2
    clock.run()
    assert done.at == pytest.approx({"a": 0.5 * MS, "b": 1 * MS, "c": 1.5 * MS})
    assert len(thread) == 0


def test_threads_share_the_cores_of_their_host(clock: Clock, done: Done) -> None:
    host = Host(clock, 1)
    for name in "ab":
        Thread(host).do(0.5 * MS, done, name)
    clock.run()
    assert done.at == pytest.approx({"a": 0.5 * MS, "b": 1 * MS})


def test_work_found_during_a_job_delays_the_next(clock: Clock, done: Done) -> None:
    thread = Thread(Host(clock, 2))

    def first(name: str) -> None:
        done(name)
        thread.charge(0.25 * MS)

    thread.do(0.5 * MS, first, "first")
    thread.do(0.5 * MS, done, "second")
    clock.run()
    assert done.at == pytest.approx({"first": 0.5 * MS, "second": 1.25 * MS})


def test_work_found_while_idle_delays_the_next_job(clock: Clock, done: Done) -> None:
    thread = Thread(Host(clock, 2))
    thread.charge(0.25 * MS)
    thread.do(0.5 * MS, done, "job")
    clock.run()
    assert done.at == pytest.approx({"job": 0.75 * MS})


def test_a_thread_that_waits_does_nothing_and_leaves_its_core_to_others(
    clock: Clock, done: Done
) -> None:
    host = Host(clock, 1)
    thread = WaitingThread(host)
    thread.do(1 * MS, lambda _: thread.wait())
    thread.do(1 * MS, done, "behind it")
    clock.at(2 * MS, lambda _: Thread(host).do(1 * MS, done, "another thread"))
    clock.at(10 * MS, lambda _: thread.go_on())
    clock.run()
    assert done.at == pytest.approx({"another thread": 3 * MS, "behind it": 11 * MS})
    assert not thread.waits
    assert host.busy_s == pytest.approx(3 * MS)


def test_jobs_without_cost_keep_their_order(clock: Clock) -> None:
    thread = Thread(Host(clock, 1))
    seen: list[str] = []
    thread.do(0.5 * MS, seen.append, "a")
    thread.do(0.0, seen.append, "b")
    thread.do(0.5 * MS, seen.append, "c")
    thread.do(0.0, seen.append, "d")
    clock.run()
    assert seen == ["a", "b", "c", "d"]
    assert clock.now == pytest.approx(1 * MS)


# -- busy waiting ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop_s", "called_s", "busy_s"),
    [
        (1.0, 1.0, 1.5),  # while it has the core: at once, and the work follows
        (4.2, 4.5, 4.5),  # while it waits behind the work: when it has the core again
        (5.0, 5.0, 5.0),  # in its second turn
    ],
)
def test_who_waits_busily_keeps_the_core_until_the_scheduler_takes_it(stop_s, called_s, busy_s):
    clock = Clock()
    host = Host(clock, 1, slice_s=1.0, spin_s=4.0)
    spin = host.spin()
    ends = {}
    host.run(0.5, lambda _: ends.setdefault("work", clock.now))
    clock.at(stop_s, lambda _: host.stop(spin, lambda _: ends.setdefault("call", clock.now)))
    clock.run()
    assert ends == {"work": called_s + 0.5 if stop_s < 4.0 else 4.5, "call": called_s}
    assert host.busy_s == pytest.approx(busy_s)


def test_who_waits_busily_on_a_core_of_its_own_holds_up_nobody():
    clock = Clock()
    host = Host(clock, 2, slice_s=1.0, spin_s=4.0)
    spin = host.spin()
    ends = []
    for _ in range(2):
        host.run(0.5, lambda _: ends.append(clock.now))
    clock.at(9.0, lambda _: host.stop(spin, lambda _: ends.append(clock.now)))
    clock.run()
    assert ends == [0.5, 1.0, 9.0]
    assert host.busy_s == pytest.approx(10.0)
