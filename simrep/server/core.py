"""A core of a machine that programs share, and the part that each program has in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf
from typing import TYPE_CHECKING, Any, Final

from simrep.kernel.deque import deque

if TYPE_CHECKING:
    from simrep.server.core_host import CoreProgram, SpinTurn, Turn

__all__ = ["Core", "Part"]

_AVERAGED_S: Final = 32e-3 / 0.6931471805599453  # half of the average is 32 ms old (PELT)
_LEAST: Final = 2.0 / 1024.0  # weight of a program on a core (MIN_SHARES)
_TICK_S: Final = 4e-3  # 1/HZ


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
