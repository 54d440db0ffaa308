"""Servers that replicate: how they are started together, and what all products share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simrep.errors import nearest
from simrep.rig.engine import RigEngine, RigHost
from simrep.rig.errors import RigError
from simrep.rig.server import Option, RigServer, ServerProgram

__all__ = [
    "COUNTERS",
    "Arbitrator",
    "Health",
    "RigCluster",
    "RigProduct",
    "await_condition",
    "reached",
    "unequal",
]

ASK_AGAIN_S = 0.05
PATIENCE_S = 2.0  # with a server that is told to end

# Counters of any server, by the beginning of their names.
COUNTERS = (
    *("com_begin", "com_commit", "com_rollback", "com_select"),
    *("com_insert", "com_update", "com_delete", "queries"),
    *("bytes_received", "bytes_sent", "threads_", "binlog_"),
    *("handler_commit", "handler_rollback", "innodb_row", "innodb_os_log", "innodb_data_fsyncs"),
)


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a cluster is whole.

    Attributes
    ----------
    problems : tuple of str
        Why it is not; empty if it is.
    facts : mapping
        Membership, states and view, node by node: what is compared before and after a run.
    """

    problems: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Arbitrator:
    """A member without data: a process on its host, and what it logs."""

    host: RigHost
    log: Path

    @property
    def name(self) -> str:
        """Of its host."""
        return self.host.name

    def cpu_seconds(self) -> float:
        """CPU time of its process so far."""
        return self.host.cpu_seconds()


class RigCluster(ABC):
    """A server on every host; products say how these are joined, and what health is.

    Parameters
    ----------
    program : ServerProgram
    hosts : sequence of RigHost
        The server on the first one accepts writes.
    options : mapping of product option to value
        In the product's own spelling, ``sync_binlog`` or ``evs.send_window``.
    logs : Path
        Folder for the servers' logs.

    Attributes
    ----------
    nodes : tuple of RigServer
    arbitrators : tuple of Arbitrator
        Members without data.
    """

    system = ""
    product_counters: tuple[str, ...] = ()
    transfer_logs = ""
    """Files in the data folders, by a pattern, that say why a server could not join."""

    def __init__(
        self,
        program: ServerProgram,
        hosts: Sequence[RigHost],
        options: Mapping[str, Option],
        logs: Path,
        *,
        node_options: Mapping[str, Mapping[str, Option]] | None = None,
        arbitrators: Sequence[str] = (),
    ) -> None:
        self.program = program
        self.hosts = hosts
        self.options = options
        self.node_options = node_options or {}
        self.logs = logs
        self._stopped = False
        self.nodes = tuple(
            RigServer(host, program, number, self.arguments(host), logs / f"{host.name}.log")
            for number, host in enumerate(hosts, 1)
            if host.name not in arbitrators
        )
        self.arbitrators = tuple(
            Arbitrator(host, logs / f"{host.name}.log")
            for host in hosts
            if host.name in arbitrators
        )

    @property
    def members(self) -> tuple[RigServer | Arbitrator, ...]:
        """All that take part, with those that have no data, in the order of the hosts."""
        every: list[RigServer | Arbitrator] = [*self.nodes, *self.arbitrators]
        own = {one.name: one for one in every}
        return tuple(own[host.name] for host in self.hosts if host.name in own)

    def options_of(self, host: RigHost) -> dict[str, Option]:
        """Those of all nodes, and above them its own."""
        return {**self.options, **self.node_options.get(host.name, {})}

    @abstractmethod
    def arguments(self, host: RigHost) -> list[str]:
        """Arguments of the server on a host."""

    @abstractmethod
    def join(self) -> None:
        """Start the servers, which are initialised, and make them replicate."""

    def form(self) -> None:
        """Start all servers; none is left if that fails, or if none knows one of the options."""
        try:
            with ThreadPoolExecutor() as pool:
                list(pool.map(RigServer.initialise, self.nodes))
            self.join()
            self._check_options()
        except BaseException:
            self._keep_transfer_logs()
            self.stop()
            raise

    def _keep_transfer_logs(self) -> None:
        for server in self.nodes if self.transfer_logs else ():
            files = f"{server.host.inside}/data/{self.transfer_logs}"
            with suppress(RigError):
                told = server.run(["sh", "-c", f"tail -n 40 {files}"])
                (self.logs / f"{server.name}.transfer.log").write_text(told, encoding="utf-8")

    def health(self) -> Health:
        """Whether every server runs and answers, then what the product says."""
        from pymysql.err import MySQLError

        dead = [server.name for server in self.members if not server.host.alive()]
        if dead:
            return Health(tuple(f"{name}: the server is not running" for name in dead))
        try:
            return self.replication_health()
        except (MySQLError, OSError) as error:
            return Health((f"no answer: {error}",))

    @abstractmethod
    def replication_health(self) -> Health:
        """Membership and states."""

    def counters(self) -> dict[str, dict[str, str]]:
        """Counters of the product and of any server, by node."""
        wanted = COUNTERS + self.product_counters
        found = {}
        for server in self.nodes:
            status = server.status()
            counted = {name: text for name, text in status.items() if name.startswith(wanted)}
            found[server.name] = counted | self.more_counters(server)
        return found

    def more_counters(self, server: RigServer) -> dict[str, str]:
        """Counters that are no status variables."""
        return {}

    def caught_up(self, timeout_s: float = 60.0) -> bool:
        """Wait until every node has applied what was committed; whether they have."""
        from pymysql.err import MySQLError

        try:
            return self.level(timeout_s)
        except (MySQLError, OSError):
            return False

    @abstractmethod
    def level(self, timeout_s: float) -> bool:
        """The same, as long as all nodes answer."""

    def rejoin(self, server: RigServer) -> None:
        """Start a server that has ended, as its operator would; it may not be in sync yet."""
        server.start()

    talkative: tuple[str, ...] = ()
    """Statements that let a server log what it notices of others."""

    def speak_up(self) -> None:
        """Let servers log what they notice of one another."""
        for server in self.nodes:
            if self.talkative:
                server.query(*self.talkative)

    def _check_options(self) -> None:
        """Refuse options that no server knows: some are given in a way that forgives any name."""
        given = [*self.options, *(name for own in self.node_options.values() for name in own)]
        known = {**self.nodes[0].variables(), **self.nodes[-1].variables()}
        unknown = [
            name
            for name in given
            if "." not in name and _variable(name) not in known and "plugin" not in name
        ]
        if unknown:
            hints = [close for name in unknown if "did you" in (close := nearest(name, known))]
            raise RigError(f"the server has no option {', '.join(unknown)}; {' '.join(hints)}")

    def description(self) -> dict[str, Any]:
        """Versions, command lines and variables of the first node, for the manifest."""
        first = self.nodes[0]
        return {
            "system": self.system,
            "version": str(first.value("version()")),
            "options": {server.name: server.arguments for server in self.nodes},
            "variables": first.variables(),
        }

    def stop(self) -> None:
        """End all servers and delete their data; may be called twice."""
        if self._stopped:
            return
        self._stopped = True
        with ThreadPoolExecutor() as pool:  # nobody will miss the data: no orderly shutdown
            list(pool.map(lambda server: server.host.terminate(PATIENCE_S), self.members))
        for server in self.nodes:
            with suppress(RigError):
                server.host.run(["sh", "-c", f"rm -rf {server.host.inside}/*"])


