"""The engine without Docker: network namespaces on one bridge, servers from a root file system.

The bridge has a namespace of its own: the packet filter of a running Docker engine would drop what
crosses a bridge in the machine's own. Every namespace carries the prefix of the rig, and so what
runs in one can be found and ended by the next start, whatever became of the last.
"""

from __future__ import annotations

import atexit
import os
import platform
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simrep.rig import netem, ping
from simrep.rig.command import run, succeeds
from simrep.rig.delays import DelayMatrix
from simrep.rig.engine import DelayMethod, DelayStatistics, EngineName, RoundTrip
from simrep.rig.errors import RigError
from simrep.rig.folders import rig_folder
from simrep.rig.lock import RigLock
from simrep.rig.namespace_host import DEVICE, NamespaceHost
from simrep.rig.relays import TUNNEL, Relay
from simrep.rig.rootfs import installed_versions, is_rootfs

__all__ = ["Namespaces", "network_commands", "remove_namespaces"]

PREFIX = "simrep"
SUBNET = "10.77.0"
NETNS = Path("/run/netns")
KILLED_S = 2.0


class Namespaces:
    """Hosts as network namespaces; needs root.

    Parameters
    ----------
    rootfs : Path
        Root file system with the servers' programs.
    delay_method : "netem", "relay", optional
        What delays packets; by default netem where the kernel has it.
    congestion_control : str, optional
        Of TCP, in all namespaces; by default the machine's. Others than reno must be among the
        machine's ``net.ipv4.tcp_allowed_congestion_control``.
    """

    name: EngineName = "netns"

    def __init__(
        self,
        rootfs: Path,
        *,
        delay_method: DelayMethod | None = None,
        congestion_control: str | None = None,
    ) -> None:
        self._rootfs = rootfs
        self._wanted_method = delay_method
        self._method: DelayMethod = delay_method or "relay"
        self._congestion_control = congestion_control
        self._folder = rig_folder() / "netns"
        self._hosts: list[NamespaceHost] = []
        self._relay: Relay | None = None
        self._delays = DelayMatrix(())
        self._lock = RigLock()

    @property
    def delay_method(self) -> DelayMethod:
        """What delays packets; known once the hosts are up."""
        return self._method

    @property
    def hosts(self) -> tuple[NamespaceHost, ...]:
        """All hosts, ``n1`` first."""
        return tuple(self._hosts)

    def up(self, count: int) -> None:
        """Remove what an earlier run left behind and make so many hosts."""
        if os.geteuid():
            raise RigError("network namespaces need root: use sudo, or the Docker engine")
        if not is_rootfs(self._rootfs):
            raise RigError(
                f"no root file system with a server in {self._rootfs}: `simrep rig base` makes one"
            )
        self.down()
        self._lock.take()
        atexit.register(self.down)
        remove_namespaces()
        shutil.rmtree(self._folder / "hosts", ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        names = [f"n{number}" for number in range(1, count + 1)]
        addresses = {name: f"{SUBNET}.{10 + number}" for number, name in enumerate(names, 1)}
        for argv in network_commands(addresses):
            run(argv)
        if self._congestion_control is not None:
            for name in names:
                self._set(name, "net.ipv4.tcp_congestion_control", self._congestion_control)
        known = "".join(f"{address} {name}\n" for name, address in addresses.items())
        names_file = self._folder / "names"
        names_file.write_text(f"127.0.0.1 localhost\n{known}", encoding="utf-8")
        (self._rootfs / "etc/hosts").touch()  # what the hosts have instead is mounted there
        for folder in ("data", "tmp"):
            (self._rootfs / folder).mkdir(exist_ok=True)
        for name, address in addresses.items():
            outside, scratch = (self._folder / "hosts" / name / part for part in ("data", "tmp"))
            for place in (outside, scratch):
                place.mkdir(parents=True)
            scratch.chmod(0o1777)
            self._hosts.append(
                NamespaceHost(
                    name, address, f"{PREFIX}-{name}", self._rootfs, outside, scratch, names_file
                )
            )
        self._choose_method()

    def set_delays(self, delays: DelayMatrix) -> None:
        """Delay packets as told, from now on, instead of as before."""
        address = {host.name: host.address for host in self._hosts}
        if self._method == "netem":
            for host in self._hosts:
                succeeds(host.in_network(netem.remove_command(DEVICE)))
                late = [(address[name], link) for name, link in delays.leaving(host.name)]
                for argv in netem.add_commands(DEVICE, late):
                    run(host.in_network(argv))
        else:
            self._delay_by_relay(delays, address)
        for host in self._hosts:  # what TCP remembers of the former delays
            succeeds(host.in_network(["ip", "tcp_metrics", "flush"]))

    def _delay_by_relay(self, delays: DelayMatrix, address: Mapping[str, str]) -> None:
        if self._relay is None:
            nodes = {h.name: (h.address, NETNS / h.namespace) for h in self._hosts}
            self._relay = Relay(self._folder, str(NETNS / f"{PREFIX}-switch"), nodes)
            self._relay.start()
        self._relay.set_delays(delays)
        former, self._delays = self._delays, delays
        for host in self._hosts:
            before = {name for name, _ in former.leaving(host.name)}
            late = {name for name, _ in delays.leaving(host.name)}
            for name in sorted(late):
                path = [f"{address[name]}/32", "dev", TUNNEL, "src", host.address]
                run(host.in_network(["ip", "route", "replace", *path]))
            for name in sorted(before - late):
                gone = ["ip", "route", "del", f"{address[name]}/32", "dev", TUNNEL]
                succeeds(host.in_network(gone))  # it may be one that could not be set

    def round_trips(self, *, count: int = 20) -> dict[tuple[str, str], RoundTrip]:
        """Ping every pair of hosts."""
        return ping.all_pairs(self._hosts, count)

    def delay_statistics(self, *, reset: bool = False) -> DelayStatistics:
        """What the relay did since it was reset."""
        if self._relay is None:
            return DelayStatistics()
        return self._relay.statistics(reset=reset)

    def description(self) -> dict[str, Any]:
        """Versions and settings of the engine."""
        settings = {}
        if self._hosts:
            name = "net.ipv4.tcp_congestion_control"
            settings[name] = run(self._hosts[0].in_network(["sysctl", "-n", name])).strip()
        return {
            "engine": self.name,
            "delay_method": self._method,
            "kernel": platform.release(),
            "base": self._rootfs.name,
            "packages": installed_versions(self._rootfs),
            "settings": settings,
        }

    def down(self) -> None:
        """End all servers and the relay and remove the namespaces."""
        try:
            for host in self._hosts:
                host.terminate()
            if self._relay is not None:
                self._relay.stop()
            if self._lock.held:
                remove_namespaces()
                shutil.rmtree(self._folder / "hosts", ignore_errors=True)
        finally:
            self._lock.release()
            self._hosts, self._relay = [], None
            self._delays = DelayMatrix(())
            atexit.unregister(self.down)

    def _choose_method(self) -> None:
        host = self._hosts[0]
        if self._wanted_method is None:
            probes = netem.probe_commands(DEVICE)
            has_netem = all(succeeds(host.in_network(argv)) for argv in probes)
            self._method = "netem" if has_netem else "relay"

    def _set(self, name: str, setting: str, value: str) -> None:
        namespace = NETNS / f"{PREFIX}-{name}"
        run(["nsenter", f"--net={namespace}", "sysctl", "-qw", f"{setting}={value}"])


def network_commands(addresses: Mapping[str, str]) -> list[list[str]]:
    """Commands that make a namespace for every host and one for the bridge between them."""
    switch = f"{PREFIX}-switch"
    commands = [
        ["ip", "netns", "add", switch],
        ["ip", "-n", switch, "link", "add", "bridge", "type", "bridge"],
        ["ip", "-n", switch, "link", "set", "bridge", "up"],
    ]
    for name, address in addresses.items():
        inside = ["ip", "-n", f"{PREFIX}-{name}"]
        peer = ["peer", "name", name, "netns", switch]
        enter = ["nsenter", f"--net={NETNS}/{PREFIX}-{name}", "sysctl", "-qw"]
        commands += [
            ["ip", "netns", "add", f"{PREFIX}-{name}"],
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
    """End what runs in namespaces with the rig's prefix, and remove them."""
    names = [line.split()[0] for line in run(["ip", "netns", "list"]).splitlines() if line.strip()]
    for name in names:
        if not name.startswith(f"{PREFIX}-"):
            continue
        for pid in run(["ip", "netns", "pids", name]).split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue
        patience = time.monotonic() + KILLED_S
        while run(["ip", "netns", "pids", name]).split() and time.monotonic() < patience:
            time.sleep(0.02)  # what is killed may still be writing
        run(["ip", "netns", "del", name])
