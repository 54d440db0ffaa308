"""What a load has left in a group that it has run in for long before the run begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from simrep.modelling import Clock, SimrepError

if TYPE_CHECKING:
    from .member import Member
    from .options import GroupReplicationCosts, GroupReplicationOptions

__all__ = ["Balance", "Past", "left_after"]

_BROADCAST_S: Final = 60.0  # between two garbage collections
_FEW: Final = 0.02  # of what a member applies: it keeps up


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What a member was seen to do for some seconds, per second.

    Attributes
    ----------
    certified : float
        Transactions of the whole group.
    arrived, applied : float
        Transactions of others that came to its relay log, and those that it applied.
    rows : float
        Rows of the certification info for each certified transaction.
    """

    certified: float
    arrived: float
    applied: float
    rows: float

    @property
    def growth(self) -> float:
        """By how much its backlog grows, in transactions per second."""
        return self.arrived - self.applied


def left_after(
    seconds: float, begun: float, balances: Sequence[Balance], row_s: float, transaction_s: float
) -> list[float]:
    """How many transactions wait in the relay log of each member after so long.

    It goes from minute to minute: at the end of each the certification info is looked through for
    what all members have applied, for ``row_s`` per row, with the backlog of the slowest in it,
    and ``transaction_s`` per transaction that is forgotten. Meanwhile nothing is certified, and
    members go on applying.

    Parameters
    ----------
    seconds : float
    begun : float
        Transactions that wait at the beginning.
    balances : sequence of Balance
        Of each member.
    row_s, transaction_s : float
    """
    left = [begun if one.growth > 0.0 else 0.0 for one in balances]
    slowest = min(balances, key=lambda one: one.applied)
    for _ in range(round(seconds / _BROADCAST_S)):
        in_info = (max(left) + slowest.certified * _BROADCAST_S) * slowest.rows
        forgotten = slowest.applied * _BROADCAST_S
        stalled_s = min(_BROADCAST_S, in_info * row_s + forgotten * transaction_s)
        left = [
            max(0.0, was + one.arrived * (_BROADCAST_S - stalled_s) - one.applied * _BROADCAST_S)
            for was, one in zip(left, balances, strict=True)
        ]
    return left


class Past:
    """Lets a group begin as a load has left it that has run for long (``run.history_s``).

    A member that applies less than the group certifies gets a longer relay log all the time, and
    what it has not applied stays in the certification info of every member. A run of a minute
    cannot get there. So the group is looked at twice in its warm-up: a quarter of it tells whether
    a member falls behind, and if so, its second half tells how fast with the flow control that
    follows. From that the backlog is carried forward from minute to minute (``left_after``), with
    the stalls of the garbage collections that the group then has.

    Notes
    -----
    Simplified: what was left is a number of transactions and of rows. Members apply the
    transactions of the run before those, which changes no rate and no length of a queue; but how
    long a transaction waits in the relay log, and which of them are visible, is not told.
    Pessimistic: each has as many rows of its own in the certification info as in the warm-up.

    References
    ----------
    I. G. Kevrekidis et al., Equation-free, coarse-grained multiscale computation, Communications
    in Mathematical Sciences 1 (2003): short simulated bursts tell the slope of what changes
    slowly, which is then carried forward.
    """

    def __init__(
        self,
        clock: Clock,
        members: Sequence[Member],
        options: GroupReplicationOptions,
        costs: GroupReplicationCosts,
        history_s: float,
        by_s: float,
    ) -> None:
        self._clock = clock
        self._members = members
        self._options = options
        self._costs = costs
        self._history_s = history_s
        self._by_s = by_s
        self._first: list[float] = []  # by how much each member fell behind per second
        clock.at(by_s / 8.0, self._note, (by_s / 4.0, self._look_first))

    def _note(self, then: tuple[float, Any]) -> None:
        at_s, call = then
        self._noted_s = self._clock.now
        self._noted = self._counts()
        self._clock.at(at_s, call)

    def _counts(self) -> list[tuple[int, int, int]]:
        found = []
        for one in self._members:
            one.settle()
            found.append((one.checked, one.channel.received, one.channel.applied))
        return found

    def _balances(self) -> list[Balance]:
        seconds = self._clock.now - self._noted_s
        counts = self._counts()
        first = self._members[0]
        rows = first.info_rows / max(1, first.checked)
        found = []
        for was, now in zip(self._noted, counts, strict=True):
            certified, arrived, applied = ((b - a) / seconds for a, b in zip(was, now, strict=True))
            found.append(Balance(certified=certified, arrived=arrived, applied=applied, rows=rows))
        return found

    def _look_first(self, _: None) -> None:
        balances = self._balances()
        self._first = [one.growth for one in balances]
        behind = [one for one in balances if one.growth > _FEW * one.applied]
        if not behind:
            return
        for member, one in zip(self._members, balances, strict=True):
            if one.growth > _FEW * one.applied:
                member.older = int(one.growth * self._history_s)
        self._clock.at(self._by_s / 2.0, self._note, (self._by_s, self._look_again))

    def _look_again(self, _: None) -> None:
        options, costs = self._options, self._costs
        balances = self._balances()
        threshold = options.flow_control_applier_threshold
        fastest = max(self._first)
        hindered = fastest * self._history_s > threshold  # else the second look was not, either
        unhindered_s = threshold / fastest if hindered else 0.0
        left = left_after(
            self._history_s - unhindered_s,
            fastest * unhindered_s,
            balances,
            costs.garbage_ns * 1e-9,
            costs.garbage_transaction_ns * 1e-9,
        )
        older = [
            max(0, int(now) - one.channel.backlog) if first > 0.0 else 0
            for one, first, now in zip(self._members, self._first, left, strict=True)
        ]
        cleared = options.preemptive_garbage_collection and options.single_primary_mode
        rows = 0 if cleared else int(max(older) * balances[0].rows)
        for member, number in zip(self._members, older, strict=True):
            member.older, member.older_rows = number, rows
        self._clock.at(self._clock.now + 1.0, self._check)

    def _check(self, _: None) -> None:
        """They would be applied now: the simulated ones do not last."""
        for one in self._members:
            one.settle()
            if one.older and not one.channel.backlog:
                raise SimrepError(
                    f"the backlog of {one.server.name} that run.history_s asks for is gone at "
                    f"{self._clock.now:g} s, {one.older:,} transactions: members must fall behind "
                    "in the same way all the time; lengthen run.warmup_s, or leave it out"
                )
        self._clock.at(self._clock.now + 1.0, self._check)
