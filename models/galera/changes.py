"""Servers of a Galera cluster that crash, leave and come back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simrep.modelling import Change, Cluster
from simrep.models.galera.gcomm.membership import Membership

from .certifier import NodeState
from .group import GroupMember
from .options import GaleraOptions
from .server import GaleraServer
from .writeset import Control, Kind

__all__ = ["Changes"]


class Changes:
    """Membership of the servers of a cluster.

    A server that comes back gets the state of the first node that has it: as of the view in which
    it is there, and after the time that the transfer takes; of another one, if that goes before.
    It re-applies the fragments of open streaming transactions, then everything that was ordered
    meanwhile; when it has caught up it serves clients.

    Simplified: the donor serves its clients during the transfer, and is not chosen by segment;
    nothing is known of an incremental transfer but its time.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: GaleraOptions,
        members: list[GroupMember],
        servers: list[GaleraServer],
        start: Callable[[int], GaleraServer],
    ) -> None:
        self._clock = cluster.clock
        self._fates = cluster.fates
        self._servers = servers  # one that comes back takes the place of the old one
        self._start = start
        self._transfer_s = [0.0] * cluster.size
        self._membership = Membership(
            cluster.clock, [member.evs for member in members], options.suspect_timeout_s
        )
        for server in servers:
            self._listen(server)

    def change(self, change: Change) -> None:
        """Let a server crash, leave or join now."""
        server = self._servers[change.node]
        if change.what == "restart":
            self._transfer_s[change.node] = change.transfer_s or 0.0
            server = self._servers[change.node] = self._start(change.node)
            server.synced = False
            server.node.wait_for_state()
            self._listen(server)
            self._membership.join(change.node)
        else:
            server.die(silent=change.what == "power-loss")
            if change.what == "kill":
                self._membership.crash(change.node)
            else:
                self._membership.leave(change.node)

    def _listen(self, server: GaleraServer) -> None:
        server.node.views.told = server.see
        server.node.views.donated = partial(self._donate, server.node.index)

    def _donate(self, donor: int, state: NodeState, joined: tuple[int, ...]) -> None:
        for index in joined:
            if self._fates is not None:
                self._fates.adopted(index, donor)
            at = self._clock.now + self._transfer_s[index]
            self._clock.at(at, partial(self._arrive, state), self._servers[index])

    def _arrive(self, state: NodeState, server: GaleraServer) -> None:
        if server.node.waits_for_state:
            server.node.adopt(state, partial(self._synced, server))

    def _synced(self, server: GaleraServer) -> None:
        server.synced = True
        node = server.node
        node.sender.control(Control(Kind.SYNCED, node.index))
