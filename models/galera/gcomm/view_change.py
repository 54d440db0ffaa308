"""How one view of an EVS group follows another: the automaton of one member.

After Galera's gcomm (``gcomm/src/evs_proto.cpp``; the names are its own), with its timers.

OPERATIONAL
    A tick (``evs.inactive_check_period``) finds a member without progress for
    ``evs.suspect_timeout``, or a message comes from a stranger, or a join message: GATHER.
GATHER
    The output queue is sent, and the application has to wait. A join message tells all what this
    member knows and has. It is sent on entering, by the timer (``evs.join_retrans_period``), when
    another join message has changed what this member knows, but then not within 100 ms of the
    last and not if all agree already, and when all have everything that can be had. Messages of
    the old view still come and are acknowledged; missing ones are asked for. When the join
    messages of all operational members agree (``gcomm.consensus``), the first of them sends an
    install message.
INSTALL
    Whoever agrees with the install message tells all (commit gap), and when all have, tells that
    it knows (install gap). When all know, the rest of the old view is delivered, and the new one
    begins. A message of the new view says as much, unless its sender's own install gap has
    already come: then it is dropped, and asked for when the next one shows that it is missing.
LEAVING
    Who leaves tells all, and answers requests until an install message shows that it is gone.

When members vote somebody out who was delayed too often (``gcomm.delayed_list``), they begin a
change of the view at once, and their join messages say so.

When no view comes within ``evs.install_timeout``, whoever does not agree is taken for gone; at the
fourth time all are, and the member is isolated for a while; at the fifth it gives up.

Simplified: a member is known by its position, and may come back at the same position only when
the others have taken note that it was gone. The first join message of a member that starts is
lost, as none of its links is there yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from simrep.models.galera.gcomm.changing_evs import ChangingEvs, Peer, State
from simrep.models.galera.gcomm.delayed_list import DelayedList
from simrep.models.galera.gcomm.knowledge import Knowledge
from simrep.models.galera.gcomm.primary import Presence, PrimaryComponent, PrimaryOptions
from simrep.models.galera.gcomm.suspicion import MembershipOptions, Suspicion
from simrep.models.galera.gcomm.timers import Timer, Timers
from simrep.models.galera.gcomm.view import (
    NO_VIEW,
    EvsMessage,
    Member,
    view_number,
    view_sequence,
)
from simrep.models.galera.gcomm.view_messages import (
    DelayCounts,
    Install,
    Join,
    Leave,
    LivingMessage,
    ViewGap,
    ViewMessage,
)

__all__ = ["ViewChange"]

_JOIN_AGAIN_S = 0.1  # evs_proto.cpp join_rate_limit
_MISSED_TICKS = 3  # after so many periods without a tick nobody is accused


class ViewChange(Knowledge):
    """One member's part in changes of view.

    Parameters
    ----------
    evs : ChangingEvs
    size : int
        Members of the first view.
    options : MembershipOptions
    uniform : callable
        Random numbers from 0 to 1, for the phase and the drift of ticks.
    note : callable
        Called as ``note(what, positions)`` with what the member would write to its log, and with
        further words.
    primary : PrimaryOptions, optional
    """

    def __init__(
        self,
        evs: ChangingEvs,
        size: int,
        options: MembershipOptions,
        uniform: Callable[[], float],
        note: Callable[..., object],
        primary: PrimaryOptions | None = None,
    ) -> None:
        super().__init__(evs)
        self.closed: Callable[[], object] = _nothing  # called when it has left
        self.give_up: Callable[[str], object] = _nothing  # called with why it has to end
        self.shut_out: Callable[[], object] = _nothing  # called when it has ended: it is evicted
        self._options = options
        self._note = note
        self.primary = PrimaryComponent(evs, size, primary)
        self._suspicion = Suspicion(
            evs, self._known, options, lambda position: note("suspect", (position,))
        )
        self._delays = DelayedList(self, options, note) if options.auto_evict else None
        evs.automaton = self
        evs.begin(evs.member)
        now = self._clock.now
        for position in range(size):
            member = Member(position, 0)
            self._known[member] = Peer(member, now)
        self._forget_views()
        evs.open(0, {member.position: peer for member, peer in self._known.items()})
        self._timers = Timers(evs, options, uniform, self._tick, self._retransmit, self._expire)

    def _forget_views(self) -> None:
        if self._delays is not None:
            self._delays.clear()
        self._install: Install | None = None
        self._number = 0
        self._earlier.clear()
        self._gathered: set[int] = set()  # of those who are in this change
        self._joined_s = -inf  # when the last join message was sent
        self._highest = 0  # sequence number of any view, for the next one
        self._attempt = 1
        self._starting = False  # is alone in a view that was never there
        self._expired = 0  # install timers
        self._isolated_until_s = inf
        self._leaves = False  # as soon as the view is there
        self._ticked_s = self._clock.now

    # -- the end ----------------------------------------------------------------------------------

    def crash(self) -> None:
        """End without a word."""
        self._stop()
        self.primary.forget(Presence.CRASHED)

    def _begin_leaving(self) -> None:
        self._leaves = False
        self.evs.state = State.LEAVING
        self._timers.arm(*Timer)
        self._send_leave()
        if sum(peer.member.life >= 0 for peer in self.evs.peers) == 1:
            self._close()

    def _close(self) -> None:
        self._stop()
        self.primary.forget(Presence.LEFT)
        self.closed()

    def _stop(self) -> None:
        self._timers.stop()
        self._end_isolation()
        self.evs.stop()

    # -- what its timers do -----------------------------------------------------------------------

    def _tick(self) -> None:
        now, evs = self._clock.now, self.evs
        missed_s = _MISSED_TICKS * self._options.inactive_check_period_s
        if self._ticked_s + missed_s < now:
            self._ticked_s = now  # it stood still: nobody is accused
            return
        self._known[evs.member].progress_s = now
        silent = self._suspicion.look(now)
        self._ticked_s = now
        if self._delays is not None:
            silent |= self._delays.look(now)
        if silent and evs.state is State.OPERATIONAL:
            self._gather(send=True)
        elif silent and evs.state is State.LEAVING and self._operational() == [evs.member]:
            self._close()
        if self._isolated_until_s <= now:
            self._end_isolation()

    def _retransmit(self) -> None:
        evs, state, install = self.evs, self.evs.state, self._install
        if state is State.OPERATIONAL:
            evs.keepalive()
        elif state is State.LEAVING:
            self._send_leave()
            self._resend_missing()
        elif install is None:
            self._send_join(handle=True)
        else:
            if state is State.GATHER and install.sender == evs.member:
                evs.mesh.broadcast(replace(install, resent=True), install.size_bytes)
            self._tell_gap(install, commit=True)
            if state is State.INSTALL and evs.state is State.INSTALL:
                self._tell_gap(install, commit=False)

    def _expire(self) -> None:
        """No view has come in time."""
        others = [peer for member, peer in self._known.items() if member != self.evs.member]
        if self._expired > self._options.max_install_timeouts:
            self.give_up("no view after the last install timeout")
            return
        last = self._expired == self._options.max_install_timeouts
        for peer in others:
            if last or peer.join is None or not self._consensus.agrees(peer.join):
                peer.exclude()
        if last:
            isolation_s = self._options.suspect_timeout_s + self._options.inactive_timeout_s
            self._isolated_until_s = self._clock.now + isolation_s
            self.evs.isolate()
        if self._install is not None:
            for peer in others:
                if not peer.committed:
                    peer.exclude()
        self._gather(send=True)
        if self._consensus.reached() and self._speaks():
            self._propose()
        self._expired += 1

    def _end_isolation(self) -> None:
        self._isolated_until_s = inf
        self.evs.end_isolation()

    # -- GATHER ------------------------------------------------------------------------------------

    def _gather(self, *, send: bool) -> None:
        """Stop the view, or its installation; ``send`` a join message."""
        evs, before = self.evs, self.evs.state
        for peer in self._known.values():
            peer.committed = peer.installed = False
        self._drop_install()
        if before is State.OPERATIONAL:
            evs.flush()
        evs.state = State.GATHER
        if send:
            self._send_join()
        self._timers.arm(Timer.INACTIVITY)
        if before is State.OPERATIONAL or before is State.JOINING:
            self._timers.arm(Timer.RETRANS, Timer.INSTALL)

    def _drop_install(self) -> None:
        self._install = None
        self.evs.installing = False

    def _send_join(self, *, handle: bool = False) -> None:
        join = self._make_join()
        self._joined_s = self._clock.now
        for member, peer in self._known.items():
            if peer.operational and not peer.suspected:
                self.evs.allow(member.position)
        self.evs.mesh.broadcast(join, join.size_bytes)
        if handle:
            self._on_join(join, self._known[join.sender])

    def came_along(self) -> None:
        """Something of the old view has arrived in GATHER."""
        if self._consensus.reachable() == self.evs.aru and not self._consensus.reached():
            self._send_join(handle=True)

    def _on_join(self, join: Join, peer: Peer) -> None:
        evs, own = self.evs, join.sender == self.evs.member
        if evs.state is State.LEAVING:
            if join.base == self._base:
                peer.progress_s = self._clock.now
                peer.join = join
                if self._learn_reports(join):
                    self._send_leave()
                self._ask_for_missing()
            return
        if self._is_late(join.sender, join.base):
            return
        install = self._install
        if install is not None:
            if install.sender == join.sender:
                if join.base == install.proposed:
                    peer.progress_s = self._clock.now
                    if evs.state is not State.INSTALL:
                        return
                    self._enter(install)
                    if self._is_leaving():
                        return
                self._gather(send=False)
            elif self._consensus.agrees(install):
                return
            else:
                self._gather(send=False)
        elif evs.state is not State.GATHER:
            self._gather(send=False)
        in_view = evs.peers[join.source] is peer
        if in_view and view_sequence(join.base) > view_sequence(self._base):
            peer.exclude()  # it has gone on without this member
            return
        for member, state in join.nodes.items():
            self._gathered.add(state.view)
            if member not in self._known:
                self._known[member] = Peer(member, self._clock.now)
        self._suspicion.exclude_evicted(join.evicted)
        told = join.nodes.get(evs.member)
        if told is not None:
            if told.operational:
                peer.progress_s = self._clock.now
            else:
                peer.exclude()  # whom it excludes excludes it
        peer.join = join
        same = {member: s for member, s in join.nodes.items() if s.view == self._base}
        if not own and join.base == self._base:
            self._learn_reports(join)
            evs.complete_to(max(state.high for state in same.values()))
        self._ask_for_missing()
        self._repeat_leaves(same)
        if not own:
            self._suspicion.listen(same)
        self._exclude_asymmetric()
        current = self._known[evs.member].join
        if (
            current is None
            or (current.aru, current.safe) != (evs.aru, evs.safe)
            or current.nodes != self._states()
        ):
            self._make_join()
            if not self._consensus.reached() and self._clock.now >= self._joined_s + _JOIN_AGAIN_S:
                self._send_join()
        if self._consensus.reached() and self._speaks():
            self._propose()

    def _is_leaving(self) -> bool:
        return self.evs.state in {State.LEAVING, State.CLOSED}

    def _exclude_asymmetric(self) -> None:
        options = self._options
        left_s = self._timers.left_s(Timer.INSTALL)
        if left_s <= options.install_timeout_s - options.suspect_timeout_s:
            self._suspicion.exclude_asymmetric()

    # -- LEAVING -----------------------------------------------------------------------------------

    def _send_leave(self) -> None:
        evs = self.evs
        if evs.last_sent == -1 and not evs.queued:
            evs.keepalive()
        evs.flush()
        leave = Leave(*self.signature(), evs.last_sent, evs.aru)
        evs.mesh.broadcast(leave, leave.size_bytes)

    def _on_leave(self, leave: Leave, peer: Peer) -> None:
        evs = self.evs
        peer.leave = leave
        peer.operational = False
        if leave.base != self._base or self._is_late(leave.sender, leave.base):
            return
        at = leave.source
        before = evs.reported(at)
        if evs.note_reported(at, leave.aru):
            peer.progress_s = self._clock.now
        if evs.state is State.OPERATIONAL:
            self._gather(send=True)
        elif evs.state is State.GATHER and before != evs.reported(at):
            self._send_join(handle=True)

    # -- INSTALL -----------------------------------------------------------------------------------

    def _propose(self) -> None:
        evs = self.evs
        bases = [peer.join.base for peer in self._known.values() if peer.operational and peer.join]
        self._highest = max(self._highest, *map(view_sequence, bases))
        proposed = view_number(self._highest + self._attempt, evs.member)
        self._attempt += 1
        nodes, evicted = self._states(), frozenset(evs.evicted)
        install = Install(*self.signature(), evs.safe, evs.aru, nodes, evicted, proposed)
        evs.mesh.broadcast(install, install.size_bytes)
        self._on_install(install, self._known[evs.member])

    def _on_install(self, install: Install, peer: Peer) -> None:
        evs = self.evs
        mine = install.nodes.get(evs.member)
        here = mine is not None and mine.operational
        if evs.state is State.LEAVING:
            if mine is not None and (not mine.operational or mine.leaving):
                self._close()
            return
        if (
            evs.state is State.OPERATIONAL
            or not peer.operational
            or self._is_late(install.sender, install.base)
        ):
            return
        current = self._install
        if current is not None:
            if install.sender == current.sender:
                if view_sequence(install.proposed) <= view_sequence(current.proposed):
                    return
                for known in self._known.values():
                    known.committed = known.installed = False
                self._drop_install()
            else:
                if here:
                    self._gather(send=True)
                return
        elif peer.installed:
            self._gather(send=True)
            return
        if install.sender != evs.member:
            base = install.nodes[install.sender].view
            self._on_join(
                Join(
                    install.sender, install.number, base, install.safe, install.aru,
                    install.nodes, install.evicted,
                ),
                peer,
            )  # fmt: skip
        if not here or self._install is not None:
            return
        strangers = [
            member
            for member, known in self._known.items()
            if member not in install.nodes and evs.peers[member.position] is not known
        ]
        for member in strangers:
            del self._known[member]
        if strangers:
            self._make_join()
        if self._consensus.agrees(install):
            peer.progress_s = self._clock.now
            self._install = install
            evs.installing = True
            self._tell_gap(install, commit=True)
        else:
            self._gather(send=True)

    def _tell_gap(self, install: Install, *, commit: bool) -> None:
        evs = self.evs
        gap = ViewGap(evs.member, self._next_number(), install.proposed, install.number, commit)
        evs.mesh.broadcast(gap, gap.size_bytes)
        self._on_gap(gap, self._known[evs.member])

    def _on_gap(self, gap: ViewGap, peer: Peer) -> None:
        install, state = self._install, self.evs.state
        if install is None or install.proposed != gap.proposed:
            return
        if not gap.commit:
            self._on_installed(peer)
        elif state is State.GATHER and install.number == gap.install:
            peer.committed = True
            peer.progress_s = self._clock.now
            if self._all("committed"):
                self._shift_to_install()
                self._tell_gap(install, commit=False)
        elif state is State.GATHER and install.number < gap.install:
            self._gather(send=True)  # the install message was repeated, this one is out of date

    def _on_installed(self, peer: Peer) -> None:
        """A member knows that all have accepted the install message."""
        install = self._install
        if install is None or self.evs.state is not State.INSTALL:
            return
        peer.installed = True
        peer.progress_s = self._clock.now
        if self._all("installed"):
            self._enter(install)

    def _all(self, what: str) -> bool:
        assert self._install is not None
        return all(
            getattr(peer, what)
            for member, peer in self._known.items()
            if peer.operational and member in self._install.nodes
        )

    def _shift_to_install(self) -> None:
        self.evs.state = State.INSTALL
        self._timers.arm(Timer.INACTIVITY, Timer.RETRANS)

    # -- OPERATIONAL -------------------------------------------------------------------------------

    def _enter(self, install: Install) -> None:
        """End the old view and begin the new one."""
        evs, base = self.evs, self._base
        old = [peer.member for peer in evs.peers if peer.member.life >= 0]
        nodes = install.nodes
        if not self._starting:
            same = [m for m in old if m in nodes and nodes[m].view == base]
            self.primary.transitional(
                [member.position for member in same if nodes[member].operational],
                [member.position for member in same if nodes[member].leaving],
            )
        self._starting = False
        evs.finish({m.position: state.high for m, state in nodes.items() if state.view == base})
        self._earlier |= self._gathered - {NO_VIEW}
        self._earlier.add(base)
        self._gathered.clear()
        members = tuple(sorted(m for m, state in nodes.items() if state.operational))
        for member in [m for m in self._known if m not in members]:
            del self._known[member]
        for peer in self._known.values():
            peer.join = None
        self._drop_install()
        self._base = install.proposed
        self._attempt, self._expired = 1, 0
        self._highest = max(self._highest, view_sequence(install.proposed))
        evs.open(install.proposed, {m.position: self._known[m] for m in members})
        evs.state = State.OPERATIONAL
        positions = tuple(member.position for member in members)
        self._note("stable", positions)
        evs.settle(positions, [m.position for m in old if m in nodes and nodes[m].leaving])
        self._timers.arm(Timer.INACTIVITY, Timer.RETRANS, Timer.INSTALL)
        self.primary.regular(install.proposed, members)
        evs.acknowledge()
        if evs.state is State.OPERATIONAL and self._leaves:
            self._begin_leaving()

    # -- messages ----------------------------------------------------------------------------------

    def outside(self, message: Any) -> None:
        """Take whatever is not of the present view."""
        if self.evs.state is State.CLOSED:
            return
        if isinstance(message, EvsMessage):
            self._on_message_of_another_view(message)
        elif isinstance(message, ViewMessage):
            self._on_view_message(message)

    def _on_view_message(self, message: ViewMessage) -> None:
        peer = self._known.get(message.sender)
        if peer is None:
            if not isinstance(message, Leave):
                base = getattr(message, "base", NO_VIEW)
                self._on_stranger(message.sender, base, message)
            return
        if message.sender == self.evs.member:
            return
        resent = getattr(message, "resent", False)
        if not resent:
            peer.heard_s = self._clock.now
        base = getattr(message, "base", NO_VIEW)
        leaving_too = self.evs.state is State.LEAVING and base == self._base
        if not (peer.operational or peer.leave or resent or leaving_too):
            return
        if not resent:
            if message.number <= peer.number:
                return
            peer.number = message.number
        if isinstance(message, Install):
            self._on_install(message, peer)
        elif isinstance(message, Join):
            self._on_join(message, peer)
        elif isinstance(message, Leave):
            self._on_leave(message, peer)
        elif isinstance(message, ViewGap):
            self._on_gap(message, peer)
        elif isinstance(message, DelayCounts) and self._delays is not None:
            evicts = self._delays.take(message, peer)
            if evicts and self.evs.state is State.OPERATIONAL:
                self._gather(send=True)

    def _on_message_of_another_view(self, message: EvsMessage) -> None:
        assert isinstance(message, LivingMessage)
        source = Member(message.source, message.life)
        peer = self._known.get(source)
        if peer is None:
            self._on_stranger(source, message.view, None)
            return
        if not message.resent:
            peer.heard_s = self._clock.now
        install = self._install
        if not peer.operational or install is None or install.proposed != message.view:
            return
        if message.last < 0:
            self._on_installed(peer)
        elif not peer.installed and self.evs.state is not State.LEAVING:
            # Its sender is there, so that all have accepted, and know it.
            if self.evs.state is State.GATHER:
                self._shift_to_install()
            self._enter(install)
            if self.evs.view == message.view:
                self.evs.receive(message)

    def _on_stranger(self, source: Member, view: int, message: ViewMessage | None) -> None:
        """``handle_foreign``."""
        evs = self.evs
        if self._install is not None or self._is_late(source, view):
            return
        if any(member.position == source.position for member in self._known):
            return
        if evs.state is State.JOINING and not (
            isinstance(message, Join) and evs.member in message.nodes
        ):
            return
        if evs.state is State.LEAVING:
            return
        peer = self._known[source] = Peer(source, self._clock.now)
        self._gather(send=False)
        self._timers.arm(Timer.INSTALL)
        if isinstance(message, Join):
            peer.join = message
            peer.number = message.number
        self._send_join(handle=True)


def _nothing(*_: object) -> None:
    pass
