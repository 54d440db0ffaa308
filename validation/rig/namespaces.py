"""The engine without Docker: network namespaces on one bridge, servers from a root file system.

The bridge has a namespace of its own: the packet filter of a running Docker engine would drop what
crosses a bridge in the machine's own. Every namespace carries the mark of the rig, and so do the
processes that it starts there: the next start finds and ends them, whatever became of the last.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from simrep.rig.delays import DelayMatrix
from simrep.rig.engine import (
    DEVICE,
    DelayMethod,
    EngineName,
    RigEngine,
    RigHost,
)
from simrep.rig.errors import RigError
from simrep.rig.files import rig_folder
from simrep.rig.mark import ENVIRONMENT, MARK, end_process, marked_folder, remove_folder
from simrep.rig.processes import cpu_seconds, end, run, start
from simrep.rig.relays import PATIENCE_S, Relay, compiled, link_lines
from simrep.rig.rootfs import chroot_command, installed_versions, is_rootfs

__all__ = ["NamespaceHost", "NamespaceRelay", "Namespaces", "network_commands", "remove_namespaces"]

PREFIX = "simrep"
NETNS = Path("/run/netns")
KILLED_S = 2.0
SCRATCH = "/tmp"  # noqa: S108 - of a host, and nobody else's


class NamespaceHost(RigHost):
    """Programs run in the network namespace, changed into the root file system.

    Parameters
    ----------
    name, address : str
    rootfs : Path
        Shared by all hosts.
    outside : Path
        Folder of this host's data, mounted as ``/data``.
    scratch : Path
        Its own ``/tmp``: a server that starts removes the temporary tables it finds there.
    names : Path
        Names and addresses of all hosts, mounted as ``/etc/hosts``.
    """

    environment = MappingProxyType(
        {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", **ENVIRONMENT}
    )

    def __init__(
        self, name: str, address: str, rootfs: Path, outside: Path, scratch: Path, names: Path
    ) -> None:
        super().__init__(name, address, outside)
        self.namespace = NETNS / f"{PREFIX}-{name}"
        self._rootfs = rootfs
        self._mounts = ((outside, self.inside), (scratch, SCRATCH), (names, "/etc/hosts"))

    def in_network(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs one of the machine's programs in the namespace."""
        return ["nsenter", f"--net={self.namespace}", *argv]

    def command(self, argv: Sequence[str]) -> list[str]:
        """Every step on the way replaces the one before: a server's process id is known."""
        return self.in_network(chroot_command(self._rootfs, argv, self._mounts))

    def signal(self, number: signal.Signals) -> None:
        """Send the server a signal: it is a child of this process, and its number no other's."""
        if self._server is None or self._server.poll() is not None:
            raise RigError(f"the server of {self.name} is not running")
        self._server.send_signal(number)

    def _cpu_s(self, pid: int) -> float:
        return cpu_seconds(pid)


