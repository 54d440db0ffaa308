"""When members of an EVS group agree on what each knows and has, so that a view can be installed.

After Galera's gcomm (``gcomm/src/evs_consensus.cpp``). A member compares its own join message, what
it knows and what it has received with the join message of every member that it takes for
operational. Consensus means that all of them are operational for all of them, come from the views
that all think they come from, and that those from the same view have received the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from simrep.models.galera.gcomm.changing_evs import ChangingEvs, Peer
from simrep.models.galera.gcomm.view import Member
from simrep.models.galera.gcomm.view_messages import Join, NodeState

__all__ = ["Consensus"]

States = Iterable[tuple[Member, NodeState]]


class Consensus:
    """Of one member.

    Parameters
    ----------
    evs : ChangingEvs
    known : mapping of Member to Peer
        All that it knows, itself included.
    base : callable
        The number of the view that it is in or comes from.
    """

    def __init__(
        self, evs: ChangingEvs, known: Mapping[Member, Peer], base: Callable[[], int]
    ) -> None:
        self._evs = evs
        self._known = known
        self._base = base

    def reached(self) -> bool:
        """Whether all operational members agree with this one."""
        own = self._known[self._evs.member].join
        if own is None or not self._fits_what_is_here(own):
            return False
        return all(
            peer.join is not None and self.agrees(peer.join)
            for peer in self._known.values()
            if peer.operational
        )

    def agrees(self, join: Join) -> bool:
        """Whether a join or install message says the same as one's own join message."""
        own = self._known[self._evs.member].join
        if own is None:
            return False
        if join.base == self._base() and not self._fits_what_is_here(join):
            return False
        return _equal(join, own)

    def reachable(self) -> int:
        """Up to where all that stay can have everything (``highest_reachable_safe_seq``)."""
        evs, base = self._evs, self._base()
        numbers = []
        for member, peer in self._known.items():
            join, leave = peer.join, peer.leave
            at = member.position
            from_here = evs.peers[at] is peer
            if not (
                (join is None and from_here)
                or (join is not None and join.base == base)
                or (leave is not None and leave.base == base)
            ):
                continue
            if leave is not None:
                if not self.all_suspect(member):
                    numbers.append(leave.last_sent)
            elif not peer.operational:
                numbers.append(min(evs.reported(at), evs.low(at) - 1))
            else:
                numbers.append(evs.high(at))
        return min(numbers)

    def all_suspect(self, member: Member) -> bool:
        """Whether all operational members suspect it in their join messages."""
        for peer in self._known.values():
            if peer.operational:
                state = peer.join and peer.join.nodes.get(member)
                if not state or not state.suspected:
                    return False
        return True

    def _safe_without_suspected_leavers(self) -> int:
        evs = self._evs
        return min(
            evs.reported(member.position)
            for member, peer in self._known.items()
            if evs.peers[member.position] is peer
            and (peer.operational or peer.leave is None or not self.all_suspect(member))
        )

    def _fits_what_is_here(self, join: Join) -> bool:
        """``is_consistent_same_view``: it tells of the view of this member what this one sees."""
        evs, base = self._evs, self._base()
        if join.aru != evs.aru or join.safe != evs.safe:
            return False
        theirs = {member: state for member, state in join.nodes.items() if state.view == base}
        peers = evs.peers
        ours = {m: peer for m, peer in self._known.items() if peers[m.position] is peer}
        if theirs.keys() != ours.keys():
            return False
        for member, peer in ours.items():
            state = theirs[member]
            if (state.low, state.high) != self.range_of(peer):
                return False
            # The same have gone, in the same way.
            if state.operational != peer.operational:
                return False
            if not peer.operational and state.leaving != (peer.leave is not None):
                return False
        return self._fits_what_is_reachable(theirs)

    def _fits_what_is_reachable(self, theirs: Mapping[Member, NodeState]) -> bool:
        """``is_consistent_highest_reachable_safe_seq``."""
        evs = self._evs
        present = [s.high for s in theirs.values() if s.operational and not s.leaving]
        if not present:
            return False
        highest = max(present)
        numbers = [highest]
        for member, state in theirs.items():
            if state.operational:
                continue
            if not state.leaving:
                numbers += [state.safe, state.low - 1]
            elif not self.all_suspect(member):
                numbers.append(state.leave)
        reachable = min(numbers)
        return (
            evs.max_seen == highest
            and self.reachable() == reachable
            and self._safe_without_suspected_leavers() == reachable
        )

    def range_of(self, peer: Peer) -> tuple[int, int]:
        """Lowest number not received from a member of the view, and highest received.

        What was received of a member that is gone, after a number that nobody may have, does not
        count.
        """
        at = peer.member.position
        low = self._evs.low(at)
        if peer.operational or peer.leave is not None:
            return low, self._evs.high(at)
        return low, low - 1


def _equal(join: Join, own: Join) -> bool:
    if join.base == own.base and (join.safe, join.aru) != (own.safe, own.aru):
        return False
    if join.sender == own.sender:
        return _of_view(join) == _of_view(own)
    return _operational(join) == _operational(own)


def _of_view(join: Join) -> dict[Member, NodeState]:
    return {member: state for member, state in join.nodes.items() if state.view == join.base}


def _operational(join: Join) -> dict[Member, NodeState]:
    return {
        member: state
        for member, state in join.nodes.items()
        if state.operational and not state.leaving
    }
