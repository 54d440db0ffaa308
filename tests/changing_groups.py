"""EVS groups whose members crash, leave and come back, with a log of what each is told."""

from __future__ import annotations

from functools import partial
from math import inf
from random import Random
from typing import Any, NamedTuple, cast

from simrep.kernel.twin import attributes
from simrep.models.galera.gcomm.changing_evs import ChangingEvs
from simrep.models.galera.gcomm.membership import Membership, MembershipOptions
from simrep.models.galera.gcomm.view import View
from tests.groups import EvsGroup, Group, Matrix

__all__ = ["ChangingGroup", "LossyLink", "Sent", "Told"]


_RETRY_S = 0.010


class Told(NamedTuple):
    """What the application of a member was told, a view or a payload, in the member's nth life."""

    time_s: float
    life: int
    what: View | int


class Sent(NamedTuple):
    """A payload that a member took."""

    time_s: float
    sender: int
    life: int


class LossyLink:
    """What a member sends to another is lost for a while, or late: a fake of links in trouble."""

    def __init__(self, group: Group, source: int, target: int) -> None:
        self.begin_s, self.end_s = inf, -inf
        self.share = 1.0  # of the messages that is lost
        self.late_s = inf  # instead of being lost
        self._random = Random(source * 100 + target).random
        mesh, clock = group.meshes[source], group.clock
        link = self

        class Lossy(type(mesh._network)):  # type: ignore[misc]
            """The network of one member."""

            def send(self, me: int, peer: int, size: int, envelope: Any, at: float) -> None:
                """Send, or lose it."""
                lost = me == source and peer == target and link.begin_s <= clock.now < link.end_s
                if not lost or link._random() >= link.share:
                    super().send(me, peer, size, envelope, at)
                elif link.late_s < inf:
                    super().send(me, peer, size, envelope, at + link.late_s)

            def send_copies(
                self, me: int, copies: Any, size: int, message: Any, each: float
            ) -> None:
                """Send copies of a message, each by itself."""
                for place, (peer, relay) in enumerate(copies, 1):
                    at = clock.now + place * each
                    self.send(me, peer, size, (message, size, relay), at)

        lossy = Lossy.__new__(Lossy)
        for name, value in attributes(mesh._network).items():
            setattr(lossy, name, value)
        mesh._network = lossy
        self._clock = clock

    def heal(self) -> None:
        """Lose nothing more."""
        self.end_s = self._clock.now


