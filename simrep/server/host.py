"""A machine whose cores are shared by all that runs on it."""

from __future__ import annotations

from bisect import bisect_left
from functools import reduce
from itertools import accumulate
from math import inf
from operator import add
from typing import Any, Final

from simrep.kernel.clock import Clock, Event
from simrep.kernel.deque import deque
from simrep.kernel.happening import Happening
from simrep.kernel.queues import Fifo
from simrep.kernel.streams import Stream, Streams
from simrep.server.ahead import Ahead
from simrep.server.told import Call, ToldHost

__all__ = ["Burst", "Call", "Host", "Routine", "Spin", "Visit"]


_AVERAGED_S: Final = 1e-3
_IN_PARTS: Final = 2e300  # stands for the seconds of work in parts
_AHEAD: Final = 3e300  # and of work that is planned when it has a core


class Routine:
    """A piece of code of one process, with the time it takes.

    A run after a pause is slower, because code and data have left the caches: by ``cold_factor``
    after a long pause, by half of that excess after ``cold_after_s``. Made by ``Host.routine``.

    Of a variable part that takes longer than a millisecond only the first millisecond varies.
    """

    __slots__ = ("_chill", "_clock", "_half", "_host", "_last", "_noise", "seconds")

    @property
    def plain(self) -> bool:
        """Whether its cost is the same whenever it is asked for."""
        return False

    def __init__(self, host: Host, seconds: float) -> None:
        self._host = host
        self._clock = host.clock
        self._chill = host.cold_factor - 1.0
        self._half = host.cold_after_s
        self._noise = host.noise
        self._last = -1e9
        self.seconds = seconds

    def cost(self, more_s: float = 0.0) -> float:
        """The time of the run that begins now; ``more_s`` is its variable part (rows, bytes)."""
        seconds = self.seconds + more_s
        if self._chill:
            now = self._clock._now
            pause = now - self._last
            self._last = now
            # The variable part is a loop: it is warm after its first turn.
            seconds = self.seconds * (1.0 + self._chill * (pause / (pause + self._half))) + more_s
        noise = self._noise
        if noise is None:
            return seconds
        if more_s > _AVERAGED_S:  # a long loop varies turn by turn, and hardly as a whole
            return (seconds - more_s + _AVERAGED_S) * noise() + (more_s - _AVERAGED_S)
        return seconds * noise()

    def run(self, call: Call, argument: Any = None, more_s: float = 0.0) -> None:
        """``Host.run`` for so long as it takes."""
        self._host.run(self.cost(more_s), call, argument)

    def go_on(self, call: Call, argument: Any = None, more_s: float = 0.0) -> None:
        """``Host.go_on`` for so long as it takes."""
        self._host.go_on(self.cost(more_s), call, argument)

    def proceed(self, call: Call, argument: Any = None, more_s: float = 0.0) -> None:
        """``Host.proceed`` for so long as it takes."""
        self._host.proceed(self.cost(more_s), call, argument)


class _PlainRoutine(Routine):
    """It always takes equally long, on a machine without processes that may be stopped."""

    __slots__ = ()

    @property
    def plain(self) -> bool:
        """See ``Routine.plain``."""
        return True

    def cost(self, more_s: float = 0.0) -> float:
        """See ``Routine.cost``."""
        return self.seconds + more_s

    def run(self, call: Call, argument: Any = None, more_s: float = 0.0) -> None:
        """See ``Routine.run``."""
        self._host.run(self.seconds + more_s, call, argument)

    def go_on(self, call: Call, argument: Any = None, more_s: float = 0.0) -> None:
        """See ``Routine.go_on``."""
        host = self._host
        visit = host._ending
        if visit is None:
            host.run(self.seconds + more_s, call, argument)
        else:
            host._ending = None
            visit.seconds = self.seconds + more_s
            visit.call = call
            visit.argument = argument


