"""A member of a Galera group without data: the arbitrator daemon, ``garbd``."""

from __future__ import annotations

from typing import Any

from simrep.modelling import Parts
from simrep.models.galera.gcomm.view import View

from .group import GroupMember
from .member_states import MemberStates, Report
from .state_exchange import StateExchange
from .writeset import Kind

__all__ = ["Arbitrator"]


class Arbitrator:
    """The process of an arbitrator.

    It is a full member of the group communication: nothing is delivered before it has received it,
    its weight counts in the quorum, and flow control counts it among the members. It receives every
    writeset and drops it, but knows how many there were: servers that have less, and come back when
    only the arbitrator is there, wait for one that can give them the rest. It never stops the
    others, gives no state to anybody, and nobody waits for it to commit.

    Parameters
    ----------
    parts : Parts
    member : GroupMember
    ordered_views : bool
        Primary views take a sequence number.
    anew : bool
        It has just been started, and knows nothing.

    References
    ----------
    codership/galera ``garb/garb_recv_loop.cpp``, ``garb_gcs.cpp``.
    """

    def __init__(
        self, parts: Parts, member: GroupMember, *, ordered_views: bool, anew: bool = False
    ) -> None:
        self._index = parts.index
        cluster = parts.cluster
        self._timeline = cluster.timeline
        self._states = MemberStates(
            self._index,
            cluster.segments,
            ordered_views=ordered_views,
            arbitrators=cluster.arbitrators,
        )
        if anew:
            self._states.start(0, 0)
        member.group.on_deliver(self._drop)
        if isinstance(member.group, StateExchange):
            member.group.on_view(self._see)
            member.group.on_report(self._report)
            member.group.on_quorum(self._states.has_quorum)

    def _drop(self, _: int, message: Any) -> None:
        if message.kind == Kind.WRITESET:
            self._states.position += 1

    def _report(self) -> Report:
        return self._states.report(None)

    def _see(self, view: View) -> None:
        if self._timeline is not None:
            what = "primary" if view.primary else "non-primary"
            self._timeline.note(self._index, what, view.members)
        if view.primary:
            self._states.change(view)
