"""A core of a machine that programs share, and the part that each program has in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf
from typing import Any, Final

from simrep.kernel.happening import Happening
from simrep.server.accounts import Accounts, Sleeper
from simrep.server.host import Call, Visit
from simrep.server.newidle import NewIdle
from simrep.server.shared import Program, SharedHost

__all__ = [
    "TICK_S",
    "Core",
    "CoreProgram",
    "Doze",
    "Part",
    "SpinEnd",
    "SpinTurn",
    "Turn",
    "UrgentProgram",
    "UrgentTurn",
]

_AVERAGED_S: Final = 32e-3 / 0.6931471805599453  # half of the average is 32 ms old (PELT)
_LEAST: Final = 2.0 / 1048576.0  # weight of a program on a core (MIN_SHARES)
_COUNTED: Final = 1.0 / 1024.0  # threads elsewhere are counted in such steps (tg->load_avg)
TICK_S: Final = 4e-3  # 1/HZ
_ROUNDED_S: Final = 1e-12
_SOON_S: Final = 1e-7  # the least time until it is asked again whose turn it is


class Part:
    """What a program has on one core: its threads that wait there, and its account.

    Attributes
    ----------
    program : CoreProgram
    core : Core
    accounts : Accounts
        What each of its threads has used of the core.
    ready : list
        Threads that have work, and wait for the core.
    yielding : list
        Threads that wait busily and have given way.
    waiting : int
        How many there are of both.
    runnable : int
        Those, and one if the core is a thread's of this part.
    threads : int
        Those that can run there, or sleep there.
    weight : float
        Its share of the program's weight, which is 1, by where the program's threads are.
    virtual_s : float
        How long it has used the core, each second divided by the weight.
    deadline_s : float
        By the same measure, when it has used what it asked for: a slice.
    protected_s : float
        Until then no other one takes the core from it, while it has not used more than its share.
    queued : bool
        Whether it takes part in the division of the core.
    delayed : bool
        Whether it does so although none of its threads can run: it has used more than its share,
        and stays until the others have caught up (DELAY_DEQUEUE).

    Notes
    -----
    A program weighs on a core by how many of its threads are there, and is weighed anew whenever
    one of them falls asleep or wakes, and at each tick while it has the core. From Linux 6.13 to
    6.18.44 this changes what the program that has the core is ahead or behind, V - v: it is placed
    as if it came from outside, whereas the mean V of all still counts it. With its weight w, and W
    of all with it, the difference grows by (W + w) / W each time, up to a slice and a tick. So a
    program some of whose threads wake often, while another one keeps the core busy, keeps the core
    from all others (``reweight_entity`` and ``place_entity``; commit 6d71a9c61604, reverted in
    6.18.45 and 7.0). The protection of a turn ends there, because ``vprot`` and ``vlag`` are one
    field in these versions.
    """

    __slots__ = (
        "_averaged_s", "_fixed", "_lag_s", "accounts", "core", "deadline_s", "delayed",
        "load", "program", "protected_s", "queued", "ready", "runnable", "threads", "virtual_s",
        "waiting", "weight", "yielding",
    )  # fmt: skip

    def __init__(self, program: CoreProgram, core: Core, weight: float | None = None) -> None:
        self.program = program
        self.core = core
        self.accounts = Accounts()
        self.ready: list[Turn] = []
        self.yielding: list[SpinTurn] = []
        self.waiting = 0
        self.runnable = 0
        self.threads = 0
        self.load = 0.0  # threads that can run, averaged
        self._averaged_s = 0.0
        self._fixed = weight is not None
        self.weight = 1.0 if weight is None else weight
        self.virtual_s = 0.0
        self.deadline_s = 0.0
        self.protected_s = -inf
        self._lag_s = 0.0  # what it was behind when it fell asleep, in seconds of use
        self.queued = False
        self.delayed = False

    def load_at(self, now: float) -> float:
        """How many of its threads could run on the core of late (PELT)."""
        there = 1 if self.delayed and self._fixed else self.runnable
        return there + (self.load - there) * exp((self._averaged_s - now) / _AVERAGED_S)

    def count(self, change: int, now: float, slice_s: float) -> None:
        """So many threads more can run on the core."""
        self.load = self.load_at(now)
        self._averaged_s = now
        self.runnable += change
        if not self._fixed and (self.runnable or not self.queued):
            self._weigh(now, slice_s)

    def load_of(self, turn: Turn, now: float) -> float:
        """How much one of its threads could run of late: all that do not wait busily, as much."""
        load = self.load_at(now)
        if turn.seconds == inf:
            return min(load, 1.0)
        busily = len(self.yielding)
        holder = self.core.turn
        if holder is not None and holder.seconds == inf and holder.program is self.program:
            busily += 1
        return min(max(load - busily, 0.0) / max(self.threads - busily, 1), 1.0)

    def hand_over(self, turn: Turn, there: Part, now: float) -> None:
        """A thread changes its core, and takes along how much it could run of late."""
        load = self.load_of(turn, now)
        self._carry(-load, now)
        there._carry(load, now)
        self.threads -= 1
        there.threads += 1

    def _carry(self, load: float, now: float) -> None:
        self.load = max(self.load_at(now) + load, 0.0)
        self._averaged_s = now

    def _weigh(self, now: float, slice_s: float) -> None:
        """By its share of the program's threads (``calc_group_shares``, ``reweight_entity``)."""
        own = max(self.load, float(self.runnable))
        elsewhere = 0.0
        for part in self.program.parts:
            if part is not self:
                elsewhere += part.load_at(now)
        if elsewhere < _COUNTED:
            elsewhere = 0.0
        total = own + elsewhere
        weight = max(own / total, _LEAST) if total > 0.0 else 1.0
        before = self.weight
        if -1e-6 < weight - before < 1e-6:
            return
        core = self.core
        if not self.queued or len(core.queued) == 1:
            if self.queued:
                self.deadline_s = (
                    self.virtual_s + (self.deadline_s - self.virtual_s) * before / weight
                )
            self.weight = weight
            return
        average_s, total = core.average()
        most_s = slice_s + TICK_S
        lag_s = (average_s - self.virtual_s) * before
        lag_s = min(max(lag_s, -most_s), most_s) / weight
        left_s = (self.deadline_s - self.virtual_s) * before / weight
        if core.part is self:
            self.weight = weight
            average_s, total = core.average()
            self.protected_s = -inf
        else:
            average_s = (average_s * total - self.virtual_s * before) / (total - before)
            total -= before
            self.weight = weight
        self.virtual_s = average_s - lag_s * (total + weight) / total
        self.deadline_s = self.virtual_s + left_s

    def enter(self, slice_s: float) -> None:
        """Its first thread can run (``place_entity``, ``requeue_delayed_entity``)."""
        core = self.core
        weight = self.weight
        if self.delayed:
            self.delayed = False
            average_s, total = core.average()
            if self.virtual_s >= average_s:
                return
            if total > weight:
                average_s = (average_s * total - self.virtual_s * weight) / (total - weight)
            self.virtual_s = average_s
        else:
            self.virtual_s = core.zero_s
            if core.queued:
                average_s, total = core.average()
                self.virtual_s = average_s - self._lag_s / weight * (total + weight) / total
            core.queued.append(self)
            self.queued = True
        self.deadline_s = self.virtual_s + slice_s / weight
        self.protected_s = -inf

    def sleep(self, now: float, slice_s: float) -> None:
        """None of its threads can run (``dequeue_entity``)."""
        core = self.core
        if core.part is self:
            core.part = None
        average_s, _ = core.average()
        if self.virtual_s > average_s + _ROUNDED_S:
            self.delayed = True
            return
        self._lag_s = min((average_s - self.virtual_s) * self.weight, slice_s + TICK_S)
        self._leave(average_s)
        if not self._fixed:
            self._weigh(now, slice_s)

    def end_delay(self, now: float) -> None:
        """The others have caught up (DELAY_ZERO)."""
        self.load = self.load_at(now)
        self._averaged_s = now
        self.delayed = False
        self._lag_s = 0.0
        self._leave(self.core.average()[0])

    def _leave(self, average_s: float) -> None:
        self.queued = False
        self.core.queued.remove(self)
        self.core.zero_s = average_s

    def renew(self, slice_s: float) -> None:
        """It asks for a further slice if it has used one (``update_deadline``)."""
        if self.virtual_s >= self.deadline_s:
            self.deadline_s = self.virtual_s + slice_s / self.weight