class NamespaceRelay(Relay):
    """One relay, in a network namespace of its own, for all nodes, which it reaches by theirs."""

    def __init__(self, folder: Path, home: Path, nodes: Mapping[str, tuple[str, Path]]) -> None:
        super().__init__(folder)
        self._home = home
        self._nodes = [f"node {name} {ip} {path}" for name, (ip, path) in nodes.items()]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start without any delay."""
        self._configure(DelayMatrix(()))
        self._counters.unlink(missing_ok=True)
        files = [str(self._folder / "relay.conf"), str(self._counters)]
        argv = ["nsenter", f"--net={self._home}", str(compiled("relay")), *files]
        self._process = start(argv, self._log, {**os.environ, **ENVIRONMENT})
        self._await_counters()

    def stop(self) -> None:
        """End it, if it runs."""
        if self._process is not None:
            end(self._process, PATIENCE_S)
            self._process = None

    def _lines(self, delays: DelayMatrix) -> list[str]:
        return [*self._nodes, *link_lines(delays)]

    def _signal(self, number: signal.Signals) -> None:
        self._check().send_signal(number)

    def _cpu_s(self) -> float:
        return cpu_seconds(self._check().pid)

    def _check(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            raise RigError(f"the relay is not running: {self._told()}")
        return self._process

    def _silence(self) -> str:
        return "the relay wrote no counters"


class Namespaces(RigEngine):
    """Hosts as network namespaces; needs root.

    Parameters
    ----------
    rootfs : Path
        Root file system with the servers' programs.
    delay_method : "netem", "relay", optional
    """

    name: EngineName = "netns"
    subnet = "10.77.0"
    breaks = True

    def __init__(self, rootfs: Path, *, delay_method: DelayMethod | None = None) -> None:
        super().__init__(delay_method)
        self._rootfs = rootfs
        self._folder = rig_folder() / "netns"

    def _check(self, count: int) -> None:
        if os.geteuid():
            raise RigError("network namespaces need root: use sudo, or the Docker engine")
        if not is_rootfs(self._rootfs):
            raise RigError(
                f"no root file system with a server in {self._rootfs}: `simrep rig base` makes one"
            )

    def _make(self, addresses: Mapping[str, str]) -> None:
        marked_folder(self._folder / "hosts")
        wanted = {f"{PREFIX}-{name}" for name in ("switch", *addresses)}
        if foreign := sorted(wanted.intersection(_namespaces())):
            raise RigError(
                f"network namespace {foreign[0]} is not the rig's, so it is left alone: "
                f"`ip netns del {foreign[0]}` removes it"
            )
        for argv in network_commands(addresses):
            run(argv)
        known = "".join(f"{address} {name}\n" for name, address in addresses.items())
        names = self._folder / "names"
        names.write_text(f"127.0.0.1 localhost\n{known}", encoding="utf-8")
        (self._rootfs / "etc/hosts").touch()  # what the hosts have instead is mounted there
        for folder in ("data", "tmp"):
            (self._rootfs / folder).mkdir(exist_ok=True)
        hosts = []
        for name, address in addresses.items():
            outside, scratch = (self._folder / "hosts" / name / part for part in ("data", "tmp"))
            for place in (outside, scratch):
                place.mkdir(parents=True)
            scratch.chmod(0o1777)
            hosts.append(NamespaceHost(name, address, self._rootfs, outside, scratch, names))
        self._hosts = hosts

    def _remove(self) -> None:
        remove_namespaces()
        remove_folder(self._folder / "hosts")

    def _tell_relays(self, delays: DelayMatrix) -> None:
        if not self._relays:
            nodes = {
                host.name: (host.address, NETNS / f"{PREFIX}-{host.name}") for host in self._hosts
            }
            relay = NamespaceRelay(self._folder, NETNS / f"{PREFIX}-switch", nodes)
            self._relays["all"] = relay
            relay.start()
        self._relays["all"].set_delays(delays)

    def _versions(self) -> dict[str, Any]:
        return {"base": self._rootfs.name, "packages": installed_versions(self._rootfs)}


def network_commands(addresses: Mapping[str, str]) -> list[list[str]]:
    """Commands that make a namespace for every host and one for the bridge between them."""
    switch = f"{PREFIX}-switch"
    commands = [
        ["ip", "netns", "add", switch],
        ["ip", "-n", switch, "link", "set", "lo", "alias", MARK],
        ["ip", "-n", switch, "link", "add", "bridge", "type", "bridge"],
        ["ip", "-n", switch, "link", "set", "bridge", "up"],
    ]
    for name, address in addresses.items():
        inside = ["ip", "-n", f"{PREFIX}-{name}"]
        peer = ["peer", "name", name, "netns", switch]
        enter = ["nsenter", f"--net={NETNS}/{PREFIX}-{name}", "sysctl", "-qw"]
        commands += [
            ["ip", "netns", "add", f"{PREFIX}-{name}"],
            [*inside, "link", "set", "lo", "alias", MARK],
            [*inside, "link", "add", DEVICE, "type", "veth", *peer],
            ["ip", "-n", switch, "link", "set", name, "master", "bridge", "up"],
            [*inside, "addr", "add", f"{address}/24", "dev", DEVICE],
            [*inside, "link", "set", "lo", "up"],
            [*inside, "link", "set", DEVICE, "up"],
        ]
        # There and back may take different ways, one of them through the relay.
        for device in ("all", "default", DEVICE):
            commands.append([*enter, f"net.ipv4.conf.{device}.rp_filter=0"])
    return commands


def remove_namespaces() -> None:
    """Remove namespaces that carry the rig's mark, and end the processes there that do."""
    for name in _namespaces():
        if not name.startswith(f"{PREFIX}-") or not _is_own(name):
            continue
        patience = time.monotonic() + KILLED_S
        while _end_processes(name) and time.monotonic() < patience:
            time.sleep(0.02)  # what is killed may still be writing
        run(["ip", "netns", "del", name])


def _namespaces() -> list[str]:
    return [line.split()[0] for line in run(["ip", "netns", "list"]).splitlines() if line.strip()]


def _is_own(name: str) -> bool:
    try:
        [device] = json.loads(run(["ip", "-n", name, "-j", "link", "show", "dev", "lo"]))
    except (RigError, ValueError):
        return False
    return bool(device.get("ifalias") == MARK)


def _end_processes(name: str) -> bool:
    """Whether there was one to end."""
    pids = run(["ip", "netns", "pids", name]).split()
    return sum(end_process(int(pid)) for pid in pids) > 0
