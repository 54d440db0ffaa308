"""The mutex that can be paused: Galera's send monitor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simrep.kernel.clock import Clock
from simrep.kernel.queues import PausableMutex


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def mutex(clock: Clock) -> PausableMutex:
    return PausableMutex(clock)


def test_one_holder_at_a_time_in_the_order_of_arrival(mutex: PausableMutex) -> None:
    inside: list[str] = []
    for name in "abc":
        mutex.enter(inside.append, name)
    assert inside == ["a"]
    assert len(mutex) == 2
    mutex.leave()
    assert inside == ["a", "b"]
    mutex.leave()
    mutex.leave()
    assert inside == ["a", "b", "c"]
    assert len(mutex) == 0


def test_holders_may_leave_within_their_entry(mutex: PausableMutex) -> None:
    inside: list[int] = []

    def pass_through(number: int) -> None:
        inside.append(number)
        mutex.leave()

    mutex.enter(inside.append, 0)
    for number in range(1, 50):
        mutex.enter(pass_through, number)
    mutex.leave()
    assert inside == list(range(50))


def test_nobody_enters_during_a_pause(mutex: PausableMutex) -> None:
    inside: list[str] = []
    mutex.pause()
    mutex.enter(inside.append, "a")
    mutex.enter(inside.append, "b")
    assert inside == []
    mutex.resume()
    assert inside == ["a"]


def test_a_pause_lets_the_holder_finish(mutex: PausableMutex) -> None:
    inside: list[str] = []
    mutex.enter(inside.append, "a")
    mutex.enter(inside.append, "b")
    mutex.pause()
    mutex.leave()
    assert inside == ["a"]
    mutex.resume()
    assert inside == ["a", "b"]


def test_who_comes_after_a_pause_waits_behind_those_who_came_during_it(clock: Clock) -> None:
    inside: list[str] = []
    woken: list[tuple[Callable[[Any], object], Any]] = []
    mutex = PausableMutex(clock, lambda call, argument: woken.append((call, argument)))
    mutex.pause()
    mutex.enter(inside.append, "during")
    mutex.resume()
    mutex.enter(inside.append, "after")  # the first one is still waking up
    assert inside == []
    call, argument = woken.pop()
    call(argument)
    assert inside == ["during"]
    assert len(mutex) == 1


def test_time_paused(clock: Clock, mutex: PausableMutex) -> None:
    for at, call in (
        (1.0, mutex.pause),
        (2.0, mutex.pause),  # has no effect
        (4.0, mutex.resume),
        (5.0, mutex.resume),  # nor has this
        (6.0, mutex.pause),
    ):
        clock.at(at, lambda call: call(), call)
    clock.run(until=6.5)
    assert mutex.paused_until_now_s() == pytest.approx(3.0 + 0.5)
    assert mutex.paused_s == pytest.approx(3.0)


def test_who_withdraws_does_not_enter(mutex: PausableMutex) -> None:
    inside: list[object] = []
    waiting, holder = object(), object()
    mutex.enter(inside.append, holder)
    mutex.enter(inside.append, waiting)
    assert mutex.withdraw(waiting)
    assert not mutex.withdraw(waiting)
    assert not mutex.withdraw(holder)
    mutex.leave()
    assert inside == [holder]