class Visit(Happening):
    """Work that has a core or waits for one; as an event of the clock, the end of its work."""

    __slots__ = ("argument", "call", "host", "seconds", "since", "used")
    since: float  # when it began to wait, or to use a slice
    used: float  # how long its thread has had the core; whoever gives it a core sets it

    def __init__(self, host: Host, seconds: float, call: Call, argument: Any) -> None:
        self.host = host
        self.seconds = seconds  # of work that is left
        self.call = call
        self.argument = argument

    def happen(self) -> None:
        """See ``Happening.happen``."""
        host = self.host
        self.host._ending = self  # by another name: a call may set it to None
        self.call(self.argument)
        if host._ending is None:  # it goes on
            seconds = self.seconds
            used = self.used + seconds
            if used < host.slice_s:  # as ``_start`` does
                self.used = used
                host.busy_s += seconds
                clock = host.clock
                clock.put(self, clock._now + seconds)
            else:
                host.keep_core(self)
        else:
            host._ending = None
            if host._queue:
                host._next()
            else:
                host._idle += 1


class _Slice(Happening):
    """What a visit uses of a core that has more work than for a slice."""

    __slots__ = ("visit",)

    def __init__(self, visit: Visit) -> None:
        self.visit = visit

    def happen(self) -> None:
        """See ``Happening.happen``."""
        visit = self.visit
        visit.host.end_slice(visit)


class Burst(Visit):
    """Work of a thread that does one thing at a time and then sleeps: the same one every time.

    At its end it calls ``call(argument)``. Nothing goes on with its core (``Host.go_on``), so that
    it costs less than ``Host.run``, of which it has the effect.
    """

    __slots__ = ()

    def __init__(self, host: Host, call: Call, argument: Any = None) -> None:
        super().__init__(host, 0.0, call, argument)

    def begin(self, seconds: float) -> None:
        """``Host.run`` for so long."""
        host = self.host
        host.visits += 1
        if not host._idle:
            self.seconds = seconds
            self.used = 0.0
            self.since = host.clock._now
            host._queue.append(self)
            return
        seconds += host.wakeup_s
        self.seconds = seconds
        host._idle -= 1
        if seconds > host.slice_s:
            self.used = 0.0
            host._start(self)
        else:  # as ``_start`` does
            self.used = seconds
            host.busy_s += seconds
            clock = host.clock
            clock.put(self, clock._now + seconds)

    def go_on(self, seconds: float) -> None:
        """Go on with its core at the end of ``call``, if it is a thread that does so."""
        host = self.host
        self.seconds = seconds
        if self.used >= host.slice_s and host._queue:
            host._wait(self)
        elif seconds > host.slice_s:
            host._start(self)
        else:  # as ``_start`` does
            self.used += seconds
            host.busy_s += seconds
            clock = host.clock
            clock.put(self, clock._now + seconds)

    def happen(self) -> None:
        """See ``Happening.happen``."""
        host = self.host
        if self.seconds > host.slice_s:
            host.end_slice(self)
            return
        self.call(self.argument)
        if host._queue:
            host._next()
        else:
            host._idle += 1


Spin = Visit
"""A thread that waits busily, to be handed to ``Host.stop``."""


class _Spin(Visit):
    """A thread that waits busily."""

    __slots__ = ()

    def happen(self) -> None:
        """See ``Happening.happen``."""
        if self.seconds == inf:
            self.host.end_slice(self)
        elif self.seconds > -inf:  # else it has stopped
            super().happen()


def _nothing(_: Any) -> None:
    pass


