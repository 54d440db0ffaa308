"""A source and its replicas that crash, leave and come back as what they were."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from typing import Any

from simrep.modelling import Change, Cluster, ScenarioError
from simrep.models.mysql.ending_server import EndingServer

from .binary_log import BinaryLog
from .changing_replica import ChangingReplica, RelayRemains
from .changing_source import ChangingSource
from .options import AsynchronousOptions
from .source import SOURCE

__all__ = ["Changes"]

_RELEASE_S = 1.0  # so often is looked what nobody can lack any more; results are the same


class Changes:
    """What happens to the servers of a replication; and what is on the disk of those away.

    A source that is started again is the source again: its storage engine commits all that is in
    its binary log, whatever clients were told, and its replicas connect to it. There is no failover
    manager.

    Parameters
    ----------
    cluster : Cluster
    options : AsynchronousOptions
    log : BinaryLog
        Of the source.
    servers : mutable sequence of EndingServer
        One that comes back takes the place of the old one.
    processes : mutable sequence
        The source and its replicas, the same way.
    start : callable
        ``start(node)``: puts a new server and its process into their places.
    start_s : callable
        ``start_s(node)``: how long it takes to start.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: AsynchronousOptions,
        log: BinaryLog,
        servers: MutableSequence[EndingServer],
        processes: MutableSequence[Any],
        start: Callable[[int], object],
        start_s: Callable[[int], float],
    ) -> None:
        self._clock = cluster.clock
        self._names = cluster.names
        self._timeline = cluster.timeline
        self._options = options
        self._log = log
        self._servers = servers
        self._processes = processes
        self._start = start
        self._start_s = start_s
        self._remains: dict[int, RelayRemains] = {}  # of replicas that are away
        self._away: set[int] = set()
        self._leaving: dict[int, Change | None] = {}  # and what follows when they have left
        self._starting: dict[int, int] = {}  # a number for every start that is under way
        self._starts = 0
        self._release(None)

    def _release(self, _: None) -> None:
        """Nobody needs what all have committed."""
        replicas = range(SOURCE + 1, len(self._servers))
        executed = [
            self._remains[node].executed
            if node in self._remains
            else self._replica(node).channel.low_water
            for node in replicas
        ]
        self._log.release(min([self._log.readable, *executed]))
        self._clock.at(self._clock.now + _RELEASE_S, self._release)

    def _source(self) -> ChangingSource:
        source = self._processes[SOURCE]
        assert isinstance(source, ChangingSource)
        return source

    def _replica(self, node: int) -> ChangingReplica:
        replica = self._processes[node]
        assert isinstance(replica, ChangingReplica)
        return replica

    def is_leaving(self, node: int) -> bool:
        """Whether a server shuts down, and serves nobody any more."""
        return node in self._leaving

    def change(self, change: Change) -> None:
        """Let a server crash, leave or come back now."""
        node, what = change.node, change.what
        if what == "restart":
            self._check_restart(change)
            if node in self._leaving:
                self._leaving[node] = change
            else:
                self._begin(node)
        elif what == "leave":
            self._leave(node)
        else:
            self._check_durable(change)
            self._end(node, what)

    def _check_restart(self, change: Change) -> None:
        if change.transfer_s is not None:
            raise ScenarioError(
                "fault",
                f"{self._names[change.node]!r} gets transfer_s = {change.transfer_s:g} at "
                f"{self._clock.now:g} s, and no state is transferred to it: a replica gets from "
                "the binary log of its source what it lacks",
                "leave it out; start_ms in [cluster.costs] is how long a server takes to start",
            )

    def _check_durable(self, change: Change) -> None:
        """Refuse a crash after which nobody knows what is on the disk."""
        options, name = self._options, self._names[change.node]
        if change.what == "power-loss" and not options.durable:
            raise ScenarioError(
                "fault",
                f"{name!r} loses power at {self._clock.now:g} s, and the model does not tell which "
                "commits are on its disk",
                "set sync_binlog = 1 and innodb_flush_log_at_trx_commit = 1",
            )
        if options.innodb_flush_log_at_trx_commit == 0:
            raise ScenarioError(
                "fault",
                f"{name!r} is killed at {self._clock.now:g} s, and the model does not tell which "
                "commits of the last second are in its redo log",
                "set innodb_flush_log_at_trx_commit = 1, or 2",
            )

    # -- a server goes ---------------------------------------------------------------------------

    def _leave(self, node: int) -> None:
        """Shut down in order: what is in its commit ends, then the process."""
        if self._starting.pop(node, None) is not None or node in self._away:
            return
        server = self._servers[node]
        self._leaving[node] = None
        server.disconnect_uncommitted()

        def quiet() -> None:
            if node in self._leaving and self._servers[node] is server:
                self._end(node, "leave")

        server.when_quiet(quiet)

    def _end(self, node: int, what: str) -> None:
        then = self._leaving.pop(node, None)
        server, silent = self._servers[node], what == "power-loss"
        if self._starting.pop(node, None) is not None:
            server.silent = silent
            return
        if node in self._away:
            return
        self._away.add(node)
        server.die(silent=silent)
        if node == SOURCE:
            self._source().die()
            if what == "power-loss":
                self._log.cut()
        else:
            self._remains[node] = self._replica(node).die(what)
        if then is not None:
            self._begin(node)

    # -- a server comes back ---------------------------------------------------------------------

    def _begin(self, node: int) -> None:
        self._servers[node].silent = False  # its machine is there: it refuses connections
        self._starts += 1
        self._starting[node] = self._starts
        at_s = self._clock.now + self._start_s(node)
        self._clock.at(at_s, self._started, (node, self._starts))

    def _started(self, start: tuple[int, int]) -> None:
        node, number = start
        if self._starting.get(node) != number:
            return
        del self._starting[node]
        self._away.discard(node)
        if node == SOURCE:
            self._recover()
        else:
            last = self._replica(node).number
            self._start(node)
            self._replica(node).start(self._remains.pop(node), last)

    def _recover(self) -> None:
        """Start the source: it commits all that is in its binary log."""
        for written in self._log.recover():
            if written.transaction.journal is not None:
                written.transaction.journal.committed(SOURCE)
        self._start(SOURCE)
        server = self._servers[SOURCE]
        server.commits = server.max_committed = self._log.end
        if self._timeline is not None:
            self._timeline.note(SOURCE, "synced")
