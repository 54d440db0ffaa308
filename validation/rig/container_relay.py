"""The relay inside of one host's network: a container has no way into those of the others."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from simrep.rig.command import run, succeeds
from simrep.rig.container_host import ContainerHost, cpu_seconds_of_stat, in_container
from simrep.rig.delays import DelayMatrix
from simrep.rig.errors import RigError
from simrep.rig.programs import compiled
from simrep.rig.relays import TUNNEL, LinkCounters, link_lines, read_counters

__all__ = ["ContainerRelay", "configuration", "routing_commands"]

MARK = "0x51"  # of packets that the relay sends, as relay/tunnel.h has it
TABLE = "51"
PATIENCE_S = 5.0
START = "cd /rig && echo $$ > relay.pid && exec ./relay relay.conf relay.csv > relay.log 2>&1"


class ContainerRelay:
    """Delays what one host sends.

    Parameters
    ----------
    host : ContainerHost
    hosts : sequence of ContainerHost
        All of them.
    folder : Path
        Mounted as ``/rig`` in the container of tools.
    subnet, device : str
        Of the hosts' network.
    """

    def __init__(
        self,
        host: ContainerHost,
        hosts: Sequence[ContainerHost],
        folder: Path,
        subnet: str,
        device: str,
    ) -> None:
        self._host = host
        self._hosts = tuple(hosts)
        self._folder = folder
        self._subnet = subnet
        self._device = device
        self._late: set[str] = set()
        self._cpu_before_s = 0.0

    def start(self) -> None:
        """Start without any delay."""
        shutil.copy(compiled("relay"), self._folder / "relay")
        self._write(DelayMatrix(()))
        for argv in routing_commands(self._subnet, self._device):
            self._run(argv)
        run(["docker", "exec", "--detach", "--user", "root", self._host.tools, "sh", "-c", START])
        self._await_counters()
        largest = self._run(["cat", f"/sys/class/net/{self._device}/mtu"]).strip()
        self._run(["ip", "link", "set", TUNNEL, "mtu", largest])

    def set_delays(self, delays: DelayMatrix) -> None:
        """Other delays from now on."""
        self._write(delays)
        self._signal("HUP")
        self.counters()  # of signals that wait, the relay obeys this first: the delays hold
        late = {name for name, _ in delays.leaving(self._host.name)}
        address = {host.name: host.address for host in self._hosts}
        former, self._late = self._late, late
        for name in sorted(late):
            path = [f"{address[name]}/32", "dev", TUNNEL, "src", self._host.address]
            self._run(["ip", "route", "replace", *path])
        for name in sorted(former - late):
            gone = ["ip", "route", "del", f"{address[name]}/32", "dev", TUNNEL]
            succeeds(in_container(self._host.tools, gone))  # it may be one that could not be set

    def counters(self, *, reset: bool = False) -> tuple[list[LinkCounters], float]:
        """Counters of the links and CPU time since the last reset."""
        (self._folder / "relay.csv").unlink(missing_ok=True)
        self._signal("USR1")
        found = read_counters(self._await_counters())
        cpu_s = cpu_seconds_of_stat(self._run(["cat", f"/proc/{self._number()}/stat"]))
        used_s = cpu_s - self._cpu_before_s
        if reset:
            self._signal("USR2")
            self._cpu_before_s = cpu_s
        return found, used_s

    def _write(self, delays: DelayMatrix) -> None:
        unfinished = self._folder / "relay.conf.unfinished"
        unfinished.write_text(configuration(self._host, self._hosts, delays), encoding="utf-8")
        unfinished.replace(self._folder / "relay.conf")

    def _run(self, argv: Sequence[str]) -> str:
        return run(in_container(self._host.tools, argv))

    def _signal(self, name: str) -> None:
        self._run(["sh", "-c", f"kill -{name} {self._number()}"])

    def _number(self) -> int:
        return int((self._folder / "relay.pid").read_text(encoding="utf-8"))

    def _await_counters(self) -> str:
        patience = time.monotonic() + PATIENCE_S
        written = self._folder / "relay.csv"
        while time.monotonic() < patience:
            if written.exists():
                return written.read_text(encoding="utf-8")
            time.sleep(0.005)
        log = self._folder / "relay.log"
        told = log.read_text(encoding="utf-8").strip() if log.exists() else ""
        gone = not succeeds(in_container(self._host.tools, ["true"]))
        raise RigError(
            f"the relay of {self._host.name} wrote no counters"
            + (": its container is gone" if gone else f": {told[-500:]}")
        )


def configuration(host: ContainerHost, hosts: Sequence[ContainerHost], delays: DelayMatrix) -> str:
    """The relay's configuration inside of one host."""
    nodes = [
        f"{'self' if other.name == host.name else 'peer'} {other.name} {other.address}"
        for other in hosts
    ]
    return "\n".join([*nodes, *link_lines(delays, host.name), ""])


def routing_commands(subnet: str, device: str) -> list[list[str]]:
    """Commands that let the relay's own packets pass by the routes into the tunnel."""
    return [
        ["ip", "rule", "add", "fwmark", MARK, "lookup", TABLE, "pref", TABLE],
        ["ip", "route", "add", subnet, "dev", device, "table", TABLE],
    ]
