"""Whom a member suspects, and when it asks the group to remove them: ``Gcs_suspicions_manager``.

Every member notes who seems dead. A thread looks at the notes when one is added about a member, and
every 15 seconds after that; a note that is old enough by then has the first member that is alive
(the killer) ask for the removal. So what ``group_replication_member_expel_timeout`` counts is the
next multiple of 15 s: 1 to 15 are all alike, and 0 removes at once. It is that of the killer.

The thread looks at what was told last. Where ordered messages take longer than 15 s, that may be
old: a member that all hear by then is removed all the same, as in the source.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from simrep.modelling import Clock, Stream

__all__ = ["PERIOD_S", "Suspicions"]

PERIOD_S = 15.0  # SUSPICION_PROCESSING_THREAD_PERIOD
_JOINING_S = 60.0  # NON_MEMBER_EXPEL_TIMEOUT
_DUE_S = 1e-6  # a thread wakes a little late, computed times are exact


@dataclass(frozen=True, slots=True)
class _Suspicion:
    since_s: float
    member: bool  # of the view; else somebody who joins


class Suspicions:
    """Those of one member.

    Parameters
    ----------
    clock : Clock
        That of the process of the member.
    me : int
        Position of this member.
    timeout_s : float
        ``group_replication_member_expel_timeout``, in seconds.
    remove : callable
        ``remove(positions)`` asks the group to remove members.
    chance : Stream
        Uniform numbers, for the phase of the thread.
    """

    def __init__(
        self,
        clock: Clock,
        me: int,
        timeout_s: float,
        remove: Callable[[tuple[int, ...]], object],
        chance: Stream,
    ) -> None:
        self._clock = clock
        self._me = me
        self._timeout_s = timeout_s
        self._remove = remove
        self._chance = chance
        self._suspected: dict[int, _Suspicion] = {}
        self._expelled: set[int] = set()  # asked for, and not yet removed
        self._kills = False
        self._majority = True
        self._turn = 0

    def begin(self) -> None:
        """Start the thread, at some time in its period."""
        self.end()
        self._sleep(PERIOD_S * self._chance())

    def end(self) -> None:
        """Stop it, and forget all."""
        self._turn += 1
        self._suspected.clear()
        self._expelled.clear()

    def see(self, site: Sequence[int], alive: Collection[int], members: Collection[int]) -> None:
        """Take what is known now, by this member or by all (``process_view``).

        Parameters
        ----------
        site : sequence of int
            Members of the configuration, by node number.
        alive : collection of int
            Those of them who are alive.
        members : collection of int
            Members of the view.
        """
        first = next((position for position in site if position in alive), None)
        self._kills = first == self._me
        dead = [position for position in site if position not in alive]
        self._expelled = {p for p in self._expelled if p in site and p not in alive}
        self._majority = 2 * len(dead) < len(site)
        self._suspected = {p: why for p, why in self._suspected.items() if p in dead}
        woken = False
        for position in dead:
            if position not in self._suspected:
                member = position in members
                self._suspected[position] = _Suspicion(self._clock.now, member)
                woken = woken or member
        if woken:
            self._sleep(0.0)

    def _sleep(self, seconds: float) -> None:
        self._turn += 1
        self._clock.at(self._clock.now + seconds, self._wake, self._turn)

    def _wake(self, turn: int) -> None:
        if turn != self._turn:
            return
        self._sleep(PERIOD_S)
        now_s = self._clock.now
        due = []
        for position, why in self._suspected.items():
            timeout_s = self._timeout_s if why.member else _JOINING_S
            if why.since_s + timeout_s <= now_s + _DUE_S:
                due.append(position)
        for position in due:
            del self._suspected[position]
        if due and self._majority and (self._kills or self._me in due):
            removed = tuple(due) if self._kills else (self._me,)
            self._expelled.update(removed)
            self._remove(removed)
