"""What the clock makes happen: callbacks, work that ends, and the events of SimPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from simpy.core import StopSimulation
from simpy.events import Event, EventPriority

__all__ = ["Callback", "Happening", "SimpyEvent", "run_callbacks"]

# Priority of what goes on where a run was stopped.
_FIRST_OF_ALL: Final = EventPriority(-1)


class Happening:
    """What stands on the event list (``Clock.put``), as often as it is put there."""

    __slots__ = ()

    def happen(self) -> None:
        """Its time has come: the clock calls this."""


class Callback(Happening):
    """Runs ``call(argument)``."""

    __slots__ = ("argument", "call")

    def __init__(self, call: Callable[[Any], object], argument: Any) -> None:
        self.call = call
        self.argument = argument

    def happen(self) -> None:
        """See ``Happening.happen``."""
        self.call(self.argument)


class SimpyEvent(Happening):
    """An event of SimPy."""

    __slots__ = ("event",)

    def __init__(self, event: Event) -> None:
        self.event = event

    def happen(self) -> None:
        """See ``Happening.happen``."""
        run_callbacks(self.event)


def run_callbacks(event: Event) -> None:
    """Let an event of SimPy happen: run what waits for it, as SimPy's own loop does."""
    callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
    done = 0
    try:
        for callback in callbacks:
            done += 1
            callback(event)
    except StopSimulation:  # the rest is for when the run goes on
        event.callbacks = callbacks[done:]
        event.env.schedule(event, _FIRST_OF_ALL)
        raise
    if not event._ok and not hasattr(event, "_defused"):  # nobody has taken care of the error
        error = type(event._value)(*event._value.args)
        error.__cause__ = event._value
        raise error
