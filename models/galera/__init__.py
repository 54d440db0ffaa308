"""Galera Cluster (MariaDB, Percona XtraDB Cluster): certification over a safe total order.

A transaction runs on one node under row locks. At commit its rows travel as one writeset through
the send monitor and the group communication (``gcomm.evs``), which delivers it on all
nodes in one order, when all nodes have reported receipt. Every node certifies it by its keys: of
two concurrent transactions that touch a row, the first ordered wins. The origin then commits in
that order and answers its client; the others apply in parallel and commit in order.

With streaming replication (``streaming``) a transaction is replicated in fragments while
it is executed. Servers may crash, leave in order and come back (``changes``); what they have missed
is transferred to them (``returning_node``, ``state_transfer``). Who is delayed again and again may
be evicted (``gcomm.delayed_list``). Operators lock tables, take a node out of flow control, and
back it up (``maintenance``, ``table_locks``). Statements that change a table are executed in total
order isolation, as non-blocking operations or on a single node (``table_changes``).

Assumptions
-----------
Conservative
    One run queue per machine in order of arrival; no preemption.
Optimistic
    All data are in memory, but for those of clients where ``innodb_buffer_pool_size`` is given:
    appliers read no pages from the disk even then, and the logs have a disk of their own. The file
    that a large writeset is kept in costs no I/O; the background flush of the redo log costs
    nothing, and the log never runs full; what a donor reads does not delay its fsyncs, nor do the
    pages and the redo log of a statement that changes a table. A backup
    shares the disk with pages that clients read, or with fsyncs that wait for one device
    (``machine.parallel_syncs``); without either nobody waits for it. It throws no pages out of the
    buffer pool, and the redo log that it copies beside is nothing.
Left out
    What a long query does to a lock on all tables, and ``lock_wait_timeout``; what a backup or
    ``LOCK TABLES`` does to schema changes. Gap locks, hence replay of victims that pass
    certification; ``wsrep_sync_wait`` for ``SHOW``; the one-millisecond retry of a commit that
    meets flow control between the two checks of it; the purge of old row versions; the binary log;
    foreign keys of tables that are changed.
Validated
    Against published measurements of Percona XtraDB Cluster 5.7 (``wan-concurrency``) and 5.5
    (``semisync-wan``) and own ones of MariaDB 11.8, two to five nodes, 0 to 100 ms, 1 to 128
    threads, one node that writes or two (``galera-*`` and others); large transactions with and
    without fragments (``streaming-*``); servers that are killed, cut off and stopped
    (``galera-failures``), locks on one node (``galera-maintenance``), tables that are changed in
    total order isolation (``galera-operations``). RSU, NBO, backups, full state transfers,
    arbitrators and segments that fail against none.

References
----------
codership/galera 25.3.37 and 26.4: ``gcomm/src/evs_proto.cpp``, ``pc_proto.cpp``, ``gmcast.cpp``,
``gcs/src/gcs.cpp``, ``gcs_group.cpp``, ``gcs_state_msg.cpp``,
``galera/src/replicator_smm.cpp``, ``certification.cpp``; percona/galera (PXC 5.7, 8.0);
codership/wsrep-lib ``src/transaction.cpp``, ``src/server_state.cpp``.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from itertools import count
from math import inf
from typing import Any, ClassVar

from simrep.modelling import (
    Change,
    Cluster,
    Degradation,
    Deployment,
    Disk,
    Event,
    Inbox,
    MessageText,
    Model,
    Noted,
    Operation,
    Question,
    ReadLevel,
    Recognition,
    ScenarioError,
    ServerStatus,
    Setup,
    StallPhase,
    Station,
    Transaction,
    parts_of,
)
from simrep.modelling.closed_form import ClosedForm
from simrep.models.galera.gcomm.routes import segment_relays
from simrep.models.galera.gcomm.view import describe_evs

from .arbitrator import Arbitrator
from .changes import Changes
from .group import THREADS, GroupMember, waits_for_reads
from .maintenance import OPERATIONS, Maintenance
from .monitors import IN_ORDER
from .node import GaleraNode
from .options import GaleraCosts, GaleraOptions, GaleraSession
from .recognition import GaleraRecognition
from .server import ERRORS, GaleraServer
from .verdicts import Verdicts
from .watch import WatchedParts, describe_payload

__all__ = ["Galera"]


class Galera(Model):
    """The cluster of one replication.

    Parameters
    ----------
    cluster : Cluster
        Machines, network and clock.
    options : GaleraOptions
    costs : GaleraCosts
    """

    name: ClassVar[str] = "galera"
    Options: ClassVar[type[GaleraOptions]] = GaleraOptions
    Costs: ClassVar[type[GaleraCosts]] = GaleraCosts
    Session: ClassVar[type[GaleraSession]] = GaleraSession
    faults: ClassVar = frozenset(
        {
            "slow", "pause", "disk-stall", "kill", "power-loss", "leave", "restart", "bootstrap",
            "cut", "loss", "jitter",
        }
    )  # fmt: skip
    operations: ClassVar = OPERATIONS | {"set"}
    dynamic: ClassVar[frozenset[str]] = frozenset(
        {
            "wsrep_slave_threads", "gcs.fc_limit", "gcs.fc_factor",
            "innodb_flush_log_at_trx_commit",
        }
    )  # fmt: skip
    node_costs: ClassVar[bool] = True
    node_options: ClassVar[frozenset[str]] = frozenset({"pc.weight"})
    arbitrators: ClassVar[bool] = True
    errors: ClassVar[tuple[str, ...]] = ERRORS
    recognition: ClassVar[Recognition] = GaleraRecognition()

    def __init__(self, cluster: Cluster, options: GaleraOptions, costs: GaleraCosts) -> None:
        self._cluster = cluster
        self._options = options
        self._costs = costs
        # All nodes arm the keepalive timer when the view is installed: they fire together, but
        # not at once (domain: offsets of 0.2-1 ms).
        uniform = cluster.streams.uniform("galera/keepalive")
        phase = uniform() * options.keepalive_period_s
        spread = costs.keepalive_spread_ms * 1e-3
        self._parts = parts_of(cluster, WatchedParts)
        quiet = _quiet(cluster, options, costs)
        inboxes: list[Inbox | None] | None = [None] * cluster.size if quiet else None
        alike = not cluster.changes and cluster.trace is None and cluster.watch is None
        self._verdicts = Verdicts(cluster.size, cluster.arbitrators) if alike else None
        self._members = [
            GroupMember(
                parts,
                options,
                cluster.costs_of(parts.index, costs),
                phase + spread * uniform(),
                inboxes,
                quiet=parts.index in quiet,
            )
            for parts in self._parts
        ]
        self._stream_numbers = count()
        self._started: list[GaleraServer] = []  # all that there ever were
        self._servers = {
            index: self._server(index)
            for index in range(cluster.size)
            if index not in cluster.arbitrators
        }
        for index in cluster.arbitrators:
            self._arbitrator(index, anew=False)
        self._changes: Changes | None = None
        if options.auto_evict and not cluster.changes:
            _check_delays(cluster, options)
        if cluster.changes:
            options.check_timers()
            self._changes = Changes(
                cluster, options, self._members, self._servers, self._server, self._arbitrator
            )
        self._maintenance = Maintenance(cluster, options, costs, self._servers)

    @staticmethod
    def pause_limit_s(options: GaleraOptions) -> float:
        """See ``Model.pause_limit_s``: any, as the others notice it."""
        del options
        return inf

    @staticmethod
    def silence_limit_s(options: GaleraOptions) -> float:
        """See ``Model.silence_limit_s``: then a link is given up, the node suspected or delayed.

        The last sign of progress may be as old as a keepalive period when the silence begins.
        """
        limits = [options.peer_timeout_s, options.suspect_timeout_s - options.keepalive_period_s]
        if options.auto_evict:
            limits.append(options.delay_margin_s)
        return min(limits)

    @staticmethod
    def deployments() -> Sequence[Deployment]:
        """See ``Model.deployments``."""
        return (Deployment(name="Galera", keeps="all", writers={}),)

    @staticmethod
    def relays(segments: Sequence[int], node: int) -> Sequence[int]:
        """See ``Model.relays``."""
        return segment_relays(node, segments)

    @staticmethod
    def read_levels() -> Sequence[ReadLevel]:
        """See ``Model.read_levels``."""
        none, one = {"wsrep_sync_wait": 0}, {"wsrep_sync_wait": 1}
        return (
            ReadLevel(name="wsrep_sync_wait = 0", sees="any", options=none),
            ReadLevel(name="wsrep_sync_wait = 1 (readers)", sees="all", options=none, session=one),
            ReadLevel(name="wsrep_sync_wait = 7 (all)", sees="all", options={"wsrep_sync_wait": 7}),
        )

    @staticmethod
    def questions() -> Sequence[Question]:
        """See ``Model.questions``."""
        from .questions import QUESTIONS

        return QUESTIONS

    @staticmethod
    def analytic(setup: Setup) -> ClosedForm:
        """See ``ClosedForm``."""
        from .analytic import GaleraForm

        return GaleraForm(setup)

    @staticmethod
    def has_xa(options: GaleraOptions) -> bool:
        """See ``Model.has_xa``: from Galera 4 on."""
        return options.streaming_replication

    @property
    def nodes(self) -> list[GaleraNode]:
        """The node behind every server, in the order of their positions."""
        return [server.node for server in self._servers.values()]

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """Open a connection: handshake, authentication, a thread on the server."""
        return self._servers[node].connect()

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction; autocommit statements are retried as the server does."""
        return self._servers[transaction.node].transact(transaction)

    def status(self, node: int) -> ServerStatus:
        """See ``Model.status``: by ``wsrep_local_state`` and its like."""
        self.settle()
        return self._servers[node].status()

    def change(self, change: Change) -> None:
        """Let a server crash, leave or join now."""
        assert self._changes is not None
        self._changes.change(change)

    def operate(self, operation: Operation) -> None:
        """See ``Model.operate``."""
        if operation.what == "set":
            assert self._changes is not None
            self._changes.set_options(operation)
        else:
            self._maintenance.operate(operation)

    @staticmethod
    def describe(message: Any) -> MessageText:
        """What a message is."""
        return describe_evs(message[0], describe_payload)

    @staticmethod
    def stall_phases(
        noted: Sequence[Noted],
        names: Sequence[str],
        options: GaleraOptions,
        from_s: float,
        until_s: float,
    ) -> Sequence[StallPhase]:
        """See ``Model.stall_phases``: timers and messages of a view change, or of a lost link."""
        from .stall_phases import stall_phases

        return stall_phases(noted, names, options, from_s, until_s)

    def settle(self) -> None:
        """See ``Model.settle``."""
        for server in self._servers.values():
            server.node.settle()

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Status variables of every node, since its server was started."""
        self.settle()
        return {server.node.name: server.counters() for server in self._servers.values()}

    def degradation(self) -> Sequence[Degradation]:
        """Attempts that were refused since their node was in no primary component."""
        refused = sum(server.refused for server in self._started)
        why = "no part of the cluster had a majority, or their node was not in it"
        return (Degradation("attempts_without_quorum", refused, why),)

    def backlog(self) -> Mapping[str, float]:
        """By how many transactions each node has committed less than the first of them."""
        self.settle()
        first = max(node.last_committed for node in self.nodes)
        return {node.name: first - node.last_committed for node in self.nodes}

    def stations(self) -> Iterable[Station]:
        """Redo logs and latches; machines are the engine's."""
        return [one for server in self._servers.values() for one in server.stations()]

    def _arbitrator(self, index: int, *, anew: bool = True) -> None:
        """Start an arbitrator."""
        views = self._options.ordered_views
        Arbitrator(self._parts[index], self._members[index], ordered_views=views, anew=anew)

    def _server(self, index: int) -> GaleraServer:
        """Start the server of a node."""
        parts, member = self._parts[index].anew(), self._members[index]
        costs = self._cluster.costs_of(index, self._costs)
        numbers, verdicts = self._stream_numbers, self._verdicts
        server = GaleraServer(parts, member, self._options, costs, numbers, verdicts)
        self._started.append(server)
        return server


