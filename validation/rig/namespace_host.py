"""A host of the engine without Docker: a network namespace and a root file system."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from simrep.rig import command, ping, processes
from simrep.rig.engine import RoundTrip
from simrep.rig.errors import RigError
from simrep.rig.rootfs import chroot_command

__all__ = ["DEVICE", "NamespaceHost"]

DEVICE = "eth0"
INSIDE = "/data"
SCRATCH = "/tmp"  # noqa: S108 - of the host, and nobody else's
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


class NamespaceHost:
    """Programs run in the network namespace, changed into the root file system.

    Parameters
    ----------
    name, address : str
    namespace : str
        Name of the network namespace.
    rootfs : Path
        Shared by all hosts.
    outside : Path
        Folder of this host's data, mounted as ``/data``.
    scratch : Path
        Its own ``/tmp``: a server that starts removes the temporary tables it finds there.
    names : Path
        Names and addresses of all hosts, mounted as ``/etc/hosts``.
    """

    def __init__(
        self,
        name: str,
        address: str,
        namespace: str,
        rootfs: Path,
        outside: Path,
        scratch: Path,
        names: Path,
    ) -> None:
        self.name = name
        self.address = address
        self.namespace = namespace
        self.inside = INSIDE
        self.outside = outside
        self._rootfs = rootfs
        self._mounts = ((outside, INSIDE), (scratch, SCRATCH), (names, "/etc/hosts"))
        self._server: subprocess.Popen[bytes] | None = None

    def in_network(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs one of the machine's programs in the namespace."""
        return ["nsenter", f"--net=/run/netns/{self.namespace}", *argv]

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs a program of the root file system on the host."""
        return self.in_network(chroot_command(self._rootfs, argv, self._mounts))

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> str:
        """Run a program to its end and return what it printed."""
        return command.run(self.command(argv), timeout_s=timeout_s, environment=ENVIRONMENT)

    def launch(self, argv: Sequence[str], log: Path) -> None:
        """Start the server; every step on the way replaces the one before, so its id is known."""
        if self.alive():
            raise RigError(f"{self.name} has a server already")
        with log.open("ab") as output:
            self._server = subprocess.Popen(
                self.command(argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=ENVIRONMENT,
            )

    def alive(self) -> bool:
        """Whether the server is running."""
        return self._server is not None and self._server.poll() is None

    def terminate(self, timeout_s: float = 60.0) -> None:
        """Ask the server to end, and kill it after the time-out."""
        if self._server is not None:
            processes.end(self._server, timeout_s)
            self._server = None

    def cpu_seconds(self) -> float:
        """CPU time of the server."""
        if self._server is None or self._server.poll() is not None:
            raise RigError(f"the server of {self.name} is not running")
        return processes.cpu_seconds(self._server.pid)

    def ping(self, address: str, *, count: int, interval_s: float) -> RoundTrip:
        """Ping another host, with the machine's own program."""
        argv = ping.ping_command(address, count, interval_s)
        return ping.read_ping(command.run(self.in_network(argv), timeout_s=60.0 + count))
