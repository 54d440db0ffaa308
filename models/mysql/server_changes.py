"""Servers that crash, shut down and start again, whatever they replicate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from simrep.modelling import Change, Cluster, Event, ScenarioError, Transaction

from .durability import Durability
from .ending_server import CONNECTION_REFUSED, EndingServer

__all__ = ["ServerChanges"]


class ServerChanges(ABC):
    """What happens to the servers of a cluster.

    Parameters
    ----------
    cluster : Cluster
    durability : sequence of Durability
        What is on their disks.
    start_s : callable
        ``start_s(node)``: how long it takes to start.
    """

    def __init__(
        self, cluster: Cluster, durability: Sequence[Durability], start_s: Callable[[int], float]
    ) -> None:
        self._cluster = cluster
        self._clock = cluster.clock
        self._names = cluster.names
        self._timeline = cluster.timeline
        self._durability = durability
        self._start_s = start_s
        self._away: set[int] = set()
        self._leaving: dict[int, Change | None] = {}  # and what follows when they have left
        self._starting: dict[int, int] = {}  # a number for every start that is under way
        self._starts = 0

    @abstractmethod
    def _server(self, node: int) -> EndingServer:
        """The server of a node, which may be at its end."""

    @abstractmethod
    def _went(self, node: int) -> None:
        """The process of a server has ended."""

    @abstractmethod
    def _came(self, node: int) -> None:
        """A server has started: what is on its disk is to be found, and a new process begins."""

    def is_leaving(self, node: int) -> bool:
        """Whether a server shuts down, and serves nobody any more."""
        return node in self._leaving

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """Open a connection to a server."""
        server = self._server(node)
        if node in self._leaving:
            return server.sessions.refused(CONNECTION_REFUSED)
        return server.connect()

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction on its server."""
        server = self._server(transaction.node)
        if transaction.node in self._leaving:
            return server.lose(transaction)
        return server.transact(transaction)

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
            self._end(node, what)

    def _check_restart(self, change: Change) -> None:
        if change.transfer_s is not None:
            raise ScenarioError(
                "fault",
                f"{self._names[change.node]!r} gets transfer_s = {change.transfer_s:g} at "
                f"{self._clock.now:g} s, and no state is transferred to it",
                "leave it out; start_ms in [cluster.costs] is how long a server takes to start",
            )

    # -- a server goes ---------------------------------------------------------------------------

    def _leave(self, node: int) -> None:
        """Shut down in order: what is in its commit ends, then the process."""
        if self._starting.pop(node, None) is not None or node in self._away:
            return
        server = self._server(node)
        self._leaving[node] = None
        server.disconnect_uncommitted()

        def quiet() -> None:
            if node in self._leaving and self._server(node) is server:
                self._end(node, "leave")

        server.when_quiet(quiet)

    def _end(self, node: int, what: str) -> None:
        self._durability[node].ends(what)
        then = self._leaving.pop(node, None)
        server, silent = self._server(node), what == "power-loss"
        if self._starting.pop(node, None) is not None:
            server.silent = silent
            return
        if node in self._away:
            return
        self._away.add(node)
        server.die(silent=silent, killed=what == "kill")
        self._went(node)
        if then is not None:
            self._begin(node)

    # -- a server comes back ---------------------------------------------------------------------

    def _begin(self, node: int) -> None:
        self._server(node).silent = False  # its machine is there: it refuses connections
        self._starts += 1
        self._starting[node] = self._starts
        self._server(node).when_closed(partial(self._start_process, (node, self._starts)))

    def _start_process(self, start: tuple[int, int]) -> None:
        self._clock.at(self._clock.now + self._start_s(start[0]), self._started, start)

    def _started(self, start: tuple[int, int]) -> None:
        node, number = start
        if self._starting.get(node) == number:
            del self._starting[node]
            self._away.discard(node)
            self._came(node)