class Host(ToldHost):
    """k cores with one run queue, shared by the servers, clients and threads placed on it.

    Runnable work is served first come, first served, one event per visit. A thread that finds more
    to do when its work ends keeps its core (``go_on``): it gives it up when it must wait, to a
    thread that it wakes, or when it has used it for a slice while others wait. Work longer than a
    slice goes to the end of the run queue after each slice (round robin), so that short work is
    not stuck behind it.

    Parameters
    ----------
    clock : Clock
    cores : int
        Number of cores, at least 1.
    streams : Streams, optional
        Source of the variation of the work; required if ``variation`` is positive.
    name : str
    slice_s : float
        Longest use of a core while others wait, in seconds (Linux: 0.7-3 ms).
    spin_s : float
        How long a thread that waits busily (``spin``) keeps its core from others, in seconds: it
        never sleeps, so that only the scheduler takes the core away, at one of its ticks (1/HZ:
        1 ms or 4 ms; later if fairness between processes lets it).
    cold_factor : float
        How much longer a routine takes after a long pause: its code and data have left the caches.
        1 = no effect; 2-5 is plausible.
    cold_after_s : float
        The pause after which half of that excess is reached, in seconds, positive.
    wakeup_s : float
        What it takes to wake an idle core for work, in seconds (interrupt, leaving the idle state;
        domain: 5-50 us, more on virtual machines). Work that finds the cores busy does not pay it.
    sleep_s : float
        What a thread takes of a core to fall asleep and to be woken, in seconds: only where each
        core has a queue (``CoreHost``).
    parallel_syncs : int, optional
        How many fsyncs the machine's disk works on at a time; not limited if not given.
    variation : float
        Coefficient of variation of the time that the same work takes (lognormal).

    Notes
    -----
    Real schedulers keep a queue per core and weigh threads by what they have used. One queue in
    order of arrival is what this amounts to for many short bursts, and no more is claimed. That
    a woken thread preempts its waker was chosen by comparison: if it went to the run queue
    instead, the latencies of the datasets on the two-core rig would be met less well.
    """

    __slots__ = (
        "_ending", "_idle", "_queue", "busy_s", "clock", "cold_after_s", "cold_factor", "cores",
        "flusher", "name", "noise", "sleep_s", "slice_s", "spin_s", "visits", "wait_max_s",
        "wait_s", "wakeup_s",
    )  # fmt: skip

    def __init__(
        self,
        clock: Clock,
        cores: int,
        *,
        streams: Streams | None = None,
        name: str = "",
        slice_s: float = 1e-3,
        spin_s: float = 4e-3,
        cold_factor: float = 1.0,
        cold_after_s: float = 2e-3,
        wakeup_s: float = 0.0,
        sleep_s: float = 0.0,
        variation: float = 0.0,
        parallel_syncs: int | None = None,
    ) -> None:
        if cores < 1:
            raise ValueError(f"cores must be at least 1, given {cores}")
        if not slice_s > 0:
            raise ValueError(f"slice_s must be positive, given {slice_s}")
        self.clock = clock
        self.cores = cores
        self.name = name
        self.slice_s = slice_s
        self.spin_s = spin_s
        self.cold_factor = cold_factor
        self.cold_after_s = cold_after_s
        self.wakeup_s = wakeup_s
        self.sleep_s = sleep_s
        self.noise: Stream | None = None
        if variation:
            if streams is None:
                raise ValueError("a host whose work varies needs streams to draw from")
            self.noise = streams.lognormal(f"host/{name}/work", variation)
        self.flusher: Fifo | None = None
        if parallel_syncs is not None:
            self.flusher = Fifo(clock, parallel_syncs, f"{name.removesuffix('/cpu')}/fsync")
        self.visits = 0
        self.busy_s = 0.0
        self.wait_s = 0.0
        self.wait_max_s = 0.0
        self._idle = cores
        self._queue: deque[Visit] = deque()
        self._ending: Visit | None = None  # what has just done its work and not found more to do

    @property
    def machine(self) -> Host:
        """The machine itself, where this stands for a process on it."""
        return self

    @property
    def kernel(self) -> Host:
        """Where threads of the operating system's kernel run: beside all programs."""
        return self

    @property
    def urgent(self) -> Host:
        """Where a thread with real-time priority runs."""
        return self

    @property
    def even(self) -> bool:
        """Whether all work takes as long as it costs, whenever it is done: no start, no chance."""
        return (
            type(self) is Host
            and self.cold_factor == 1.0
            and self.wakeup_s == self.sleep_s == 0.0
            and self.noise is None
            and self.flusher is None
        )

    @property
    def servers(self) -> int:
        """The number of cores, by the name that every station uses."""
        return self.cores

    def routine(self, seconds: float) -> Routine:
        """A piece of code of one process that takes ``seconds`` when its caches are warm."""
        if self.cold_factor == 1.0 and self.noise is None:
            return _PlainRoutine(self, seconds)
        return Routine(self, seconds)

    def run(self, seconds: float, call: Call, argument: Any = None) -> None:
        """Use a core for ``seconds``, then ``call(argument)``."""
        self.visits += 1
        if not self._idle:
            visit = Visit(self, seconds, call, argument)
            visit.since = self.clock._now
            self._queue.append(visit)
            return
        seconds += self.wakeup_s
        if seconds > self.slice_s:
            self._idle -= 1
            visit = Visit(self, seconds, call, argument)
            visit.used = 0.0
            self._start(visit)
        elif seconds > 0.0:  # as ``_start`` does
            self._idle -= 1
            visit = Visit(self, seconds, call, argument)
            visit.used = seconds
            self.busy_s += seconds
            clock = self.clock
            clock.put(visit, clock._now + seconds)
        else:
            call(argument)

    def go_on(self, seconds: float, call: Call, argument: Any = None) -> None:
        """Go on with the core on which work has just ended.

        For the thread itself, or for one that it wakes: having slept, that one preempts its
        waker, whose own next work then goes to the run queue like any further claim.
        """
        visit = self._ending
        if visit is None:
            self.run(seconds, call, argument)
        else:
            self._ending = None
            visit.seconds = seconds
            visit.call = call
            visit.argument = argument

    def go_on_through(self, parts: list[float], call: Call, argument: Any = None) -> None:
        """``go_on`` for work in parts, between which nothing happens; one event as a rule.

        The parts take seconds above 0, of which none is longer than a slice. In the end ``parts``
        has the time at which each of them was done. Equal to going on for one part after the
        other, to the last bit and with any other work on the cores: a thread gives up its core
        between the parts where it would.
        """
        self._go_through((parts, 0, call, argument))

    def _go_through(self, work: tuple[list[float], int, Call, Any]) -> None:
        visit = self._ending
        if visit is not None:
            self._ending = None
            visit.seconds = _IN_PARTS
            visit.call = work[2]
            visit.argument = work
        elif self._idle:
            self.run(work[0][work[1]], self._part_done, work)
        else:
            self.run(_IN_PARTS, work[2], work)

    def _part_done(self, work: tuple[list[float], int, Call, Any]) -> None:
        parts, place, call, argument = work
        parts[place] = self.clock._now
        if place + 1 == len(parts):
            call(argument)
        else:
            self._go_through((parts, place + 1, call, argument))

    def run_ahead(self, thread: Ahead) -> None:
        """``run`` what a thread plans when it has a core."""
        self.visits += 1
        visit = Visit(self, _AHEAD, thread.planned, thread)
        visit.used = 0.0
        if self._idle:
            self._idle -= 1
            self._plan(visit, self.wakeup_s)
        else:
            visit.since = self.clock._now
            self._queue.append(visit)

    def go_on_ahead(self, thread: Ahead) -> None:
        """``go_on`` with what a thread plans then."""
        visit = self._ending
        if visit is None:
            self.run_ahead(thread)
        else:
            self._ending = None
            visit.seconds = _AHEAD
            visit.argument = thread

    def _plan(self, visit: Visit, more_s: float) -> None:
        thread: Ahead = visit.argument
        end_s, used_s, busy_s = thread.plan(more_s, visit.used, self.busy_s)
        visit.argument = None
        if end_s < 0.0:
            visit.seconds = used_s
            visit.call = thread.done
            self._start(visit)
        else:
            visit.seconds = 0.0
            visit.call = thread.planned
            visit.used = used_s
            self.busy_s = busy_s
            self.clock.put(visit, end_s)

    def spin(self) -> Spin:
        """Wait for something without giving way (busy waiting), like work that does not end."""
        spin = _Spin(self, inf, _nothing, None)
        self.visits += 1
        if self._idle:
            self._idle -= 1
            self._start(spin)
        else:
            spin.since = self.clock._now
            self._queue.append(spin)
        return spin

    def stop(self, spin: Spin, call: Call, argument: Any = None) -> None:
        """End the busy waiting: ``call(argument)`` now, or when the thread has a core again."""
        if spin in self._queue:
            spin.seconds = 0.0
            spin.call = call
            spin.argument = argument
        else:
            self.busy_s -= spin.since + self.spin_s - self.clock._now  # what it no longer uses
            spin.seconds = -inf
            visit = Visit(self, 0.0, call, argument)
            visit.used = 0.0
            self._start(visit)

    def work(self, seconds: float) -> Event:
        """``go_on`` for a generator: an event that fires when the work is done."""
        done = Event(self.clock)
        self.go_on(seconds, self.clock.fire, done)
        return done

    def _start(self, visit: Visit) -> None:
        """Give the visit a core until its work or a slice ends."""
        seconds = visit.seconds
        if seconds > self.slice_s:
            if seconds == _IN_PARTS:
                self._start_parts(visit)
                return
            if seconds == _AHEAD:
                self._plan(visit, 0.0)
                return
            now = visit.since = self.clock._now
            if seconds == inf:
                self.busy_s += self.spin_s
                self.clock.put(visit, now + self.spin_s)
            else:
                self.busy_s += self.slice_s
                self.clock.put(_Slice(visit), now + self.slice_s)
        else:
            visit.used += seconds
            self.busy_s += seconds
            self.clock.put(visit, self.clock._now + seconds)

    def _start_parts(self, visit: Visit) -> None:
        """Work in parts, as many of them as certainly keep their core."""
        parts, place, call, argument = visit.argument
        visit.argument = argument
        left = parts[place:]
        used = [*accumulate(left, initial=visit.used)]
        number = bisect_left(used, self.slice_s, 1)  # after so many it has used a slice
        if number < len(left):
            visit.call = self._go_through
            visit.argument = (parts, place + number, call, argument)
            del left[number:]
        else:
            number = len(left)
        ends_s = [*accumulate(left, initial=self.clock._now)]
        parts[place : place + number] = ends_s[1:]
        visit.used = used[number]
        self.busy_s = reduce(add, left, self.busy_s)
        self.clock.put(visit, ends_s[number])

    def keep_core(self, visit: Visit) -> None:
        """For the visit: it has more to do, with which it has used a slice."""
        if visit.used >= self.slice_s and self._queue:
            self._wait(visit)
        else:
            self._start(visit)

    def end_slice(self, visit: Visit) -> None:
        """For the visit: it has used a slice, and has work left."""
        visit.seconds -= self.slice_s
        self._wait(visit)

    def _wait(self, visit: Visit) -> None:
        """Go to the end of the run queue."""
        visit.since = self.clock._now
        self._queue.append(visit)
        self._next()

    def _next(self) -> None:
        """A core is free for the first in the run queue."""
        visit = self._queue.popleft()
        now = self.clock._now
        wait = now - visit.since
        self.wait_s += wait
        if wait > self.wait_max_s:
            self.wait_max_s = wait
        seconds = visit.seconds
        if seconds > self.slice_s:
            visit.used = 0.0
            self._start(visit)
        else:  # as ``_start`` does
            visit.used = seconds
            self.busy_s += seconds
            self.clock.put(visit, now + seconds)