@dataclass(frozen=True, slots=True)
class RigProduct:
    """A kind of clusters, and the program of its servers."""

    kind: type[RigCluster]
    program: ServerProgram

    def form(
        self,
        engine: RigEngine,
        options: Mapping[str, Option],
        logs: Path,
        *,
        node_options: Mapping[str, Mapping[str, Option]] | None = None,
        arbitrators: Sequence[str] = (),
    ) -> RigCluster:
        """Start a server on every host, which are up and not delayed yet, and join them."""
        cluster = self.kind(
            self.program, engine.hosts, options, logs,
            node_options=node_options, arbitrators=arbitrators,
        )  # fmt: skip
        cluster.form()
        return cluster


def reached(servers: Sequence[RigServer], function: str, position: str, timeout_s: float) -> bool:
    """Wait for servers by a function of theirs; whether all are at the position in time."""
    patience = time.monotonic() + timeout_s
    for server in servers:
        left_s = max(0.001, patience - time.monotonic())
        if server.value(f"{function}('{position}', {left_s:.3f})") != 0:
            return False
    return True


def unequal(status: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """What of a status is not as wanted."""
    return [
        f"{key} is {found}, not {value}"
        for key, value in wanted.items()
        if (found := status.get(key, "nothing")) != value
    ]


def _variable(option: str) -> str:
    return option.replace("-", "_").removeprefix("loose_").removeprefix("skip_").lower()


def await_condition(what: str, holds: Callable[[], bool], timeout_s: float) -> None:
    """Wait until something holds; RigError if it does not in time."""
    patience = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > patience:
            raise RigError(f"{what}: not within {timeout_s:g} s")
        time.sleep(ASK_AGAIN_S)