class ChangingGroup:
    """A group and its membership.

    Parameters
    ----------
    delays_s : matrix of float
        One-way delays in seconds.
    timers : MembershipOptions, optional
    drift : bool
        Whether ticks begin at random and drift apart; else all members tick together.
    **how
        See ``EvsGroup``.

    Attributes
    ----------
    size : int
    logs : list of list of Told
        By member.
    lost : list of list of float
        When each member was told, at the end of a view, that its component has no quorum.
    entered : list of list of (int, int, int)
        For each view of EVS of a member: where in its log it began, its life, the number.
    sent : dict of int to Sent
        By payload, which are numbered.
    lives : list of int
        How often each member has come back.
    departures : dict of (int, int) to (float, bool)
        When each (member, life) ended, and whether it crashed.
    """

    def __init__(
        self,
        delays_s: Matrix,
        timers: MembershipOptions | None = None,
        *,
        drift: bool = False,
        **how: Any,
    ) -> None:
        self.group = EvsGroup(delays_s, kind=ChangingEvs, **how)
        self.clock = self.group.clock
        self.size = size = len(delays_s)
        self.lossy: dict[tuple[int, int], LossyLink] = {}
        self.noted: list[tuple[float, int, str, tuple[int, ...]]] = []
        random = Random(how.get("seed", 0)).random
        members = [cast("ChangingEvs", member) for member in self.group.members]
        self.membership = Membership(
            self.clock, members, timers, [random] * size if drift else None, self._note
        )
        self.membership.on_give_up(self._give_up)
        self.gave_up: list[int] = []
        self.logs: list[list[Told]] = [[] for _ in range(size)]
        self.entered: list[list[tuple[int, int, int]]] = [[(0, 0, 0)] for _ in range(size)]
        self.lost: list[list[float]] = [[] for _ in range(size)]
        self.sent: dict[int, Sent] = {}
        self.lives = [0] * size
        self.departures: dict[tuple[int, int], tuple[float, bool]] = {}
        for member, evs in enumerate(self.group.members):
            evs.on_view(partial(self._told, member))
            evs.on_deliver(partial(self._delivered, member))

    def _give_up(self, member: int, _: str) -> None:
        """A member that gives up is started anew a second later."""
        self.gave_up.append(member)
        self.membership.crash(member)
        if self.is_up(member):
            self.departures[member, self.lives[member]] = self.clock.now, True
            self.join(self.clock.now + 1.0, member)

    def _note(self, position: int, what: str, of: tuple[int, ...]) -> None:
        self.noted.append((self.clock.now, position, what, of))
        if what == "stable":
            evs = self.membership.participants[position].evs
            entry = len(self.logs[position]), self.lives[position], evs.view
            self.entered[position].append(entry)

    def _told(self, member: int, what: View | int) -> None:
        if isinstance(what, View) and what.transitional:
            self.lost[member].append(self.clock.now)
            return
        self.logs[member].append(Told(self.clock.now, self.lives[member], what))

    def _delivered(self, member: int, sender: int, payload: int) -> None:
        assert self.sent[payload].sender == sender
        self._told(member, payload)

    def lose(self, source: int, target: int) -> LossyLink:
        """Lose what one member sends to another from now on, until it heals."""
        link = self.lossy.get((source, target))
        if link is None:
            link = self.lossy[source, target] = LossyLink(self.group, source, target)
        link.begin_s, link.end_s = self.clock.now, inf
        return link

    # -- what to do, and when ------------------------------------------------------------------

    def send(self, time_s: float, member: int, size_bytes: int = 100) -> None:
        """Have a member send a payload, if it is up."""

        def send(_: None) -> None:
            if not self.is_up(member):
                return
            number = len(self.sent)
            self.sent[number] = Sent(self.clock.now, member, self.lives[member])
            if not self.group.members[member].send(number, size_bytes):
                del self.sent[number]
                # As gcs does.
                self.send(self.clock.now + _RETRY_S, member, size_bytes)

        self.clock.at(time_s, send)

    def crash(self, time_s: float, member: int) -> None:
        self.clock.at(time_s, self._depart, (member, True))

    def leave(self, time_s: float, member: int) -> None:
        self.clock.at(time_s, self._depart, (member, False))

    def _depart(self, departure: tuple[int, bool]) -> None:
        member, crashes = departure
        if self.is_up(member):
            self.departures[member, self.lives[member]] = self.clock.now, crashes
            (self.membership.crash if crashes else self.membership.leave)(member)

    def join(self, time_s: float, member: int) -> None:
        self.clock.at(time_s, self._join, member)

    def _join(self, member: int) -> None:
        if not self.is_up(member):
            self.lives[member] += 1
            self.membership.join(member)

    # -- what came of it -----------------------------------------------------------------------

    def is_up(self, member: int) -> bool:
        return (member, self.lives[member]) not in self.departures

    def views(self, member: int) -> list[View]:
        return [told.what for told in self.logs[member] if isinstance(told.what, View)]

    def told_at(self, member: int, number: int = -1) -> float:
        """When a member was told its nth view, by default the last."""
        return [told.time_s for told in self.logs[member] if isinstance(told.what, View)][number]

    def delivered(self, member: int) -> list[int]:
        """All payloads that a member has delivered, in order."""
        return [told.what for told in self.logs[member] if not isinstance(told.what, View)]
