"""Asynchronous replication of MySQL and MariaDB: one source, and replicas that follow it.

The first node is the source, until another one is promoted. A client is answered when the source
has committed; nothing waits for a replica. Dump threads send the binary log as soon as it may be
read, one per replica; there the IO thread writes the relay log, and a coordinator hands its
transactions to workers which apply in parallel what the source has marked as independent, and
commit through the logs of the replica itself.

A failover manager (``failover_manager``) polls the servers and makes a replica the source when that
is gone, by the rules and the defaults of Orchestrator, MHA, MaxScale's monitor (mariadbmon) or
replication-manager: ``simrep.models.asynchronous.failover``. Nobody stops an old source that lives
on: it takes writes beside the new one.

``ALTER TABLE`` is in the binary log when it has ended on the source, as one event. A replica begins
with it when all before it is committed, has to get the table from its own readers, and takes as
long again; what comes behind it waits.

Assumptions
-----------
Conservative
    A replica with ``DATABASE`` parallelism has one worker at work, as a workload has one schema.
    With MariaDB's conservative mode a group starts when the one before it has committed, not
    when it begins to. A replica begins to apply a transaction when it has received all of it.
Optimistic
    MariaDB's optimistic mode rolls back only what has met the last of the earlier transactions with
    its rows, and a retry always succeeds; the coordinator assigns whole transactions, however
    large; a dump thread pays per transaction, not per byte; otherwise as in
    ``simrep.models.standalone``.
Left out
    Scripts that shut an old source down (STONITH), or that a manager asks for a second opinion.
    ``binlog_alter_two_phase`` of MariaDB, by which replicas begin when the source does.
    Replicas of replicas, but for the moment before a source of theirs is promoted; errors of
    appliers that meet rows of extra transactions; compression; statement format (the sizes of the
    events are those of the workload); ``WRITESET_SESSION``; MariaDB's ``domain_id``; what it costs
    to record the position in the relay log in a file, as before MySQL 8.0.
Validated
    Throughput and latency of the source, against own measurements of MySQL 9.7 and MariaDB 11.8
    with one replica (datasets ``semisync-rig`` and ``semisync-wan-measured``). ``ALTER TABLE`` of
    MySQL 9.7 with one replica: who waits for it, and that the replica is late by as long as it
    takes itself. Other lags of replicas against none.

References
----------
sql/binlog.cc, sql/rpl_binlog_sender.cc, sql/rpl_trx_tracking.cc, sql/rpl_mta_submode.cc of MySQL
8.4; MariaDB Knowledge Base, Parallel Replication. Sources of the managers:
``models/asynchronous/failover/presets.py``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from simrep.modelling import (
    Change,
    Cluster,
    Deployment,
    Event,
    Leader,
    MessageText,
    Model,
    Noted,
    Operation,
    Parts,
    Question,
    ReadLevel,
    Recognition,
    ServerStatus,
    Setup,
    StallPhase,
    Station,
    Transaction,
    parts_of,
    rejoin_question,
    timeouts_question,
)
from simrep.modelling.closed_form import ClosedForm
from simrep.models.mysql.durability import Durability
from simrep.models.mysql.ending_server import EndingServer
from simrep.models.mysql.maintenance import MAINTENANCE, maintain
from simrep.models.mysql.server import ERRORS, BinlogTransaction, MysqlServer
from simrep.models.mysql.set_options import APPLIER_RESTARTS, DURABILITY, set_durability
from simrep.models.mysql.table_changes import check_table_change
from simrep.models.mysql.watch import WatchedParts

from .ahead import AheadReplica, works_ahead
from .binary_log import BinaryLog, Line
from .changes import Changes
from .changing_replica import ChangingReplica
from .changing_source import ChangingSource
from .connection import Packet, Port
from .failover import FailoverManager, check_place, failover_phases, manager_of
from .member import Member
from .options import AsynchronousCosts, AsynchronousOptions
from .recognition import SourceRecognition
from .replica import Replica
from .source import SOURCE, BinlogSource

__all__ = ["MANAGED", "Asynchronous"]

_FAILOVER = f"{__name__}.failover"

MANAGED: Mapping[str, str] = MappingProxyType({"failover_manager": "orchestrator"})
"""With which manager it is deployed where the scenario does not say it."""

S = TypeVar("S", bound=MysqlServer)


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
    faults: ClassVar = frozenset(
        {
            "slow", "pause", "disk-stall", "kill", "power-loss", "leave", "restart", "cut", "loss",
            "jitter", "promote",
        }
    )  # fmt: skip
    operations: ClassVar = MAINTENANCE | {"ddl", "set"}
    dynamic: ClassVar[frozenset[str]] = DURABILITY
    static: ClassVar[Mapping[str, str]] = {"replica_parallel_workers": APPLIER_RESTARTS}
    node_costs: ClassVar[bool] = True
    waits_for_own: ClassVar[bool] = True
    errors: ClassVar[tuple[str, ...]] = ERRORS
    recognition: ClassVar[Recognition] = SourceRecognition()
    made_of: ClassVar[tuple[Any, ...]] = (WatchedParts, BinlogSource, Replica)
    replica_ahead: ClassVar[type[AheadReplica]] = AheadReplica
    changing_made_of: ClassVar[tuple[Any, ...]] = (ChangingSource, ChangingReplica)
    source: BinlogSource
    servers: Sequence[MysqlServer]
    replicas: Sequence[Any]
    _members: list[Member[Any, Any]]  # this and the next three where something happens
    _ending_servers: list[EndingServer]
    _logs: Sequence[BinaryLog]
    _ports: Sequence[Port]

    def __init__(
        self, cluster: Cluster, options: AsynchronousOptions, costs: AsynchronousCosts
    ) -> None:
        watched, source, replica = self.made_of
        self._parts = parts_of(cluster, watched)
        self._cluster = cluster
        self._options = options
        self._costs = [cluster.costs_of(node, costs) for node in range(cluster.size)]
        self._changes: Changes | None = None
        self._manager: FailoverManager | None = None
        check_place(options, cluster.names)
        if cluster.changes:
            self._begin_changing()
            return
        ahead = works_ahead(cluster, SOURCE, self._thread_us())
        if ahead:
            replica = self.replica_ahead
        self.source = source(self._parts[SOURCE], options, self._costs[SOURCE])
        self.servers = [
            self._server(MysqlServer, parts, self.source if parts.index == SOURCE else None)
            for parts in self._parts
        ]
        self.replicas = [
            replica(cluster, server, options, self._costs[server.index])
            for server in self.servers
            if server.index
        ]
        if ahead:
            threads = {one.server.index: one.io_thread for one in self.replicas}
            quiet = all(replica.is_quiet for replica in self.replicas)
            self.source.work_ahead(threads, quiet=quiet)

    def _thread_us(self) -> Iterable[float]:
        """What each job of the threads between source and replicas costs; 0: it cannot be."""
        source, *replicas = self._costs
        return [source.send_us, *(costs.receive_us for costs in replicas)]

    def _server(self, kind: type[S], parts: Parts, hooks: BinlogSource | None) -> S:
        """A server; the source has hooks."""
        options = self._options
        logs = hooks is not None or options.log_replica_updates
        costs = self._costs[parts.index]
        return parts.make(kind, parts, options, costs, log_bin=logs, hooks=hooks)

    def _begin_changing(self) -> None:
        """Servers that may come and go, and all that outlasts their processes."""
        cluster = self._cluster
        nodes = range(cluster.size)
        line = Line()
        self._durability = [
            Durability.of(
                cluster,
                node,
                self._options,
                log_bin=node == SOURCE or self._options.log_replica_updates,
            )
            for node in range(cluster.size)
        ]
        self._logs = [BinaryLog(line) for _ in nodes]
        self.servers = self._ending_servers = []
        members = self._members = []
        self._ports = [
            Port(cluster.clock, cluster.network, node, partial(members.__getitem__, node))
            for node in nodes
        ]
        for node in nodes:
            self._start(node)
        source = members[SOURCE].source
        source.begin()
        source.lead()
        self.source = source
        for member in members[1:]:
            member.read_only = True
            member.begin(SOURCE)

        def start_s(node: int) -> float:
            return self._costs[node].start_ms * 1e-3

        self._changes = Changes(
            cluster, self._options, self._logs, self._durability, members, self._start, start_s
        )
        self._manager = manager_of(cluster, self._options, self._changes, SOURCE)

    def _start(self, node: int) -> None:
        """Put a new process of a server into its place."""
        source_kind, replica_kind = self.changing_made_of
        parts, options, costs = self._parts[node].anew(), self._options, self._costs[node]
        port = self._ports[node]
        source = source_kind(parts, options, costs, self._logs[node])
        server = source.server = parts.make(
            EndingServer, parts, options, costs,
            log_bin=node == SOURCE or options.log_replica_updates, hooks=source,
        )  # fmt: skip
        server.durability = self._durability[node]
        source.port = port

        def make_replica(target: int) -> Any:
            replica = replica_kind(self._cluster, server, options, costs, self._logs, target)
            replica.port = port
            return replica

        member: Member[Any, Any] = Member(
            server, source, make_replica, self._logs, tells_last=options.tells_last_gtid
        )
        if node < len(self._members):
            source.succeed(self._members[node].source)
        self._ending_servers[node : node + 1] = [server]
        self._members[node : node + 1] = [member]

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
        return options.unnoticed_s

    @staticmethod
    def deployments() -> Sequence[Deployment]:
        """See ``Model.deployments``."""
        return (Deployment(name="asynchronous", keeps="none", options=MANAGED),)

    @staticmethod
    def read_levels() -> Sequence[ReadLevel]:
        """See ``Model.read_levels``."""
        waits = {"read_your_writes": "gtid-wait"}
        return (
            ReadLevel(name="no wait", sees="any", clients={"read_your_writes": "none"}),
            ReadLevel(name="GTID wait", sees="own", clients=waits),
        )

    @staticmethod
    def questions() -> Sequence[Question]:
        """See ``Model.questions``."""
        return (
            rejoin_question("simrep.models.asynchronous.rejoin:replica_return"),
            timeouts_question(f"{_FAILOVER}.timeouts:manager_timeouts"),
        )

    @staticmethod
    def analytic(setup: Setup) -> ClosedForm:
        """See ``ClosedForm``."""
        from .analytic import AsynchronousForm

        return AsynchronousForm(setup)

    @staticmethod
    def writers(options: AsynchronousOptions) -> Leader:
        """The source alone."""
        return Leader("source", "replica", moves=options.failover_manager != "none")

    @staticmethod
    def stall_phases(
        noted: Sequence[Noted],
        names: Sequence[str],
        options: Any,
        from_s: float,
        until_s: float,
    ) -> Sequence[StallPhase]:
        """See ``Model.stall_phases``: the steps of a failover."""
        return failover_phases(noted, names, options, from_s, until_s)

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """Open a connection to one server."""
        if self._changes is not None:
            return self._changes.connect(node)
        return self.servers[node].sessions.connect()

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction; it fails by a deadlock, a timeout, or when it is too large.

        A server that is read-only refuses one that writes.
        """
        if self._changes is not None:
            return self._changes.transact(transaction)
        return self.servers[transaction.node].sessions.transact(transaction)

    def status(self, node: int) -> ServerStatus:
        """See ``Model.status``."""
        if self._changes is not None:
            return self._changes.status(node)
        if node == SOURCE:
            return ServerStatus(state="source", serves=True, writes=True, lag_s=0.0)
        replica = self.replicas[node - 1]
        replica.reach()
        channel = replica.channel
        lag_s = float(int(channel.behind_s))
        return ServerStatus(
            state="replica",
            serves=True,
            writes=False,
            lag_s=lag_s,
            queue=channel.backlog,
            rank=node,
        )

    def change(self, change: Change) -> None:
        """Let a server crash, leave or come back now."""
        assert self._changes is not None
        self._changes.change(change)
        if self._manager is not None:
            self._manager.machine_changes(change)

    def operate(self, operation: Operation) -> None:
        """Let an operator set options, change a table on the source, lock tables, or back up."""
        if operation.what == "set":
            for node in operation.nodes:
                set_durability(operation, self._members[node].server)
            return
        member = self._members[operation.nodes[0]]
        if operation.what in MAINTENANCE:
            maintain(self._cluster, member.server, operation, self._costs[operation.nodes[0]])
            return
        told = check_table_change(
            operation, self._options, member.server.name if member.read_only else ""
        )
        assert member.server.tables is not None
        member.server.tables.alter(told)

    @staticmethod
    def describe(message: Any) -> MessageText:
        """What a message is: events of the binary log, or the reply of a replica."""
        if isinstance(message, Packet):
            return message.describe()
        first = message[0] if isinstance(message, tuple) else message
        if isinstance(first, BinlogTransaction):
            return MessageText(f"events {first.seqno}", (first.transaction,), first.seqno)
        _, position = message
        return MessageText(f"reply {position}", (), position)

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Status variables of every server, and of replication on the replicas."""
        counters = {server.name: server.counters() for server in self.servers}
        for replica in self._replicas():
            counters[replica.server.name] |= replica.counters()
        return counters

    def _replicas(self) -> Sequence[Replica]:
        """Those that follow a source now."""
        if self._changes is None:
            return self.replicas
        return [member.replica for member in self._members if member.replica is not None]

    def backlog(self) -> Mapping[str, float]:
        """By how many transactions each replica has committed less than the source."""
        if self._changes is not None:
            return self._changes.backlog()
        first = max(server.commits for server in self.servers)
        late = {server.name: first - server.commits for server in self.servers}
        return {**late, self.servers[SOURCE].name: 0.0}

    def stations(self) -> Iterable[Station]:
        """Logs and disks, and the threads of replication; machines are the engine's."""
        servers = [station for server in self.servers for station in server.stations()]
        return servers + [station for replica in self._replicas() for station in replica.stations()]
