"""What a model is given: the machines, the network and the clock of one replication."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from simrep.kernel.clock import Clock
from simrep.kernel.pace import Pace
from simrep.kernel.queues import Fifo
from simrep.kernel.streams import Stream, Streams
from simrep.kernel.timeline import Timeline
from simrep.kernel.trace import Trace
from simrep.kernel.watch import Watch
from simrep.network.network import Network
from simrep.server.buffer_pool import BufferPool, miss_probability
from simrep.server.core_host import CoreHost
from simrep.server.host import Host
from simrep.server.process import PacedDisk, PacedFifo
from simrep.server.storage import Disk, ScheduledDisk, WorkedDisk
from simrep.workload.fate import Fates
from simrep.workload.interpreters import Interpreters
from simrep.workload.session_costs import SessionCosts
from simrep.workload.ways import Ways

__all__ = ["Cluster", "NodeTraits"]

_FSYNC_WORK_S: Final = 28e-6  # a third of an fsync in a test of the rig's disk


C = TypeVar("C", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class NodeTraits:
    """How a node differs from the others."""

    costs: Mapping[str, Any] = field(default_factory=dict)  # by name of the field
    clock: Clock | None = None  # by which it sets its timers, if its process may be stopped
    syncs: Pace | None = None  # of its fsyncs, if that is another than full speed
    disk_variation: float = 0.0  # coefficient of variation of what its disk takes
    options: Mapping[str, Any] = field(default_factory=dict)  # by name of the field


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
    interpreters : mapping of Host to Interpreters
        What runs the clients on a machine, if they are threads that cannot run at once.
    trace : Trace or None
        Where to record what happens; None records nothing.
    watch : Watch or None
        Where to record what is blocked; None records nothing.
    changes : bool
        Whether servers will come and go.
    traits : mapping of int to NodeTraits
        How nodes differ from the others, by position; nothing for most.
    arbitrators : collection of int
        Nodes without data; no client is connected to them.
    timeline : Timeline or None
        Where servers note what they notice and decide; None if nothing will happen to them.
    fates : Fates or None
        What becomes of every transaction that writes; a model tells it (``adopted``) when a node
        takes over the state of another. None if nothing will happen to servers.
    ways : Ways or None
        How clients reach servers from beside other nodes; None if all are where their servers are.
    data_bytes : float
        The data on the disk of each node (``cluster.data_bytes``).
    hot_share : float
        The share of them that has all other accesses (``cluster.hot_share``).
    pools : dict of int to BufferPool
        Those that nodes have, made by ``buffer_pool``.
    disk_noises : dict of str to Stream
        By what factors the time of an I/O differs, made by ``disk`` and ``buffer_pool``.
    operations : collection of str
        Words of what operators will do: those of ``OperationTable.what``.
    history_s : float
        How long the load has run before, in seconds (``run.history_s``).
    past_by_s : float
        When a model must have found out by then what that has left, in seconds.
    quiet : collection of int
        Nodes whose work a model may compute ahead instead of playing it: no client ever connects
        to them, each has a machine of its own on which work takes the same time whenever it is
        done, and nobody looks at single transactions or messages. What such a node counts must be
        right when ``Model.settle`` was called; its machine's cores must never be all in use.
    sessions : sequence of object
        Session variables that classes of transactions set, as the model understands them.
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
    traits: Mapping[int, NodeTraits] = field(default_factory=dict)
    timeline: Timeline | None = None
    fates: Fates | None = None
    data_bytes: float = 10e9
    hot_share: float = 0.2
    pools: dict[int, BufferPool] = field(default_factory=dict)
    disk_noises: dict[str, Stream] = field(default_factory=dict)
    arbitrators: Collection[int] = ()
    ways: Ways | None = None
    quiet: Collection[int] = ()
    interpreters: Mapping[Host, Interpreters] = field(default_factory=dict)
    sessions: Sequence[Any] = ()
    operations: Collection[str] = ()
    history_s: float = 0.0
    past_by_s: float = 0.0

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.names)

    def clock_of(self, node: int) -> Clock:
        """The clock by which the server of a node sets its timers: late while it stands still."""
        traits = self.traits.get(node)
        return self.clock if traits is None or traits.clock is None else traits.clock

    def costs_of(self, node: int, costs: C) -> C:
        """The costs of a node: those of all, and above them what it has of its own."""
        traits = self.traits.get(node)
        return (
            costs if traits is None or not traits.costs else costs.model_copy(update=traits.costs)
        )

    def options_of(self, node: int, options: C) -> C:
        """The options of a node: those of all, and above them what it has of its own."""
        traits = self.traits.get(node)
        own = {} if traits is None else traits.options
        return options.model_copy(update=own) if own else options

    def buffer_pool(self, node: int, pool_bytes: int, costs: SessionCosts) -> BufferPool | None:
        """The buffer pool of a node, the same when its server starts again; None if all fits."""
        if pool_bytes >= self.data_bytes:
            return None
        missing = miss_probability(pool_bytes / self.data_bytes, self.hot_share)
        if not missing:  # all but a few bytes
            return None
        if node not in self.pools:
            name, most = f"{self.names[node]}/pages", costs.page_reads_at_a_time
            traits = self.traits.get(node)
            if traits is None or traits.syncs is None:
                line = Fifo(self.clock, most, name)
            else:
                line = PacedFifo(self.clock, traits.syncs, most, name)
            gap = self.streams.stream(
                f"node/{name}",
                lambda generator, size: generator.geometric(missing, size).astype(float),
            )
            noise = self._disk_noise(node, "pages")
            self.pools[node] = BufferPool(self.clock, line, costs.page_read_s, gap, noise)
        return self.pools[node]

    def data_disk(self, node: int) -> Fifo | None:
        """The line of the disk that the data of a node are read from.

        It is that of the pages that do not fit into memory, or else that of fsyncs; None if nobody
        else ever waits for that disk.
        """
        pool = self.pools.get(node)
        return self.hosts[node].flusher if pool is None else pool.line

    def _disk_noise(self, node: int, what: str) -> Stream | None:
        """Factors of mean 1 for what its disk takes (lognormal); None if that does not vary."""
        traits = self.traits.get(node)
        if traits is None or not traits.disk_variation:
            return None
        path = f"node/{self.names[node]}/disk/{what}"
        if path not in self.disk_noises:  # a server that starts again has the same disk
            self.disk_noises[path] = self.streams.lognormal(path, traits.disk_variation)
        return self.disk_noises[path]

    def disk(
        self,
        node: int,
        fsync_s: float,
        bytes_per_s: float = inf,
        *,
        work_s: float = 0.0,
        name: str = "",
    ) -> Disk:
        """The disk of a node: as slow as its machine's, and all that happens to it.

        ``work_s`` is what an fsync takes of a core beside ``fsync_s``; a machine with a queue
        for each core has a value of its own where none is given.
        """
        traits = self.traits.get(node)
        clock, host, noise = self.clock_of(node), self.hosts[node], self._disk_noise(node, "logs")
        flusher = host.flusher
        machine = host.machine
        if isinstance(machine, CoreHost):
            fsync_s /= 2.0  # it takes two turns
        if traits is None or traits.syncs is None:
            disk = Disk(clock, fsync_s, bytes_per_s, flusher=flusher, name=name, noise=noise)
        else:
            pace = traits.syncs
            disk = PacedDisk(
                pace, clock, fsync_s, bytes_per_s, flusher=flusher, name=name, noise=noise
            )
        if isinstance(machine, CoreHost):
            return ScheduledDisk(host, work_s or _FSYNC_WORK_S, machine.flushes, disk)
        return WorkedDisk(host, work_s, disk) if work_s else disk
