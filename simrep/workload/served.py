"""Generators that go on by themselves, and a transaction that a server runs in this way.

A SimPy process costs an event object and several calls for every wait. What waits most often,
clients and the sessions of servers, does without: such a generator yields nothing, and hands its
``resume`` to whoever has to wake it, as what to call then.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeVar

from simrep.kernel.clock import Clock, Event
from simrep.workload.transaction import Transaction

__all__ = ["Resume", "Served", "driven", "failure", "run", "waited"]

T = TypeVar("T")

Resume = Callable[[Any], Any]
"""``resume(value)``: goes on with a generator; never while it runs."""

_NOT_YET: bool | None = None


def run(steps: Generator[None, Any, None]) -> None:
    """Begin a generator that goes on by itself: what it first waits for is its ``resume``.

    It must not end: whoever wakes it knows nothing of generators.
    """
    next(steps)
    steps.send(steps.send)


def waited(event: Any, resume: Resume) -> Generator[None, Any, Any]:
    """Wait for an event, unless it has happened; returns its value."""
    if event.callbacks is not None:
        event.callbacks.append(resume)
        yield
    return event._value


def failure(event: Any) -> BaseException:
    """Why an event has failed; whoever waits for it deals with that."""
    event._defused = True
    error: BaseException = event._value
    return error


def driven(steps: Generator[Event, Any, T], resume: Resume) -> Generator[None, Any, T]:
    """Go through the steps of a generator of events, as a SimPy process does."""
    try:
        event: Any = steps.send(None)  # of SimPy's own, too
        while True:
            if event.callbacks is not None:
                event.callbacks.append(resume)
                yield
            event = steps.send(event._value) if event._ok else steps.throw(failure(event))
    except StopIteration as end:
        value: T = end.value
        return value


class Served(Generator[Event, Any, bool]):
    """A transaction on its way through the sessions of a server, to be begun once.

    A client that is no process has it begin (``start``). To everybody else it is what a model's
    ``transact`` returns: a generator of events, the value of which is whether it committed.

    Attributes
    ----------
    transaction : Transaction
    resume : callable
        Goes on with the session.
    told : callable or None
        Whom the session tells at the end whether it committed; None while it begins.
    committed : bool or None
        Whether it committed, if it ended at once.
    retries : int or None
        How often the server may still repeat it, if there was an attempt before; else None.
    sleeper : object
        The thread of the session between transactions, see ``Host.doze``.
    steps : generator or None
        What it is to those who take it for a generator.
    """

    __slots__ = (
        "_clock", "committed", "resume", "retries", "sleeper", "steps", "told", "transaction",
    )  # fmt: skip
    transaction: Transaction
    resume: Resume

    def __init__(self, clock: Clock) -> None:
        self.sleeper: object = None
        self._clock = clock
        self.retries: int | None = None
        self.steps: Generator[Event, Any, bool] | None = None
        self.told: Callable[[bool], object] | None = None
        self.committed: bool | None = None

    def start(self, told: Callable[[bool], object]) -> bool | None:
        """Begin now; whether it committed, or None: ``told(committed)`` comes later."""
        self.told = None
        self.committed = _NOT_YET
        self.resume(None)
        if self.committed is None:
            self.told = told
        return self.committed

    def end(self, committed: bool) -> None:
        """Its session has ended: whoever began it is told whether it committed."""
        if self.told is None:
            self.committed = committed
        else:
            self.told(committed)

    def _events(self) -> Generator[Event, Any, bool]:
        done = Event(self._clock)
        committed = self.start(partial(self._clock.fire, done))
        if committed is None:
            committed = yield done
        assert committed is not None
        return committed

    def __iter__(self) -> Generator[Event, Any, bool]:
        return self._events()

    def send(self, value: Any) -> Event:
        """See ``Generator.send``."""
        if self.steps is None:
            self.steps = self._events()
        return self.steps.send(value)

    def throw(self, *error: Any) -> Event:
        """See ``Generator.throw``: the session goes on, and nobody waits for it."""
        if self.steps is None:
            self.steps = self._events()
        return self.steps.throw(*error)
