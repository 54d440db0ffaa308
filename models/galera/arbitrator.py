"""A member of a Galera group without data: the arbitrator daemon, ``garbd``."""

from __future__ import annotations

from typing import Any

from simrep.modelling import Parts
from simrep.models.galera.gcomm.view import View

from .group import GroupMember

__all__ = ["Arbitrator"]


class Arbitrator:
    """The process of an arbitrator.

    It is a full member of the group communication: nothing is delivered before it has received it,
    its weight counts in the quorum, and flow control counts it among the members. It receives every
    writeset, and drops it. It never stops the others, gives no state to anybody, and nobody waits
    for it to commit.

    References
    ----------
    codership/galera ``garb/garb_recv_loop.cpp``.
    """

    def __init__(self, parts: Parts, member: GroupMember) -> None:
        self._index = parts.index
        self._timeline = parts.cluster.timeline
        member.group.on_deliver(self._drop)
        member.group.on_view(self._see)

    def _drop(self, sender: int, message: Any) -> None:
        pass

    def _see(self, view: View) -> None:
        if self._timeline is not None:
            what = "primary" if view.primary else "non-primary"
            self._timeline.note(self._index, what, view.members)
