"""A machine of which nobody sees what runs on it, with an event list of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, Final

from simrep.modelling import Host

__all__ = ["TIMER", "Job", "Machine", "Spin"]

TIMER: Final = inf
"""Stands for the seconds of a job that takes no processor: its end is entered by ``Machine.at``."""


_SPIN: Final = 1e300
"""Stands for the seconds of a thread that waits busily."""


class Job(ABC):
    """What a thread has to do next on a processor; also what happens at a time."""

    __slots__ = ("left", "since", "used")
    since: float  # when it began to wait for a core

    def __init__(self) -> None:
        self.left = 0.0  # seconds of work
        self.used = 0.0  # how long its thread has had the core

    @abstractmethod
    def done(self) -> None:
        """The work is done, or its time has come."""


class Spin(Job):
    """A thread waits busily."""

    __slots__ = ()

    def done(self) -> None:
        """It has stopped."""


class Machine:
    """The cores of a host, as ``Host`` has them, and the time there.

    Parameters
    ----------
    host : Host
        On which work takes as long as it costs; its figures are set by ``settle``.

    Attributes
    ----------
    now : float
        What takes place there has done so up to this time, in seconds.
    """

    __slots__ = (
        "_ending", "_events", "_goes_on", "_host", "_idle", "_next_number", "_queue", "_slice_s",
        "_spin_s", "busy_s", "now", "visits", "wait_max_s", "wait_s",
    )  # fmt: skip

    def __init__(self, host: Host) -> None:
        self.now = 0.0
        self.visits = host.visits
        self.busy_s = host.busy_s
        self.wait_s = host.wait_s
        self.wait_max_s = host.wait_max_s
        self._host = host
        self._slice_s = host.slice_s
        self._spin_s = host.spin_s
        self._idle = host.cores
        self._queue: deque[Job] = deque()
        # Of what happens at the same instant, that goes first which was entered first: also where
        # a message was sent before the machine has come so far.
        self._events: list[tuple[float, float, int, Job]] = []
        self._next_number: Callable[[], int] = count().__next__
        self._ending: Any = None  # has just done its work and not found more to do
        self._goes_on: Any = None

    @property
    def next_s(self) -> float:
        """When something happens next; infinite for never."""
        return self._events[0][0] if self._events else inf

    def at(self, when: float, job: Job, entered_s: float) -> None:
        """Let something that takes no processor happen at a time, entered at another."""
        job.left = TIMER
        heappush(self._events, (when, entered_s, self._next_number(), job))

    def run(self, job: Job, seconds: float) -> None:
        """Use a core for ``seconds``; see ``Host.run``."""
        self.visits += 1
        job.left = seconds
        if not self._idle:
            job.used = 0.0
            job.since = self.now
            self._queue.append(job)
            return
        if seconds <= 0.0:
            job.done()
            return
        self._idle -= 1
        if seconds > self._slice_s:
            job.used = 0.0
            self._start(job)
            return
        job.used = seconds
        self.busy_s += seconds
        now = self.now
        heappush(self._events, (now + seconds, now, self._next_number(), job))

    def run_both(self, job: Job, seconds: float, more_s: float) -> bool:
        """Use a core for ``seconds``, and go on for ``more_s``, if nothing can come between.

        Gives whether that is so; it is not done otherwise.
        """
        used = seconds + more_s
        if not self._idle or used > self._slice_s:
            return False
        self.visits += 1
        self._idle -= 1
        job.left = more_s
        job.used = used
        self.busy_s += used
        begun_s = self.now + seconds
        heappush(self._events, (begun_s + more_s, begun_s, self._next_number(), job))
        return True

    def go_on(self, job: Job, seconds: float) -> None:
        """Go on with the core on which work has just ended; see ``Host.go_on``."""
        ending = self._ending
        if ending is None:
            self.run(job, seconds)
        else:
            self._ending = None
            job.left = seconds
            job.used = ending.used
            self._goes_on = job

    def spin(self) -> Spin:
        """Wait for something without giving way; see ``Host.spin``."""
        spin = Spin()
        spin.left = _SPIN
        self.visits += 1
        if self._idle:
            self._idle -= 1
            self._start(spin)
        else:
            spin.since = self.now
            self._queue.append(spin)
        return spin

    def stop(self, spin: Spin, job: Job) -> None:
        """End the busy waiting: the job is done now, or when the thread has a core again."""
        job.left = job.used = 0.0
        if spin in self._queue:
            job.since = spin.since
            self._queue[self._queue.index(spin)] = job
        else:
            self.busy_s -= spin.since + self._spin_s - self.now  # what it no longer uses
            spin.left = TIMER
            self._start(job)

    def advance(self, until: float) -> None:
        """Let happen what happens up to a time, that included."""
        events, queue, slice_s = self._events, self._queue, self._slice_s
        next_number = self._next_number
        while events:
            now, entered_s, number, job = heappop(events)
            if now > until:
                heappush(events, (now, entered_s, number, job))
                break
            self.now = now
            seconds = job.left
            if seconds > slice_s:
                if seconds == TIMER:
                    job.done()
                else:
                    job.left = seconds - slice_s
                    self._wait(job)
                continue
            self._ending = job
            job.done()
            if self._ending is not None:  # there is no more to do
                self._ending = None
                if queue:
                    self._next()
                else:
                    self._idle += 1
                continue
            job = self._goes_on
            seconds = job.left
            if queue and job.used >= slice_s:
                self._wait(job)
            elif seconds > slice_s:
                self._start(job)
            else:
                job.used += seconds
                self.busy_s += seconds
                heappush(events, (now + seconds, now, next_number(), job))
        if until > self.now:
            self.now = until

    def settle(self) -> None:
        """Set the figures of the host."""
        host = self._host
        host.visits = self.visits
        host.busy_s = self.busy_s
        for _, begun_s, _, job in self._events:
            if begun_s > self.now and job.left != TIMER:  # of ``run_both``: it counts when begun
                host.busy_s -= job.left
        host.wait_s = self.wait_s
        host.wait_max_s = self.wait_max_s

    def _start(self, job: Job) -> None:
        """Give it a core until its work or a slice ends."""
        seconds = job.left
        now = self.now
        if seconds <= self._slice_s:
            job.used += seconds
        elif seconds < _SPIN:
            seconds = self._slice_s
        else:
            seconds = self._spin_s
            job.since = now
        self.busy_s += seconds
        heappush(self._events, (now + seconds, now, self._next_number(), job))

    def _wait(self, job: Job) -> None:
        """Go to the end of the run queue."""
        job.since = self.now
        job.used = 0.0
        self._queue.append(job)
        self._next()

    def _next(self) -> None:
        """A core is free for the first in the run queue."""
        job = self._queue.popleft()
        wait = self.now - job.since
        self.wait_s += wait
        if wait > self.wait_max_s:
            self.wait_max_s = wait
        self._start(job)
