"""A host of the engine with Docker: a container, and one beside it that shares its network."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from simrep.rig import command, ping, processes
from simrep.rig.engine import RoundTrip
from simrep.rig.errors import RigError

__all__ = ["ContainerHost", "cpu_seconds_of_stat", "in_container"]

INSIDE = "/data"
PID_FILE = "launched.pid"
KILLED_S = 2.0
CLIENT_S = 10.0  # for the engine's client to tell that a program was killed
PREFIX = "simrep-rig"


def in_container(container: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs a program in a container, as root."""
    return ["docker", "exec", "--user", "root", container, *argv]


def cpu_seconds_of_stat(text: str) -> float:
    """User and system time in ``/proc/PID/stat``; ticks are of 10 ms."""
    fields = text.rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class ContainerHost:
    """Programs run in the container.

    Parameters
    ----------
    name, address : str
    outside : Path
        Folder of this host's data, mounted as ``/data``.
    """

    def __init__(self, name: str, address: str, outside: Path) -> None:
        self.name = name
        self.address = address
        self.inside = INSIDE
        self.outside = outside
        self.container = f"{PREFIX}-{name}"
        self.tools = f"{PREFIX}-delay-{name}"
        self._server: subprocess.Popen[bytes] | None = None

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs a program in the container."""
        return in_container(self.container, argv)

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> str:
        """Run a program to its end and return what it printed."""
        # To kill the client of the engine would end nothing in the container.
        limited = ["timeout", "--signal=KILL", f"{timeout_s:g}", *argv]
        return command.run(self.command(limited), timeout_s=timeout_s + CLIENT_S)

    def launch(self, argv: Sequence[str], log: Path) -> None:
        """Start the server; its process id is written down on the way."""
        if self.alive():
            raise RigError(f"{self.name} has a server already")
        script = f'echo $$ > {INSIDE}/{PID_FILE}; exec "$@"'
        self.run(["rm", "-f", f"{INSIDE}/{PID_FILE}"])
        with log.open("ab") as output:
            self._server = subprocess.Popen(
                self.command(["sh", "-c", script, "rig", *argv]),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def alive(self) -> bool:
        """Whether the server is running."""
        return self._server is not None and self._server.poll() is None

    def terminate(self, timeout_s: float = 60.0) -> None:
        """Ask the server to end, and kill it after the time-out."""
        if self._server is None:
            return
        for name, patience_s in (("TERM", timeout_s), ("KILL", KILLED_S)):
            if self._server.poll() is None and (self.outside / PID_FILE).exists():
                command.succeeds(self.command(["sh", "-c", f"kill -{name} {self._pid()}"]))
            try:
                self._server.wait(patience_s)
                break
            except subprocess.TimeoutExpired:
                continue
        processes.end(self._server, 5.0)
        self._server = None

    def cpu_seconds(self) -> float:
        """CPU time of the server."""
        if not self.alive():
            raise RigError(f"the server of {self.name} is not running")
        return cpu_seconds_of_stat(self.run(["cat", f"/proc/{self._pid()}/stat"]))

    def ping(self, address: str, *, count: int, interval_s: float) -> RoundTrip:
        """Ping another host, from the container of tools."""
        argv = ping.ping_command(address, count, interval_s)
        return ping.read_ping(command.run(in_container(self.tools, argv), timeout_s=60.0 + count))

    def _pid(self) -> int:
        return int((self.outside / PID_FILE).read_text(encoding="utf-8"))
