"""One MySQL or MariaDB server, without replication: the control of every comparison.

Clients execute transactions under row locks and commit them through the redo log of InnoDB and,
if there is one, the binary log, in the way of the server's generation (``models.mysql.binlog``).
A cluster of several nodes is as many servers that know nothing of each other.

Assumptions
-----------
Conservative
    One run queue per machine in order of arrival; a large transfer to the disk is not interleaved
    with small ones.
Optimistic
    All data are in memory, unless ``innodb_buffer_pool_size`` is given; then pages are read for
    clients alone, and pages that only they change are written back (those that appliers of replicas
    need cost no I/O), on another disk than that of the logs. The background flush of the redo log
    once per second costs nothing, nor does the redo of a large transaction before its commit, nor
    the temporary file of its binary log cache; an fsync always takes the same time.
Left out
    Gap locks; checkpoints and full redo logs; ``innodb_support_xa=0``; MariaDB's
    ``innodb_flush_log_at_trx_commit=3`` and ``binlog_large_commit_threshold``; binary log rotation.
    A lock wait that times out fails the whole transaction, as with ``innodb_rollback_on_timeout``.
Changes of tables
    ``ALTER TABLE`` waits for open transactions that use its table, and later ones queue up behind
    it; a copy lets nobody write while it goes through the rows (``simrep.server.table_change``).
    Simplified: MariaDB 11.2 and later copy as others do, and not online.
Servers that come and go
    Where the scenario lets something happen to servers, they crash, lose power and start again with
    what is on their disks (``models.mysql.durability``).
Validated
    Not against measurements, beyond one published table of throughput by threads with and
    without group commit (its shape); default costs are typical figures.

References
----------
sql/binlog.cc and storage/innobase/trx/trx0trx.cc of MySQL 8.4; sql/log.cc of MariaDB 10.11;
MySQL 8.4 Reference Manual, Server System Variables and Binary Logging Options.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from math import inf
from typing import Annotated, Any, ClassVar

from pydantic import Field

from simrep.modelling import (
    Change,
    Cluster,
    Event,
    Evidence,
    Milliseconds,
    Model,
    Operation,
    Parts,
    Recognition,
    ServerReading,
    ServerStatus,
    Setup,
    Station,
    Transaction,
    parts_of,
    prior,
)
from simrep.modelling.closed_form import ClosedForm
from simrep.models.mysql.durability import Durability
from simrep.models.mysql.ending_server import EndingServer
from simrep.models.mysql.maintenance import MAINTENANCE, maintain
from simrep.models.mysql.options import CrashSafety, ServerCosts, ServerOptions
from simrep.models.mysql.recognition import MysqlRecognition
from simrep.models.mysql.server import ERRORS, MysqlServer
from simrep.models.mysql.set_options import DURABILITY, set_durability
from simrep.models.mysql.table_changes import check_table_change
from simrep.models.mysql.watch import WatchedParts

from .changes import Changes

__all__ = ["Standalone", "StandaloneCosts", "StandaloneOptions"]


class StandaloneOptions(ServerOptions):
    """Those of any server, and whether it has a binary log at all."""

    log_bin: bool = Field(True, description="write a binary log")
    redo_threads: bool = Field(
        True,
        description="version trait: threads of their own write the redo log, all the time (MySQL "
        "8.0.11 and later)",
    )

    @property
    def crash_safety(self) -> CrashSafety:
        """See ``ServerOptions.crash_safety``."""
        safety = super().crash_safety
        return "mysql-5.6" if safety == "mysql-8.0" and not self.redo_threads else safety


class StandaloneCosts(ServerCosts):
    """Those of any server, and how long it takes to start."""

    start_ms: Annotated[Milliseconds, prior.BOOT] = Field(
        1800.0, description="start of a server until it answers"
    )


class StandaloneRecognition(MysqlRecognition):
    """A server that no other model recognises."""

    rank: ClassVar[int] = 90
    single: ClassVar[bool] = True

    def evidence(self, server: ServerReading) -> Evidence | None:
        """By default."""
        why = "no sign of Galera, group replication or a replica; --model names another"
        return Evidence(why)


class Standalone(Model):
    """The servers of one replication.

    Parameters
    ----------
    cluster : Cluster
        Machines, network and clock.
    options : StandaloneOptions
    costs : StandaloneCosts
    """

    name: ClassVar[str] = "standalone"
    Options: ClassVar[type[StandaloneOptions]] = StandaloneOptions
    Costs: ClassVar[type[StandaloneCosts]] = StandaloneCosts
    faults: ClassVar = frozenset(
        {"slow", "pause", "disk-stall", "kill", "power-loss", "leave", "restart", "loss", "jitter"}
    )
    operations: ClassVar = MAINTENANCE | {"ddl", "set"}
    dynamic: ClassVar[frozenset[str]] = DURABILITY
    node_costs: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    errors: ClassVar[tuple[str, ...]] = ERRORS
    recognition: ClassVar[Recognition] = StandaloneRecognition()

    def __init__(
        self, cluster: Cluster, options: StandaloneOptions, costs: StandaloneCosts
    ) -> None:
        self.servers: Sequence[MysqlServer]
        self._cluster = cluster
        self._options = options
        self._ending_servers: list[EndingServer] = []  # where something happens to them
        self._changes: Changes | None = None
        every = parts_of(cluster, WatchedParts)
        each = [cluster.costs_of(node, costs) for node in range(cluster.size)]
        self._costs = each
        if cluster.changes:
            self._begin_changing(cluster, every, options, each)
            return
        self.servers = [
            parts.make(MysqlServer, parts, options, costs, log_bin=options.log_bin)
            for parts, costs in zip(every, each, strict=True)
        ]

    def _begin_changing(
        self,
        cluster: Cluster,
        every: Sequence[Parts],
        options: StandaloneOptions,
        costs: Sequence[StandaloneCosts],
    ) -> None:
        """Servers that may come and go."""
        nodes, log_bin = range(cluster.size), options.log_bin
        durability = [Durability.of(cluster, node, options, log_bin=log_bin) for node in nodes]
        servers: list[EndingServer] = []
        self.servers = self._ending_servers = servers

        def start(node: int) -> None:
            parts = every[node].anew()
            server = parts.make(EndingServer, parts, options, costs[node], log_bin=log_bin)
            server.durability = durability[node]
            servers[node : node + 1] = [server]

        for node in nodes:
            start(node)
        self._changes = Changes(
            cluster, durability, servers, start, lambda node: costs[node].start_ms * 1e-3
        )

    @staticmethod
    def pause_limit_s(options: StandaloneOptions) -> float:
        """See ``Model.pause_limit_s``: any, nobody else notices."""
        del options
        return inf

    @staticmethod
    def silence_limit_s(options: StandaloneOptions) -> float:
        """See ``Model.silence_limit_s``: for ever, as servers do not talk to each other."""
        del options
        return inf

    @staticmethod
    def analytic(setup: Setup) -> ClosedForm:
        """See ``ClosedForm``."""
        from simrep.models.mysql.analytic import ServerForm

        return ServerForm(setup, log_bin=setup.options.log_bin)  # type: ignore[attr-defined]

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """Open a connection to one server."""
        if self._changes is not None:
            return self._changes.connect(node)
        return self.servers[node].sessions.connect()

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction; it fails by a deadlock, a timeout, or when it is too large."""
        if transaction.journal is not None:
            transaction.journal.alone()
        if self._changes is not None:
            return self._changes.transact(transaction)
        return self.servers[transaction.node].sessions.transact(transaction)

    def change(self, change: Change) -> None:
        """Let a server crash, leave or come back now."""
        assert self._changes is not None
        self._changes.change(change)

    def operate(self, operation: Operation) -> None:
        """Let an operator set options, change or lock tables, or make a backup."""
        if operation.what == "set":
            for node in operation.nodes:
                set_durability(operation, self._ending_servers[node])
            return
        server = self._ending_servers[operation.nodes[0]]
        if operation.what in MAINTENANCE:
            maintain(self._cluster, server, operation, self._costs[server.index])
            return
        told = check_table_change(operation, self._options)
        assert server.tables is not None
        server.tables.alter(told)

    def status(self, node: int) -> ServerStatus:
        """See ``Model.status``: nobody keeps it from anything."""
        return ServerStatus(state="running", serves=True, writes=True, rank=node)

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Status variables of every server (``SHOW GLOBAL STATUS``)."""
        return {server.name: server.counters() for server in self.servers}

    def backlog(self) -> Mapping[str, float]:
        """None is behind: they know nothing of each other."""
        return dict.fromkeys((server.name for server in self.servers), 0.0)

    def stations(self) -> Iterable[Station]:
        """Logs and disks; machines are the engine's."""
        return [station for server in self.servers for station in server.stations()]
