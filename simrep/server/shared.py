"""A machine on which several programs run, between which its scheduler is fair."""

from __future__ import annotations

from math import inf
from typing import Any

from simrep.kernel.clock import Clock
from simrep.kernel.deque import deque
from simrep.kernel.happening import Happening
from simrep.kernel.streams import Stream, Streams
from simrep.server.host import Call, Host, Routine, Spin, Visit

__all__ = ["Program", "SharedHost"]


class _Turn(Visit):
    """A visit that knows whose it is."""

    __slots__ = ("program", "turn_s")
    program: Program
    turn_s: float  # since when its core has been its program's

    def happen(self) -> None:
        """See ``Happening.happen``."""
        host: Any = self.host  # which is a SharedHost
        if self.seconds > host.slice_s:
            self.seconds -= host.slice_s
            host.give_way(self)
            return
        host._ending = self
        self.call(self.argument)
        if host._ending is not None:
            host._ending = None
            host.leave(self)
        elif self.used < host.slice_s or not host._waiting:  # it goes on
            host._start(self)
        else:
            host.give_way(self)


class _Spin(_Turn):
    """A thread that waits busily."""

    __slots__ = ("end",)
    end: _SpinEnd | None  # of its time on a core; none while it waits for one


class _SpinEnd(Happening):
    """The turn of a program is over while a thread of it waits busily."""

    __slots__ = ("at_s", "spin")

    def __init__(self, spin: _Spin, at_s: float) -> None:
        self.spin = spin
        self.at_s = at_s

    def happen(self) -> None:
        """See ``Happening.happen``."""
        spin = self.spin
        if spin.end is self:  # else it has given way before, or stopped
            host: Any = spin.host
            host.end_spin(spin)


