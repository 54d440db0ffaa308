"""Servers that may be slowed down or stopped: machines, processes, clocks and disks for them.

They are made only where a scenario says that something of the kind happens (``runs.build``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapreplace
from math import inf
from typing import Any

from simrep.kernel.clock import Clock, PartClock
from simrep.kernel.deque import deque
from simrep.kernel.pace import Pace
from simrep.kernel.queues import Fifo
from simrep.server.host import Call, Host, Routine, Spin, Visit
from simrep.server.storage import Disk

__all__ = ["PacedDisk", "PacedFifo", "PacedHost", "Process", "ProcessClock"]


class _OwnedVisit(Visit):
    """A visit that knows whose it is."""

    __slots__ = ("cut", "owner", "whole")
    owner: Process
    whole: bool  # its work ends with this slice
    cut: bool  # its process is stopped before

    def happen(self) -> None:
        """See ``Happening.happen``."""
        host: Any = self.host  # which is a PacedHost
        if self.cut:
            host.cut(self)
        elif self.whole:
            host.end(self)
        else:
            host.end_slice(self)


class _OwnedSpin(_OwnedVisit):
    __slots__ = ()

    def happen(self) -> None:
        """See ``Happening.happen``."""
        if self.seconds > -inf:  # else it has stopped
            super().happen()


class PacedHost(Host):
    """A machine with processes that work at a pace of their own, and may be stopped.

    A stopped process leaves its cores to others. What of its work was under way goes on from there
    when it is continued.

    Parameters
    ----------
    pace : Pace
        Of all that belongs to no process.
    stops : iterable of (float, float)
        When all of the machine stands still, from and to in seconds.
    syncs : Pace, optional
        Of the fsyncs of its disk, if it works on a few of them at a time.
    second_thread_gain : float
        What the second hardware thread of a core (hyper-threads) adds to its speed, of 1. If it is
        positive, twice as many threads run at a time as there are cores.

    Attributes
    ----------
    cores : int
        How many threads run at a time: what the operating system counts as cores.

    Notes
    -----
    Simplified: a slice stretches like the work in it.

    A thread gets a core to itself while there is one. With b threads on p cores, b - p cores have
    two, each of which does ``1 + second_thread_gain`` of the work of one alone. Simplified: all of
    the b threads have their mean speed, and a slice keeps the speed with which it began.
    """

    __slots__ = ("_gain", "_own")

    def __init__(
        self,
        clock: Clock,
        cores: int,
        *,
        pace: Pace,
        stops: Iterable[tuple[float, float]] = (),
        syncs: Pace | None = None,
        second_thread_gain: float = 0.0,
        **traits: Any,
    ) -> None:
        super().__init__(clock, cores * 2 if second_thread_gain else cores, **traits)
        self._gain = second_thread_gain
        if self.flusher is not None:
            flusher = self.flusher
            self.flusher = PacedFifo(clock, syncs or Pace(), flusher.servers, flusher.name)
        self._own = Process(self, pace, stops)

    def run(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.run``."""
        self._own.run(seconds, call, argument)

    def go_on(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.go_on``."""
        self._own.go_on(seconds, call, argument)

    def routine(self, seconds: float) -> Routine:
        """See ``Host.routine``."""
        return Routine(self, seconds)

    def _go_through(self, work: tuple[list[float], int, Call, Any]) -> None:
        """A process may be stopped between the parts."""
        self.go_on(work[0][work[1]], self._part_done, work)

    def spin(self) -> Spin:
        """See ``Host.spin``."""
        return self._own.spin()

    def stop(self, spin: Spin, call: Call, argument: Any = None) -> None:
        """See ``Host.stop``."""
        self._own.stop(spin, call, argument)

    # -- for its processes ---------------------------------------------------------------------

    def admit(self, visit: _OwnedVisit) -> None:
        """Work that wants a core, now or when it is its turn."""
        visit.used = 0.0
        owner = visit.owner
        if owner.stopped:
            owner.park(visit)
        elif self._idle:
            self._idle -= 1
            self._start(visit)
        else:
            visit.since = self.clock._now
            self._queue.append(visit)

    def start_work(self, owner: Process, seconds: float, call: Call, argument: Any) -> None:
        """Work of a process: ``run``."""
        self.visits += 1
        if self._idle and not owner.stopped:
            seconds += self.wakeup_s
            if not seconds > 0.0:
                call(argument)
                return
        visit = _OwnedVisit(self, seconds, call, argument)
        visit.owner = owner
        self.admit(visit)

    def go_on_with(self, owner: Process, seconds: float, call: Call, argument: Any) -> None:
        """Work of a process on the core on which work has just ended: ``go_on``."""
        visit: Any = self._ending
        if visit is None:
            self.start_work(owner, seconds, call, argument)
        else:
            visit.owner = owner
            super().go_on(seconds, call, argument)

    def start_spin(self, owner: Process) -> Spin:
        """A process waits busily: ``spin``."""
        self.visits += 1
        spin = _OwnedSpin(self, inf, _nothing, None)
        spin.owner = owner
        self.admit(spin)
        return spin

    def end_spin(self, owner: Process, spin: Spin, call: Call, argument: Any) -> None:
        """A process no longer waits busily: ``stop``."""
        if spin in self._queue:
            spin.seconds = 0.0
            spin.call = call
            spin.argument = argument
        else:
            self.busy_s -= spin.since - self.clock._now  # what it no longer uses
            spin.seconds = -inf
            visit = _OwnedVisit(self, 0.0, call, argument)
            visit.owner = owner
            visit.used = 0.0
            self._start(visit)

    def _start(self, visit: Any) -> None:
        """Give the visit a core until its work or a slice ends, or its process is stopped."""
        owner, now, seconds = visit.owner, self.clock._now, visit.seconds
        if owner.stopped:
            owner.park(visit)
            self._leave_core()
            return
        visit.whole = whole = seconds <= self.slice_s
        if not whole:
            seconds = self.spin_s if seconds == inf else self.slice_s
        stretch = self._stretch() if self._gain and visit.seconds < inf else 1.0
        end_s = owner.pace.end(now, seconds * stretch)
        visit.cut = end_s > owner.stop_s
        if visit.cut:
            end_s = owner.stop_s
            visit.seconds = max(0.0, visit.seconds - owner.pace.done(now, end_s) / stretch)
        if whole:
            visit.used += end_s - now
        else:
            visit.since = end_s
        self.busy_s += end_s - now
        self.clock.put(visit, end_s)

    def _stretch(self) -> float:
        """How much longer work takes as second threads run beside it."""
        busy, cores = self.cores - self._idle, self.cores // 2
        return 1.0 if busy <= cores else busy / (cores + self._gain * (busy - cores))

    def end(self, visit: _OwnedVisit) -> None:
        """For the visit: its work is done."""
        self._ending = visit
        visit.call(visit.argument)
        if self._ending is not visit:  # it goes on
            if visit.used < self.slice_s or not self._queue:
                self._start(visit)
            else:
                self._wait(visit)
            return
        self._ending = None
        if self._queue:
            self._next()
        else:
            self._idle += 1

    def cut(self, visit: _OwnedVisit) -> None:
        """For the visit: its process is stopped."""
        visit.owner.park(visit)
        self._leave_core()

    def _leave_core(self) -> None:
        if self._queue:
            self._next()
        else:
            self._idle += 1

    def _next(self) -> None:
        """A core is free for the first in the run queue whose process is not stopped."""
        queue: deque[Any] = self._queue
        while queue and queue[0].owner.stopped:
            visit = queue.popleft()
            visit.owner.park(visit)
        if queue:
            visit = queue.popleft()
            visit.used = 0.0
            wait = self.clock._now - visit.since
            self.wait_s += wait
            self.wait_max_s = max(self.wait_max_s, wait)
            self._start(visit)
        else:
            self._idle += 1


class Process(Host):
    """The process of a server on a machine, by the words of a machine.

    Parameters
    ----------
    machine : PacedHost
    pace : Pace
        How long its code takes.
    stops : iterable of (float, float)
        When it stands still, from and to in seconds; they do not overlap.

    Attributes
    ----------
    stopped : bool
        Whether it stands still now.
    stop_s : float
        When it is stopped next, in seconds; infinite for never.
    """

    __slots__ = ("_held", "_machine", "_parked", "_stops", "pace", "stop_s", "stopped")

    def __init__(
        self, machine: PacedHost, pace: Pace, stops: Iterable[tuple[float, float]] = ()
    ) -> None:
        self._machine = machine
        self.clock = machine.clock
        self.cores = machine.cores
        self.name = machine.name
        self.slice_s = machine.slice_s
        self.spin_s = machine.spin_s
        self.cold_factor = machine.cold_factor
        self.cold_after_s = machine.cold_after_s
        self.wakeup_s = machine.wakeup_s
        self.sleep_s = machine.sleep_s
        self.noise = machine.noise
        self.flusher = machine.flusher
        self.pace = pace
        self.stopped = False
        self._parked: list[Any] = []
        self._held: deque[tuple[Call, Any]] = deque()
        self._stops = deque(stops)
        self.stop_s = self._stops[0][0] if self._stops else inf
        for from_s, to_s in self._stops:
            self.clock.at(from_s, self._stop)
            self.clock.at(to_s, self._continue)

    @property
    def machine(self) -> Host:
        """See ``Host.machine``."""
        return self._machine

    def run(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.run``."""
        self._machine.start_work(self, seconds, call, argument)

    def go_on(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.go_on``."""
        self._machine.go_on_with(self, seconds, call, argument)

    def _go_through(self, work: tuple[list[float], int, Call, Any]) -> None:
        """A process may be stopped between the parts."""
        self.go_on(work[0][work[1]], self._part_done, work)

    def spin(self) -> Spin:
        """See ``Host.spin``."""
        return self._machine.start_spin(self)

    def stop(self, spin: Spin, call: Call, argument: Any = None) -> None:
        """See ``Host.stop``."""
        self._machine.end_spin(self, spin, call, argument)

    def receive(self, call: Callable[[Any], object]) -> Callable[[Any], object]:
        """What arrives for the process: it gets round to it when it does not stand still."""

        def when_it_runs(argument: Any) -> None:
            self.call((call, argument))

        return when_it_runs

    def call(self, work: tuple[Call, Any]) -> None:
        """Run ``call(argument)`` now, or when the process is continued."""
        if self.stopped:
            self._held.append(work)
        else:
            call, argument = work
            call(argument)

    def routine(self, seconds: float) -> Routine:
        """See ``Host.routine``."""
        return Routine(self, seconds)

    def park(self, visit: Any) -> None:
        """Keep its work until it is continued."""
        self._parked.append(visit)

    def _stop(self, _: None) -> None:
        self.stopped = True

    def _continue(self, _: None) -> None:
        self._stops.popleft()
        self.stop_s = self._stops[0][0] if self._stops else inf
        self.stopped = False
        parked, self._parked = self._parked, []
        for visit in parked:
            self._machine.admit(visit)
        while self._held:
            self.call(self._held.popleft())


def _nothing(_: Any) -> None:
    pass


class ProcessClock(PartClock):
    """The clock of a run, by which a process sets its timers: they are late if it stands still."""

    __slots__ = ("_process_call",)

    def __init__(self, clock: Clock, process: Process) -> None:
        super().__init__(clock)
        self._process_call = process.call

    def at(self, when: float, call: Callable[[Any], object], argument: Any = None) -> None:
        """See ``Clock.at``."""
        super().at(when, self._process_call, (call, argument))


class PacedFifo(Fifo):
    """A ``Fifo`` whose servers work at a pace."""

    __slots__ = ("_pace",)

    def __init__(self, clock: Clock, pace: Pace, servers: int = 1, name: str = "") -> None:
        super().__init__(clock, servers, name)
        self._pace = pace

    def book(self, demand_s: float) -> float:
        """See ``Fifo.book``."""
        now = self._clock._now
        start_s = max(now, self._free[0])
        end_s = self._pace.end(start_s, demand_s)
        self.visits += 1
        if end_s < inf:  # else it never ends: nobody knows how long it takes
            self.busy_s += end_s - start_s
            self.wait_s += start_s - now
            self.wait_max_s = max(self.wait_max_s, start_s - now)
        heapreplace(self._free, end_s)
        return end_s


class PacedDisk(Disk):
    """A disk whose fsyncs take longer for a while, or do not return; writing goes on.

    Parameters
    ----------
    pace : Pace
        Of its fsyncs.
    """

    def __init__(self, pace: Pace, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._pace = pace

    def sync(self, size_bytes: float, call: Call, argument: Any = None) -> None:
        """See ``Disk.sync``."""
        if self._flusher is not None:  # which has the pace of the machine's disk
            super().sync(size_bytes, call, argument)
            return
        self.syncs += 1
        seconds = size_bytes * self._per_byte
        written_s = self.transfer.book(seconds) if seconds > 0.0 else self._clock._now
        latency = self._fsync_s
        fsync_s = latency() if callable(latency) else latency
        self._clock.at(self._pace.end(written_s, fsync_s), call, argument)

    def _journal_end_s(self, seconds: float) -> float:
        return self._pace.end(self._clock._now, seconds)
