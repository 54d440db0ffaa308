"""Galera clusters wired by hand, with a trace, and clients that are told what to do."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from simpy.events import Event

from simrep.experiment.cluster import Cluster
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.kernel.trace import Trace, TraceEvent
from simrep.models.galera import Galera
from simrep.models.galera_options import GaleraCosts, GaleraOptions
from simrep.network.latency import Jitter, Latency
from simrep.network.link import Tcp
from simrep.network.network import Network, Path
from simrep.server.host import Host
from simrep.workload.transaction import Statement, Transaction

__all__ = ["FREE", "Attempt", "GaleraCluster", "Order", "updates"]

FREE: dict[str, float] = dict.fromkeys(GaleraCosts.model_fields, 0.0)
"""Costs of a cluster on which only the network takes time."""


class Attempt(NamedTuple):
    """A transaction that a client submitted, and how it ended."""

    transaction: Transaction
    began_s: float
    ended_s: float
    committed: bool


class Order(NamedTuple):
    """A writeset in the total order, as one node saw it; ``passed`` is None until certified."""

    seqno: int
    origin: int
    last_seen: int
    keys: tuple[Hashable, ...]
    passed: bool | None


@dataclass(frozen=True, slots=True)
class History:
    """What one node did, from its trace."""

    orders: list[Order]
    commits: list[int]
    position: dict[tuple[str, int], int]
    """Place in the trace of (event, sequence number)."""


def updates(
    client: int,
    node: int,
    number: int,
    hot: Sequence[Hashable] = (),
    *,
    size_bytes: int = 100,
    autocommit: bool = True,
) -> Transaction:
    """Insert a row of its own, by which it can be told from all others, and update hot rows.

    Without autocommit every hot row is updated by a statement of its own.
    """
    own = ("client", client, number)
    if autocommit:
        statements: tuple[Statement, ...] = (
            Statement(rows_written=1 + len(hot), locks=tuple(hot)),
        )
    else:
        statements = (Statement(), *(Statement(locks=(row,)) for row in hot))
    return Transaction(
        client,
        node,
        "test",
        statements,
        (own, *hot),
        1 + len(hot),
        size_bytes,
        autocommit=autocommit,
    )


class GaleraCluster:
    """A cluster, the clients on it and what they saw.

    Parameters
    ----------
    delays_s : matrix of float
        One-way delays in seconds.
    options, costs : mapping, optional
        Options in the product's spelling; costs that are not 0.
    jitter_s, bytes_per_s : float
        Mean of an exponential jitter, and bandwidth, on every path.
    tcp : Tcp, optional
    segments, machines : sequence of int, optional
        Segment of every node, and the machine it runs on (by default one each).
    cores : int
        Of each machine.
    slice_s : float
        Time slice of the machines.
    names : sequence of str, optional
    traced : bool
        Whether there is a trace.
    """

    def __init__(
        self,
        delays_s: Sequence[Sequence[float]],
        *,
        options: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        jitter_s: float = 0.0,
        bytes_per_s: float = float("inf"),
        tcp: Tcp | None = None,
        segments: Sequence[int] | None = None,
        machines: Sequence[int] | None = None,
        cores: int = 2,
        slice_s: float = 1e-3,
        names: Sequence[str] | None = None,
        seed: int = 0,
        traced: bool = True,
    ) -> None:
        size = len(delays_s)
        nodes = range(size)
        names = names or [f"n{i + 1}" for i in nodes]
        jitter = (Jitter("exponential", jitter_s),) if jitter_s else ()
        self.clock = Clock()
        self.trace = Trace(self.clock)
        streams = Streams(seed)
        machines = machines or nodes
        hosts = {
            name: Host(self.clock, cores, name=f"machine{name}", slice_s=slice_s)
            for name in sorted(set(machines))
        }
        placed = [hosts[name] for name in machines]
        network = Network(
            self.clock,
            streams,
            names,
            {
                (i, j): Path(Latency(delays_s[i][j], jitter), bytes_per_s, tcp=tcp or Tcp())
                for i in nodes
                for j in nodes
                if i != j
            },
        )
        cluster = Cluster(
            clock=self.clock,
            streams=streams,
            network=network,
            names=names,
            hosts=placed,
            segments=segments or [0] * size,
            client_hosts=placed,
            client_delays_s=[0.0] * size,
            trace=self.trace if traced else None,
        )
        self.names = names
        self.model = Galera(
            cluster, GaleraOptions(**options or {}), GaleraCosts(**FREE | dict(costs or {}))
        )
        self.attempts: list[Attempt] = []
        self.submitted = 0
        self._clients: list[Event] = []

    def client(
        self,
        transactions: Iterable[Transaction],
        *,
        begin_s: float = 0.0,
        pause_s: Callable[[], float] | float = 0.0,
    ) -> None:
        """A client that submits the transactions one after the other, from ``begin_s`` on."""

        def run() -> Generator[Event, Any, None]:
            yield self.clock.timeout(begin_s)
            for transaction in transactions:
                began_s = self.clock.now
                self.submitted += 1
                committed = yield from self.model.transact(transaction)
                self.attempts.append(Attempt(transaction, began_s, self.clock.now, committed))
                yield self.clock.timeout(pause_s() if callable(pause_s) else pause_s)

        self._clients.append(self.clock.process(run()))

    def run(self, limit_s: float = 60.0) -> GaleraCluster:
        """Run until all clients have ended, and every node has all that was replicated."""
        clients = self.clock.all_of(self._clients)
        self.clock.run(clients | self.clock.until(limit_s))
        assert clients.processed, f"{len(self.attempts)} of {self.submitted} ended in {limit_s} s"
        while not self.quiet:
            assert self.clock.now < limit_s, f"not quiet after {limit_s} s"
            self.clock.run(self.clock.now + 0.1)
        return self

    @property
    def quiet(self) -> bool:
        """Whether all nodes are done with everything that any of them has replicated."""
        replicated = self.total("wsrep_replicated")
        return all(
            status["wsrep_last_committed"] == replicated
            for status in self.model.counters().values()
        )

    def status(self, node: int, variable: str) -> float:
        """A status variable of a node."""
        return self.model.counters()[self.names[node]][variable]

    def total(self, variable: str) -> float:
        """A status variable, summed over the nodes."""
        return sum(status[variable] for status in self.model.counters().values())

    @property
    def committed(self) -> list[Attempt]:
        """What clients were told is committed, in the order in which they were told."""
        return [attempt for attempt in self.attempts if attempt.committed]

    def histories(self) -> list[History]:
        """What each node did."""
        events: list[list[TraceEvent]] = [[] for _ in self.names]
        for event in self.trace.events:
            events[event.node].append(event)
        return [_history(of_node) for of_node in events]


def _history(events: list[TraceEvent]) -> History:
    passed: dict[int, Any] = {
        event.seqno: event.detail[0] for event in events if event.what == "certify"
    }
    orders = []
    for event in events:
        if event.what == "order":
            origin, last_seen, keys = cast("tuple[int, int, tuple[Hashable, ...]]", event.detail)
            orders.append(Order(event.seqno, origin, last_seen, keys, passed.get(event.seqno)))
    return History(
        orders=orders,
        commits=[event.seqno for event in events if event.what == "commit"],
        position={(event.what, event.seqno): place for place, event in enumerate(events)},
    )
