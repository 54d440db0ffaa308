"""A machine that is fair between programs, with a queue for each core."""

from __future__ import annotations

from math import inf
from typing import Any, Final

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.server.core import REMEMBERED, Core, CoreProgram, Part, SpinEnd, SpinTurn, Turn
from simrep.server.host import Call, Spin
from simrep.server.shared import SharedHost
from simrep.server.storage import FlushQueue

__all__ = ["CoreHost"]

_KERNEL_WEIGHT: Final = 88761.0 / 1024.0  # of a thread with nice -20, beside that of a program
_HOT_S: Final = 5e-4  # what has used a core so lately stays on it (sysctl_sched_migration_cost)


class CoreHost(SharedHost):
    """k cores that are divided between programs, and within a program between its threads.

    Each core has a queue and an account of its own. A program weighs on a core by how many of
    its threads are there. Its turn lasts for a slice; then comes, of those that have not used more
    than their share, the one whose slice would be over first. Which thread of a program comes is
    open: they have slept for different times, so that any of them may be the one that has used
    least; those that have used a slice come last.

    A thread that is woken goes to a core that is idle; if none is, to the one on which it was
    before, which is not known and drawn, unless that of its waker has less to do. A core that has
    nothing to do takes a thread that waits for another one.

    A thread that waits busily (``spin``) asks again and again, and yields its core each time: any
    thread of its own program that waits for this core has it at once, one of another program when
    the turn is over. So there is no ``spin_s`` of its own here.

    Parameters
    ----------
    clock, cores, name, **traits
        As for ``Host``.
    streams : Streams
        Source of the order in which threads of a program come, and of where threads were.

    Notes
    -----
    Linux makes a group of all threads of a session (autogroup) or of a container (cgroup), and is
    fair between groups first, then between the threads of each: EEVDF on each core between the
    groups that are there (``pick_eevdf``), with the weight of a group divided by its load on each
    core (``calc_group_shares``). A turn is not cut short (RUN_TO_PARITY). A thread that falls
    asleep leaves the core to its group (``set_next_buddy`` in ``dequeue_entities``).
    ``sched_yield`` puts a thread behind those of its own group, and its group remains where it is
    (``yield_task_fair``). Simplified: a thread keeps no account of its own; a turn ends with the
    work at hand, not amid it; no balance between busy cores but where threads are woken.

    References
    ----------
    Linux 6.18, kernel/sched/fair.c
    """

    __slots__ = ("_cores", "_waker", "flushes")

    def __init__(
        self, clock: Clock, cores: int, *, streams: Streams, name: str = "", **traits: Any
    ) -> None:
        self._cores = [Core(place) for place in range(cores)]
        self._waker: Core | None = None
        super().__init__(clock, cores, streams=streams, name=name, **traits)
        self._kernel: Any = CoreProgram(self, self._cores, _KERNEL_WEIGHT)
        self.flushes = FlushQueue(self._kernel)

    def program(self) -> CoreProgram:
        """A further program, by the words of a machine."""
        return CoreProgram(self, self._cores)

    def occupy(self, threads: int, weight: float) -> None:
        """Let others compute on it all the time, with so many threads of this weight together."""
        program = CoreProgram(self, self._cores, weight)
        for _ in range(threads):
            program.run(self.slice_s, _compute, program)

    def stop(self, spin: Any, call: Call, argument: Any = None) -> None:
        """See ``Host.stop``."""
        core: Core = spin.core
        if core.turn is not spin:  # it finds out when it has a core again
            part = spin.program.parts[core.place]
            part.yielding.remove(spin)
            part.spent.append(spin)
            spin.seconds = 0.0
            spin.call = call
            spin.argument = argument
            return
        self._charge(spin)
        spin.end = None
        turn = Turn(self, 0.0, call, argument)
        turn.program = spin.program
        turn.core = core
        turn.used = 0.0
        core.turn = turn
        self._start(turn)

    # -- for its programs ----------------------------------------------------------------------

    def start_work(self, program: Any, seconds: float, call: Call, argument: Any) -> None:
        """Work of a program: ``run``."""
        self.visits += 1
        if self._idle:
            seconds += self.wakeup_s
            if not seconds > 0.0:
                call(argument)
                return
        turn = Turn(self, seconds, call, argument)
        turn.program = program
        self._place(turn)

    def go_on_with(self, program: Any, seconds: float, call: Call, argument: Any) -> None:
        """Work of a program on the core on which work has just ended: ``go_on``."""
        turn: Any = self._ending
        if turn is None or turn.program is not program:
            self.start_work(program, seconds, call, argument)
        else:
            self._ending = None
            turn.seconds = seconds
            turn.call = call
            turn.argument = argument

    def start_spin(self, program: Any) -> Spin:
        """A thread of a program waits busily: ``spin``."""
        self.visits += 1
        spin = SpinTurn(self, inf, _nothing, None)
        spin.program = program
        spin.end = None
        turn: Any = self._ending
        if turn is not None and turn.program is program:  # it is the thread that has worked
            self._ending = None
            spin.core = turn.core
            spin.core.turn = spin
            self._begin_wait(spin)
        else:
            self._place(spin)
        return spin

    def _place(self, turn: Turn) -> None:
        """Work that wants a core, now or when it is its turn."""
        now = self.clock._now
        waker = self._waker
        bound = turn.program is self._kernel and waker is not None
        if self._idle and not bound:
            for core in self._cores:
                if core.turn is None:
                    self._idle -= 1
                    part = turn.program.parts[core.place]
                    self._enter(part, now)
                    self._give(core, part, turn)
                    return
        core = turn.program.before[int(self._chance() * REMEMBERED)]
        if waker is not None and (bound or waker.load < core.load):
            core = waker
        turn.core = core
        turn.since = now
        holder = core.turn
        waited_on = holder.seconds == inf and type(holder) is SpinTurn
        if waited_on:
            self._charge(holder)
        part = turn.program.parts[core.place]
        self._enter(part, now)
        if turn.seconds == inf:
            part.yielding.append(turn)  # type: ignore[arg-type]
        else:
            part.ready.append(turn)
        part.waiting += 1
        core.waiting += 1
        if waited_on:
            self._ask(holder, part)

    def _enter(self, part: Part, now: float) -> None:
        """One more thread of a program wants this core."""
        part.count(1, now)
        if part.runnable == 1:
            part.enter(self.slice_s)

    def _give(self, core: Core, part: Part, turn: Turn) -> None:
        """The core is for this thread."""
        if core.part is not part:
            core.part = part
            part.renew(self.slice_s)
            part.protected_s = part.deadline_s
        turn.core = core
        turn.used = 0.0
        core.turn = turn
        self._start(turn)

    def _start(self, turn: Any) -> None:
        """Let the work use its core until it or a slice ends."""
        seconds = turn.seconds
        now = self.clock._now
        if seconds > self.slice_s:
            if seconds == inf:
                self._begin_wait(turn)
                return
            turn.since = now
            seconds = self.slice_s
        else:
            turn.used += seconds
        self.busy_s += seconds
        part = turn.core.part
        part.virtual_s += seconds / part.weight
        self.clock.put(turn, now + seconds)

    # -- turns end ------------------------------------------------------------------------------

    def keep_or_give_way(self, turn: Turn) -> None:
        """For the visit: it goes on, and others wait for its core."""
        core = turn.core
        part: Any = core.part
        if part.virtual_s < part.deadline_s:
            if turn.used < self.slice_s or not (part.ready or part.spent):
                self._start(turn)
                return
        else:
            part.count(0, self.clock._now)
            part.renew(self.slice_s)
        self._put_back(turn, part, spent=turn.used >= self.slice_s)
        self._hand_on(core)

    def use_up(self, turn: Turn) -> None:
        """For the visit: it has used a slice, and has work left."""
        core = turn.core
        if not core.waiting:
            self._start(turn)
            return
        part: Any = core.part
        part.count(0, self.clock._now)
        self._put_back(turn, part, spent=True)
        self._hand_on(core)

    def _put_back(self, turn: Turn, part: Part, *, spent: bool) -> None:
        turn.since = self.clock._now
        if spent:
            part.spent.append(turn)
        else:
            part.ready.append(turn)
        part.waiting += 1
        part.core.waiting += 1

    def fall_asleep(self, turn: Turn) -> None:
        """For the visit: its thread sleeps, and its core is free."""
        core = turn.core
        part: Any = core.part
        part.count(-1, self.clock._now)
        program = turn.program
        place = program.last = (program.last + 1) % REMEMBERED
        program.before[place] = core
        if not part.runnable:
            part.sleep(self.slice_s)
        if core.waiting:
            self._hand_on(core)
        else:
            core.turn = None
            self._take_over(core)

    def _hand_on(self, core: Core) -> None:
        """A core for the thread whose turn it is."""
        part = core.part
        if part is None or not part.waiting or part.virtual_s >= part.protected_s:
            if part is not None:
                part.renew(self.slice_s)
            part = core.next_part()
        self._give(core, part, self._pick(part))

    def _pick(self, part: Part) -> Turn:
        """Of its threads, one that has slept if there is one."""
        ready = part.ready
        chosen: Turn
        if ready:
            place = int(self._chance() * len(ready))
            last = chosen = ready.pop()
            if place < len(ready):
                chosen = ready[place]
                ready[place] = last
        elif part.spent:
            chosen = part.spent.popleft()
        else:
            chosen = part.yielding.pop(0)
        part.waiting -= 1
        part.core.waiting -= 1
        wait = self.clock._now - chosen.since
        self.wait_s += wait
        if wait > self.wait_max_s:
            self.wait_max_s = wait
        return chosen

    def _take_over(self, idle: Core) -> None:
        """A core that has nothing to do takes what waits for another one (``newidle_balance``)."""
        busiest = max(self._cores, key=_waiting)
        now = self.clock._now
        if busiest.waiting:
            for part in busiest.queued:
                if part.program is self._kernel or not part.waiting:
                    continue
                if not part.ready:
                    others: Any = part.spent or part.yielding
                    if now - others[0].since < _HOT_S:
                        continue
                turn = self._pick(part)
                part.count(-1, now)
                if not part.runnable:
                    part.sleep(self.slice_s)
                own = part.program.parts[idle.place]
                self._enter(own, now)
                self._give(idle, own, turn)
                return
        self._idle += 1

    # -- busy waiting ----------------------------------------------------------------------------

    def _begin_wait(self, spin: SpinTurn) -> None:
        core = spin.core
        spin.charged_s = self.clock._now
        if core.waiting:
            part: Any = core.part
            if part.ready or part.spent:  # it yields
                self._wait_behind(spin, part)
                self._next_of_part(core, part)
            else:
                self._end_later(spin)

    def _wait_behind(self, spin: SpinTurn, part: Part) -> None:
        """It waits for the core, behind all others of its program."""
        spin.end = None
        spin.since = self.clock._now
        part.yielding.append(spin)
        part.waiting += 1
        part.core.waiting += 1

    def _next_of_part(self, core: Core, part: Part) -> None:
        self._give(core, part, self._pick(part))

    def _charge(self, spin: SpinTurn) -> None:
        """For what it has used of its core."""
        now = self.clock._now
        used_s = now - spin.charged_s
        spin.charged_s = now
        self.busy_s += used_s
        part: Any = spin.core.part
        part.virtual_s += used_s / part.weight
        if part.virtual_s >= part.deadline_s:  # nobody was there to take its turn
            slice_s = self.slice_s / part.weight
            missed = int((part.virtual_s - part.deadline_s) / slice_s) + 1
            part.deadline_s += missed * slice_s

    def _ask(self, spin: SpinTurn, part: Part) -> None:
        """A thread has come to the core of one that waits busily."""
        core = spin.core
        own: Any = core.part
        if part is own:
            if not part.ready:  # another that waits busily
                return
            self._wait_behind(spin, own)
            self._next_of_part(core, own)
            return
        if spin.end is not None and own.virtual_s < own.protected_s:
            return
        if own.virtual_s >= own.protected_s:
            own.waiting += 1  # as it would be if it were queued
            chosen = core.next_part()
            own.waiting -= 1
            if chosen is part:
                self._wait_behind(spin, own)
                self._next_of_part(core, part)
                return
        if spin.end is None:
            self._end_later(spin)

    def _end_later(self, spin: SpinTurn) -> None:
        part: Any = spin.core.part
        left_s = (part.deadline_s - part.virtual_s) * part.weight
        spin.end = SpinEnd(spin)
        self.clock.put(spin.end, self.clock._now + max(left_s, 1e-9))

    def end_turn(self, spin: SpinTurn) -> None:
        """For its end: the turn of the program is over."""
        core = spin.core
        own: Any = core.part
        now = self.clock._now
        used_s = now - spin.charged_s
        spin.charged_s = now
        self.busy_s += used_s
        own.virtual_s += used_s / own.weight
        own.count(0, now)
        own.protected_s = own.virtual_s
        if core.waiting == own.waiting:
            own.deadline_s = own.virtual_s + self.slice_s / own.weight
            if core.waiting:
                self._end_later(spin)
            return
        own.deadline_s = own.virtual_s + self.slice_s / own.weight
        self._wait_behind(spin, own)
        self._hand_on(core)


def _compute(program: CoreProgram) -> None:
    program.go_on(program.slice_s, _compute, program)


def _waiting(core: Core) -> int:
    return core.waiting


def _nothing(_: Any) -> None:
    pass
