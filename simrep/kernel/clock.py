"""The clock: SimPy's environment with plain callbacks at absolute times.

Generators (clients) and callbacks (deliveries, finished work) share one event list. Events at the
same instant run by priority and then in the order in which they were scheduled;
``docs/explanation/simultaneous-events.md`` states the whole policy.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import repeat
from math import inf, sqrt
from typing import Any

import simpy
from simpy.core import EmptySchedule, StopSimulation
from simpy.events import NORMAL, URGENT, Event

from simrep.errors import SimrepError
from simrep.kernel.happening import Happening, run_callbacks

__all__ = ["MOST_EVENTS", "Clock"]

MOST_EVENTS = 10**9
"""A replication takes at most so many events: about an hour of a processor."""

_LOOK = 10**5  # events after which is looked at how many there were, and how far they led
_STANDSTILL = 10**6  # events at one instant: more than the most clients that begin together


class Clock(simpy.Environment):
    """Simulated time in seconds.

    Everything SimPy offers works (``process``, ``timeout``, ``event``). What is added meets
    computed times exactly (the end of booked work), and is cheap: a callback costs a fraction of
    a process.

    The event list says for each event what is called with what, so that there is one way for
    anything to happen.
    """

    most_events = MOST_EVENTS
    """After so many events the clock stops with an error."""
    _queue: list[tuple[float, int, int, Callable[[Any], object], Any]]  # type: ignore[assignment]
    _number = 0  # of what was put on the event list last
    _moved = 0  # how many events there were until time last went on

    @property
    def events(self) -> int:
        """How many events have happened."""
        return self._number - len(self._queue)

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
        look = min(_LOOK, self.most_events)
        queue = self._queue
        try:
            while True:
                before = self._now
                for _ in repeat(None, look):
                    try:
                        self._now, _, _, call, argument = heappop(queue)
                    except IndexError:
                        raise EmptySchedule from None
                    call(argument)
                self._look(before, end_s)
        except StopSimulation as stop:
            return stop.args[0]
        except EmptySchedule:
            if until is not None:
                raise RuntimeError(f"nothing will happen any more, and not {until}") from None
        return None

    def _look(self, before_s: float, end_s: float) -> None:
        """Stop what does not end, or not in time: time had come to ``before_s`` a look ago.

        How many events there will be in all follows from how far those until now have led. As a
        run may be busier at its begin, a forecast is believed when it is beyond the limit by more
        than the square root of how many times as long the run may still go on: 100 times at the
        first look, and 3 times after a tenth of the limit.
        """
        now_s, events, most = self._now, self.events, self.most_events
        if now_s > before_s:
            self._moved = events
        elif events - self._moved >= _STANDSTILL:
            raise SimrepError(
                f"time stands still at {now_s:g} simulated seconds, {events - self._moved:,} "
                "events have happened there: give statements a cost, or set think_time_ms"
            )
        shorter = "shorten run.duration_s, or lower the load"
        if events >= most:
            raise SimrepError(
                f"stopped after {events:,} events at {now_s:g} simulated seconds: a replication "
                f"takes at most {most:,}; {shorter}"
            )
        if 0.0 < now_s < end_s < inf and events * end_s > now_s * most * sqrt(most / events):
            raise SimrepError(
                f"a replication takes at most {most:.0e} events, and this one would take about "
                f"{events * end_s / now_s:.0e}: the first {events:,} have led to "
                f"{now_s:g} of {end_s:g} simulated seconds; {shorter}"
            )

    def step(self) -> None:
        """Let the next event happen; SimPy's ``step``."""
        if not self._queue:
            raise EmptySchedule
        self._now, _, _, call, argument = heappop(self._queue)
        call(argument)

    def put(self, happening: Happening, when: float) -> None:
        """Let ``happening`` happen at the absolute time ``when`` (seconds, not before now)."""
        self._number = number = self._number + 1
        heappush(self._queue, (when, NORMAL, number, type(happening).happen, happening))

    def at(self, when: float, call: Callable[[Any], object], argument: Any = None) -> None:
        """Run ``call(argument)`` at the absolute time ``when`` (seconds, not before now)."""
        self._number = number = self._number + 1
        heappush(self._queue, (when, NORMAL, number, call, argument))

    def schedule(self, event: Event, priority: int = NORMAL, delay: float = 0) -> None:
        """Let an event of SimPy happen after a delay in seconds; SimPy's ``schedule``."""
        self._number = number = self._number + 1
        heappush(self._queue, (self._now + delay, priority, number, run_callbacks, event))

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
