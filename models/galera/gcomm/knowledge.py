"""What a member of an EVS group knows of all, and how it gets what it lacks of the old view.

After Galera's gcomm (``gcomm/src/evs_proto.cpp``: ``populate_node_list``, ``create_join``,
``request_missing``, ``retrans_missing``, ``retrans_leaves``, ``is_msg_from_previous_view``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simrep.models.galera.gcomm.changing_evs import ChangingEvs, Peer
from simrep.models.galera.gcomm.consensus import Consensus
from simrep.models.galera.gcomm.view import NO_VIEW, Member, view_sequence
from simrep.models.galera.gcomm.view_messages import Join, NodeState

__all__ = ["Knowledge"]


class Knowledge:
    """Of one member."""

    def __init__(self, evs: ChangingEvs) -> None:
        self.evs = evs
        self._clock = evs.clock
        self._known: dict[Member, Peer] = {}
        self._base = 0  # the view that it is in or comes from
        self._number = 0  # of the last message that was sent
        self._earlier: set[int] = set()  # views that were, of any part
        self._consensus = Consensus(evs, self._known, lambda: self._base)

    def _operational(self) -> list[Member]:
        return sorted(member for member, peer in self._known.items() if peer.operational)

    def _speaks(self) -> bool:
        """Whether this is the first of the operational members."""
        return min(
            member
            for member, peer in self._known.items()
            if peer.operational and not peer.inactive
        ) == self.evs.member  # fmt: skip

    @property
    def known(self) -> Mapping[Member, Peer]:
        """Every member that it knows, itself included."""
        return self._known

    def signature(self) -> tuple[Member, int, int]:
        """What its next message begins with: who sends it, its number, the view of the sender."""
        return self.evs.member, self._next_number(), self._base

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _states(self) -> dict[Member, NodeState]:
        """What this member knows of all (``populate_node_list``)."""
        return {member: self._state(self._known[member]) for member in sorted(self._known)}

    def _state(self, peer: Peer) -> NodeState:
        evs, base, at = self.evs, self._base, peer.member.position
        own = peer.member == evs.member
        leave = -1
        view = base if own or evs.peers[at] is peer else NO_VIEW
        if not own and peer.join is not None:
            view = peer.join.base
            if view != base:
                told = peer.join.nodes[peer.member]
                return NodeState(
                    peer.operational, peer.suspected, -1, view, told.safe, told.low, told.high
                )
        elif not own and peer.leave is not None:
            leave, view = peer.leave.last_sent, peer.leave.base
        operational, suspected = (True, False) if own else (peer.operational, peer.suspected)
        if view != base:
            return NodeState(operational, suspected, leave, view, -1, -1, -1)
        low, high = self._consensus.range_of(peer)
        return NodeState(operational, suspected, leave, view, evs.reported(at), low, high)

    def _make_join(self) -> Join:
        evs = self.evs
        nodes, evicted = self._states(), frozenset(evs.evicted)
        join = Join(*self.signature(), evs.safe, evs.aru, nodes, evicted)
        self._known[evs.member].join = join
        return join

    def _is_late(self, source: Member, view: int) -> bool:
        """Whether a message comes from a view that was (``is_msg_from_previous_view``)."""
        if view in self._earlier:
            return True
        peer = self.evs.peers[source.position]
        return peer.member == source and view_sequence(view) < view_sequence(self._base)

    def _learn_reports(self, join: Join) -> bool:
        """Take over who of the own view has told that it has what."""
        news = False
        for member, state in join.nodes.items():
            if state.view == self._base and self.evs.note_reported(member.position, state.safe):
                news = True
        return news

    def _ask_for_missing(self) -> None:
        """``request_missing``: of members that are gone, from the one that has most."""
        evs = self.evs
        for member, peer in self._known.items():
            at = member.position
            if member == evs.member or evs.peers[at] is not peer:
                continue
            low, high = evs.low(at), evs.high(at)
            if low > high >= evs.last_sent:
                continue
            if peer.leave is not None and peer.leave.last_sent <= high:
                continue
            if peer.operational:
                evs.ask(peer, at, low, evs.last_sent)
                continue
            best, most = None, -1
            for other in self._known.values():
                join = other.join
                if (
                    other.operational
                    and other.member != evs.member
                    and join is not None
                    and join.base == self._base
                    and join.nodes[member].low > most
                ):
                    best, most = other, join.nodes[member].low
            if best is not None:
                evs.ask(best, at, low, most - 1)

    def _resend_missing(self) -> None:
        """``retrans_missing``: what others lack of this member's messages."""
        evs = self.evs
        me = evs.member.position
        for member, peer in self._known.items():
            if member == evs.member:
                continue
            join, leave = peer.join, peer.leave
            if join is not None and join.base == self._base and evs.member in join.nodes:
                evs.resend(member.position, me, join.nodes[evs.member].low, evs.last_sent)
            if leave is not None and leave.base == self._base and leave.aru < evs.last_sent:
                evs.resend(member.position, me, leave.aru + 1, evs.last_sent)

    def _repeat_leaves(self, nodes: dict[Member, NodeState]) -> None:
        for member, peer in self._known.items():
            if peer.leave is not None and not peer.inactive:
                state = nodes.get(member)
                if state is None or not state.leaving:
                    again = replace(peer.leave, resent=True)
                    self.evs.mesh.broadcast(again, again.size_bytes)
