"""Which core a thread waits for: how cores take threads from each other."""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Any, Final

from simrep.server.core import TICK_S, Core, Part, Turn
from simrep.server.shared import SharedHost

__all__ = ["BalancedHost"]

_BALANCED_S: Final = 32e-3  # busy_factor times as many milliseconds as there are cores
_UNEQUAL: Final = 1.17  # imbalance_pct
_HOT_S: Final = 5e-4  # what has used a core so lately stays on it (sysctl_sched_migration_cost)
_STEP: Final = 1.0 / 1024.0  # loads are counted in such steps
_COLD_TRIES: Final = 1  # but for when more attempts have failed (cache_nice_tries)


class BalancedHost(SharedHost):
    """A machine whose cores have a queue each, and take threads from each other (``CoreHost``)."""

    __slots__ = ("_cores", "_overloaded")
    _cores: list[Core]
    _overloaded: bool  # whether a thread may wait

    @abstractmethod
    def _give(self, core: Core, part: Part, turn: Turn) -> None:
        """The core is for this thread."""

    def _line_up(self, turn: Turn, core: Core, part: Part) -> None:
        turn.core = core
        turn.since = self.clock._now
        if turn.seconds == inf:
            part.yielding.append(turn)  # type: ignore[arg-type]
        else:
            part.ready.append(turn)
        part.waiting += 1
        core.waiting += 1
        self._overloaded = True

    def _enter(self, part: Part, now: float) -> None:
        """One more thread of a program wants this core."""
        part.count(1, now, self.slice_s)
        if part.runnable == 1:
            part.enter(self.slice_s)

    def _exit(self, part: Part, now: float) -> None:
        """One thread of a program less wants this core."""
        part.count(-1, now, self.slice_s)
        if not part.runnable:
            part.sleep(now, self.slice_s)

    def _waited(self, turn: Turn) -> None:
        wait = self.clock._now - turn.since
        self.wait_s += wait
        if wait > self.wait_max_s:
            self.wait_max_s = wait

    def _rest(self, core: Core) -> None:
        """A core has nothing to do, and perhaps looks for something (``sched_balance_newidle``)."""
        now = self.clock._now
        core.rest(now)
        newidle = core.newidle
        newidle.begin(now)
        if self._overloaded:
            success = newidle.looks()
            if success:
                found = self._take_over(core)
                newidle.count(success if found else 0)
                if found:
                    return
        self._idle += 1

    def _take_over(self, idle: Core) -> bool:
        """A core that has nothing to do takes what waits for another one, if there is any."""
        now = self.clock._now
        self._overloaded = False
        for busy in self._cores:
            if busy.waiting and busy is not idle:
                self._overloaded = True
                turn = self._movable(busy, now, inf)
                if turn is not None:
                    self._give(idle, self._move(turn, idle, now), turn)
                    return True
        return False

    def _kick(self, busy: Core, now: float) -> None:
        """At a tick, tell an idle core to take something (``nohz_balancer_kick``)."""
        busy.kicked_s = now + TICK_S
        for core in self._cores:
            if core.turn is None:
                if self._take_over(core):
                    self._idle -= 1
                return

    def _movable(self, core: Core, now: float, most: float, hot_s: float = _HOT_S) -> Turn | None:
        """A thread that waits for a core, and has not used it so lately."""
        for part in core.queued:
            if not part.waiting or part.program is self._kernel:
                continue
            lines: Any = (part.ready, part.yielding)
            for line in lines:
                turn: Turn
                for turn in line:
                    if now - turn.ran_s >= hot_s:
                        if self._load(turn, part, now) > most + _STEP:
                            break
                        return turn
        return None

    def _load(self, turn: Turn, part: Part, now: float) -> float:
        """What a thread adds to the load of its core (``task_h_load``)."""
        return part.weight * part.load_of(turn, now) / max(part.load_at(now), 1.0)

    def _move(self, turn: Turn, core: Core, now: float) -> Part:
        """A thread that waits for one core is moved to another."""
        parts = turn.program.parts
        part = parts[turn.core.place]
        there: Part = parts[core.place]
        if turn.seconds == inf:
            part.yielding.remove(turn)
        else:
            part.ready.remove(turn)
            there.accounts.enter(turn, self.slice_s, part.accounts.leave(turn))
        part.waiting -= 1
        part.core.waiting -= 1
        self._waited(turn)
        part.hand_over(turn, there, now)
        self._exit(part, now)
        self._enter(there, now)
        return there

    def _balance(self, core: Core, now: float) -> None:
        """From time to time a busy core takes threads from a busier one (``sched_balance_rq``).

        After each attempt without success twice as much may be moved (``nr_balance_failed`` in
        ``detach_tasks``).
        """
        loads = [one.load_at(now) for one in self._cores]
        most = max(loads)
        load = loads[core.place]
        if most > _UNEQUAL * load:
            busiest = self._cores[loads.index(most)]
            excess = (most - load) / 2.0
            hot_s = 0.0 if core.failed > _COLD_TRIES else _HOT_S
            moved = False
            while excess > 0.0 and busiest.waiting:
                turn = self._movable(busiest, now, excess * 2.0**core.failed, hot_s)
                if turn is None:
                    break
                load = self._load(turn, turn.program.parts[busiest.place], now)
                there = self._move(turn, core, now)
                self._line_up(turn, core, there)
                excess -= load
                moved = True
            core.failed = 0 if moved else core.failed + 1
            core.balances_s = _BALANCED_S
        else:
            core.failed = 0
            core.balances_s = min(2.0 * core.balances_s, 2.0 * _BALANCED_S)
        core.balanced_s = now + core.balances_s
