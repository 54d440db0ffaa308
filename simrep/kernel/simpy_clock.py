"""The clock of an interpreted simrep: SimPy's environment with happenings at absolute times."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count, repeat
from math import inf
from typing import Any, Final

import simpy
from simpy.core import EmptySchedule, StopSimulation
from simpy.events import NORMAL, URGENT, Event

from simrep.kernel.budget import MOST_EVENTS, Budget
from simrep.kernel.happening import Happening, run_callbacks

__all__ = ["Clock", "PartClock"]

_RANKS: Final = 1 << 50  # of one priority


class Clock(simpy.Environment):
    """Simulated time in seconds.

    Everything SimPy offers works (``process``, ``timeout``, ``event``). What is added meets
    computed times exactly (the end of booked work), and is cheap: a callback costs a fraction of
    a process.

    The event list says for each event what is called with what, so that there is one way for
    anything to happen. At equal times the ranks decide: numbers in the order in which events were
    put there, from which a higher priority takes off more than there are events.
    """

    most_events = MOST_EVENTS
    """After so many events the clock stops with an error."""
    _queue: list[tuple[float, int, Callable[[Any], object], Any]]  # type: ignore[assignment]

    def __init__(self, initial_time: float = 0) -> None:
        super().__init__(initial_time)
        self._ranks = count()
        self._looks = 0  # ranks that no event has
        self._budget = Budget()

    @property
    def events(self) -> int:
        """How many events have happened."""
        put = next(self._ranks) - self._looks
        self._looks += 1
        return put - len(self._queue)

    def run(self, until: float | Event | None = None) -> Any:
        """Run until a time, an event, or the last event; SimPy's ``run``, but it always ends.

        Raises
        ------
        SimrepError
            If there are more than ``most_events`` events, if it is clear that there will be, or
            if a million happen at one instant.
        """
        end_s = inf
        if until is not None:
            if not isinstance(until, Event):
                if until <= self._now:
                    raise ValueError(f"until ({until}) must lie after the present ({self._now})")
                end_s = until
                end = Event(self)
                end._ok = True
                end._value = None
                self.schedule(end, URGENT, until - self._now)
                until = end
            if until.processed:
                return until.value
            until.callbacks.append(StopSimulation.callback)
        budget = self._budget
        look = budget.look_after(self.most_events)
        queue = self._queue
        try:
            while True:
                before = self._now
                for _ in repeat(None, look):
                    try:
                        self._now, _, call, argument = heappop(queue)
                    except IndexError:
                        raise EmptySchedule from None
                    call(argument)
                budget.look(before, self._now, end_s, self.events, self.most_events)
        except StopSimulation as stop:
            return stop.args[0]
        except EmptySchedule:
            if until is not None:
                raise RuntimeError(f"nothing will happen any more, and not {until}") from None
        return None

    def step(self) -> None:
        """Let the next event happen; SimPy's ``step``."""
        if not self._queue:
            raise EmptySchedule
        self._now, _, call, argument = heappop(self._queue)
        call(argument)

    def put(self, happening: Happening, when: float) -> None:
        """Let ``happening`` happen at the absolute time ``when`` (seconds, not before now)."""
        heappush(self._queue, (when, next(self._ranks), type(happening).happen, happening))

    def at(self, when: float, call: Callable[[Any], object], argument: Any = None) -> None:
        """Run ``call(argument)`` at the absolute time ``when`` (seconds, not before now)."""
        heappush(self._queue, (when, next(self._ranks), call, argument))

    def schedule(self, event: Event, priority: int = NORMAL, delay: float = 0) -> None:
        """Let an event of SimPy happen after a delay in seconds; SimPy's ``schedule``."""
        rank = next(self._ranks) + (priority - NORMAL) * _RANKS
        heappush(self._queue, (self._now + delay, rank, run_callbacks, event))

    def fire(self, event: Event, value: Any = None) -> None:
        """Trigger ``event`` and run what waits for it now, not by way of the event list."""
        event._ok = True
        event._value = value
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)

    def until(self, when: float) -> Event:
        """An event for a generator to yield that fires at the absolute time ``when``."""
        event = Event(self)
        event._ok = True
        event._value = None
        self.at(when, run_callbacks, event)
        return event


class PartClock(Clock):
    """The clock of a run to a part of it, which may schedule in a way of its own."""

    __slots__ = ()  # all is that of the clock of the run

    def __init__(self, clock: Clock) -> None:
        self.__dict__ = clock.__dict__
