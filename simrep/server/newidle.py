"""Whether a core that has nothing to do looks for threads that wait for another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["NewIdle"]

_DICE: Final = 1024  # sides
_LONG_S: Final = 1e-3  # twice sysctl_sched_migration_cost: longer pauses count as this one
_RECENT: Final = 8.0  # pauses in the running mean


class NewIdle:
    """Of one core: its pauses of late, and how often it has found something.

    It does not look if its pauses have been shorter than looking has taken at most, ``cost_s``.
    Else a dice decides: it looks as often as looking has had success. So a core may have nothing to
    do while threads wait for another one.

    Parameters
    ----------
    chance : callable
        Draws uniformly from 0 to 1.
    cost_s : float
        The longest time that looking has taken of late, in seconds.

    Notes
    -----
    ``sched_balance_newidle`` with ``NI_RANDOM``, which Linux has from 6.18.5, 6.12.65 and 7.0 on.
    Success counts as many times as the dice makes attempts rarer, and is counted anew each 512
    calls, beginning with a half (``sd_init``). ``avg_idle`` leaves a pause out that ends because a
    thread was taken over. Simplified: ``max_newidle_lb_cost``, which rises whenever looking takes
    longer than ever, and falls by 1 % a second, is constant.

    References
    ----------
    Linux 6.18, kernel/sched/fair.c; commit 33cf66d88306 (sched/fair: Proportional newidle balance)
    """

    __slots__ = ("_calls", "_chance", "_cost_s", "_mean_s", "_ratio", "_since_s", "_successes")

    def __init__(self, chance: Callable[[], float], cost_s: float) -> None:
        self._chance = chance
        self._cost_s = cost_s
        self._mean_s = _LONG_S
        self._since_s = 0.0
        self._ratio = _DICE // 2
        self._calls = _DICE // 2
        self._successes = _DICE // 4

    def begin(self, now: float) -> None:
        """The core has nothing to do from now on."""
        self._since_s = now

    def end(self, now: float) -> None:
        """A thread has woken on it."""
        mean_s = self._mean_s
        self._mean_s = min(mean_s + (now - self._since_s - mean_s) / _RECENT, _LONG_S)

    def looks(self) -> int:
        """What a success would count; 0 if it does not look."""
        if self._mean_s < self._cost_s:
            return 0
        weight = 1 + self._ratio
        if weight < _DICE and int(self._chance() * _DICE) > weight:
            self.count(0)
            return 0
        return (_DICE + weight // 2) // weight

    def count(self, success: int) -> None:
        """For what was found."""
        self._calls += 1
        self._successes += success
        if self._calls >= _DICE:
            self._ratio = self._successes
            self._calls //= 2
            self._successes //= 2
