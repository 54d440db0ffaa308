"""The clock: SimPy's environment with plain callbacks at absolute times.

Generators (clients) and callbacks (deliveries, finished work) share one event list. Events at the
same instant run by priority and then in the order in which they were scheduled;
``docs/explanation/simultaneous-events.md`` states the whole policy.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from itertools import repeat
from typing import Any

import simpy
from simpy.core import EmptySchedule, StopSimulation
from simpy.events import NORMAL, URGENT, Event

from simrep.errors import SimrepError

__all__ = ["MOST_EVENTS", "Clock"]

MOST_EVENTS = 10**9
"""A replication takes at most so many events: about an hour of a processor."""

_LOOK = 10**6  # events after which is looked at how many there were, and how far they led


def _run(callback: _Callback) -> None:
    callback.call(callback.argument)


_RUN = (_run,)


class _Callback:
    """The least that SimPy's event loop needs: a list of callables, and success."""

    __slots__ = ("argument", "call", "callbacks")
    _ok = True

    def __init__(self, call: Callable[[Any], object], argument: Any) -> None:
        self.callbacks = _RUN
        self.call = call
        self.argument = argument


class Clock(simpy.Environment):
    """Simulated time in seconds.

    Everything SimPy offers works (``process``, ``timeout``, ``event``). What is added meets
    computed times exactly (the end of booked work), and is cheap: a callback costs a fraction of
    a process.
    """

    most_events = MOST_EVENTS
    """After so many events the clock stops with an error."""
    _looked_at = 0

    def run(self, until: float | Event | None = None) -> Any:
        """Run until a time, an event, or the last event; SimPy's ``run``, but it always ends.

        Raises
        ------
        SimrepError
            If there are more than ``most_events`` events, or a million at one instant.
        """
        if until is not None:
            if not isinstance(until, Event):
                if until <= self._now:
                    raise ValueError(f"until ({until}) must lie after the present ({self._now})")
                end = Event(self)
                end._ok = True
                end._value = None
                self.schedule(end, URGENT, until - self._now)
                until = end
            if until.processed:
                return until.value
            until.callbacks.append(StopSimulation.callback)
        look = min(_LOOK, self.most_events)
        step = self.step
        try:
            while True:
                before = self._now
                for _ in repeat(None, look):
                    step()
                self._looked_at += look
                self._look(before, look)
        except StopSimulation as stop:
            return stop.args[0]
        except EmptySchedule:
            if until is not None:
                raise RuntimeError(f"nothing will happen any more, and not {until}") from None
        return None

    def _look(self, before: float, events: int) -> None:
        """Stop what does not end: a number of events later than the time ``before``."""
        if self._now == before:
            raise SimrepError(
                f"time stands still at {before:g} simulated seconds: {events:,} events have "
                "happened there; give the statements of the clients a cost, or think_time_ms"
            )
        if self._looked_at >= self.most_events:
            raise SimrepError(
                f"stopped after {self._looked_at:,} events, at {self._now:g} simulated seconds: a "
                f"replication takes at most {self.most_events:,}; shorten the run, or its load"
            )

    def at(self, when: float, call: Callable[[Any], object], argument: Any = None) -> None:
        """Run ``call(argument)`` at the absolute time ``when`` (seconds, not before now)."""
        callback = _Callback(call, argument)
        heappush(self._queue, (when, NORMAL, next(self._eid), callback))  # type: ignore[misc]

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
        heappush(self._queue, (when, NORMAL, next(self._eid), event))
        return event
