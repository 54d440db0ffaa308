"""HAProxy between clients and servers: its configuration, its checks, start and end.

It has a host of its own, whose ways to the nodes no fault cuts. Beside every server a program
answers its checks, as ``clustercheck`` does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from simrep.rig.clustercheck import READY
from simrep.rig.errors import RigError
from simrep.rig.mark import ENVIRONMENT
from simrep.rig.processes import end, start
from simrep.scenario.proxy import ProxyTable

if TYPE_CHECKING:
    from simrep.rig.cluster import RigCluster
    from simrep.rig.engine import RigHost

__all__ = ["PROXY", "Proxy", "configuration", "proxy_problems"]

PROXY = "proxy"
"""The name of its host, and of its socket among those of servers."""
CHECK_PORT = 9200
_SOCKET = "proxy.sock"
_FILE = "haproxy.cfg"
_READY_S = 20.0
_ENDS_S = 2.0
_PLAYED = frozenset(
    {"like", "check_s", "fall", "fall_errors", "rise", "on_marked_down", "on_fail_back",
     "connect_timeout_s"}
)  # fmt: skip


def proxy_problems(proxy: ProxyTable, *, galera: bool) -> Iterator[tuple[str, str, str]]:
    """What is wrong: key, problem and advice."""
    if not galera:
        yield "like", "the rig puts HAProxy before Galera alone", "product = galera"
    if proxy.like != "haproxy":
        yield "like", f"{proxy.like!r} is not played", "haproxy: Debian has no package of others"
        return
    for key in sorted(proxy.model_fields_set - _PLAYED):
        yield key, "is not played", f"the rig plays {', '.join(sorted(_PLAYED))}"
    whole = proxy.complete("galera")
    if whole.fall != whole.fall_errors:
        yield "fall_errors", "HAProxy counts failures of both kinds alike", "as many as fall"


def configuration(proxy: ProxyTable, servers: dict[str, str], socket: str) -> str:
    """The file of HAProxy; servers by name with their addresses, the first of which writes."""
    whole = proxy.complete("galera")
    closes = " on-marked-down shutdown-sessions" if whole.on_marked_down == "close" else ""
    check = f"check port {CHECK_PORT} inter {_ms(whole.check_s)}"
    lines = [
        "global",
        "  maxconn 2000",
        "defaults",
        "  mode tcp",
        "  retries 3",
        f"  timeout connect {_ms(whole.connect_timeout_s)}",
        "  timeout client 1h",
        "  timeout server 1h",
        "listen app",
        f"  bind unix@{socket} mode 666",
        "  option httpchk",
        f"  default-server {check} fall {whole.fall} rise {whole.rise}{closes}",
    ]
    for place, (name, address) in enumerate(servers.items()):
        more = " backup" if place else ""
        if not place and whole.on_fail_back == "close":
            more = " on-marked-up shutdown-backup-sessions"
        lines.append(f"  server {name} {address}:3306{more}")
    return "\n".join([*lines, ""])


def _ms(seconds: float | None) -> str:
    assert seconds is not None  # a complete table has all of them
    return f"{round(1000 * seconds)}ms"


class Proxy:
    """HAProxy while a load goes on; use it in a ``with``.

    Parameters
    ----------
    table : ProxyTable
    host : RigHost
        Its own.
    cluster : RigCluster
        Whose servers it knows, in their order.
    log : Path
    """

    def __init__(self, table: ProxyTable, host: RigHost, cluster: RigCluster, log: Path) -> None:
        self._table = table
        self._host = host
        self._cluster = cluster
        self._log = log
        self._checks: list[subprocess.Popen[bytes]] = []

    @property
    def socket(self) -> Path:
        """Where clients connect to."""
        return self._host.outside / _SOCKET

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        environment = {**os.environ, **ENVIRONMENT}
        logs: list[Path] = []
        for node in self._cluster.nodes:
            program = [sys.executable, "-m", "simrep.rig.clustercheck", str(node.socket)]
            argv = node.host.in_network([*program, node.host.address, str(CHECK_PORT)])
            log = self._log.with_name(f"check-{node.name}.log")
            log.unlink(missing_ok=True)
            self._checks.append(start(argv, log, environment))
            logs.append(log)
        # One check without an answer takes a server out at first: clients would find another one.
        patience = time.monotonic() + _READY_S
        while not all(log.exists() and READY in log.read_text(encoding="utf-8") for log in logs):
            if time.monotonic() > patience:
                raise RigError("the programs that answer the checks of HAProxy do not start")
            time.sleep(0.1)
        servers = {node.name: node.host.address for node in self._cluster.nodes}
        text = configuration(self._table, servers, f"{self._host.inside}/{_SOCKET}")
        (self._host.outside / _FILE).write_text(text, encoding="utf-8")
        self.socket.unlink(missing_ok=True)
        self._host.launch(["haproxy", "-db", "-f", f"{self._host.inside}/{_FILE}"], self._log)
        patience = time.monotonic() + _READY_S
        while not self._answers():
            if not self._host.alive() or time.monotonic() > patience:
                told = self._log.read_text(encoding="utf-8", errors="replace")[-500:]
                raise RigError(f"HAProxy lets nobody in: {told}")
            time.sleep(0.2)

    def _answers(self) -> bool:
        import pymysql

        from simrep.rig.transactions import USER

        with suppress(pymysql.MySQLError, OSError):
            session = pymysql.connect(
                unix_socket=str(self.socket), user=USER, password=USER, connect_timeout=2
            )
            with session, session.cursor() as cursor:
                cursor.execute("select @@server_id")
                return bool(
                    cursor.fetchone() == (1,)
                )  # the first server, which is to take the writes
        return False

    def __exit__(self, *_: object) -> None:
        self._host.terminate(_ENDS_S)
        for check in self._checks:
            end(check, _ENDS_S)
        self._checks.clear()
