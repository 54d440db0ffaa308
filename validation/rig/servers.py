"""Servers that replicate: what the clusters of all products share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from simrep.errors import nearest
from simrep.rig.engine import Health, Option
from simrep.rig.errors import RigError
from simrep.rig.server import Server

__all__ = ["COUNTERS", "Servers", "await_condition"]

ASK_AGAIN_S = 0.05
PATIENCE_S = 2.0  # with a server that is told to end

# Counters of any server, by the beginning of their names.
COUNTERS = (
    *("com_begin", "com_commit", "com_rollback", "com_select"),
    *("com_insert", "com_update", "com_delete", "queries"),
    *("bytes_received", "bytes_sent", "threads_", "binlog_"),
    *("handler_commit", "handler_rollback", "innodb_row", "innodb_os_log", "innodb_data_fsyncs"),
)


class Servers(ABC):
    """A cluster's servers; products say what health is, and what they count besides.

    Parameters
    ----------
    servers : sequence of Server
        The first one accepts writes.
    """

    system = ""
    product_counters: tuple[str, ...] = ()

    def __init__(self, servers: Sequence[Server]) -> None:
        self._servers = tuple(servers)
        self._stopped = False

    @property
    def nodes(self) -> tuple[Server, ...]:
        """All servers."""
        return self._servers

    def health(self) -> Health:
        """Whether every server runs and answers, then what the product says."""
        from pymysql.err import MySQLError

        dead = [server.name for server in self._servers if not server.host.alive()]
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
        for server in self._servers:
            status = server.status()
            counted = {name: text for name, text in status.items() if name.startswith(wanted)}
            found[server.name] = counted | self.more_counters(server)
        return found

    def more_counters(self, server: Server) -> dict[str, str]:
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

    def check_options(self, options: Mapping[str, Option]) -> None:
        """Refuse options that no server knows: some are given in a way that forgives a wrong name.

        Raises
        ------
        RigError
            If there are any.
        """
        known = {**self._servers[0].variables(), **self._servers[-1].variables()}
        unknown = [
            name
            for name in options
            if "." not in name and _variable(name) not in known and "plugin" not in name
        ]
        if unknown:
            hints = [close for name in unknown if "did you" in (close := nearest(name, known))]
            raise RigError(f"the server has no option {', '.join(unknown)}; {' '.join(hints)}")

    def description(self) -> dict[str, Any]:
        """Versions, command lines and variables."""
        first = self._servers[0]
        return {
            "system": self.system,
            "version": str(first.value("version()")),
            "options": {server.name: server.arguments for server in self._servers},
            "variables": first.variables(),
        }

    def stop(self) -> None:
        """End all servers and delete their data."""
        if self._stopped:
            return
        self._stopped = True
        with ThreadPoolExecutor() as pool:  # nobody will miss the data: no orderly shutdown
            list(pool.map(lambda server: server.host.terminate(PATIENCE_S), self._servers))
        for server in self._servers:
            with suppress(RigError):
                server.host.run(["sh", "-c", f"rm -rf {server.host.inside}/*"])


def _variable(option: str) -> str:
    return option.replace("-", "_").removeprefix("loose_").removeprefix("skip_").lower()


def await_condition(what: str, holds: Callable[[], bool], timeout_s: float) -> None:
    """Wait until something holds.

    Raises
    ------
    RigError
        If it does not in time.
    """
    patience = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > patience:
            raise RigError(f"{what}: not within {timeout_s:g} s")
        time.sleep(ASK_AGAIN_S)
