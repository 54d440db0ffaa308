"""What the clock makes happen: callbacks, work that ends, and the events of SimPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from simpy.core import StopSimulation
from simpy.events import Event

__all__ = ["Callback", "Happening", "SimpyEvent"]


class Happening:
    """What stands on the event list (``Clock.put``), as often as it is put there."""

    __slots__ = ()

    def happen(self) -> None:
        """Its time has come: the clock calls this."""
        raise NotImplementedError


class Callback(Happening):
    """Runs ``call(argument)``."""

    __slots__ = ("argument", "call")

    def __init__(self, call: Callable[[Any], object], argument: Any) -> None:
        self.call = call
        self.argument = argument

    def happen(self) -> None:
        """See ``Happening.happen``."""
        self.call(self.argument)


class _Schedule(Protocol):
    def put_again(self, happening: Happening) -> None: ...


class SimpyEvent(Happening):
    """An event of SimPy: runs the callbacks of those that wait for it, as SimPy's own loop does."""

    __slots__ = ("_clock", "event")

    def __init__(self, clock: _Schedule, event: Event) -> None:
        self._clock = clock
        self.event = event

    def happen(self) -> None:
        """See ``Happening.happen``."""
        event = self.event
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        done = 0
        try:
            for callback in callbacks:
                done += 1
                callback(event)
        except StopSimulation:  # the rest is for when the run goes on
            event.callbacks = callbacks[done:]
            self._clock.put_again(self)
            raise
        if not event._ok and not hasattr(event, "_defused"):  # nobody has taken care of the error
            error = type(event._value)(*event._value.args)
            error.__cause__ = event._value
            raise error