class Core:
    """One core: who has it, and who waits for it.

    Attributes
    ----------
    turn : Turn or None
        The thread that has it.
    part : Part or None
        Whose turn it is.
    queued : list
        Parts that take part in the division of the core.
    waiting : int
        Threads that wait for this core.
    asked : bool
        Whether a thread that has woken takes the core when the work at hand is done.
    interrupted : Turn or None
        The thread that a thread with real-time priority has interrupted.
    balanced_s, balances_s : float
        When it next looks whether another core is busier, and how long it waits from then.
    kicked_s : float
        When it may next tell an idle core that it has too much to do.
    failed : int
        How often in a row it has found another core busier, and no thread there that it could take.
    parts : list of Part
        What each program has here.
    tick_s : float
        When the next tick is.
    zero_s : float
        Where the accounts of the parts begin when none of them had a thread that can run.
    """

    __slots__ = (
        "asked", "balanced_s", "balances_s", "failed", "interrupted", "kicked_s", "newidle", "part",
        "parts", "place", "queued", "tick_s", "turn", "waiting", "zero_s",
    )  # fmt: skip

    def __init__(self, place: int) -> None:
        self.place = place
        self.turn: Any = None
        self.part: Part | None = None
        self.queued: list[Part] = []
        self.asked = False
        self.interrupted: Any = None
        self.balances_s = 32e-3
        self.balanced_s = 0.0
        self.kicked_s = 0.0
        self.waiting = 0
        self.failed = 0
        self.tick_s = 0.0
        self.parts: list[Part] = []
        self.zero_s = 0.0
        self.newidle: NewIdle

    def load_at(self, now: float) -> float:
        """What it has had to do of late, by the weights of all parts."""
        return sum([part.weight * min(part.load_at(now), 1.0) for part in self.parts])

    def average(self) -> tuple[float, float]:
        """The mean account of all parts, by weight, and the sum of the weights."""
        sum_s = total = 0.0
        for part in self.queued:
            weight = part.weight
            total += weight
            sum_s += weight * part.virtual_s
        return sum_s / total, total

    def eligible(self, part: Part) -> bool:
        """Whether it has not used more than its share."""
        return part.virtual_s <= self.average()[0] + _ROUNDED_S

    def holds(self, part: Part) -> bool:
        """Whether no other one may take the core from it now (RUN_TO_PARITY)."""
        return part.virtual_s < part.protected_s and self.eligible(part)

    def next_part(self, now: float, running: Part | None = None) -> Part:
        """Whose turn it is next, of those who wait and the one that has it (``pick_eevdf``)."""
        while True:
            average_s = self.average()[0] + _ROUNDED_S
            best: Part | None = None
            soonest_s = inf
            first: Part | None = None
            least_s = inf
            for part in self.queued:
                if part.waiting or part.delayed or part is running:
                    if part.virtual_s <= average_s:
                        sooner_s = soonest_s - part.deadline_s
                        if sooner_s > _ROUNDED_S or (sooner_s > -_ROUNDED_S and best is self.part):
                            best = part
                            soonest_s = part.deadline_s
                    elif part.virtual_s < least_s and not part.delayed:
                        first = part
                        least_s = part.virtual_s
            chosen = first if best is None else best
            assert chosen is not None
            if not chosen.delayed:
                return chosen
            chosen.end_delay(now)

    def unchanged_s(self, part: Part) -> float:
        """So long the part that has the core keeps it, whatever ``next_part`` says then."""
        average_s, total = self.average()
        weight = part.weight
        behind_s = average_s - part.virtual_s
        left_s = (part.deadline_s - part.virtual_s) * weight
        if part.virtual_s < part.protected_s:
            left_s = min(left_s, (part.protected_s - part.virtual_s) * weight)
        else:  # one that has used too much may be next as soon as the mean has reached it
            for other in self.queued:
                if other is not part and other.virtual_s > average_s:
                    left_s = min(left_s, (other.virtual_s - average_s) * total)
        if behind_s >= 0.0 and total > weight:
            left_s = min(left_s, behind_s * weight * total / (total - weight))
        return max(left_s, 0.0) + _SOON_S

    def rest(self, now: float) -> None:
        """Nobody wants it."""
        self.turn = None
        for part in list(self.queued):
            part.end_delay(now)


