"""Asynchronous replication of MySQL and MariaDB: one source, and replicas that follow it.

The first node is the source. A client is answered when the source has committed; nothing waits
for a replica. Dump threads send the binary log as soon as it may be read, one per replica; there
the IO thread writes the relay log, and a coordinator hands its transactions to workers which
apply in parallel what the source has marked as independent, and commit through the logs of the
replica itself.

Assumptions
-----------
Conservative
    A replica with ``DATABASE`` parallelism has one worker at work, as a workload has one schema.
    With MariaDB's conservative mode a group starts when the one before it has committed, not
    when it begins to. A replica begins to apply a transaction when it has received all of it.
Optimistic
    MariaDB's optimistic mode never has to roll back; the coordinator assigns whole transactions,
    however large; a dump thread pays per transaction, not per byte; replicas never lose the
    connection; otherwise as in ``simrep.models.standalone``.
Left out
    Replicas of replicas; compression; statement format (the sizes of the events are those of the
    workload); ``WRITESET_SESSION``; MariaDB's ``domain_id``; what it costs to record the position
    in the relay log in a file, as before MySQL 8.0.
Validated
    Throughput and latency of the source, against own measurements of MySQL 9.7 and MariaDB 11.8
    with one replica (datasets ``semisync-rig`` and ``semisync-wan-measured``). Lags of replicas
    against none.

References
----------
sql/binlog.cc, sql/rpl_binlog_sender.cc, sql/rpl_trx_tracking.cc, sql/rpl_mta_submode.cc of MySQL
8.4; MariaDB Knowledge Base, Parallel Replication.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from math import inf
from typing import Any, ClassVar

from simpy.events import Event

from simrep.modelling import (
    Cluster,
    Deployment,
    Leader,
    MessageText,
    Model,
    Recognition,
    Setup,
    Station,
    Transaction,
    parts_of,
)
from simrep.modelling.closed_form import ClosedForm
from simrep.models.mysql.server import ERRORS, BinlogTransaction, MysqlServer
from simrep.models.mysql.watch import WatchedParts

from .options import AsynchronousCosts, AsynchronousOptions
from .recognition import SourceRecognition
from .replica import Replica
from .source import SOURCE, BinlogSource

__all__ = ["Asynchronous"]

_NET_TIMEOUT_S = 60.0  # replica_net_timeout (slave_net_timeout) of MySQL since 5.7.7 and MariaDB


class Asynchronous(Model):
    """The source and the replicas of one replication.

    Parameters
    ----------
    cluster : Cluster
        Machines, network and clock.
    options : AsynchronousOptions
    costs : AsynchronousCosts
    """

    name: ClassVar[str] = "asynchronous"
    Options: ClassVar[type[AsynchronousOptions]] = AsynchronousOptions
    Costs: ClassVar[type[AsynchronousCosts]] = AsynchronousCosts
    faults: ClassVar = frozenset({"slow", "pause", "disk-stall", "loss", "jitter"})
    node_costs: ClassVar[bool] = True
    errors: ClassVar[tuple[str, ...]] = ERRORS
    recognition: ClassVar[Recognition] = SourceRecognition()
    made_of: ClassVar[tuple[Any, ...]] = (WatchedParts, BinlogSource, Replica)

    def __init__(
        self, cluster: Cluster, options: AsynchronousOptions, costs: AsynchronousCosts
    ) -> None:
        watched, source, replica = self.made_of
        first, *rest = parts_of(cluster, watched)
        own = [cluster.costs_of(node, costs) for node in range(cluster.size)]
        self.source = source(first, options, own[SOURCE])
        logs = options.log_replica_updates
        self.servers = [
            first.make(MysqlServer, first, options, own[SOURCE], log_bin=True, hooks=self.source),
            *(of.make(MysqlServer, of, options, own[of.index], log_bin=logs) for of in rest),
        ]
        self.replicas = [
            replica(cluster, server, options, own[server.index])
            for server in self.servers
            if server.index
        ]

    @staticmethod
    def pause_limit_s(options: AsynchronousOptions) -> float:
        """See ``Model.pause_limit_s``: any, as nobody suspects a server that is silent."""
        del options
        return inf

    @staticmethod
    def silence_limit_s(options: AsynchronousOptions) -> float:
        """See ``Model.silence_limit_s``: then a replica gives up its source, and connects again.

        The last event, a heartbeat, may be half ``replica_net_timeout`` old when the silence
        begins.
        """
        del options
        return _NET_TIMEOUT_S / 2.0

    @staticmethod
    def deployments() -> Sequence[Deployment]:
        """See ``Model.deployments``."""
        return (Deployment(name="asynchronous", keeps="none"),)

    @staticmethod
    def analytic(setup: Setup) -> ClosedForm:
        """See ``ClosedForm``."""
        from .analytic import AsynchronousForm

        return AsynchronousForm(setup)

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
