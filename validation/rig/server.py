"""A database server on a host of the rig: initialised, started, asked, stopped."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simrep.rig.errors import RigError

if TYPE_CHECKING:
    from pymysql.connections import Connection

    from simrep.rig.engine import RigHost

__all__ = [
    "BUFFER_POOL",
    "SERVERS",
    "Option",
    "RigServer",
    "ServerProgram",
    "option_arguments",
    "option_file",
]

Option = bool | int | float | str

BUFFER_POOL = "512M"
"""Of every server whose options do not say otherwise."""

START_S = 180.0
INITIALISE_S = 300.0
ASK_AGAIN_S = 0.1
ANSWER_S = 600.0
OPTION_FILE = "server.cnf"
SOCKET_PATH_BYTES = 107  # what a Unix socket's address can hold


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """What differs between MySQL and MariaDB when one is started by hand.

    Attributes
    ----------
    name, daemon, slap_program : str
    initialise : tuple of str
        The command line, but for the data folder, that fills an empty one; root has no password.
    arguments : tuple of str
        Options that the rig needs, whatever is replicated.
    """

    name: str
    daemon: str
    slap_program: str
    initialise: tuple[str, ...]
    arguments: tuple[str, ...] = ()


MARIADB = ServerProgram(
    "mariadb",
    "mariadbd",
    "mariadb-slap",
    (
        *("mariadb-install-db", "--no-defaults", "--user=mysql"),
        *("--force", "--auth-root-authentication-method=normal"),  # its own name need not resolve
        *("--skip-test-db", "--skip-name-resolve"),
    ),
)
"""Of 10.5 and later."""
MYSQL = ServerProgram(
    "mysql",
    "mysqld",
    "mysqlslap",
    ("mysqld", "--no-defaults", "--user=mysql", "--initialize-insecure"),
    # The X plugin would want a port of its own; files may be loaded from anywhere.
    ("--mysqlx=OFF", "--secure-file-priv="),
)
"""Of 8.4 and later."""
PERCONA = replace(
    MYSQL, name="percona", arguments=(*MYSQL.arguments, "--pxc-encrypt-cluster-traffic=OFF")
)
"""Percona XtraDB Cluster: MySQL with Galera; nodes trust one another without certificates."""
SERVERS = {program.name: program for program in (MARIADB, MYSQL, PERCONA)}


def option_arguments(options: Mapping[str, Option]) -> list[str]:
    """Options as a server's command line has them."""
    return [f"--{name}={_value(value)}" for name, value in options.items()]


def _value(value: Option) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def option_file(arguments: Iterable[str]) -> str:
    """Arguments as an option file has them: scripts that transfer state read them nowhere else."""
    lines = ["[mysqld]"]
    for argument in arguments:
        name, given, value = argument.removeprefix("--").partition("=")
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'{name}="{quoted}"' if given else name)
    # What those scripts say goes to the server's log, and not to a syslog that is not there.
    return "\n".join([*lines, "[sst]", "sst-syslog=-1", ""])


