"""What each thread of a program has used of a core: who of them comes next."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["Accounts", "Sleeper"]

_ROUNDED_S: Final = 1e-12


class Sleeper:
    """A thread of a program that sleeps.

    Attributes
    ----------
    core : Core
        Where it fell asleep.
    ran_s : float
        When.
    behind_s : float
        By how much it had used less than the others there.
    own_s : float
        Its account.
    counted : bool
        Whether the others' mean still counts it, because it had used more (DELAY_DEQUEUE).
    """

    __slots__ = ("behind_s", "core", "counted", "own_s", "ran_s")

    def __init__(self, core: Any, ran_s: float) -> None:
        self.core = core
        self.ran_s = ran_s
        self.behind_s = 0.0
        self.own_s = 0.0
        self.counted = False


class Accounts:
    """The accounts of a program's threads that can run on one core.

    Of those that have used no more than the mean, the one comes next whose slice would be over
    first. A thread that falls asleep and had used less than the mean is put back by as much when it
    wakes. One that had used more is still counted until the mean has reached it.

    Notes
    -----
    EEVDF between the threads of a group (``pick_eevdf``, ``place_entity``, ``update_entity_lag``).
    Simplified: which of the sleeping threads a piece of work wakes is drawn; threads that wait
    busily have no account, and come after all others of their program (``yield_task_fair``); when
    they work again, they have used a slice more than the mean (in programs that tell their threads
    apart).

    References
    ----------
    Linux 6.18, kernel/sched/fair.c
    """

    __slots__ = ("_count", "_late", "_sum_s", "_zero_s")

    def __init__(self) -> None:
        self._count = 0
        self._sum_s = 0.0
        self._zero_s = 0.0  # where the next one begins, when there are none
        self._late: list[Sleeper] = []

    def mean_s(self) -> float:
        """Of all that are counted."""
        return self._sum_s / self._count if self._count else self._zero_s

    def enter(self, turn: Any, slice_s: float, behind_s: float = 0.0) -> None:
        """A thread can run that is so much behind the mean (``place_entity``)."""
        count = self._count
        if count:  # so that it is that much behind the mean that counts it
            turn.own_s = self._sum_s / count - behind_s * (count + 1) / count
        else:
            turn.own_s = self._zero_s
        turn.due_s = turn.own_s + slice_s
        self._count = count + 1
        self._sum_s += turn.own_s

    def wake(self, turn: Any, sleeper: Sleeper, slice_s: float) -> None:
        """A thread that has slept can run."""
        self._settle()
        if sleeper.counted:
            self._late.remove(sleeper)
            turn.own_s = sleeper.own_s
            turn.due_s = turn.own_s + slice_s
        else:
            self.enter(turn, slice_s, sleeper.behind_s)

    def depart(self, sleeper: Sleeper) -> float:
        """A thread that has slept wakes on another core; gives by how much it is behind."""
        self._settle()
        if not sleeper.counted:
            return sleeper.behind_s
        behind_s = self._sum_s / self._count - sleeper.own_s
        self._late.remove(sleeper)
        self._count -= 1
        self._sum_s -= sleeper.own_s
        return behind_s

    def use(self, turn: Any, seconds: float, slice_s: float) -> None:
        """A thread has used the core (``update_curr``)."""
        self._sum_s += seconds
        turn.own_s += seconds
        if turn.own_s >= turn.due_s:
            turn.due_s = turn.own_s + slice_s

    def leave(self, turn: Any) -> float:
        """A thread goes to another core; gives by how much it is behind."""
        count = self._count
        mean_s = self._sum_s / count
        self._count = count - 1
        self._sum_s -= turn.own_s
        if count == 1 + len(self._late):
            self._forget(mean_s)
        return mean_s - float(turn.own_s)

    def sleep(self, turn: Any, sleeper: Sleeper) -> None:
        """A thread falls asleep."""
        self._settle()
        if self._count > 1 + len(self._late) and turn.own_s > self._sum_s / self._count:
            sleeper.counted = True
            sleeper.own_s = turn.own_s
            self._late.append(sleeper)
        else:
            sleeper.behind_s = max(self.leave(turn), 0.0)

    def first(self, turns: list[Any]) -> Any:
        """Which of them comes next (``pick_eevdf``)."""
        if len(turns) == 1:
            return turns[0]
        mean_s = self.mean_s() + _ROUNDED_S
        entitled = [turn for turn in turns if turn.own_s <= mean_s]
        return min(entitled, key=_due_s) if entitled else min(turns, key=_own_s)

    def preempts(self, turn: Any, waiting: list[Any], running: Any) -> bool:
        """Whether one that has just woken comes before the one that has the core.

        The latter keeps it while it has used no more than the mean (RUN_TO_PARITY).
        """
        self._settle()
        return running.own_s > self.mean_s() + _ROUNDED_S and self.first(waiting) is turn

    def _settle(self) -> None:
        """Sleeping threads that the mean has reached are counted no more."""
        while self._late:
            least = min(self._late, key=_own_s)
            if least.own_s > self._sum_s / self._count:
                return
            self._late.remove(least)
            least.counted = False
            self._count -= 1
            self._sum_s -= least.own_s

    def _forget(self, mean_s: float) -> None:
        """None can run: whatever sleepers had used too much is over."""
        for sleeper in self._late:
            sleeper.counted = False
        self._late.clear()
        self._count = 0
        self._sum_s = 0.0
        self._zero_s = mean_s


def _own_s(one: Any) -> float:
    own_s: float = one.own_s
    return own_s


def _due_s(one: Any) -> float:
    due_s: float = one.due_s
    return due_s
