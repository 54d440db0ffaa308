"""A machine that is fair between programs, with a queue for each core."""

from __future__ import annotations

from math import inf
from typing import Any, Final

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.server.accounts import Sleeper
from simrep.server.core import (
    TICK_S,
    Core,
    CoreProgram,
    Doze,
    Part,
    SpinEnd,
    SpinTurn,
    Turn,
    UrgentProgram,
    UrgentTurn,
)
from simrep.server.core_balance import BalancedHost
from simrep.server.host import Call, Spin
from simrep.server.newidle import NewIdle
from simrep.server.storage import FlushQueue

__all__ = ["CoreHost"]

_KERNEL_WEIGHT: Final = 88761.0 / 1024.0  # of a thread with nice -20, beside that of a program
_SOON_S: Final = 1e-9
_AFFINE: Final = 0.3  # of the threads that one on a core with less to do wakes go there


class CoreHost(BalancedHost):
    """k cores that are divided between programs, and within a program between its threads.

    Each core has a queue and an account of its own. A program weighs on a core by how many of
    its threads are there (``Part``). Its turn lasts for a slice at most, and only while it has not
    used more than its share; then comes, of those that have not, the one whose slice would be over
    first. Between the threads of a program it is the same (``Accounts``).

    A thread that wakes cuts the work at hand short if it comes next, and what has the core has used
    more than its share: the program of the other, or the other in its own program. A thread with
    real-time priority (``urgent``) interrupts all others on the first core.

    A thread wakes on the core where it fell asleep, whatever that does meanwhile; seldom it goes to
    the core of the one that wakes it (``_AFFINE``). A core that has
    nothing to do may take a thread that waits for another one and has not used it for half a
    millisecond, but does not always look (``NewIdle``); a busy core does so now and then if the
    other one is busier. When it has found no thread that is less than half of the difference, it
    may take a larger one the next time: so three programs that compute share two cores evenly. A
    thread of the kernel runs where it was asked for.

    A thread that waits busily (``spin``) asks again and again, and yields its core each time: any
    thread of its own program that waits for this core has it at once, one of another program when
    it is its turn. So there is no ``spin_s`` of its own here.

    Parameters
    ----------
    clock, cores, name, **traits
        As for ``Host``.
    streams : Streams
        Source of the order in which threads of a program come, of where threads were, and of
        whether a core looks for work.
    newidle_s : float
        The longest that a core took of late to look for work, in seconds: see ``NewIdle``.
    interrupt_s : float, optional
        What it takes an interrupt of the disk to wake an idle core, in seconds; ``wakeup_s`` if not
        given. Where another core wakes it, that one interrupts it, too.

    Notes
    -----
    Linux makes a group of all threads of a session (autogroup) or of a container (cgroup), and is
    fair between groups first, then between the threads of each: EEVDF on each core between the
    groups that are there (``pick_eevdf``), with the weight of a group divided by its load on each
    core (``calc_group_shares``). A turn is not cut short before its slice is over
    (RUN_TO_PARITY), but for a group that has used more than its share or has been weighed anew. A
    thread that falls asleep leaves the core to its group (``set_next_buddy`` in
    ``dequeue_entities``). ``sched_yield`` puts a thread behind those of its own group, and its
    group remains where it is (``yield_task_fair``). A woken thread preempts by
    ``check_preempt_wakeup_fair``: if its group, or it in its own group, is the one that
    ``pick_eevdf`` would choose. In traces of three Galera servers on two cores a thread that wakes
    in the program that has the core preempts in 57 to 72 % of cases if no other one of it waits
    there, 36 to 40 % if one does, 25, 20 and 6 to 9 % with two, three and more. Simulated: 50, 21,
    14, 11 and 4 % (semi-synchronous MariaDB).

    That threads wake where they slept is measured: 99 % did of 170 000 wake-ups of three MySQL
    servers on two cores with 4 to 32 clients and of 300 000 of three Galera servers, 96 % with one
    client; of those whose core was busy while the other one was idle, 96 % (MySQL) and 98 %
    (Galera). So ``select_idle_sibling`` is not simulated; on cores that are busy for a fifth of the
    time, threads left a busy core for an idle one in a third of cases (SIS_UTIL). Simplified: which
    of a program's sleeping threads wakes is drawn, but for programs that tell
    (``Host.tell_threads``).

    Of threads that a thread on another core wakes, 6 to 11 % go to its core in a group (five traces
    of MySQL), 3 to 13 % with semi-synchronous (three), 8 to 36 % with asynchronous replication
    (eight), of those that an interrupt wakes 1 to 7 %, of all others 0.1 to 2 %. Linux compares the
    loads of the cores (``wake_affine_weight``), and leaves out threads that wake many others
    (``wake_wide``). Simplified: such a thread goes there with a fixed probability if that core has
    had less to do, and only in programs that say so (``Host.follow_wakers``): MySQL's servers, of
    which 5 to 7 % do. Threads of Galera's servers do so as often (6, 9 and 13 % with 4, 16 and 64
    clients), but then take longer than measured.

    A thread that sleeps pays for it when it is woken (``sleep_s``): context switches, and what has
    left the caches meanwhile.

    ``sched_yield`` takes from a thread the rest of its slice, so that one that has waited busily is
    ahead of all others of its program for long (``yield_task_fair``; commit 79104becf42b): whoever
    of these wakes has its core at once. Of a worker's wake-ups on the core of its coordinator
    73 to 93 % took less than 10 us (MySQL). Simplified: only in programs that tell their threads
    apart.

    References
    ----------
    Linux 6.18, kernel/sched/fair.c
    """

    __slots__ = ("_interrupt_s", "_waker", "flushes")

    def __init__(
        self,
        clock: Clock,
        cores: int,
        *,
        streams: Streams,
        name: str = "",
        newidle_s: float,
        interrupt_s: float | None = None,
        **traits: Any,
    ) -> None:
        self._cores = [Core(place) for place in range(cores)]
        self._waker: Core | None = None
        self._overloaded = False
        super().__init__(clock, cores, streams=streams, name=name, **traits)
        self._interrupt_s = self.wakeup_s if interrupt_s is None else interrupt_s
        for core in self._cores:
            core.newidle = NewIdle(self._chance, newidle_s)
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

    @property
    def urgent(self) -> UrgentProgram:
        """See ``Host.urgent``."""
        return UrgentProgram(self)

    def stop(self, spin: Any, call: Call, argument: Any = None) -> None:
        """See ``Host.stop``."""
        core: Core = spin.core
        part = spin.program.parts[core.place]
        if core.turn is not spin:  # it finds out when it has a core again
            part.accounts.enter(spin, self.slice_s, self._forfeited(spin))
            if core.interrupted is not spin:
                part.yielding.remove(spin)
                part.ready.append(spin)
            spin.seconds = 0.0
            spin.call = call
            spin.argument = argument
            return
        self.charge(spin)
        spin.end = None
        turn = Turn(self, 0.0, call, argument)
        turn.program = spin.program
        turn.doze = None
        turn.core = core
        part.accounts.enter(turn, self.slice_s, self._forfeited(spin))
        turn.used = 0.0
        core.turn = turn
        self._start(turn)

    def _forfeited(self, spin: SpinTurn) -> float:
        """By how much one that has waited busily is behind: it is ahead (``sched_yield``)."""
        return -self.slice_s if spin.program.tells_threads else 0.0

    # -- for its programs ----------------------------------------------------------------------

    def start_work(
        self, program: Any, seconds: float, call: Call, argument: Any, doze: Doze | None = None,
        *, interrupted: bool = False,
    ) -> None:  # fmt: skip
        """Work of a program: ``run``, ``rouse``, or ``interrupt``."""
        self.visits += 1
        wakeup_s = self._interrupt_s if interrupted else self.wakeup_s
        if self._idle and not seconds + wakeup_s + self.sleep_s > 0.0:
            call(argument)
            return
        turn = Turn(self, seconds, call, argument)
        turn.program = program
        turn.doze = doze
        self._place(turn, wakeup_s)

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
        spin.doze = None
        spin.used = 0.0
        spin.end = None
        turn: Any = self._ending
        if turn is not None and turn.program is program:  # it is the thread that has worked
            self._ending = None
            spin.core = turn.core
            program.parts[turn.core.place].accounts.leave(turn)
            spin.core.turn = spin
            self._begin_wait(spin)
        else:
            self._place(spin, self.wakeup_s)
        return spin

    def _place(self, turn: Turn, wakeup_s: float) -> None:
        """Work that wants a core, now or when it is its turn."""
        now = self.clock._now
        if turn.program is self._kernel and self._waker is not None:
            sleeper = None
            core = self._waker
        else:
            sleeper = self._sleeper(turn)
            core = min(self._cores, key=_busy) if sleeper is None else sleeper.core
            if turn.program.follows_wakers and self._follows(core, now):
                core = self._waker or core
        part = turn.program.parts[core.place]
        if sleeper is None:
            turn.ran_s = -inf
            if turn.program is not self._kernel:
                part.threads += 1
        else:
            turn.ran_s = sleeper.ran_s
            if sleeper.core is not core:
                turn.program.parts[sleeper.core.place].hand_over(turn, part, now)
        if turn.seconds < inf:
            if turn.program is not self._kernel:
                turn.seconds += self.sleep_s
            if sleeper is None:
                part.accounts.enter(turn, self.slice_s)
            elif sleeper.core is not core:
                behind_s = turn.program.parts[sleeper.core.place].accounts.depart(sleeper)
                part.accounts.enter(turn, self.slice_s, behind_s)
            else:
                part.accounts.wake(turn, sleeper, self.slice_s)
        if core.turn is None:
            core.newidle.end(now)
            turn.seconds += wakeup_s
            self._idle -= 1
            self._enter(part, now)
            self._give(core, part, turn)
            return
        holder = core.turn
        waited_on = holder.seconds == inf and type(holder) is SpinTurn
        urgent = type(holder) is UrgentTurn
        if not urgent:
            self.charge(holder)
        self._enter(part, now)
        self._line_up(turn, core, part)
        if self._idle:
            if now >= core.kicked_s:
                self._kick(core, now)
        elif now >= core.balanced_s:
            self._balance(core, now)
        if waited_on:
            self._review(holder)
        elif not urgent and turn.core is core and not core.asked and self._preempts(turn, part):
            core.asked = True
            if core is not self._waker and holder.ends_s - now > _SOON_S:  # else it ends now
                self._cut(core)

    def _follows(self, core: Core, now: float) -> bool:
        """Whether a thread that wakes goes to the core of the one that wakes it."""
        waker = self._waker
        return (
            waker is not None
            and waker is not core
            and self._chance() < _AFFINE
            and waker.load_at(now) < core.load_at(now)
        )

    def _preempts(self, turn: Turn, part: Part) -> bool:
        """Whether a thread that has just been woken comes before the one that has its core."""
        core = turn.core
        own: Any = core.part
        if part is own:
            return turn.seconds < inf and part.accounts.preempts(turn, part.ready, core.turn)
        return not core.holds(own) and core.next_part(self.clock._now, own) is part

    def _cut(self, core: Core) -> None:
        """Another one has the core at once."""
        turn = core.turn
        part: Any = core.part
        turn.ends_s = -1.0
        turn.seconds -= self.clock._now - turn.begun_s
        self._put_back(turn, part)
        self._hand_on(core)

    def _sleeper(self, turn: Turn) -> Sleeper | None:
        """Which of a program's sleeping threads wakes."""
        doze: Doze | None = turn.doze
        turn.doze = None
        if doze is not None and doze.sleeper is not None:
            sleeper, doze.sleeper = doze.sleeper, None
            return sleeper
        asleep: list[Sleeper] = turn.program.asleep
        if not asleep:  # it is a new one
            return None
        place = int(self._chance() * len(asleep))
        sleeper = asleep[place]
        asleep[place] = asleep[-1]
        asleep.pop()
        return sleeper

    def _give(self, core: Core, part: Part, turn: Turn) -> None:
        """The core is for this thread."""
        if core.part is not part:
            core.part = part
            part.renew(self.slice_s)
            part.protected_s = part.deadline_s
        core.asked = False
        turn.core = core
        turn.used = 0.0
        core.turn = turn
        self._start(turn)

    def _start(self, turn: Any) -> None:
        """Let the work use its core until it or a slice ends."""
        seconds = turn.seconds
        now = self.clock._now
        turn.begun_s = turn.charged_s = now
        if seconds > self.slice_s:
            if seconds == inf:
                self._begin_wait(turn)
                return
            seconds = self.slice_s
        turn.ends_s = now + seconds
        self.clock.put(turn, now + seconds)

    def charge(self, turn: Turn) -> None:
        """For what it has used of its core."""
        now = self.clock._now
        used_s = now - turn.charged_s
        turn.charged_s = now
        turn.used += used_s
        self.busy_s += used_s
        part: Any = turn.core.part
        part.virtual_s += used_s / part.weight
        part.program.busy_s += used_s
        if turn.seconds < inf:
            part.accounts.use(turn, used_s, self.slice_s)

    # -- real-time priority ---------------------------------------------------------------------

    def start_urgent(self, seconds: float, call: Call, argument: Any) -> None:
        """A thread with real-time priority has work, on the core on which it always was."""
        self.visits += 1
        core = self._cores[0]
        holder = core.turn
        if holder is None:
            core.newidle.end(self.clock._now)
            self._idle -= 1
            seconds += self.wakeup_s
        else:
            self.charge(holder)
            if holder.seconds == inf:
                holder.end = None
            else:
                holder.ends_s = -1.0
                holder.seconds -= self.clock._now - holder.begun_s
            core.interrupted = holder
        turn = UrgentTurn(self, seconds, call, argument)
        turn.program = None
        turn.core = core
        core.turn = turn
        self.go_on_urgent(turn)

    def go_on_urgent(self, turn: UrgentTurn) -> None:
        """For the turn: it has work, or more of it."""
        self.busy_s += turn.seconds
        self.clock.put(turn, self.clock._now + turn.seconds)

    def end_urgent(self, turn: UrgentTurn) -> None:
        """For the turn: it sleeps. Whom it interrupted is no longer protected."""
        core = turn.core
        held = core.interrupted
        core.interrupted = None
        if held is None:
            if core.waiting:
                self._hand_on(core)
            else:
                self._rest(core)
            return
        own: Any = core.part
        own.renew(self.slice_s)
        own.protected_s = -inf
        best = core.next_part(self.clock._now, own)
        if best is own:
            own.protected_s = own.deadline_s
            core.turn = held
            self._start(held)
            return
        if held.seconds == inf:
            self._wait_behind(held, own)
        else:
            self._put_back(held, own)
        self._give(core, best, self._pick(best))

    # -- turns end ------------------------------------------------------------------------------

    def keep_or_give_way(self, turn: Turn) -> None:
        """For the visit: it goes on, and others wait for its core."""
        core = turn.core
        part: Any = core.part
        self._tick(core, part)
        if part.virtual_s >= part.deadline_s:
            part.renew(self.slice_s)
            core.asked = core.next_part(self.clock._now, part) is not part
        if core.asked or (turn.used >= self.slice_s and part.ready):
            self._put_back(turn, part)
            self._hand_on(core)
        else:
            self._start(turn)

    def use_up(self, turn: Turn) -> None:
        """For the visit: it has used a slice, and has work left."""
        core = turn.core
        if self.clock._now >= core.balanced_s:
            self._balance(core, self.clock._now)
        if not core.waiting:
            self._start(turn)
            return
        part: Any = core.part
        self._tick(core, part)
        self._put_back(turn, part)
        self._hand_on(core)

    def _tick(self, core: Core, part: Part) -> None:
        """At a tick, the program that has the core is weighed anew (``entity_tick``)."""
        now = self.clock._now
        if now >= core.tick_s:
            core.tick_s = (now // TICK_S + 1.0) * TICK_S
            part.count(0, now, self.slice_s)

    def _put_back(self, turn: Turn, part: Part) -> None:
        self._overloaded = True
        turn.since = turn.ran_s = self.clock._now
        part.ready.append(turn)
        part.waiting += 1
        part.core.waiting += 1

    def fall_asleep(self, turn: Turn) -> None:
        """For the visit: its thread sleeps, and its core is free."""
        core = turn.core
        now = self.clock._now
        part: Any = core.part
        sleeper = Sleeper(core, now)
        part.accounts.sleep(turn, sleeper)
        if turn.doze is not None:
            turn.doze.sleeper = sleeper
        elif turn.program is self._kernel:  # it comes next where the last one ended
            self._kernel.asleep = [sleeper]
        else:
            turn.program.asleep.append(sleeper)
        self._exit(part, now)
        if core.waiting:
            self._hand_on(core, of_group=True)
        else:
            self._rest(core)

    def _hand_on(self, core: Core, *, of_group: bool = False) -> None:
        """A core for the thread whose turn it is; a thread that sleeps leaves it to its program."""
        part = core.part
        if part is not None:
            part.renew(self.slice_s)
        if (
            part is None
            or not part.waiting
            or not (core.eligible(part) if of_group else core.holds(part))
        ):
            part = core.next_part(self.clock._now)
        self._give(core, part, self._pick(part))

    def _pick(self, part: Part) -> Turn:
        """Of its threads, the one that comes next."""
        ready = part.ready
        chosen: Turn
        if ready:
            chosen = part.accounts.first(ready)
            ready.remove(chosen)
        else:
            chosen = part.yielding.pop(0)
        part.waiting -= 1
        part.core.waiting -= 1
        self._waited(chosen)
        return chosen

    # -- busy waiting ----------------------------------------------------------------------------

    def _begin_wait(self, spin: SpinTurn) -> None:
        spin.charged_s = self.clock._now
        spin.end = None
        self._review(spin)

    def _review(self, spin: SpinTurn) -> None:
        """Whose turn it is: it yields all the time, and each time the scheduler chooses anew."""
        core = spin.core
        now = self.clock._now
        balanced_s = max(core.balanced_s, now + _SOON_S)
        if len(core.queued) == 1 and not core.waiting:
            spin.end = SpinEnd(spin)
            self.clock.put(spin.end, balanced_s)
            return
        own: Any = core.part
        own.renew(self.slice_s)
        best: Part = own if core.holds(own) else core.next_part(now, own)
        if best is not own or own.ready:
            self._wait_behind(spin, own)
            self._give(core, best, self._pick(best))
        else:
            spin.end = SpinEnd(spin)
            self.clock.put(spin.end, min(now + core.unchanged_s(own), balanced_s))

    def _wait_behind(self, spin: SpinTurn, part: Part) -> None:
        """It waits for the core, behind all others of its program."""
        spin.end = None
        spin.since = spin.ran_s = self.clock._now
        part.yielding.append(spin)
        part.waiting += 1
        part.core.waiting += 1

    def end_turn(self, spin: SpinTurn) -> None:
        """For its end: another one may be next, or the core may look for a busier one."""
        self.charge(spin)
        now = self.clock._now
        own: Any = spin.core.part
        self._tick(spin.core, own)
        if now >= spin.core.balanced_s:
            self._balance(spin.core, now)
        self._review(spin)


def _compute(program: CoreProgram) -> None:
    program.go_on(program.slice_s, _compute, program)


def _busy(core: Core) -> int:
    return core.waiting + (core.turn is not None)


def _nothing(_: Any) -> None:
    pass
