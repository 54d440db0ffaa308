"""Membership of an EVS group: members that crash, leave and come back.

What follows from it is in ``gcomm.view_change`` (how the others agree on a view) and
``gcomm.primary`` (whether they may go on). A group without a ``Membership`` has one
view for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from simrep.modelling import Clock
from simrep.models.galera.gcomm.evs import Evs
from simrep.models.galera.gcomm.primary import (
    MemberStatus,
    MemberStatuses,
    Presence,
    PrimaryComponent,
    PrimaryOptions,
)
from simrep.models.galera.gcomm.view_change import Participant

__all__ = ["Membership"]

_NO_STATUS = MemberStatus(-1, Presence.CRASHED)  # of a member of which nothing is known


class Membership:
    """What becomes of the members of a group. All are there in the beginning.

    Notes
    -----
    What a method does happens at the present time, but after what happens now: it may be called
    from within a delivery.
    """

    def __init__(
        self,
        clock: Clock,
        members: Sequence[Evs],
        suspect_timeout_s: float = 5.0,
        options: PrimaryOptions | None = None,
    ) -> None:
        numbers = count(1)
        self._clock = clock
        self._timeout_s = suspect_timeout_s  # how long after a crash the others notice
        self._away: set[int] = set()
        self._participants = [
            Participant(evs, len(members), numbers.__next__, options) for evs in members
        ]

    def primary(self, member: int) -> PrimaryComponent:
        """What a member knows of the primary component."""
        return self._participants[member].primary

    def crash(self, member: int) -> None:
        """Let a member neither send nor receive; what the network has already still arrives."""
        self._depart(member)
        self._clock.at(self._clock.now, self._crash, member)

    def leave(self, member: int) -> None:
        """Let a member leave in order: it tells the others."""
        self._depart(member)
        self._clock.at(self._clock.now, self._leave, member)

    def join(self, member: int) -> None:
        """Let a member that is away come back, without anything of what was."""
        if member not in self._away:
            raise ValueError(f"member {member} is not away")
        self._away.remove(member)
        self._clock.at(self._clock.now, self._join, member)

    def _depart(self, member: int) -> None:
        if member in self._away:
            raise ValueError(f"member {member} is away")
        self._away.add(member)

    def _crash(self, member: int) -> None:
        participant = self._participants[member]
        gone = MemberStatus(participant.statuses[member].life, Presence.CRASHED)
        participant.stop(Presence.CRASHED)
        self._clock.at(self._clock.now + self._timeout_s, self._suspect, (member, gone))

    def _suspect(self, crash: tuple[int, MemberStatus]) -> None:
        member, gone = crash
        for participant in self._participants:
            if participant.up:
                participant.learn(self._with(member, gone))

    def _leave(self, member: int) -> None:
        self._participants[member].leave()

    def _join(self, member: int) -> None:
        """Who comes back has asked those who are there whom they know."""
        life = self._participants[member].statuses[member].life + 1
        statuses = self._with(member, MemberStatus(life, Presence.UP))
        for participant in self._participants:
            if participant.up:
                statuses = tuple(map(max, statuses, participant.statuses))
        self._participants[member].join(statuses)

    def _with(self, member: int, status: MemberStatus) -> MemberStatuses:
        """Knowledge of one member only."""
        known = [_NO_STATUS] * len(self._participants)
        known[member] = status
        return tuple(known)
