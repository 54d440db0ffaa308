"""Galera Cluster (MariaDB, Percona XtraDB Cluster): certification over a safe total order.

A transaction runs on one node under row locks. At commit its rows travel as one writeset through
the send monitor and the group communication (``simrep.groupcomm.evs``), which delivers it on all
nodes in one order, when all nodes have reported receipt. Every node certifies it by its keys: of
two concurrent transactions that touch a row, the first ordered wins. The origin then commits in
that order and answers its client; the others apply in parallel and commit in order.

Assumptions
-----------
Conservative
    One run queue per machine in order of arrival; no preemption.
Optimistic
    No state transfer, no membership changes, no crashes; reads of data pages cost no I/O; the
    background flush of the redo log costs nothing; a lock wait never times out.
Left out
    Gap locks, hence replay of victims that pass certification; causal reads
    (``wsrep_sync_wait``); schema changes; the one-millisecond retry of a commit that meets flow
    control between the two checks of it; streaming replication; the binary log.

References
----------
codership/galera 25.3.37 and 26.4: ``gcomm/src/evs_proto.cpp``, ``gcs/src/gcs.cpp``,
``galera/src/replicator_smm.cpp``, ``certification.cpp``; percona/galera (PXC 5.7, 8.0).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

from simpy.events import Event

from simrep.experiment.cluster import Cluster
from simrep.measure.stations import Station
from simrep.workload.laps import Lap
from simrep.workload.session import Sessions
from simrep.workload.transaction import Transaction

from .galera_load_data import split_load_data
from .galera_node import GaleraNode
from .galera_options import GaleraCosts, GaleraOptions
from .galera_session import GaleraSession
from .galera_streaming import Streams
from .galera_writeset import LocalTransaction, Part, Writeset
from .rollback_counters import rollback_counters

__all__ = ["Galera"]


class Galera:
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
    xa: ClassVar[bool] = True

    def __init__(self, cluster: Cluster, options: GaleraOptions, costs: GaleraCosts) -> None:
        self._max_ws_size = options.max_ws_size
        self._annotate = options.annotate_rows
        # All nodes arm the keepalive timer when the view is installed: they fire together, but
        # not at once (domain: offsets of 0.2-1 ms).
        uniform = cluster.streams.uniform("galera/keepalive")
        phase = uniform() * options.keepalive_period_s
        spread = costs.keepalive_spread_ms * 1e-3
        self.nodes = [
            GaleraNode(cluster, i, options, costs, phase + spread * uniform())
            for i in range(cluster.size)
        ]
        self._streams = [Streams(node, options, costs) for node in self.nodes]
        self._splits = options.load_data_splitting
        self._sessions = [
            Sessions(
                cluster.clock,
                node.host,
                cluster.client_hosts[node.index],
                cluster.client_delays_s[node.index],
                node.locks,
                costs.of_sessions(),
                begin=LocalTransaction,
                commit=partial(self._commit, node),
                prepare=partial(self._prepare, node),
                streaming=streams.of,
                refuse=partial(_too_many_rows, options.max_ws_rows)
                if options.max_ws_rows
                else None,
                lock_wait_timeout_s=options.lock_wait_timeout_s,
                retries=options.retry_autocommit,
            )
            for node, streams in zip(self.nodes, self._streams, strict=True)
        ]

    def connect(self, node: int) -> Generator[Event, Any, None]:
        """Open a connection: handshake, authentication, a thread on the server."""
        return self._sessions[node].connect()

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction; autocommit statements are retried as the server does."""
        sessions = self._sessions[transaction.node]
        if transaction.load_data and self._splits:
            return split_load_data(sessions, transaction)
        return sessions.transact(transaction)

    def _prepare(self, node: GaleraNode, transaction: Transaction) -> float:
        """CPU to build the writeset, which copies its rows."""
        return node.preparation(transaction.size_bytes)

    def _commit(
        self, node: GaleraNode, transaction: Transaction, local: LocalTransaction
    ) -> Generator[Event, Any, bool]:
        if transaction.xa_hold_s is not None:
            if not (yield from local.stream.replicate(Part.PREPARE)):
                return False
            yield node.clock.timeout(transaction.xa_hold_s)
            local.mark(Lap.CLIENT)
        if local.stream is not None and local.stream.fragments:
            committed: bool = yield from local.stream.commit()
            locked = True
        else:
            writeset = Writeset(transaction, local, annotate=self._annotate)
            if writeset.size_bytes > self._max_ws_size:
                local.error = node.refuse_size()
                return False
            if not transaction.autocommit or local.stream is not None:
                yield node.host.work(self._prepare(node, transaction))
                if local.aborted:
                    return False
                local.mark(Lap.EXECUTE)
            node.replicate(writeset)
            committed = yield local.done
            locked = bool(writeset.locks or writeset.scans)
        if committed and locked:
            node.locks.release_all(local)
        return committed

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Status variables of every node (``SHOW STATUS LIKE 'wsrep%'``)."""
        return {
            node.name: _status(node, sessions.victims)
            | rollback_counters(sessions, "1180", "1205", "1213")
            for node, sessions in zip(self.nodes, self._sessions, strict=True)
        }

    def stations(self) -> Iterable[Station]:
        """Redo logs; machines are the engine's."""
        return [node.redo_stage for node in self.nodes if node.redo_stage is not None]


def _status(node: GaleraNode, bf_aborts: int) -> dict[str, float]:
    elapsed = node.clock.now
    paused = node.sender.monitor.paused_until_now_s()
    latency = node.repl_latency
    return {
        "wsrep_last_committed": node.last_committed,
        "wsrep_replicated": node.sender.replicated,
        "wsrep_replicated_bytes": node.sender.replicated_bytes,
        "wsrep_received": node.received,
        "wsrep_received_bytes": node.received_bytes,
        "wsrep_local_commits": node.local_commits,
        "wsrep_local_cert_failures": node.cert_failures,
        "wsrep_local_bf_aborts": bf_aborts,
        "wsrep_local_recv_queue_avg": _mean(node.recv_queue_sum, node.received),
        "wsrep_local_recv_queue_max": node.recv_queue_max,
        "wsrep_max_ws_size_exceeded": node.too_large,
        "wsrep_flow_control_paused": paused / elapsed if elapsed else 0.0,
        "wsrep_flow_control_sent": node.flow_control.sent,
        "wsrep_flow_control_recv": node.flow_control.received,
        "wsrep_cert_deps_distance": _mean(node.deps_distance_sum, node.certified),
        "wsrep_evs_repl_latency_min": latency.minimum if latency.count else 0.0,
        "wsrep_evs_repl_latency_avg": latency.mean,
        "wsrep_evs_repl_latency_max": latency.maximum if latency.count else 0.0,
        "wsrep_evs_repl_latency_stddev": latency.deviation,
        "wsrep_cert_index_size": len(node.certification),
        "evs_messages_sent": node.mesh.sent,
        "evs_messages_received": node.mesh.received,
    }


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0


def _too_many_rows(most: int, rows: int) -> str:
    return "1180 wsrep_max_ws_rows exceeded" if rows > most else ""
