"""A source and the replicas that follow its binary log: what their models have in common."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from simpy.events import Event

from simrep.modelling import Leader, MessageText, Model, Parts, Station, Transaction
from simrep.models.mysql.server import BinlogHooks, BinlogTransaction, MysqlServer

from .options import AsynchronousCosts, AsynchronousOptions
from .replica import Replica

__all__ = ["SOURCE", "SourceAndReplicas"]

SOURCE = 0
"""Position of the source."""


class SourceAndReplicas(Model):
    """The servers of one replication; the first is the source.

    Parameters
    ----------
    parts : sequence of Parts
        Of every node, by position.
    options : AsynchronousOptions
    costs : AsynchronousCosts
    source : BinlogHooks
        What the source does for replication at the points of a commit.

    Attributes
    ----------
    servers : list of MysqlServer
        By position.
    replicas : list of Replica
        Of the servers but the first, in their order; a model adds them.
    """

    def __init__(
        self,
        parts: Sequence[Parts],
        options: AsynchronousOptions,
        costs: AsynchronousCosts,
        source: BinlogHooks,
    ) -> None:
        first, *rest = parts
        self.servers = [
            first.make(MysqlServer, first, options, costs, log_bin=True, hooks=source),
            *(
                of.make(MysqlServer, of, options, costs, log_bin=options.log_replica_updates)
                for of in rest
            ),
        ]
        self.replicas: list[Replica] = []

    @staticmethod
    def writers(options: AsynchronousOptions) -> Leader:
        """The source alone."""
        return Leader("source", "replica")

    def connect(self, node: int) -> Generator[Event, Any, None]:
        """Open a connection to one server."""
        return self.servers[node].sessions.connect()

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction; it fails by a deadlock, a timeout, or when it is too large."""
        return self.servers[transaction.node].sessions.transact(transaction)

    @staticmethod
    def describe(message: Any) -> MessageText:
        """What a message is: events of the binary log, or the reply of a replica."""
        first = message[0] if isinstance(message, tuple) else message
        if isinstance(first, BinlogTransaction):
            return MessageText(f"events {first.seqno}", (first.transaction,), first.seqno)
        _, position = message
        return MessageText(f"reply {position}", (), position)

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Status variables of every server, and of replication on the replicas."""
        counters = {server.name: server.counters() for server in self.servers}
        for replica in self.replicas:
            counters[replica.server.name] |= replica.counters()
        return counters

    def backlog(self) -> Mapping[str, float]:
        """By how many transactions each replica has committed less than the source."""
        first = max(server.commits for server in self.servers)
        late = {server.name: first - server.commits for server in self.servers}
        return {**late, self.servers[SOURCE].name: 0.0}

    def stations(self) -> Iterable[Station]:
        """Logs and disks, and the threads of replication; machines are the engine's."""
        servers = [station for server in self.servers for station in server.stations()]
        return servers + [station for replica in self.replicas for station in replica.stations()]