class RigServer:
    """One server.

    Parameters
    ----------
    host : RigHost
    program : ServerProgram
    number : int
        Its ``server_id``, from 1.
    arguments : sequence of str
        Options of the product and of the experiment; the last of equal ones holds. All are in a
        file of the rig's own: no other option file of the host has a say.
    log : Path
        What the server prints.
    """

    def __init__(
        self,
        host: RigHost,
        program: ServerProgram,
        number: int,
        arguments: Sequence[str],
        log: Path,
    ) -> None:
        self.host = host
        self.name = host.name
        self.log = log
        self.slap_program = program.slap_program
        self.socket = host.outside / "server.sock"
        self.socket_inside = f"{host.inside}/server.sock"
        self._program = program
        self._data = f"{host.inside}/data"
        self.arguments = [
            *("--user=mysql", f"--datadir={self._data}"),
            *(f"--socket={self.socket_inside}", "--port=3306", "--bind-address=0.0.0.0"),
            *(f"--pid-file={host.inside}/server.pid", f"--tmpdir={host.inside}/temporary"),
            *("--skip-name-resolve", "--max-connections=600", f"--server-id={number}"),
            *(f"--innodb-buffer-pool-size={BUFFER_POOL}", *program.arguments, *arguments),
        ]

    @property
    def command(self) -> list[str]:
        """The server's command line on its host."""
        return [self._program.daemon, f"--defaults-file={self.host.inside}/{OPTION_FILE}"]

    def initialise(self) -> None:
        """Make an empty database."""
        if len(str(self.socket)) > SOCKET_PATH_BYTES:
            raise RigError(
                f"{self.socket} is too long for a socket: set SIMREP_RIG to a short path"
            )
        self.log.parent.mkdir(parents=True, exist_ok=True)
        file = self.host.outside / OPTION_FILE
        file.write_text(option_file(self.arguments), encoding="utf-8")
        file.chmod(0o644)  # servers ignore files that everybody can write
        inside = self.host.inside
        own = f"{self._data} {inside}/temporary"
        # The folder itself stays the rig's, whoever that is; the server makes its socket there.
        made = f"rm -rf {own} && mkdir -p {own} && chown -R mysql: {own}"
        self.host.run(["sh", "-c", f"{made} && chmod 777 {inside}"])
        filled = [*self._program.initialise, f"--datadir={self._data}"]
        self.host.run(filled, timeout_s=INITIALISE_S)

    def print_of(self, *more: str, timeout_s: float = START_S) -> str:
        """What the server's program prints when it only does what the arguments say, and ends."""
        # On the shell's part its two outputs are one.
        command = ["sh", "-c", 'exec "$@" 2>&1', "rig", *self.command, *more]
        return self.host.run(command, timeout_s=timeout_s)

    def start(self, *more: str, timeout_s: float = START_S) -> None:
        """Start and wait until it answers; else RigError has the end of its log."""
        from pymysql.err import MySQLError

        self.host.launch([*self.command, *more], self.log)
        patience = time.monotonic() + timeout_s
        while time.monotonic() < patience:
            if not self.host.alive():
                raise RigError(f"the server of {self.name} ended: {self._told()}")
            try:
                self.query("select 1")
            except (MySQLError, OSError):
                time.sleep(ASK_AGAIN_S)
            else:
                return
        raise RigError(f"no answer from {self.name} within {timeout_s:g} s: {self._told()}")

    def connect(
        self, database: str | None = None, *, answer_s: float = ANSWER_S
    ) -> Connection[Any]:
        """A connection as root with autocommit, over the socket; an answer takes no longer."""
        import pymysql

        return pymysql.connect(
            unix_socket=str(self.socket),
            user="root",
            password="",
            database=database,
            autocommit=True,
            connect_timeout=30,
            read_timeout=answer_s,
        )

    def query(self, *statements: str) -> list[dict[str, Any]]:
        """Run statements on one connection and return the rows of the last."""
        from pymysql.cursors import DictCursor

        with closing(self.connect()) as connection, connection.cursor(DictCursor) as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def value(self, expression: str) -> Any:
        """The value of an SQL expression."""
        return self.query(f"select {expression} as value")[0]["value"]

    def status(self, like: str = "%") -> dict[str, str]:
        """Global status variables, names in lower case."""
        rows = self.query(f"show global status like '{like}'")
        return {row["Variable_name"].lower(): str(row["Value"]) for row in rows}

    def variables(self, like: str = "%") -> dict[str, str]:
        """Global system variables."""
        rows = self.query(f"show global variables like '{like}'")
        return {row["Variable_name"].lower(): str(row["Value"]) for row in rows}

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> str:
        """Run a program beside the server."""
        return self.host.run(argv, timeout_s=timeout_s)

    def cpu_seconds(self) -> float:
        """CPU time of the server so far."""
        return self.host.cpu_seconds()

    def _told(self) -> str:
        if not self.log.exists():
            return "it logged nothing"
        return self.log.read_text(encoding="utf-8", errors="replace")[-1500:]
