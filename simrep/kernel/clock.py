"""The clock: SimPy's environment with plain callbacks at absolute times.

Generators (clients) and callbacks (deliveries, finished work) share one event list. Events at the
same instant run by priority and then in the order in which they were scheduled;
``docs/explanation/simultaneous-events.md`` states the whole policy.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import Any

import simpy
from simpy.events import NORMAL, Event

__all__ = ["Clock"]


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
