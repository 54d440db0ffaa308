"""When a member that has recovered is ONLINE: it must keep up with what its group orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from simrep.modelling import Clock

__all__ = ["CatchUp", "Pace"]

_LOOK_S = 100e-6  # for each message in the queue
_MOST_MESSAGES = 5000
_LEAST_S = 0.010  # the product looks more often


class Pace(Protocol):
    """How far a member is with the traffic of its group."""

    @property
    def queued(self) -> int:
        """Messages that wait for the applier module."""

    @property
    def unapplied(self) -> int:
        """Transactions of the group that are delivered and not committed here."""

    @property
    def unread(self) -> int:
        """Transactions in the relay log that no worker has yet."""

    @property
    def applied(self) -> int:
        """Transactions that were committed here, since its server started."""


class CatchUp:
    """Of one member.

    What was ordered while it recovered has waited. It applies that as fast as it can, and more
    comes. It is caught up when it has no more to do than it did in the last period of flow control,
    or when it has nothing to do; then it applies what is in its relay log. With a backlog B, a rate
    A at which it applies and a load L that is B / (A - L), and never if A <= L.

    Parameters
    ----------
    clock : Clock
    pace : Pace
    when_applied : callable
        ``when_applied(call)`` calls when the relay log, as it is now, is committed.
    ended : callable
        ``ended()``: it may tell the group that it is ONLINE.

    References
    ----------
    plugin/group_replication/src/recovery.cc, wait_for_applier_module_recovery;
    pipeline_stats.cc, compute_transactions_deltas_during_recovery (8.0, 9).
    """

    def __init__(
        self,
        clock: Clock,
        pace: Pace,
        when_applied: Callable[[Callable[[], object]], object],
        ended: Callable[[], object],
    ) -> None:
        self._clock = clock
        self._pace = pace
        self._when_applied = when_applied
        self._ended = ended
        self._runs = False
        self._number = 0
        self._before = self._applied = 0  # up to the last period, and in it

    def begin(self) -> None:
        """It has recovered, and begins with what has waited."""
        self._runs = True
        self._number += 1
        self._before = self._pace.applied
        self._applied = 0
        self._look(self._number)

    def end(self) -> None:
        """It leaves the group, or its server ends."""
        self._runs = False
        self._number += 1

    def period(self) -> None:
        """A period of flow control has ended."""
        if self._runs:
            now = self._pace.applied
            self._applied, self._before = now - self._before, now

    def _look(self, number: int) -> None:
        if number != self._number:
            return
        pace = self._pace
        idle = not (pace.queued or self._applied or pace.unread)
        if pace.unapplied <= self._applied or idle:
            self._runs = False
            self._when_applied(lambda: self._over(number))
            return
        pause_s = max(_LOOK_S * min(pace.queued, _MOST_MESSAGES), _LEAST_S)
        self._clock.at(self._clock.now + pause_s, self._look, number)

    def _over(self, number: int) -> None:
        if number == self._number:
            self._ended()
