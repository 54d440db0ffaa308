"""Timers of a member of an EVS group: ``gcomm/src/evs_proto.cpp`` (``next_expiration``)."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from math import inf

from simrep.models.galera.gcomm.changing_evs import ChangingEvs, State
from simrep.models.galera.gcomm.suspicion import MembershipOptions
from simrep.models.galera.gcomm.view import Member

__all__ = ["Timer", "Timers"]

_LATE_S = 2e-4  # a timer fires up to so much late: ticks drift apart by half of it in the mean


class Timer(IntEnum):
    """What there is to be done from time to time."""

    INACTIVITY = 0
    RETRANS = 1
    INSTALL = 2


class Timers:
    """One of each kind. How long they take depends on the state when they are armed.

    Parameters
    ----------
    evs : ChangingEvs
    options : MembershipOptions
    uniform : callable
        Random numbers from 0 to 1, for the phase and the drift of ticks.
    calls : callable, three times
        What to do, by ``Timer``. A timer is armed again afterwards, if the member is still there.
    """

    def __init__(
        self,
        evs: ChangingEvs,
        options: MembershipOptions,
        uniform: Callable[[], float],
        *calls: Callable[[], object],
    ) -> None:
        self._evs = evs
        self._clock = evs.clock
        self._options = options
        self._uniform = uniform
        self._calls = calls
        self._due_s = [inf] * len(calls)
        self._armed = [0] * len(calls)
        now_s, first_s = self._clock.now, evs.first_keepalive_s
        self._arm_at(
            Timer.RETRANS, now_s + options.keepalive_period_s if first_s is None else first_s
        )
        self._arm_at(Timer.INACTIVITY, now_s + options.inactive_check_period_s * uniform())

    def left_s(self, timer: Timer) -> float:
        """Seconds until a timer fires."""
        return self._due_s[timer] - self._clock.now

    def stop(self) -> None:
        """Disarm all."""
        for timer in Timer:
            self._arm_at(timer, inf)

    def arm(self, *timers: Timer) -> None:
        """Let timers begin anew."""
        options, state = self._options, self._evs.state
        for timer in timers:
            if timer is Timer.INACTIVITY:
                after_s = options.inactive_check_period_s + _LATE_S * self._uniform()
            elif timer is Timer.INSTALL:
                gathers = state is State.GATHER or state is State.INSTALL
                after_s = options.install_timeout_s if gathers else inf
            elif state is State.OPERATIONAL or state is State.LEAVING:
                after_s = options.keepalive_period_s
            else:
                after_s = options.join_retrans_period_s
            self._arm_at(timer, self._clock.now + after_s)

    def _arm_at(self, timer: Timer, at_s: float) -> None:
        self._due_s[timer] = at_s
        self._armed[timer] += 1
        if at_s < inf:
            self._clock.at(at_s, self._fire, (self._evs.member, timer, self._armed[timer]))

    def _fire(self, armed: tuple[Member, Timer, int]) -> None:
        member, timer, number = armed
        if member == self._evs.member and self._armed[timer] == number:
            self._calls[timer]()
            if self._evs.state is not State.CLOSED:
                self.arm(timer)
