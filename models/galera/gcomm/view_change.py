"""How one view of an EVS group follows another: one member's part.

After Galera's gcomm (``gcomm/src/evs_proto.cpp``; the names are its own). Every message below is
one on the network, at the costs of the mesh; none is simulated as time.

GATHER
    A member that learns of a change (``evs.suspect_timeout`` after a crash, a leave message, the
    join message of another) stops the old view: the application's messages wait. It sends a join
    message to all it knows to be up: whom it knows to be up or gone, and what it has received.
    What it learns meanwhile makes it begin anew.
INSTALL
    When all have sent the same knowledge, the first of them sends an install message. Whoever gets
    it and has messages of the old view that another lacks sends them: the sender itself or, if
    it is gone, the first of those who have most of it. A member that has everything tells all
    (commit gap), and when all have told, it tells all that it knows (install gap).
OPERATIONAL
    When all know, a member delivers the rest of the old view in order, and begins the new one.
    A message of the new view, or a join message of a member that comes from it, says as much.

Then the primary component is found and the view is told (``gcomm.primary``). With h for
a hop and at least three members that stay: h for each of join, install, commit and install gap, 2 h
for the states, 3 h for the view; one h more for what was missing, unless the first has it, and one
for a leave message.

A message is delivered in a view only when all members have it. So if a member has delivered it and
crashed, all others have it, and deliver it too. What of a crashed member has reached one of the
others before that one stopped is delivered; the rest is lost.

Simplified
    Nobody is suspected without reason, and all suspect at the same time; the suspicion is counted
    from the crash, where the product counts from the last progress it has seen (up to
    ``evs.keepalive_period`` earlier) and looks every ``evs.inactive_check_period`` (0.5 s). No
    partitions. Membership messages go to everybody directly, not by relays. The product goes on
    receiving in GATHER and asks for what it lacks before consensus; here what arrives after a
    member has stopped is dropped and sent again after it. The product sends its output queue
    in the old view and refuses more (EAGAIN) during the change; here both wait in the queue.
    Who leaves sends with the leave message what others may lack, instead of staying until they
    ask, and delivers nothing after it. Join messages are not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from simrep.models.galera.gcomm.evs import Evs
from simrep.models.galera.gcomm.primary import (
    MemberStatus,
    MemberStatuses,
    Presence,
    PrimaryComponent,
    PrimaryOptions,
)
from simrep.models.galera.gcomm.view import NO_VIEW, EvsMessage

__all__ = ["Participant"]

_GAP_BYTES = 110
_JOIN_BYTES = 110  # join and install message, and what they tell of one member
_NODE_BYTES = 70
_USER_BYTES = 120  # header of a message that is sent again


class _MembershipMessage:
    view: ClassVar[int] = -2  # of no view


@dataclass(frozen=True, slots=True)
class _Join(_MembershipMessage):
    source: int
    statuses: MemberStatuses
    base: int  # the view that the sender comes from, or none
    safe: int
    held: list[int]

    def has(self, source: int) -> int:
        """Up to which number the sender has all payloads of ``source``."""
        return max(self.safe, self.held[source])


@dataclass(frozen=True, slots=True)
class _Install(_MembershipMessage):
    number: int
    statuses: MemberStatuses
    members: tuple[int, ...]
    joins: tuple[_Join, ...]  # of those who come from the old view

    @property
    def source(self) -> int:
        """The first of the members proposes the view."""
        return self.members[0]


@dataclass(frozen=True, slots=True)
class _Recovery(_MembershipMessage):
    source: int
    number: int
    messages: list[EvsMessage]


@dataclass(frozen=True, slots=True)
class _Gap(_MembershipMessage):
    """Commit gap (``step`` 0) or install gap (1)."""

    source: int
    number: int
    step: int


@dataclass(frozen=True, slots=True)
class _Leave(_MembershipMessage):
    source: int
    life: int
    base: int
    messages: list[EvsMessage]


def _up(statuses: MemberStatuses) -> tuple[int, ...]:
    return tuple(i for i, status in enumerate(statuses) if status.presence == Presence.UP)


def _lives(statuses: MemberStatuses) -> list[tuple[int, int]]:
    return [(member, statuses[member].life) for member in _up(statuses)]


class Participant:
    """One member's part in changes of view."""

    def __init__(
        self,
        evs: Evs,
        size: int,
        numbers: Callable[[], int],
        options: PrimaryOptions | None = None,
    ) -> None:
        self.evs = evs
        self.up = True
        self.statuses: MemberStatuses = (MemberStatus(0, Presence.UP),) * size
        self._me = evs.mesh.me
        self._size = size
        self._next_number = numbers  # of a view, for the whole group
        self.primary = PrimaryComponent(evs, size, options)
        self._base = 0  # the view it is in, or was in last
        self._joins: dict[int, _Join] = {}
        self._install: _Install | None = None  # the view that is being installed
        self._committed: _Install | None = None  # what it has sent a commit gap for
        self._missing: set[int] = set()  # who has yet to send it something of the old view
        self._recoveries: list[_Recovery] = []
        self._gaps: set[tuple[int, int, int]] = set()
        self._handle: dict[type, Callable[[Any], None]] = {
            _Join: self._on_join,
            _Install: self._on_install,
            _Recovery: self._on_recovery,
            _Gap: self._on_gap,
            _Leave: self._on_leave,
        }
        evs.on_outside(self._receive)

    # -- what happens to this member -----------------------------------------------------------

    def stop(self, presence: Presence) -> None:
        """Crash, or be gone after leaving."""
        self.up = False
        self.evs.stop()
        self.primary.forget(presence)
        self._joins.clear()
        self._install = self._committed = None

    def leave(self) -> None:
        """Tell the others, and be gone."""
        messages = self.evs.withdraw()
        life = self.statuses[self._me].life
        size = _GAP_BYTES + sum(message.size + _USER_BYTES for message in messages)
        self._send(_up(self.statuses), _Leave(self._me, life, self._base, messages), size)
        self.stop(Presence.LEFT)

    def join(self, statuses: MemberStatuses) -> None:
        """Come back, knowing no more than who is there."""
        self.up = True
        self.statuses = statuses
        self._base = NO_VIEW
        self.evs.forget()
        self._gather()

    def learn(self, statuses: MemberStatuses) -> None:
        """Learn who is up or gone."""
        before = _lives(self.statuses)
        if self._merge(statuses) and (self._gathering or _lives(self.statuses) != before):
            self._gather()

    # -- GATHER --------------------------------------------------------------------------------

    @property
    def _gathering(self) -> bool:
        return self.evs.view == NO_VIEW

    def _merge(self, statuses: MemberStatuses) -> bool:
        """Add knowledge; whether there was something new."""
        merged = tuple(map(max, self.statuses, statuses))
        news = merged != self.statuses
        self.statuses = merged
        return news

    def _gather(self) -> None:
        """Stop the view, or its installation, and tell all what this member knows and has."""
        self.evs.close()
        self._install = None
        self._recoveries.clear()
        self._gaps.clear()
        up = _up(self.statuses)
        self.evs.mesh.reach(up)
        safe, held = self.evs.held()
        join = _Join(self._me, self.statuses, self._base, safe, held)
        self._joins[self._me] = join
        self._send(up, join, _JOIN_BYTES + _NODE_BYTES * self._size)
        self._seek_consensus()

    def _on_join(self, join: _Join) -> None:
        if join.statuses[join.source] < self.statuses[join.source]:
            return  # late, from one that is known to be gone
        begin = self._follow(join.base) or not self._gathering
        begin = self._merge(join.statuses) or begin
        self._joins[join.source] = join
        if begin:
            self._gather()
        else:
            self._seek_consensus()

    def _on_leave(self, leave: _Leave) -> None:
        begin = self._follow(leave.base)
        statuses = list(self.statuses)
        statuses[leave.source] = MemberStatus(leave.life, Presence.LEFT)
        if self._merge(tuple(map(max, self.statuses, statuses))):
            begin = True
            if self._base == leave.base and self._committed is None:
                safe, held = self.evs.held()
                has = max(safe, held[leave.source])
                self.evs.accept(one for one in leave.messages if one.first > has)
        if begin:
            self._gather()

    def _follow(self, base: int) -> bool:
        """Install what has been committed when another has done so, as its ``base`` tells."""
        committed = self._committed
        if committed is None or committed.number != base:
            return False
        self._enter(committed)
        return True

    def _seek_consensus(self) -> None:
        """If all have sent what this first member knows, propose the view."""
        up = _up(self.statuses)
        if self._install is not None or up[0] != self._me:
            return
        joins = [self._joins.get(member) for member in up]
        agreed = [join for join in joins if join is not None and join.statuses == self.statuses]
        base = max((join.base for join in agreed), default=NO_VIEW)
        if len(agreed) < len(up) or any(join.base not in {base, NO_VIEW} for join in agreed):
            return
        old = tuple(join for join in agreed if join.base != NO_VIEW)
        install = _Install(self._next_number(), self.statuses, up, old)
        self._send(up, install, _JOIN_BYTES + _NODE_BYTES * self._size)
        self._on_install(install)

    # -- INSTALL -------------------------------------------------------------------------------

    def _on_install(self, install: _Install) -> None:
        if self._install is not None or install.statuses != self.statuses or not self._gathering:
            return
        self._install = install
        self._missing = set()
        self._recover(install)
        if self._missing:
            for recovery in self._recoveries.copy():
                self._on_recovery(recovery)
        else:
            self._commit(install)

    def _recover(self, install: _Install) -> None:
        """Send what others lack; find out who sends what this member lacks."""
        parcels: dict[int, list[EvsMessage]] = {}
        for source in range(self._size):
            top = max((join.held[source] for join in install.joins), default=-1)
            lacking = [join.source for join in install.joins if join.has(source) < top]
            if not lacking:
                continue
            holders = [join.source for join in install.joins if join.held[source] == top]
            holder = source if source in holders else holders[0]
            if self._me in lacking:
                self._missing.add(holder)
            if self._me != holder:
                continue
            for join in install.joins:
                if join.source in lacking:
                    parcel = parcels.setdefault(join.source, [])
                    parcel += self.evs.held_of(source, join.has(source))
        for member, messages in parcels.items():
            size = sum(message.size + _USER_BYTES for message in messages)
            self._send([member], _Recovery(self._me, install.number, messages), size)

    def _on_recovery(self, recovery: _Recovery) -> None:
        install = self._install
        if install is None:
            self._recoveries.append(recovery)
        elif recovery.number == install.number and recovery.source in self._missing:
            self.evs.accept(recovery.messages)
            self._missing.remove(recovery.source)
            if not self._missing:
                self._commit(install)

    def _commit(self, install: _Install) -> None:
        self._committed = install
        self._tell_gap(install, 0)

    def _tell_gap(self, install: _Install, step: int) -> None:
        gap = _Gap(self._me, install.number, step)
        self._send(install.members, gap, _GAP_BYTES)
        self._on_gap(gap)

    def _on_gap(self, gap: _Gap) -> None:
        self._gaps.add((gap.number, gap.step, gap.source))
        install = self._install
        if install is None or install is not self._committed:
            return
        if not self._all_have_told(install, 0):
            return
        if (install.number, 1, self._me) not in self._gaps:
            self._tell_gap(install, 1)
        elif self._all_have_told(install, 1):
            self._enter(install)

    def _all_have_told(self, install: _Install, step: int) -> bool:
        return all((install.number, step, member) in self._gaps for member in install.members)

    # -- OPERATIONAL ---------------------------------------------------------------------------

    def _enter(self, install: _Install) -> None:
        """End the old view and begin the new one."""
        self._install = self._committed = None
        self._joins.clear()
        statuses = install.statuses
        if self._base != NO_VIEW:
            self.evs.settle(max(join.safe for join in install.joins))
            self.primary.transitional(
                [join.source for join in install.joins],
                [at for at, status in enumerate(statuses) if status.presence == Presence.LEFT],
            )
        self.evs.finish()
        self._base = install.number
        self.evs.open(install.number, install.members)
        lives = [(member, statuses[member].life) for member in install.members]
        self.primary.regular(install.number, lives)

    # -- messages ------------------------------------------------------------------------------

    def _receive(self, message: Any) -> None:
        """Handle what is not of the present view."""
        if not self.up:
            return
        if not isinstance(message, EvsMessage):
            self._handle[type(message)](message)
            return
        install = self._install
        if install is not None and install is self._committed and install.number == message.view:
            self._enter(install)
            self.evs.receive(message)

    def _send(self, members: Iterable[int], message: _MembershipMessage, size_bytes: int) -> None:
        peers = [member for member in members if member != self._me]
        self.evs.mesh.send_each(peers, message, size_bytes)
