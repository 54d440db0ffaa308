"""The clock of a compiled simrep, with events and processes by the words of SimPy's.

It is SimPy's environment to those who know it by its methods: SimPy's own events, conditions and
processes work on it, and those of this module among them. Everything happens in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from math import inf
from typing import Any, ClassVar, Final

from simpy.core import EmptySchedule, StopSimulation
from simpy.events import PENDING as SIMPY_PENDING
from simpy.events import AllOf, AnyOf, Condition
from simpy.exceptions import Interrupt

from simrep.kernel.budget import MOST_EVENTS, Budget
from simrep.kernel.happening import Callback, Happening, SimpyEvent
from simrep.kernel.signals import hear

__all__ = ["Clock", "Event", "PartClock", "Process"]

PENDING: Final[Any] = SIMPY_PENDING  # a final name is found at once
_NUMBER_BITS: Final = 50  # a rank is a priority, and then a number of so many bits
_URGENT: Final = 0
_NORMAL: Final = 1
_FIRST_OF_ALL: Final = -1  # what goes on where a run was stopped
_NORMAL_RANKS: Final = _NORMAL << _NUMBER_BITS


class Event(Happening):
    """See ``simpy.events.Event``."""

    __slots__ = ("_defused", "_ok", "_value", "callbacks", "env")
    _ok: bool

    def __init__(self, env: Clock) -> None:
        self.env = env
        self.callbacks: list[Any] | None = []
        self._value: Any = PENDING
        self._defused = False

    @property
    def triggered(self) -> bool:
        """Whether it has a value."""
        return self._value is not PENDING

    @property
    def processed(self) -> bool:
        """Whether it has happened."""
        return self.callbacks is None

    @property
    def ok(self) -> bool:
        """Whether it is no failure."""
        return self._ok

    @property
    def defused(self) -> bool:
        """Whether somebody has taken care of its failure."""
        return self._defused

    @defused.setter
    def defused(self, value: bool) -> None:
        del value
        self._defused = True

    @property
    def value(self) -> Any:
        """What it brings, or the error."""
        if self._value is PENDING:
            raise AttributeError(f"Value of {self} is not yet available")
        return self._value

    def trigger(self, event: Any) -> None:
        """Happen as another event does."""
        self._ok = event._ok
        self._value = event._value
        self.env.schedule(self)

    def succeed(self, value: Any = None) -> Event:
        """Happen now, after what is already on the event list."""
        if self._value is not PENDING:
            raise RuntimeError(f"{self} has already been triggered")
        self._ok = True
        self._value = value
        self.env.schedule(self)
        return self

    def fail(self, exception: BaseException) -> Event:
        """Happen now, as a failure."""
        if self._value is not PENDING:
            raise RuntimeError(f"{self} has already been triggered")
        if not isinstance(exception, BaseException):
            raise TypeError(f"{exception} is not an exception.")
        self._ok = False
        self._value = exception
        self.env.schedule(self)
        return self

    def __and__(self, other: Any) -> Any:
        """Both."""
        both: list[Any] = [self, other]
        env: Any = self.env
        return Condition(env, Condition.all_events, both)

    def __or__(self, other: Any) -> Any:
        """Either."""
        both: list[Any] = [self, other]
        env: Any = self.env
        return Condition(env, Condition.any_events, both)

    def happen(self) -> None:
        """See ``Happening.happen``."""
        callbacks = self.callbacks
        self.callbacks = None
        if callbacks is None:  # it has happened: SimPy says so in this way
            raise TypeError(f"{self} has already been processed")
        done = 0
        try:
            for callback in callbacks:
                done += 1
                if isinstance(callback, Process):
                    callback.resume(self)
                else:
                    callback(self)
        except StopSimulation:  # the rest is for when the run goes on
            self.callbacks = callbacks[done:]
            self.env.schedule(self, _FIRST_OF_ALL)
            raise
        if not self._ok and not self._defused:  # nobody has taken care of the error
            raise _copy(self._value)


def _copy(error: BaseException) -> BaseException:
    """An error of the same kind, caused by this one: so tracebacks do not grow."""
    kind: Any = type(error)
    copy: BaseException = kind(*error.args)
    copy.__cause__ = error
    return copy


class Process(Event):
    """See ``simpy.events.Process``; among the callbacks of an ``Event`` it stands itself."""

    __slots__ = ("_generator", "_send", "_target")

    def __init__(self, env: Clock, generator: Generator[Any, Any, Any]) -> None:
        if not hasattr(generator, "throw"):
            raise ValueError(f"{generator} is not a generator.")
        super().__init__(env)
        self._generator: Any = generator
        self._send: Any = generator.send
        begin = Event(env)
        begin._ok = True
        begin._value = None
        begin.callbacks = [self]
        self._target: Any = begin
        env.schedule(begin, _URGENT)

    @property
    def target(self) -> Any:
        """What it waits for."""
        return self._target

    @property
    def name(self) -> str:
        """That of its generator."""
        return str(self._generator.__name__)

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._value is PENDING

    def interrupt(self, cause: Any = None) -> None:
        """Raise ``simpy.Interrupt`` in it."""
        if self._value is not PENDING:
            raise RuntimeError(f"{self} has terminated and cannot be interrupted.")
        if self is self.env._active_proc:
            raise RuntimeError("A process is not allowed to interrupt itself.")
        interruption = Event(self.env)
        interruption._ok = False
        interruption._value = Interrupt(cause)
        interruption._defused = True
        interruption.callbacks = [self._interrupt]
        self.env.schedule(interruption, _URGENT)

    def _interrupt(self, interruption: Event) -> None:
        if self._value is PENDING:
            callbacks: Any = self._target.callbacks
            callbacks.remove(self if isinstance(self._target, Event) else self.resume)
            self.resume(interruption)

    def resume(self, event: Any) -> None:
        """Go on: an event has happened."""
        env = self.env
        env._active_proc = self
        ok: bool
        value: Any
        while True:
            try:
                if isinstance(event, Event):
                    ok, value = event._ok, event._value
                    if not ok:
                        event._defused = True
                else:
                    ok, value = event._ok, event._value
                    if not ok:
                        event._defused = True
                awaited = self._send(value) if ok else self._generator.throw(_copy(value))
            except StopIteration as end:
                self._end(True, end.value)
                break
            except BaseException as error:  # noqa: BLE001 - it is that of whoever waits for this
                self._end(False, error)
                break
            if isinstance(awaited, Event):
                callbacks = awaited.callbacks
                if callbacks is not None:
                    callbacks.append(self)
                    self._target = awaited
                    break
            else:
                if not hasattr(awaited, "callbacks"):
                    raise RuntimeError(f'Invalid yield value "{awaited}"')
                others = awaited.callbacks
                if others is not None:
                    others.append(self.resume)
                    self._target = awaited
                    break
            event = awaited
        env._active_proc = None

    def _end(self, ok: bool, value: Any) -> None:
        self._target = None
        self._ok = ok
        self._value = value
        self.env.schedule(self)


class _Entry:
    """What stands on the event list."""

    __slots__ = ("happening", "rank", "when")

    def __init__(self, when: float, rank: int, happening: Happening) -> None:
        self.when = when
        self.rank = rank
        self.happening = happening


class Clock:
    """Simulated time in seconds; see ``simrep.kernel.simpy_clock.Clock``."""

    most_events: ClassVar[int] = MOST_EVENTS

    def __init__(self, initial_time: float = 0.0) -> None:
        self._time: float = initial_time
        self._heap: list[_Entry] = []
        self._number = 0  # of what was put on the event list last
        self._budget = Budget()
        self._active_proc: Any = None

    @property
    def _now(self) -> float:
        return self._time

    @property
    def now(self) -> float:
        """The time."""
        return self._now

    @property
    def events(self) -> int:
        """How many events have happened."""
        return self._number - len(self._heap)

    @property
    def active_process(self) -> Any:
        """The process that runs."""
        return self._active_proc

    # -- how time goes on ------------------------------------------------------------------------

    def run(self, until: Any = None) -> Any:
        """Run until a time, an event, or the last event.

        Raises
        ------
        SimrepError
            If there are more than ``most_events`` events, if it is clear that there will be, or
            if a million happen at one instant.
        """
        end_s = inf
        if until is not None:
            if not hasattr(until, "callbacks"):
                end_s = float(until)
                if end_s <= self._time:
                    raise ValueError(f"until ({until}) must lie after the present ({self._time})")
                end = Event(self)
                end._ok = True
                end._value = None
                self.schedule(end, _URGENT, end_s - self._time)
                until = end
            if until.callbacks is None:
                return until.value
            until.callbacks.append(StopSimulation.callback)
        most = self.most_events
        look = self._budget.look_after(most)
        try:
            while True:
                before_s = self._time
                for _ in range(look):
                    self._next()
                hear()
                self._budget.look(before_s, self._time, end_s, self.events, most)
        except StopSimulation as stop:
            return stop.args[0]
        except EmptySchedule:
            if until is not None:
                raise RuntimeError(f"nothing will happen any more, and not {until}") from None
        return None

    def step(self) -> None:
        """Let the next event happen."""
        self._next()

    def peek(self) -> float:
        """When the next event happens; infinite for never."""
        return self._heap[0].when if self._heap else inf

    def _next(self) -> None:
        heap = self._heap
        if not heap:
            raise EmptySchedule
        last = heap.pop()
        size = len(heap)
        if not size:
            entry = last
        else:
            entry = heap[0]
            # The hole goes down to a leaf along the earlier of two, then the last entry up.
            place, child = 0, 1
            while child < size:
                earlier = heap[child]
                if child + 1 < size:
                    right = heap[child + 1]
                    if right.when < earlier.when or (
                        right.when == earlier.when and right.rank < earlier.rank
                    ):
                        earlier = right
                        child += 1
                heap[place] = earlier
                place = child
                child = 2 * place + 1
            self._raise(place, last)
        self._time = entry.when
        entry.happening.happen()

    def _raise(self, place: int, entry: _Entry) -> None:
        """Let an entry go up from a place to where it belongs."""
        heap, when, rank = self._heap, entry.when, entry.rank
        while place > 0:
            parent = (place - 1) >> 1
            above = heap[parent]
            if above.when < when or (above.when == when and above.rank < rank):
                break
            heap[place] = above
            place = parent
        heap[place] = entry

    # -- what will happen ------------------------------------------------------------------------

    def _enter(self, happening: Happening, when: float, ranks: int) -> None:
        self._number += 1
        entry = _Entry(when, ranks + self._number, happening)
        heap = self._heap
        heap.append(entry)
        self._raise(len(heap) - 1, entry)

    def put(self, happening: Happening, when: float) -> None:
        """Let ``happening`` happen at the absolute time ``when`` (seconds, not before now)."""
        self._enter(happening, when, _NORMAL_RANKS)

    def schedule(self, event: Any, priority: int = _NORMAL, delay: float = 0.0) -> None:
        """Let an event, of this module or of SimPy, happen after a delay in seconds."""
        ranks = priority << _NUMBER_BITS
        if isinstance(event, Event):
            self._enter(event, self._now + delay, ranks)
        else:
            self._enter(SimpyEvent(event), self._now + delay, ranks)

    def at(self, when: float, call: Callable[[Any], object], argument: Any = None) -> None:
        """Run ``call(argument)`` at the absolute time ``when`` (seconds, not before now)."""
        self._enter(Callback(call, argument), when, _NORMAL_RANKS)

    def fire(self, event: Any, value: Any = None) -> None:
        """Trigger ``event`` and run what waits for it now, not by way of the event list."""
        callbacks: Any
        if isinstance(event, Event):
            event._ok = True
            event._value = value
            callbacks, event.callbacks = event.callbacks, None
            for callback in callbacks:
                if isinstance(callback, Process):
                    callback.resume(event)
                else:
                    callback(event)
        else:
            event._ok = True
            event._value = value
            callbacks, event.callbacks = event.callbacks, None
            for callback in callbacks:
                callback(event)

    # -- events and processes --------------------------------------------------------------------

    def event(self) -> Event:
        """An event."""
        return Event(self)

    def until(self, when: float) -> Event:
        """An event for a generator to yield that fires at the absolute time ``when``."""
        event = Event(self)
        event._ok = True
        event._value = None
        self.put(event, when)
        return event

    def timeout(self, delay: float, value: Any = None) -> Event:
        """An event that happens after a delay in seconds."""
        if delay < 0:
            raise ValueError(f"Negative delay {delay}")
        event = Event(self)
        event._ok = True
        event._value = value
        self.schedule(event, _NORMAL, delay)
        return event

    def process(self, generator: Generator[Any, Any, Any]) -> Process:
        """A process that runs a generator from now on."""
        return Process(self, generator)

    def all_of(self, events: Iterable[Any]) -> Any:
        """All of some events."""
        env: Any = self
        return AllOf(env, events)

    def any_of(self, events: Iterable[Any]) -> Any:
        """Any of some events."""
        env: Any = self
        return AnyOf(env, events)


class PartClock(Clock):
    """The clock of a run to a part of it, which may schedule in a way of its own."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._whole = clock

    @property
    def _now(self) -> float:
        return self._whole._now

    @property
    def events(self) -> int:
        """How many events have happened."""
        return self._whole.events

    def run(self, until: Any = None) -> Any:
        """See ``Clock.run``."""
        return self._whole.run(until)

    def step(self) -> None:
        """See ``Clock.step``."""
        self._whole.step()

    def peek(self) -> float:
        """See ``Clock.peek``."""
        return self._whole.peek()

    def _enter(self, happening: Happening, when: float, ranks: int) -> None:
        self._whole._enter(happening, when, ranks)
