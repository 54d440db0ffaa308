"""The load of the speed benchmarks: clients that insert into one node of three, one of them far."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol

import simpy
from simpy.events import Event

from simrep.kernel.streams import Streams
from simrep.models.galera.options import GaleraCosts, GaleraOptions
from simrep.network.link import Tcp
from simrep.workload.transaction import Statement, Transaction
from tests.benchmarks import naive
from tests.clusters import GaleraCluster

__all__ = ["CLIENTS", "Outcome", "run_model", "run_naive"]

CLIENTS = 64
INSERT = (Statement(),)
NEAR_S, FAR_S = 40e-6, 0.050  # a hop, and what the third node's messages take longer
BYTES_PER_S = 125e6
CORES = 64  # nobody waits for a core, so that the order of claims to it does not matter
OPTIONS = {"wsrep_slave_threads": 16, "innodb_flush_log_at_trx_commit": 2}
STAGGER_S = 17e-6  # between the starts of two clients: no two events at the same time

DELAYS_S = [
    [0.0 if i == j else NEAR_S + (FAR_S if i == 2 else 0.0) for j in range(3)] for i in range(3)
]


class Server(Protocol):
    def connect(self, node: int) -> Generator[Event, Any, None]: ...

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]: ...


@dataclass(frozen=True)
class Outcome:
    """What happened.

    Attributes
    ----------
    ends : list of (int, int, float)
        Client, its transaction, and when that was committed, in this order.
    orders : list of int
        How many transactions each node has ordered by the end.
    stops : int
        How often flow control stopped the cluster.
    paused_s : float
        How long the writing node was stopped.
    """

    ends: list[tuple[int, int, float]]
    makespan_s: float
    orders: list[float]
    stops: float
    paused_s: float


def run_clients(
    clock: simpy.Environment, server: Server, each: int
) -> list[tuple[int, int, float]]:
    """Have every client insert ``each`` rows, one after the other; returns their ends."""
    ends: list[tuple[int, int, float]] = []

    def client(number: int) -> Generator[Event, Any, None]:
        yield clock.timeout(number * STAGGER_S)
        yield from server.connect(0)
        for insert in range(each):
            row = (("client", number, insert),)
            transaction = Transaction(number, 0, "insert", INSERT, row, 1, 100)
            assert (yield from server.transact(transaction))
            ends.append((number, insert, clock.now))

    clock.run(clock.all_of([clock.process(client(number)) for number in range(CLIENTS)]))
    return ends


def run_model(each: int) -> Outcome:
    """On the model."""
    cluster = GaleraCluster(
        DELAYS_S,
        options=OPTIONS,
        costs=GaleraCosts().model_dump(),
        bytes_per_s=BYTES_PER_S,
        tcp=Tcp(initial_window_segments=1 << 20),
        cores=CORES,
        traced=False,
    )
    ends = run_clients(cluster.clock, cluster.model, each)
    return Outcome(
        ends,
        cluster.clock.now,
        [
            cluster.status(node, "wsrep_received") + cluster.status(node, "wsrep_replicated")
            for node in range(3)
        ],
        cluster.status(0, "wsrep_flow_control_recv"),
        cluster.status(0, "wsrep_flow_control_paused") * cluster.clock.now,
    )


def run_naive(each: int) -> Outcome:
    """On its naive twin."""
    clock = naive.Clock()
    options = GaleraOptions(**OPTIONS)
    twin = naive.NaiveGalera(
        clock, Streams(0), DELAYS_S, BYTES_PER_S, CORES, options, GaleraCosts()
    )
    ends = run_clients(clock, twin, each)
    writer = twin.nodes[0]
    return Outcome(
        ends,
        clock.now,
        [node.ordered for node in twin.nodes],
        writer.flow_control.received,
        writer.send_monitor.paused_until_now_s(),
    )
