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
    when it begins to.
Optimistic
    MariaDB's optimistic mode never has to roll back; the coordinator assigns whole transactions;
    replicas never lose the connection; otherwise as in ``simrep.models.standalone``.
Left out
    Replicas of replicas; compression; statement format (the sizes of the events are those of the
    workload); ``WRITESET_SESSION``; MariaDB's ``domain_id``; what it costs to record the position
    in the relay log in a file, as before MySQL 8.0.
Validated
    Not against measurements, beyond one published table of throughput by threads with and
    without group commit (its shape), which is about the source alone; default costs are typical
    figures.

References
----------
sql/binlog.cc, sql/rpl_binlog_sender.cc, sql/rpl_trx_tracking.cc, sql/rpl_mta_submode.cc of MySQL
8.4; MariaDB Knowledge Base, Parallel Replication.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, ClassVar

from simpy.events import Event

from simrep.errors import ScenarioError
from simrep.experiment.cluster import Cluster
from simrep.measure.stations import Station
from simrep.workload.transaction import Transaction

from .asynchronous_options import AsynchronousCosts, AsynchronousOptions
from .asynchronous_replica import Replica
from .asynchronous_source import BinlogSource
from .mysql_server import MysqlServer

__all__ = ["Asynchronous"]

_SOURCE = 0


class Asynchronous:
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

    def __init__(
        self, cluster: Cluster, options: AsynchronousOptions, costs: AsynchronousCosts
    ) -> None:
        source = BinlogSource(cluster, _SOURCE, options, costs)
        self.servers = [MysqlServer(cluster, _SOURCE, options, costs, log_bin=True, hooks=source)]
        self.replicas: list[Replica] = []
        for index in range(1, cluster.size):
            server = MysqlServer(
                cluster, index, options, costs, log_bin=options.log_replica_updates
            )
            replica = Replica(server, options, costs)
            cluster.network.on_receive(index, replica.receive)
            self.servers.append(server)
            self.replicas.append(replica)

    def connect(self, node: int) -> Generator[Event, Any, None]:
        """Open a connection to one server."""
        return self.servers[node].sessions.connect()

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction; it fails only by a deadlock.

        Raises
        ------
        ScenarioError
            If it writes on a replica, which is read-only.
        """
        server = self.servers[transaction.node]
        if transaction.rows and transaction.node != _SOURCE:
            source = self.servers[_SOURCE].name
            raise ScenarioError(
                "workload.nodes",
                f"class {transaction.kind!r} writes on {server.name!r}, a replica: it is read-only",
                f"let it write on the source, {source!r}",
            )
        return server.sessions.transact(transaction)

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Status variables of every server, and of replication on the replicas."""
        counters = {server.name: server.counters() for server in self.servers}
        for replica in self.replicas:
            counters[replica.server.name] |= replica.counters()
        return counters

    def stations(self) -> Iterable[Station]:
        """Logs and disks, and the threads of replication; machines are the engine's."""
        servers = [station for server in self.servers for station in server.stations()]
        return servers + [station for replica in self.replicas for station in replica.stations()]