def _quiet(cluster: Cluster, options: GaleraOptions, costs: GaleraCosts) -> Collection[int]:
    """Positions of the nodes that are computed ahead: see ``QuietNode``."""
    if (
        options.applier_threads > 1
        or waits_for_reads(options, cluster.sessions)
        or options.fragment_size
        or options.commit_order != IN_ORDER
        or cluster.changes
    ):
        return ()

    def is_quiet(node: int) -> bool:
        own = cluster.costs_of(node, costs)
        work = (
            own.send_us,
            own.receive_us,
            own.action_us,
            own.certify_us,
            own.apply_us,
            own.commit_us,
            own.switch_us,
        )
        return (
            node not in cluster.arbitrators
            and cluster.hosts[node].cores >= THREADS
            and min(work) > 0.0
            and not own.fsync_work_us
            and not any(cluster.network.link(*ends).instant for ends in cluster.network.paths)
            and type(cluster.disk(node, 0.0)) is Disk
        )

    return [node for node in cluster.quiet if is_quiet(node)]


def _check_delays(cluster: Cluster, options: GaleraOptions) -> None:
    """Refuse a network that may delay a node so long that others count it (``evs.auto_evict``).

    Nobody looks at the clock where nothing happens to servers and links.
    """
    for path in cluster.network.paths.values():
        longest_s = sum(jitter.longest_s for jitter in path.latency.jitter)
        if path.loss or longest_s >= options.delay_margin_s:
            why = "[network] loses segments" if path.loss else "the jitter of [network] reaches it"
            raise ScenarioError(
                "evs.auto_evict",
                f"delays beyond evs.delay_margin are counted only in a run with a [[fault]], and "
                f"{why}, given {options.auto_evict}",
                'say it as a fault from the begin on, what = "loss" or "jitter", or set 0',
            )
