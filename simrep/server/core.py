"""A core of a machine that programs share, and the part that each program has in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf
from typing import Any, Final

from simrep.kernel.deque import deque
from simrep.kernel.happening import Happening
from simrep.server.host import Visit
from simrep.server.shared import Program, SharedHost

__all__ = ["REMEMBERED", "Core", "CoreProgram", "Part", "SpinEnd", "SpinTurn", "Turn"]

_AVERAGED_S: Final = 32e-3 / 0.6931471805599453  # half of the average is 32 ms old (PELT)
_LEAST: Final = 2.0 / 1024.0  # weight of a program on a core (MIN_SHARES)
_TICK_S: Final = 4e-3  # 1/HZ
REMEMBERED: Final = 16  # places of threads, of each program


class Part:
    """What a program has on one core: its threads that wait there, and its account.

    Attributes
    ----------
    program : CoreProgram
    core : Core
    ready : list
        Threads that have slept, or were turned out with their program, and wait for the core.
    spent : deque
        Threads that have used a slice and wait for the core again.
    yielding : list
        Threads that wait busily and have given way.
    waiting : int
        How many there are of all three.
    runnable : int
        Those, and one if the core is a thread's of this part.
    weight : float
        Its share of the program's weight, which is 1, by where the program's threads are.
    virtual_s : float
        How long it has used the core, each second divided by the weight.
    deadline_s : float
        By the same measure, when it has used what it asked for: a slice.
    protected_s : float
        Until then no other one takes the core from it.
    """

    __slots__ = (
        "_averaged_s", "_counted", "_fixed", "_lag_s", "_slept", "core", "deadline_s", "load",
        "program", "protected_s", "ready", "runnable", "spent", "virtual_s", "waiting", "weight",
        "yielding",
    )  # fmt: skip

    def __init__(self, program: CoreProgram, core: Core, weight: float | None = None) -> None:
        self.program = program
        self.core = core
        self.ready: list[Turn] = []
        self.spent: deque[Turn] = deque()
        self.yielding: list[SpinTurn] = []
        self.waiting = 0
        self.runnable = 0
        self.load = 0.0  # threads that can run, averaged
        self._averaged_s = 0.0
        self._counted = 0.0
        self._fixed = weight is not None
        self.weight = 1.0 if weight is None else weight
        self.virtual_s = 0.0
        self.deadline_s = 0.0
        self.protected_s = -inf
        self._lag_s = 0.0  # what it was behind when it fell asleep, in seconds
        self._slept = 1.0  # its weight then

    def count(self, change: int, now: float) -> None:
        """So many threads more can run on the core."""
        runnable = self.runnable
        self.load = runnable + (self.load - runnable) * exp((self._averaged_s - now) / _AVERAGED_S)
        self._averaged_s = now
        self.runnable = runnable = runnable + change
        if self._fixed:
            return
        load = self.load
        if load < runnable:
            load = float(runnable)
        total = load
        for part in self.program.parts:
            if part is not self:
                there = part.runnable
                total += there + (part.load - there) * exp((part._averaged_s - now) / _AVERAGED_S)
        if total > 0.0:
            self._weigh(max(load / total, _LEAST))
        counted = self.weight * min(self.load, 1.0)
        self.core.load += counted - self._counted
        self._counted = counted

    def _weigh(self, weight: float) -> None:
        """Another weight: what it is ahead or behind in seconds stays (``reweight_entity``)."""
        before = self.weight
        if self.runnable > 1 or (self.runnable == 1 and self in self.core.queued):
            if 0.97 < weight / before < 1.03:
                return
            average_s, _ = self.core.average()
            scale = before / weight
            virtual_s = self.virtual_s
            self.virtual_s = average_s + (virtual_s - average_s) * scale
            self.deadline_s = self.virtual_s + (self.deadline_s - virtual_s) * scale
            self.protected_s = self.virtual_s + (self.protected_s - virtual_s) * scale
        self.weight = weight

    def enter(self, slice_s: float) -> None:
        """Its first thread can run (``place_entity``)."""
        core = self.core
        queued = core.queued
        weight = self.weight
        if queued:
            average_s, total = core.average()
            if self._lag_s > 0.0:
                self.virtual_s = average_s - self._lag_s / weight * (total + weight) / total
            elif self.virtual_s > average_s:  # it still waits for what it used too much
                self.virtual_s = average_s + (self.virtual_s - average_s) * self._slept / weight
            else:
                self.virtual_s = average_s
        else:
            self.virtual_s = core.zero_s
        self.deadline_s = self.virtual_s + slice_s / weight
        self.protected_s = -inf
        queued.append(self)

    def sleep(self, slice_s: float) -> None:
        """None of its threads can run (``update_entity_lag``)."""
        core = self.core
        average_s, _ = core.average()
        core.queued.remove(self)
        core.zero_s = average_s
        self._lag_s = min((average_s - self.virtual_s) * self.weight, max(2.0 * slice_s, _TICK_S))
        self._slept = self.weight
        if core.part is self:
            core.part = None

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
        Parts of which a thread can run.
    waiting : int
        Threads that wait for this core.
    load : float
        Weights of all parts.
    zero_s : float
        Where the accounts of the parts begin when none of them had a thread that can run.
    """

    __slots__ = ("load", "part", "place", "queued", "turn", "waiting", "zero_s")

    def __init__(self, place: int) -> None:
        self.place = place
        self.turn: Any = None
        self.part: Part | None = None
        self.queued: list[Part] = []
        self.waiting = 0
        self.load = 0.0
        self.zero_s = 0.0

    def average(self) -> tuple[float, float]:
        """The mean account of all parts, by weight, and the sum of the weights."""
        sum_s = total = 0.0
        for part in self.queued:
            weight = part.weight
            total += weight
            sum_s += weight * part.virtual_s
        return sum_s / total, total

    def next_part(self) -> Part:
        """Whose turn it is next, of those who wait (``pick_eevdf``)."""
        queued: Sequence[Part] = self.queued
        if len(queued) == 1:
            return queued[0]
        average_s, _ = self.average()
        average_s += 1e-12
        best: Part | None = None
        soonest_s = inf
        first: Part | None = None
        least_s = inf
        for part in queued:
            if part.waiting:
                if part.virtual_s <= average_s:
                    if part.deadline_s < soonest_s:
                        best = part
                        soonest_s = part.deadline_s
                elif part.virtual_s < least_s:
                    first = part
                    least_s = part.virtual_s
        chosen = first if best is None else best
        assert chosen is not None
        return chosen


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
    before : list of Core
        Where the last threads of it were that fell asleep.
    last : int
        The place of the last of them.
    """

    __slots__ = ("before", "last", "parts")

    def __init__(
        self, machine: SharedHost, cores: Sequence[Core], weight: float | None = None
    ) -> None:
        super().__init__(machine)
        self.parts = [Part(self, core, weight) for core in cores]
        self.before = [cores[number % len(cores)] for number in range(REMEMBERED)]
        self.last = 0


class Turn(Visit):
    """A visit that knows whose it is, and on which core."""

    __slots__ = ("core", "program")
    program: CoreProgram
    core: Core

    def happen(self) -> None:
        """See ``Happening.happen``."""
        host: Any = self.host  # which is a CoreHost
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


class SpinTurn(Turn):
    """A thread that waits busily."""

    __slots__ = ("charged_s", "end")
    end: SpinEnd | None
    charged_s: float  # until when it is charged for its core


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
