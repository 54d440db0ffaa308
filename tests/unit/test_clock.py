"""The clock: callbacks and generators in one event list."""

from __future__ import annotations

from collections.abc import Generator
from math import inf
from typing import Any

import pytest
from simpy.core import EmptySchedule
from simpy.events import Event

from simrep.kernel.clock import Clock
from simrep.kernel.happening import Happening


def test_callbacks_run_at_their_time_with_their_argument() -> None:
    clock = Clock()
    seen: list[tuple[float, Any]] = []
    for when in (2.5, 0.1, 1.0):
        clock.at(when, lambda name: seen.append((clock.now, name)), f"at {when}")
    clock.run()
    assert seen == [(0.1, "at 0.1"), (1.0, "at 1.0"), (2.5, "at 2.5")]


def test_simultaneous_callbacks_run_in_the_order_of_scheduling() -> None:
    clock = Clock()
    seen: list[str] = []

    def process(name: str) -> Generator[Event, Any, None]:
        yield clock.until(1.0)
        seen.append(name)

    clock.at(1.0, seen.append, "a")
    clock.at(1.0, seen.append, "b")
    clock.process(process("c"))
    clock.at(0.5, lambda _: clock.at(1.0, seen.append, "d"))
    clock.run()
    assert seen == ["a", "b", "c", "d"]


def test_until_meets_the_exact_time() -> None:
    clock = Clock()
    when = 0.1 + 0.2  # not what 0.1 and then another 0.2 of delay is rounded to elsewhere
    times = []

    def process() -> Generator[Event, Any, None]:
        yield clock.timeout(0.15)
        yield clock.until(when)
        times.append(clock.now)
        assert (yield clock.until(when)) is None  # now is not too late
        times.append(clock.now)

    clock.process(process())
    clock.run()
    assert times == [when, when]


def test_callbacks_and_simpy_share_the_event_list() -> None:
    clock = Clock()
    seen: list[str] = []
    event = clock.event()

    def process() -> Generator[Event, Any, None]:
        seen.append((yield event))
        yield clock.timeout(1.0)
        seen.append(f"timeout at {clock.now}")

    clock.process(process())
    clock.at(2.0, event.succeed, "event")
    clock.at(2.5, seen.append, "callback")
    clock.run()
    assert seen == ["event", "callback", "timeout at 3.0"]


def test_run_stops_at_its_end() -> None:
    clock = Clock()
    seen: list[float] = []
    for when in (1.0, 2.0, 3.0):
        clock.at(when, seen.append, when)
    clock.run(until=2.0)
    assert seen == [1.0]
    assert clock.now == 2.0


def test_the_error_of_a_callback_is_not_swallowed() -> None:
    clock = Clock()
    clock.at(1.0, lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        clock.run()
    assert clock.now == 1.0


def test_everything_at_one_instant_happens_in_the_order_in_which_it_was_scheduled() -> None:
    class Named(Happening):
        def happen(self) -> None:
            seen.append("happening")

    def process(name: str) -> Generator[Event, Any, None]:
        seen.append(f"{name} begins")
        yield clock.timeout(1.0)
        seen.append(name)

    clock = Clock()
    seen: list[str] = []
    clock.process(process("first"))
    clock.run(until=0.5)
    clock.at(1.0, seen.append, "callback")
    clock.put(Named(), 1.0)
    both = clock.all_of([clock.timeout(0.5), clock.until(1.0)])
    both.callbacks.append(lambda _: seen.append("both"))  # type: ignore[union-attr]
    clock.at(1.0, seen.append, "last")
    clock.at(1.0, lambda _: clock.process(process("urgent")))
    clock.at(1.0, seen.append, "after")
    clock.run(until=1.5)
    assert seen == [
        "first begins", "first", "callback", "happening", "last", "urgent begins", "after", "both",
    ]  # fmt: skip


def test_a_run_goes_on_where_an_event_has_stopped_it() -> None:
    clock = Clock()
    seen: list[str] = []
    event = clock.timeout(1.0, "value")
    stopped = clock.event()
    event.callbacks.append(lambda _: seen.append("before"))  # type: ignore[union-attr]
    clock.at(1.0, seen.append, "later")
    clock.at(0.5, lambda _: event.callbacks.append(lambda _: seen.append("after")))  # type: ignore[union-attr]
    assert clock.run(until=event) == "value"
    assert seen == ["before"]
    assert clock.run(until=event) == "value"
    assert seen == ["before", "after"]
    with pytest.raises(RuntimeError, match="nothing will happen any more"):
        clock.run(until=stopped)
    assert seen == ["before", "after", "later"]


def test_the_error_of_a_process_that_nobody_waits_for_is_not_swallowed() -> None:
    def process() -> Generator[Event, Any, None]:
        yield clock.timeout(1.0)
        raise ZeroDivisionError("mine")

    def waiting() -> Generator[Event, Any, None]:
        with pytest.raises(ZeroDivisionError):
            yield clock.process(process())

    clock = Clock()
    clock.process(waiting())
    clock.run()
    clock.process(process())
    with pytest.raises(ZeroDivisionError, match="mine"):
        clock.run()


def test_steps_and_counts() -> None:
    clock = Clock()
    clock.at(1.0, lambda _: None)
    clock.timeout(2.0)
    assert (clock.peek(), clock.events) == (1.0, 0)
    clock.step()
    assert (clock.peek(), clock.events, clock.now) == (2.0, 1, 1.0)
    clock.run()
    assert (clock.peek(), clock.events, clock.now) == (inf, 2, 2.0)
    with pytest.raises(EmptySchedule):
        clock.step()