class CoreProgram(Program):
    """A program on a machine with a queue for each core.

    Parameters
    ----------
    machine : SharedHost
    cores : sequence of Core
        Those of the machine.
    weight : float, optional
        Of all that it has on a core, beside 1 for a whole program, wherever its threads are: those
        of the kernel, which make no group, and of others that keep the machine busy.

    Attributes
    ----------
    parts : list of Part
        What it has on each core.
    asleep : list of Sleeper
        Its threads that sleep.
    busy_s : float
        How long its threads have used cores, in seconds.
    follows_wakers, tells_threads : bool
        See ``ToldHost``.
    """

    __slots__ = ("asleep", "busy_s", "follows_wakers", "parts", "tells_threads")

    def __init__(
        self, machine: SharedHost, cores: Sequence[Core], weight: float | None = None
    ) -> None:
        super().__init__(machine)
        self.parts = [Part(self, core, weight) for core in cores]
        for part in self.parts:
            part.core.parts.append(part)
        self.asleep: list[Sleeper] = []
        self.busy_s = 0.0
        self.follows_wakers = False
        self.tells_threads = False

    def follow_wakers(self) -> None:
        """See ``Host.follow_wakers``."""
        self.follows_wakers = True

    def tell_threads(self) -> None:
        """See ``Host.tell_threads``."""
        self.tells_threads = True

    def doze(self) -> Doze | None:
        """See ``Host.doze``."""
        if not self.tells_threads:
            return None
        machine: Any = self._machine
        turn = machine._ending
        if turn is None or turn.program is not self:
            return None
        turn.doze = doze = Doze()
        return doze

    def rouse(self, sleeper: Any, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.rouse``."""
        machine: Any = self._machine
        machine.start_work(self, seconds, call, argument, sleeper)

    def interrupt(self, sleeper: Any, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.interrupt``."""
        machine: Any = self._machine
        machine.start_work(self, seconds, call, argument, sleeper, interrupted=True)

    def go_on_as(self, sleeper: Any, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.go_on_as``."""
        machine: Any = self._machine
        turn = machine._ending
        if turn is None or turn.program is not self:
            machine.start_work(self, seconds, call, argument, sleeper)
        else:
            machine.go_on_with(self, seconds, call, argument)

    def proceed(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.proceed``."""
        if self.tells_threads:
            self.go_on(seconds, call, argument)
        else:
            self.run(seconds, call, argument)


class Doze:
    """Keeps a thread that sleeps, so that it is the one that is woken.

    Attributes
    ----------
    sleeper : Sleeper or None
        None: it has not fallen asleep yet, or has been woken.
    """

    __slots__ = ("sleeper",)

    def __init__(self) -> None:
        self.sleeper: Sleeper | None = None


class Turn(Visit):
    """A visit that knows whose it is, and on which core."""

    __slots__ = (
        "begun_s", "charged_s", "core", "doze", "due_s", "ends_s", "own_s", "program", "ran_s",
    )  # fmt: skip
    doze: Doze | None  # what keeps it when it falls asleep; none: it is one of many
    program: Any  # a CoreProgram; none of a thread with real-time priority
    core: Core
    ran_s: float  # when it last used a core
    begun_s: float  # since when it has had the core for the work at hand
    charged_s: float  # until when it is charged for the core
    ends_s: float  # when the work at hand, or a slice of it, ends
    own_s: float  # its account among the threads of its program there
    due_s: float  # by the same measure, when a slice of it is over

    def happen(self) -> None:
        """See ``Happening.happen``."""
        host: Any = self.host  # which is a CoreHost
        if host.clock._now != self.ends_s:
            return  # it was cut short before
        self.ends_s = -1.0
        host.charge(self)
        if self.seconds > host.slice_s:
            self.seconds -= host.slice_s
            host.use_up(self)
            return
        host._ending = self
        host._waker = self.core
        self.call(self.argument)
        host._waker = None
        if host._ending is not None:
            host._ending = None
            host.fall_asleep(self)
        elif self.core.turn is self:  # it goes on
            if self.core.waiting:
                host.keep_or_give_way(self)
            else:
                host._start(self)


class UrgentProgram(Program):
    """Threads with real-time priority, before all programs.

    Parameters
    ----------
    machine : SharedHost
    """

    __slots__ = ()

    def run(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.run``."""
        host: Any = self._machine
        host.start_urgent(seconds, call, argument)

    def go_on(self, seconds: float, call: Call, argument: Any = None) -> None:
        """See ``Host.go_on``."""
        host: Any = self._machine
        turn = host._ending
        if type(turn) is not UrgentTurn:
            host.start_urgent(seconds, call, argument)
            return
        host._ending = None
        turn.seconds = seconds
        turn.call = call
        turn.argument = argument


class UrgentTurn(Turn):
    """A thread with real-time priority, which nobody interrupts."""

    __slots__ = ()

    def happen(self) -> None:
        """See ``Happening.happen``."""
        host: Any = self.host
        host._ending = self
        host._waker = self.core
        self.call(self.argument)
        host._waker = None
        if host._ending is None:  # it goes on
            host.go_on_urgent(self)
        else:
            host._ending = None
            host.end_urgent(self)


class SpinTurn(Turn):
    """A thread that waits busily."""

    __slots__ = ("end",)
    end: SpinEnd | None


class SpinEnd(Happening):
    """The turn of a program is over while a thread of it waits busily."""

    __slots__ = ("spin",)

    def __init__(self, spin: SpinTurn) -> None:
        self.spin = spin

    def happen(self) -> None:
        """See ``Happening.happen``."""
        spin = self.spin
        if spin.end is self:  # else it has given way before, or stopped
            host: Any = spin.host
            spin.end = None
            host.end_turn(spin)
