"""What a model is given: the machines, the network and the clock of one replication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.kernel.trace import Trace
from simrep.kernel.watch import Watch
from simrep.network.network import Network
from simrep.server.host import Host

__all__ = ["Cluster"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The engine's side of one replication.

    Parameters
    ----------
    clock : Clock
    streams : Streams
        Random streams; a model takes its own under ``node/<name>/...``.
    network : Network
        Between the nodes, addressed by position.
    names : sequence of str
        Node names by position.
    hosts : sequence of Host
        The machine of each node; several nodes may share one.
    segments : sequence of int
        Network segment of each node (``gmcast.segment``).
    client_hosts : sequence of Host
        The machine on which the clients of each node run.
    client_delays_s : sequence of float
        One-way delay between the clients and the node they are connected to.
    trace : Trace or None
        Where to record what happens; None records nothing.
    watch : Watch or None
        Where to record what is blocked; None records nothing.
    changes : bool
        Whether servers will come and go.
    """

    clock: Clock
    streams: Streams
    network: Network
    names: Sequence[str]
    hosts: Sequence[Host]
    segments: Sequence[int]
    client_hosts: Sequence[Host]
    client_delays_s: Sequence[float]
    trace: Trace | None = None
    watch: Watch | None = None
    changes: bool = False

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.names)