class SharedHost(Host):
    """k cores that are divided between programs, and within a program between its threads.

    A core stays with a program while that has threads to run, for a slice at most; then it is the
    turn of the program that has used least. Which of its threads comes is open: they have slept
    for different times, so that any of them may be the one that has used least; those that have
    used a slice come last. A thread that is woken by another program preempts its waker if its own
    program has used less, and else waits with its own.

    A thread that waits busily (``spin``) asks again and again, and yields its core each time: any
    thread of its own program that is ready has the core at once, one of another program when the
    program's turn is over. So there is no ``spin_s`` of its own here.

    Parameters
    ----------
    clock, cores, name, **traits
        As for ``Host``.
    streams : Streams
        Source of the order in which threads of a program come.

    Notes
    -----
    Linux makes a group of all threads of a session (autogroup) or of a container (cgroup), and is
    fair between groups first, then between the threads of each. The core stays with the group of a
    thread that falls asleep (``set_next_buddy`` in ``dequeue_entities``). A group that has slept
    keeps what it was ahead or behind, but no more than a slice (``place_entity``,
    ``update_entity_lag``). ``sched_yield`` puts a thread behind those of its own group, and its
    group remains where it is (``yield_task_fair``). Simplified: the cores have one queue together,
    all groups weigh the same, and a thread keeps no account of its own; a thread of the kernel,
    which is bound to one core, takes whichever is free first.

    References
    ----------
    Linux 6.18, kernel/sched/fair.c
    """

    __slots__ = ("_chance", "_kernel", "_others", "_programs", "_used_least_s", "_waiting")

    def __init__(
        self, clock: Clock, cores: int, *, streams: Streams, name: str = "", **traits: Any
    ) -> None:
        super().__init__(clock, cores, streams=streams, name=name, **traits)
        self._chance: Stream = streams.uniform(f"host/{name}/order")
        self._waiting = 0
        self._used_least_s = 0.0  # by the program whose turn was last
        self._programs: list[Program] = []
        self._others = self.program()
        self._kernel: Any = self.program()

    def program(self) -> Program:
        """A further program, by the words of a machine."""
        program = Program(self)
        self._programs.append(program)
        return program

    @property
    def kernel(self) -> Host:
        """See ``Host.kernel``."""
        kernel: Host = self._kernel
        return kernel

    def run(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.run``."""
        self.start_work(self._others, seconds, call, argument)

    def go_on(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.go_on``."""
        self.go_on_with(self._others, seconds, call, argument)

    def routine(self, seconds: float) -> Routine:
        """See ``Host.routine``."""
        return Routine(self, seconds)

    def _go_through(self, work: tuple[list[float], int, Call, Any]) -> None:
        self.go_on(work[0][work[1]], self._part_done, work)

    def spin(self) -> Spin:
        """See ``Host.spin``."""
        return self.start_spin(self._others)

    def stop(self, spin: Any, call: Call, argument: Any = None) -> None:
        """See ``Host.stop``."""
        program: Program = spin.program
        if spin.end is None:  # it finds out when it has a core again
            program.yielding.remove(spin)
            program.spent.append(spin)
            spin.seconds = 0.0
            spin.call = call
            spin.argument = argument
            self._let_go_first(program)
            return
        self._take_core(spin)
        turn = _Turn(self, 0.0, call, argument)
        turn.program = program
        turn.turn_s = spin.turn_s
        turn.used = 0.0
        self._start(turn)

    # -- for its programs ----------------------------------------------------------------------

    def start_work(self, program: Program, seconds: float, call: Call, argument: Any) -> None:
        """Work of a program: ``run``."""
        self.visits += 1
        if self._idle:
            seconds += self.wakeup_s
            if not seconds > 0.0:
                call(argument)
                return
        turn = _Turn(self, seconds, call, argument)
        turn.program = program
        self._admit(turn)

    def go_on_with(self, program: Program, seconds: float, call: Call, argument: Any) -> None:
        """Work of a program on the core on which work has just ended: ``go_on``."""
        turn: Any = self._ending
        if turn is None:
            self.start_work(program, seconds, call, argument)
            return
        if turn.program is not program:
            if not program.waiting:
                self._wake(program)
            if program.used_s >= turn.program.used_s:  # it does not preempt its waker
                self.start_work(program, seconds, call, argument)
                return
            turn.program = program
            turn.turn_s = self.clock._now
        self._ending = None
        turn.seconds = seconds
        turn.call = call
        turn.argument = argument

    def start_spin(self, program: Program) -> Spin:
        """A thread of a program waits busily: ``spin``."""
        self.visits += 1
        spin = _Spin(self, inf, _nothing, None)
        spin.program = program
        spin.end = None
        if not program.waiting and not program.spinning:
            self._wake(program)
        if self._idle:
            self._idle -= 1
            spin.turn_s = self.clock._now
            self._start(spin)
        else:
            self._yield(spin)
        return spin

    def _admit(self, turn: _Turn) -> None:
        """Work that wants a core, now or when it is its turn."""
        program = turn.program
        if not program.waiting and not program.spinning:
            self._wake(program)
        if self._idle:
            self._idle -= 1
            turn.used = 0.0
            turn.turn_s = self.clock._now
            self._start(turn)
        elif program.spinning:
            spin = program.spinning[-1]
            self._take_core(spin)
            self._yield(spin)
            turn.used = 0.0
            turn.turn_s = spin.turn_s
            self._start(turn)
        else:
            turn.since = self.clock._now
            program.ready.append(turn)
            program.waiting += 1
            self._waiting += 1

    def _wake(self, program: Program) -> None:
        """A program that may have slept is at most a slice ahead or behind."""
        least_s = self._used_least_s - self.slice_s
        if program.used_s < least_s:
            program.used_s = least_s
        elif program.used_s > least_s + 2.0 * self.slice_s:
            program.used_s = least_s + 2.0 * self.slice_s

    def _start(self, turn: Any) -> None:
        """Give the work a core until it or a slice ends."""
        seconds = turn.seconds
        now = self.clock._now
        if seconds > self.slice_s:
            if seconds == inf:
                self._start_spin(turn)
                return
            turn.since = now
            seconds = self.slice_s
        else:
            turn.used += seconds
        self.busy_s += seconds
        turn.program.used_s += seconds
        self.clock.put(turn, now + seconds)

    def give_way(self, turn: _Turn) -> None:
        """For the visit: it has used a slice, and has work left."""
        program = turn.program
        turn.since = self.clock._now
        program.spent.append(turn)
        program.waiting += 1
        self._waiting += 1
        self.leave(turn)
        self._let_go_first(program)

    def _start_spin(self, spin: _Spin) -> None:
        """Wait busily until the turn of the program is over."""
        now = self.clock._now
        ends_s = max(spin.turn_s + self.slice_s, now)
        program = spin.program
        program.spinning.append(spin)
        program.used_s += ends_s - now
        self.busy_s += ends_s - now
        spin.end = _SpinEnd(spin, ends_s)
        self.clock.put(spin.end, ends_s)

    def end_spin(self, spin: _Spin) -> None:
        """For its end: the turn of the program is over."""
        spin.program.spinning.remove(spin)
        spin.end = None
        self._yield(spin)
        spin.turn_s = -inf  # another one's turn, whatever was rounded
        self.leave(spin)

    def _take_core(self, spin: _Spin) -> None:
        """Of a thread that waits busily; what it no longer uses is given back."""
        end = spin.end
        assert end is not None
        spin.end = None
        unused_s = end.at_s - self.clock._now
        self.busy_s -= unused_s
        spin.program.used_s -= unused_s
        spin.program.spinning.remove(spin)

    def _yield(self, spin: _Spin) -> None:
        """It waits for a core, behind all others of its program."""
        spin.since = self.clock._now
        spin.program.yielding.append(spin)
        spin.program.waiting += 1
        self._waiting += 1

    def _let_go_first(self, program: Program) -> None:
        """A thread that has used a slice takes the core of one that waits busily elsewhere."""
        if program.spinning and program.spent:
            spin = program.spinning[-1]
            self._take_core(spin)
            self._yield(spin)
            self._next_of(program, spin.turn_s)

    def leave(self, turn: _Turn) -> None:
        """For the visit: its core is free."""
        if not self._waiting:
            self._idle += 1
            return
        now = self.clock._now
        program, turn_s = turn.program, turn.turn_s
        if not program.waiting or now - turn_s >= self.slice_s:
            turn_s = now
            least_s = inf
            for one in self._programs:
                if one.waiting and one.used_s < least_s:
                    program = one
                    least_s = one.used_s
            if least_s > self._used_least_s:
                self._used_least_s = least_s
        self._next_of(program, turn_s)

    def _next_of(self, program: Program, turn_s: float) -> None:
        """A core for a thread of this program, whose turn it has been since then."""
        ready = program.ready
        chosen: _Turn
        if ready:
            place = int(self._chance() * len(ready))
            last = chosen = ready.pop()
            if place < len(ready):
                chosen = ready[place]
                ready[place] = last
        elif program.spent:
            chosen = program.spent.popleft()
        else:
            chosen = program.yielding.pop(0)
        program.waiting -= 1
        self._waiting -= 1
        wait = self.clock._now - chosen.since
        self.wait_s += wait
        if wait > self.wait_max_s:
            self.wait_max_s = wait
        chosen.used = 0.0
        chosen.turn_s = turn_s
        self._start(chosen)


class Program(Host):
    """A program on a shared machine: all threads of a server, or all clients.

    Parameters
    ----------
    machine : SharedHost

    Attributes
    ----------
    ready : list
        Threads that have slept and wait for a core.
    spent : deque
        Threads that have used a slice and wait for a core again.
    yielding : list
        Threads that wait busily and have given way.
    waiting : int
        How many there are of all three.
    spinning : list
        Threads that wait busily, on a core.
    used_s : float
        How long its threads have used cores, in seconds; as much as others if it has slept.
    """

    __slots__ = ("_machine", "ready", "spent", "spinning", "used_s", "waiting", "yielding")

    def __init__(self, machine: SharedHost) -> None:
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
        self.ready: list[_Turn] = []
        self.spent: deque[_Turn] = deque()
        self.yielding: list[_Spin] = []
        self.spinning: list[_Spin] = []
        self.waiting = 0
        self.used_s = 0.0

    @property
    def machine(self) -> Host:
        """See ``Host.machine``."""
        return self._machine

    @property
    def kernel(self) -> Host:
        """See ``Host.kernel``."""
        return self._machine.kernel

    def run(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.run``."""
        self._machine.start_work(self, seconds, call, argument)

    def go_on(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.go_on``."""
        self._machine.go_on_with(self, seconds, call, argument)

    def routine(self, seconds: float) -> Routine:
        """See ``Host.routine``."""
        return Routine(self, seconds)

    def _go_through(self, work: tuple[list[float], int, Call, Any]) -> None:
        self.go_on(work[0][work[1]], self._part_done, work)

    def spin(self) -> Spin:
        """See ``Host.spin``."""
        return self._machine.start_spin(self)

    def stop(self, spin: Spin, call: Call, argument: Any = None) -> None:
        """See ``Host.stop``."""
        self._machine.stop(spin, call, argument)


def _nothing(_: Any) -> None:
    pass
