"""A server without replication that crashes and comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simrep.modelling import Cluster
from simrep.models.mysql.durability import Durability
from simrep.models.mysql.ending_server import EndingServer
from simrep.models.mysql.server_changes import ServerChanges

__all__ = ["Changes"]


class Changes(ServerChanges):
    """What happens to servers that know nothing of each other.

    A server that is started again has what its storage engine recovers. What only its binary log
    has would have to be taken from there by hand.

    Parameters
    ----------
    cluster, durability, start_s
        See ``ServerChanges``.
    servers : sequence of EndingServer
        One that comes back takes the place of the old one.
    start : callable
        ``start(node)``: puts a new server into its place.
    """

    def __init__(
        self,
        cluster: Cluster,
        durability: Sequence[Durability],
        servers: Sequence[EndingServer],
        start: Callable[[int], object],
        start_s: Callable[[int], float],
    ) -> None:
        super().__init__(cluster, durability, start_s)
        self._servers = servers
        self._start = start

    def _server(self, node: int) -> EndingServer:
        return self._servers[node]

    def _went(self, node: int) -> None:
        """Nothing of it is left but its disk."""

    def _came(self, node: int) -> None:
        self._durability[node].recover().tell(node, self._timeline)
        self._start(node)
        if self._timeline is not None:
            self._timeline.note(node, "synced")
