"""Delays of the members of an EVS group, and who is evicted for them (``evs.auto_evict``).

At every tick a member looks from whom it has heard nothing for ``evs.keepalive_period`` and
``evs.delay_margin``. Every message of the other one counts that is not sent again. Such a member is
delayed, and its count rises by one when it begins to be so. For each ``evs.delayed_keep_period``
without a delay the count falls by one; at 0 it is forgotten. While any count is above 0, a member
tells its counts to all others at every tick, whether somebody is delayed then or not.

Everybody counts these lists. A member is voted out when more than half of the members of the view
tell a count above 1, and one of them ``evs.auto_evict`` or more. If it is not in the view, more
than half of all those must do so that are known. Lists count for ``evs.delayed_keep_period``, and
not for a member that is on them itself.

Who is voted out is in no view any more, and no link to it is accepted, until its server starts as
somebody else: see ``ViewChange``, ``Gmcast`` and ``Participant``.

Simplified: nobody is taken back after a day (``evs.view_forget_timeout``).

References
----------
codership/galera 26.4.18: ``gcomm/src/evs_proto.cpp`` (``check_inactive``, ``send_delayed_list``,
``handle_delayed_list``), ``evs_proto.hpp`` (``DelayedEntry``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from simrep.models.galera.gcomm.changing_evs import Peer
from simrep.models.galera.gcomm.knowledge import Knowledge
from simrep.models.galera.gcomm.suspicion import MembershipOptions
from simrep.models.galera.gcomm.view import Life
from simrep.models.galera.gcomm.view_messages import DelayCounts

__all__ = ["DelayedList"]

_MOST = 255  # counts travel in a byte


class _Delays:
    """Of one member."""

    __slots__ = ("count", "now", "since_s")

    def __init__(self, now_s: float) -> None:
        self.count = 1
        self.now = True  # it is delayed
        self.since_s = now_s  # when it was delayed last, or the count fell


class DelayedList:
    """What one member keeps of the delays of others.

    Parameters
    ----------
    knowledge : Knowledge
        Of the same member.
    options : MembershipOptions
    note : callable
        Called as ``note("delayed", (position,), words)`` when a delay begins, and as
        ``note("evicts", (position,))``.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        options: MembershipOptions,
        note: Callable[..., object],
    ) -> None:
        self._evs = knowledge.evs
        self._knowledge = knowledge
        self._known = knowledge.known
        self._options = options
        self._silence_s = options.keepalive_period_s + options.delay_margin_s
        self._note = note
        self._delays: dict[Life, _Delays] = {}

    def clear(self) -> None:
        """Begin as a process that knows nothing."""
        self._delays.clear()

    def look(self, now_s: float) -> bool:
        """Look at the clock (a tick), and tell the others; whether somebody is evicted by that."""
        tells = False
        for member, peer in self._known.items():
            if member == self._evs.member:
                continue
            identity = self._evs.identity(member)
            delays = self._delays.get(identity)
            if peer.heard_s + self._silence_s <= now_s:
                self._ask_for_rest(peer)
                tells |= self._begin_or_last(identity, delays, now_s)
            elif delays is not None:
                tells |= self._passes(delays, now_s)
        self._forget(now_s)
        return tells and self._tell()

    def _tell(self) -> bool:
        evs = self._evs
        counts = {identity: delays.count for identity, delays in self._delays.items()}
        message = DelayCounts(*self._knowledge.signature(), counts)
        evs.mesh.broadcast(message, message.size_bytes)
        return self.take(message, self._known[evs.member])

    def take(self, message: DelayCounts, peer: Peer) -> bool:
        """Take the list of a member (``handle_delayed_list``); whether somebody is evicted."""
        peer.told = (self._evs.clock.now, message)
        voted_out = self._voted_out()
        for identity in voted_out:
            self._note("evicts", (identity[0],))
            self._evs.evict(identity)
        return bool(voted_out)

    def _ask_for_rest(self, peer: Peer) -> None:
        """Ask a member of the view for what it has not covered of what others have sent."""
        evs, at = self._evs, peer.member.position
        if evs.peers[at] is peer:
            evs.ask(peer, at, evs.low(at), evs.last_sent)

    def _begin_or_last(self, identity: Life, delays: _Delays | None, now_s: float) -> bool:
        if delays is None:
            delays = self._delays[identity] = _Delays(now_s)
            self._note("delayed", (identity[0],))
            return False
        if not delays.now:
            delays.now = True
            delays.count = min(delays.count + 1, _MOST)
            self._note("delayed", (identity[0],), f"{delays.count} times")
        delays.since_s = now_s
        return delays.count > 0

    def _passes(self, delays: _Delays, now_s: float) -> bool:
        delays.now = False
        if delays.count > 0 and delays.since_s + self._options.delayed_keep_period_s < now_s:
            delays.count -= 1
            delays.since_s = now_s
        return delays.count > 0

    def _forget(self, now_s: float) -> None:
        evs = self._evs
        here = self._in_view()
        for identity, delays in [*self._delays.items()]:
            over = delays.count == 0 and not delays.now
            if over or (identity in evs.evicted and identity not in here):
                del self._delays[identity]
        for peer in self._known.values():
            if peer.told is not None and self._is_old(peer.told[0], now_s):
                peer.told = None

    def _in_view(self) -> set[Life]:
        peers = self._evs.peers
        return {self._evs.identity(peer.member) for peer in peers if peer.member.life >= 0}

    def _is_old(self, at_s: float, now_s: float) -> bool:
        return at_s + self._options.delayed_keep_period_s < now_s

    def _voted_out(self) -> list[Life]:
        evs, now_s = self._evs, self._evs.clock.now
        me = evs.identity(evs.member)
        votes: Counter[Life] = Counter()
        enough = set()
        for peer in self._known.values():
            if peer.told is None or self._is_old(peer.told[0], now_s):
                continue
            counts = peer.told[1].counts
            if me in counts:
                continue
            votes.update(identity for identity, count in counts.items() if count > 1)
            enough |= {
                identity
                for identity, count in counts.items()
                if count > 1 and count >= self._options.auto_evict
            }
        here = self._in_view()
        return sorted(
            identity
            for identity in enough - evs.evicted
            if (identity in here and votes[identity] > len(here) // 2)
            or votes[identity] > len(self._known) // 2
        )
