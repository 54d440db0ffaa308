"""Membership of an EVS group: members that crash, leave and come back.

What follows from it is in ``gcomm.view_change`` (how the others agree on a view) and
``gcomm.primary`` (whether they may go on). A group without a ``Membership`` has one
view for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from simrep.modelling import Clock
from simrep.models.galera.gcomm.changing_evs import ChangingEvs
from simrep.models.galera.gcomm.gmcast import Gmcast, WhenClosed
from simrep.models.galera.gcomm.participant import Participant
from simrep.models.galera.gcomm.primary import PrimaryComponent, PrimaryOptions
from simrep.models.galera.gcomm.suspicion import MembershipOptions

__all__ = ["Membership", "MembershipOptions"]

Note = Callable[..., object]


class Membership:
    """What becomes of the members of a group. All are there in the beginning.

    Parameters
    ----------
    clock : Clock
        Of the run; the timers of a member go by the clock of its process.
    members : sequence of ChangingEvs
    options : MembershipOptions
    uniforms : sequence of callable, optional
        For each member, random numbers from 0 to 1 for the phase and the drift of its ticks; if
        they are not given, all members tick together.
    note : callable, optional
        Called as ``note(position, what, positions)`` with what a member writes to its log, and with
        further words.
    primary : PrimaryOptions, optional

    Notes
    -----
    What a method does happens at the present time, but after what happens now: it may be called
    from within a delivery.
    """

    def __init__(
        self,
        clock: Clock,
        members: Sequence[ChangingEvs],
        options: MembershipOptions | None = None,
        uniforms: Sequence[Callable[[], float]] | None = None,
        note: Note | None = None,
        primary: PrimaryOptions | None = None,
    ) -> None:
        self._clock = clock
        self._members = members
        self._meshes = [evs.mesh for evs in members]
        self._away: dict[int, bool] = {}  # and whether it crashed
        self._restores = primary is None or primary.recovery
        self._told_give_up: Callable[[int, str], object] | None = None
        self._told_evicted: Callable[[int], object] = _forget
        self._lives = [0] * len(members)
        log = note or _forget
        self.participants = [
            Participant(
                evs,
                len(members),
                options or MembershipOptions(),
                uniforms[position] if uniforms else _zero,
                partial(log, position),
                primary,
            )
            for position, evs in enumerate(members)
        ]
        for position, (evs, participant) in enumerate(zip(members, self.participants, strict=True)):
            participant.give_up = partial(self._give_up, position)
            participant.closed = partial(self._reach_who_is_there, position)
            participant.shut_out = partial(self._shut_out, position)
            evs.on_evicted(participant.end_evicted)

    def primary(self, member: int) -> PrimaryComponent:
        """What a member knows of the primary component."""
        return self.participants[member].primary

    def on_give_up(self, call: Callable[[int, str], object]) -> None:
        """Call ``call(member, why)`` when a member cannot go on: it has to ``crash``.

        Without that it crashes by itself.
        """
        self._told_give_up = call

    def _give_up(self, member: int, why: str) -> None:
        if self._told_give_up is None:
            self.crash(member)
        else:
            self._told_give_up(member, why)

    def on_evicted(self, call: Callable[[int], object]) -> None:
        """Call ``call(member)`` when a member learns that it is evicted: it takes part no more."""
        self._told_evicted = call

    def _shut_out(self, member: int) -> None:
        self._told_evicted(member)

    def is_away(self, member: int) -> bool:
        """Whether a member is not there, also since it has ended itself."""
        return member in self._away

    def crash(self, member: int, when_closed: WhenClosed | None = None) -> None:
        """Let a member neither send nor receive; what the network has already still arrives.

        ``when_closed(call)`` calls ``call()`` when its kernel closes its links.
        """
        mesh = self._meshes[member]
        if when_closed is not None and isinstance(mesh, Gmcast):
            mesh.hold(when_closed)
        if self._away.get(member, True):
            self._depart(member, crashes=True)
        self._away[member] = True  # also while it leaves
        self._clock.at(self._clock.now, self._crash, member)

    def leave(self, member: int) -> None:
        """Let a member leave in order: it tells the others."""
        self._depart(member, crashes=False)
        self._clock.at(self._clock.now, self._leave, member)

    def join(self, member: int) -> None:
        """Let a member that is away come back, without anything of what was."""
        if member not in self._away:
            raise ValueError(f"member {member} is not away")
        crashed = self._away.pop(member)
        self._lives[member] += 1
        self._clock.at(self._clock.now, self._join, (member, self._lives[member], crashed))

    def _depart(self, member: int, *, crashes: bool) -> None:
        if member in self._away:
            raise ValueError(f"member {member} is away")
        self._away[member] = crashes

    def _crash(self, member: int) -> None:
        self.participants[member].crash()
        self._reach_who_is_there(member)

    def _leave(self, member: int) -> None:
        self.participants[member].leave()

    def _join(self, start: tuple[int, int, bool]) -> None:
        member, life, crashed = start
        self.participants[member].start(life, crashed and self._restores)
        self._reach_who_is_there(member)

    def _reach_who_is_there(self, _: int) -> None:
        """The kernel of a process that has ended resets its links."""
        there = [at for at, evs in enumerate(self._members) if not evs.closed]
        for at in there:
            self._meshes[at].reach(there)


def _forget(*_: object) -> None:
    pass


def _zero() -> float:
    return 0.0
