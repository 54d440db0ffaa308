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

from collections.abc import Sequence
from typing import ClassVar

from simrep.modelling import Cluster, Deployment, Recognition, Setup, parts_of
from simrep.modelling.closed_form import ClosedForm
from simrep.models.mysql.watch import WatchedParts

from .options import AsynchronousCosts, AsynchronousOptions
from .recognition import SourceRecognition
from .replica import Replica
from .source import BinlogSource
from .source_replicas import SOURCE, SourceAndReplicas

__all__ = ["Asynchronous"]


class Asynchronous(SourceAndReplicas):
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
    recognition: ClassVar[Recognition] = SourceRecognition()

    def __init__(
        self, cluster: Cluster, options: AsynchronousOptions, costs: AsynchronousCosts
    ) -> None:
        source = BinlogSource(cluster, SOURCE, options, costs)
        super().__init__(parts_of(cluster, WatchedParts), options, costs, source)
        for server in self.servers[1:]:
            replica = Replica(server, options, costs)
            cluster.network.on_receive(server.index, replica.receive)
            self.replicas.append(replica)

    @staticmethod
    def deployments() -> Sequence[Deployment]:
        """See ``Model.deployments``."""
        return (Deployment(name="asynchronous", keeps="none"),)

    @staticmethod
    def analytic(setup: Setup) -> ClosedForm:
        """See ``ClosedForm``."""
        from .analytic import AsynchronousForm

        return AsynchronousForm(setup)
