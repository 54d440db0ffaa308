"""Whom a member of an EVS group takes for gone: by its own clock, and by what others tell.

After Galera's gcomm (``gcomm/src/evs_proto.cpp``: ``check_inactive``, ``check_suspects``,
``cross_check_inactives``, ``asymmetry_elimination``, ``check_unseen``, ``check_nil_view_id``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from simrep.models.galera.gcomm.changing_evs import ChangingEvs, Peer
from simrep.models.galera.gcomm.view import NO_VIEW, Life, Member
from simrep.models.galera.gcomm.view_messages import Join, NodeState

__all__ = ["MembershipOptions", "Suspicion"]


@dataclass(frozen=True, slots=True)
class MembershipOptions:
    """Timers of a member, in seconds, with the provider's defaults (``defaults.cpp``)."""

    suspect_timeout_s: float = 5.0
    inactive_timeout_s: float = 15.0
    inactive_check_period_s: float = 0.5
    keepalive_period_s: float = 1.0
    join_retrans_period_s: float = 1.0
    install_timeout_s: float = 7.5  # half of the inactive timeout
    max_install_timeouts: int = 3
    auto_evict: int = 0  # never
    delay_margin_s: float = 1.0
    delayed_keep_period_s: float = 30.0
    announce_timeout_s: float = 3.0
    linger_s: float = 20.0


class Suspicion:
    """Of one member, of all that it knows.

    Parameters
    ----------
    evs : ChangingEvs
    known : dict of Member to Peer
    options : MembershipOptions
    note : callable
        Called as ``note(position)`` when a member begins to be suspected.
    """

    def __init__(
        self,
        evs: ChangingEvs,
        known: dict[Member, Peer],
        options: MembershipOptions,
        note: Callable[[int], object],
    ) -> None:
        self._evs = evs
        self._known = known
        self._options = options
        self._note = note

    def _others(self) -> list[Peer]:
        me = self._evs.member
        return [peer for member, peer in self._known.items() if member != me]

    def _in_view(self, peer: Peer) -> bool:
        return self._evs.peers[peer.member.position] is peer

    def look(self, now_s: float) -> bool:
        """Look at the clock: mark who is silent; whether there is somebody (a tick)."""
        options, suspected, silent = self._options, 0, False
        for peer in self._others():
            age_s = now_s - peer.progress_s
            was, peer.suspected = peer.suspected, age_s > options.suspect_timeout_s
            peer.inactive = age_s > options.inactive_timeout_s
            if not peer.suspected and not peer.inactive:
                continue
            silent = True
            if peer.suspected and not was and peer.operational:
                self._note(peer.member.position)
            if peer.inactive:
                peer.exclude()
            elif peer.operational:
                suspected += 1
                if peer.join is None:
                    peer.exclude()
        if len(self._known) > 2 and suspected + 1 == len(self._known):
            for peer in self._others():
                peer.exclude()
        return silent

    def listen(self, nodes: Mapping[Member, NodeState]) -> None:
        """Take over what the members of a join message's view tell of each other."""
        members = sum(1 for peer in self._evs.peers if peer.member.life >= 0)
        for member, state in nodes.items():
            peer = self._known[member]
            if member == self._evs.member or not state.suspected or not peer.operational:
                continue
            votes = sum(
                other.join is not None
                and other.member != member
                and self._in_view(other)
                and (told := other.join.nodes.get(member)) is not None
                and told.suspected
                for other in self._known.values()
            )
            if votes > members // 2:
                peer.exclude()
        for member, state in nodes.items():
            if not state.operational and member != self._evs.member:
                peer = self._known[member]
                if peer.suspected:
                    peer.exclude()
        self._exclude_unseen()
        self._exclude_unplaced()

    def exclude_evicted(self, evicted: Collection[Life]) -> None:
        """Whoever is evicted for the sender of a join message; not this member itself."""
        evs = self._evs
        for identity in evicted:
            if identity != evs.identity(evs.member):
                evs.evict(identity)
        for peer in self._others() if evicted else ():
            if evs.identity(peer.member) in evicted:
                peer.exclude()

    def _exclude_unseen(self) -> None:
        """Whoever has sent this member nothing, and is gone for all that have seen it."""
        for peer in self._others():
            if self._in_view(peer) or peer.join is not None or not peer.operational:
                continue
            told = []
            for other in self._others():
                if other.join is None:
                    continue
                for member, state in other.join.nodes.items():
                    known = self._known.get(member)
                    if known is None or (state.operational and known.join is None):
                        return
                told_state = other.join.nodes.get(peer.member)
                if told_state is not None and told_state.view != NO_VIEW:
                    told.append(told_state.operational)
            if told and not any(told):
                peer.exclude()

    def _exclude_unplaced(self) -> None:
        """Whoever is suspected by all, and comes from no view that they know."""
        joins = [peer.join for peer in self._known.values() if peer.join is not None]
        counts = Counter(
            member
            for join in joins
            for member, state in join.nodes.items()
            if state.view == NO_VIEW and state.suspected
        )
        for member, count in counts.items():
            peer = self._known.get(member)
            if peer is None or member == self._evs.member:
                continue
            if count == len(joins) and peer.operational:
                peer.exclude()

    def exclude_asymmetric(self) -> None:
        """Whoever does not reach one of those whom this member reaches."""
        joins: list[Join] = []
        for peer in self._known.values():
            if not peer.operational:
                continue
            if peer.join is None:
                if peer.member != self._evs.member:
                    peer.exclude()
            elif (own := peer.join.nodes.get(self._evs.member)) and own.operational:
                joins.append(peer.join)
        gone = {m for join in joins for m, state in join.nodes.items() if not state.operational}
        for member in gone - {self._evs.member}:
            if member in self._known and self._known[member].operational:
                self._known[member].exclude()
