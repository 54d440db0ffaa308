"""A member of an EVS group: how it comes up and how it ends. How views change is inherited.

After Galera's ``gcomm/src/pc.cpp`` (``connect``, ``close``). A member that starts sends its join
message, and lets the network work for half a second, until it knows somebody or
``pc.announce_timeout`` is over; then it waits in such slices until it is in the primary component.
Only then what is above it answers. A member that comes back with a view on its disk
(``pc.recovery``) does not wait for that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from simrep.models.galera.gcomm.changing_evs import Peer, State
from simrep.models.galera.gcomm.livelock import Livelock
from simrep.models.galera.gcomm.primary import Presence
from simrep.models.galera.gcomm.timers import Timer
from simrep.models.galera.gcomm.view import Member, View, view_number, view_sequence
from simrep.models.galera.gcomm.view_change import ViewChange
from simrep.models.galera.gcomm.view_messages import Install

__all__ = ["Participant"]

_SLICE_S = 0.5
_WAIT_PRIMARY_S = 30.0  # pc.wait_prim_timeout


class Participant(ViewChange):
    """One member; see ``ViewChange`` for the parameters."""

    def __init__(self, *how: Any) -> None:
        super().__init__(*how)
        self._log = self._note
        self._note = self._write
        self._livelock = Livelock(self._clock, self.evs.mesh.thread, self._log)

    def _enter(self, install: Install) -> None:
        super()._enter(install)
        gone = [member.position for member, state in install.nodes.items() if not state.operational]
        self._livelock.begin_view(gone)

    def _write(self, what: str, positions: tuple[int, ...]) -> None:
        """Note what happens, but for the views of a livelock."""
        if what != "stable" or not self._livelock.lasts:
            self._log(what, positions)

    def leave(self) -> None:
        """Tell the others, answer until they have gone on, and be gone."""
        self.evs.forsake()
        if self.evs.state in {State.GATHER, State.INSTALL}:
            self._leaves = True
        elif self.evs.state is State.CLOSED:
            return
        else:
            self._begin_leaving()
        self._clock.at(self._clock.now + self._options.linger_s, self._linger_ends, self.evs.member)

    def start(self, life: int, restored: bool) -> None:
        """Come up anew; ``restored``: with what the disk knows of the last view."""
        evs = self.evs
        if evs.state is not State.CLOSED:  # it was still leaving
            self._close()
        member = Member(evs.member.position, life)
        identity = self.primary.identity
        restored = restored and identity is not None
        sequence = view_sequence(self._base) + 1 if restored else 0
        evs.mesh.reopen()
        evs.begin(member, identity)
        evs.connecting()
        self._forget_views()
        self._starting = True
        self._known.clear()
        own = self._known[member] = Peer(member, self._clock.now)
        self._base = view_number(sequence, member)
        evs.open(self._base, {member.position: own})
        evs.state = State.JOINING
        self._timers.arm(Timer.RETRANS)
        announce = self._clock.now + self._options.announce_timeout_s
        self._next_slice(partial(self._announce, member, announce, restored))

    def _next_slice(self, call: Callable[[None], object]) -> None:
        self._clock.at(self._clock.now + _SLICE_S, call)

    def _announce(self, member: Member, until_s: float, restored: bool, _: None) -> None:
        """At the end of a slice in which nobody was known yet (``PC::connect``)."""
        if self.evs.member != member or self.evs.state in {State.CLOSED, State.LEAVING}:
            return
        if self.primary.primary:  # it was told to begin the primary component
            self.evs.connect()
            return
        if len(self._known) <= 1 and self._clock.now <= until_s:
            self._send_join()
            self._next_slice(partial(self._announce, member, until_s, restored))
            return
        if self.evs.state is not State.OPERATIONAL:
            self._send_join(handle=True)
        if restored:
            self.evs.connect()
        else:
            until_s = self._clock.now + _WAIT_PRIMARY_S
            self._await_primary(member, until_s, None)

    def _await_primary(self, member: Member, until_s: float, _: None) -> None:
        if self.evs.member != member or self.evs.state in {State.CLOSED, State.LEAVING}:
            return
        if self.primary.primary:
            self.evs.connect()
        elif until_s < self._clock.now:
            self.give_up("failed to reach primary view")
        else:
            self._next_slice(partial(self._await_primary, member, until_s))

    def end_evicted(self) -> None:
        """End the group communication of a member that is banned (``gmcast_proto.cpp``).

        Its server goes on, for nobody, until it is started again as somebody else. A server that is
        still starting ends.
        """
        evs = self.evs
        me = evs.member.position
        left = tuple(
            p.member.position for p in evs.peers if p.member.life >= 0 and p.member != evs.member
        )
        self._note("evicted", ())
        starting = not evs.connected
        self._stop()
        self.primary.forget(Presence.LEFT)
        if starting:
            self.give_up("it is evicted from the group")
            return
        evs.tell(View(self._base, (me,), (), left, primary=False))
        self.shut_out()

    def _linger_ends(self, member: Member) -> None:
        if self.evs.member == member and self.evs.state is not State.CLOSED:
            self._close()
