"""Engines: hosts for one database server each, and delays of what these send to one another.

A host is a network namespace with a root file system, or a container. Products start servers on
hosts, whichever they are; campaigns see engines alone.
"""

from __future__ import annotations

import atexit
import platform
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from simrep.rig.delays import DelayMatrix, netem_commands, netem_probe, netem_removal
from simrep.rig.errors import RigError
from simrep.rig.guard import RigLock
from simrep.rig.processes import end, run, start, succeeds
from simrep.rig.relays import TUNNEL, DelayStatistics, Relay, merged

__all__ = [
    "DEVICE",
    "DelayMethod",
    "EngineName",
    "RigEngine",
    "RigHost",
    "RoundTrip",
    "ping_command",
    "read_ping",
]

EngineName = Literal["netns", "docker"]
DelayMethod = Literal["netem", "relay"]

DEVICE = "eth0"
PING_INTERVAL_S = 0.02
CONGESTION_CONTROL = "net.ipv4.tcp_congestion_control"
_PING_SUMMARY = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms")


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Pings from one host to another, in milliseconds."""

    least_ms: float
    mean_ms: float
    most_ms: float
    deviation_ms: float


class RigHost(ABC):
    """Where one server runs.

    Parameters
    ----------
    name : str
        ``n1``, ``n2``, ...
    address : str
        IPv4 address that the other hosts know it by.
    outside : Path
        Folder for data as the rig sees it; programs on the host see it as ``inside``.
    """

    inside = "/data"
    environment: Mapping[str, str] | None = None
    wrapper: tuple[str, ...] = ()
    """What the command line of a server begins with on the host."""

    def __init__(self, name: str, address: str, outside: Path) -> None:
        self.name = name
        self.address = address
        self.outside = outside
        self._server: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs one of the servers' programs on the host."""

    @abstractmethod
    def in_network(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs a network tool, which need not be among those, as root."""

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> str:
        """Run a program to its end and return what it printed; RigError if it fails."""
        return run(self.command(argv), timeout_s=timeout_s, environment=self.environment)

    def launch(self, argv: Sequence[str], log: Path) -> None:
        """Start the server of this host; its output is appended to the log."""
        if self.alive():
            raise RigError(f"{self.name} has a server already")
        self._server = start(self.command([*self.wrapper, *argv]), log, self.environment)

    def alive(self) -> bool:
        """Whether the server is running."""
        return self._server is not None and self._server.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send the server a signal; RigError where that is not done to servers."""
        raise RigError(f"servers of {self.name} cannot be sent {number.name} here")

    def await_end(self, timeout_s: float) -> None:
        """Wait until the server has ended; RigError if it does not in time."""
        if self._server is not None:
            try:
                self._server.wait(timeout_s)
            except subprocess.TimeoutExpired:
                problem = f"the server of {self.name} does not end within {timeout_s:g} s"
                raise RigError(problem) from None

    def terminate(self, timeout_s: float = 60.0) -> None:
        """Ask the server to end, and kill it after the time-out."""
        if self._server is not None:
            end(self._server, timeout_s)
            self._server = None

    def cpu_seconds(self) -> float:
        """CPU time of the server, user and system, threads that ended included."""
        if self._server is None or self._server.poll() is not None:
            raise RigError(f"the server of {self.name} is not running")
        return self._cpu_s(self._server.pid)

    @abstractmethod
    def _cpu_s(self, pid: int) -> float: ...

    def ping(self, address: str, count: int) -> RoundTrip:
        """Ping another host."""
        argv = ping_command(address, count, PING_INTERVAL_S)
        return read_ping(run(self.in_network(argv), timeout_s=60.0 + count))


def ping_command(address: str, count: int, interval_s: float) -> list[str]:
    """The command line."""
    return ["ping", "-q", "-n", "-c", str(count), "-i", f"{interval_s:g}", address]


def read_ping(text: str) -> RoundTrip:
    """The summary that it ends with."""
    found = _PING_SUMMARY.search(text)
    if found is None:
        raise RigError(f"ping got no answer: {text.strip()[-300:]}")
    least, mean, most, deviation = (float(figure) for figure in found.groups())
    return RoundTrip(least, mean, most, deviation)


class RigEngine(ABC):
    """Makes hosts and delays what they send.

    Parameters
    ----------
    delay_method : "netem", "relay", optional
        What delays packets; by default netem where the kernel has it, else the relay.
    """

    name: EngineName
    subnet: str
    patience_s = 60.0
    """With servers that are told to end."""
    breaks = False
    """Whether servers can be killed and stopped, and links cut, while a load goes on."""

    def __init__(self, delay_method: DelayMethod | None) -> None:
        self._wanted_method = delay_method
        self._method: DelayMethod = delay_method or "relay"
        self._hosts: Sequence[RigHost] = ()
        self.more: dict[str, RigHost] = {}
        """Hosts without a database server, by name; nothing that they send is delayed."""
        self._relays: dict[str, Relay] = {}
        self._delays = DelayMatrix(())
        self._lock = RigLock()

    @property
    def delay_method(self) -> DelayMethod:
        """What delays packets; known once the hosts are up."""
        return self._method

    @property
    def hosts(self) -> tuple[RigHost, ...]:
        """All hosts, ``n1`` first."""
        return tuple(self._hosts)

    def up(self, count: int, more: Sequence[str] = ()) -> None:
        """Remove what an earlier run left behind and make so many hosts, and others by name."""
        self._check(count)
        self.down()
        self._lock.take()
        try:
            self._remove()
        except RigError:  # there is something that is not the rig's
            self._lock.release()
            raise
        atexit.register(self.down)
        addresses = {f"n{number}": f"{self.subnet}.{10 + number}" for number in range(1, count + 1)}
        self._make(addresses | {name: f"{self.subnet}.{100 + n}" for n, name in enumerate(more)})
        self.more = {host.name: host for host in self._hosts if host.name in more}
        self._hosts = [host for host in self._hosts if host.name not in more]
        if self._wanted_method is None:
            probes = netem_probe(DEVICE)
            has_netem = all(succeeds(self._hosts[0].in_network(argv)) for argv in probes)
            self._method = "netem" if has_netem else "relay"

    def down(self) -> None:
        """Remove everything the engine made; may be called twice."""
        try:
            for host in (*self._hosts, *self.more.values()):
                host.terminate(self.patience_s)
            for relay in self._relays.values():
                relay.stop()
            if self._lock.held:
                self._remove()
        finally:
            self._lock.release()
            self._hosts, self._relays, self._delays = (), {}, DelayMatrix(())
            self.more = {}
            atexit.unregister(self.down)

    @abstractmethod
    def _check(self, count: int) -> None:
        """Refuse what cannot be made here."""

    @abstractmethod
    def _make(self, addresses: Mapping[str, str]) -> None:
        """Make the hosts by name."""

    @abstractmethod
    def _remove(self) -> None:
        """Remove hosts and their data, those of an earlier run as well."""

    def set_delays(self, delays: DelayMatrix) -> None:
        """Delay packets as told, from now on, instead of as before."""
        address = {host.name: host.address for host in self._hosts}
        if self._method == "relay":
            self._tell_relays(delays)
            self._route(delays, address)
        else:
            for host in self._hosts:
                succeeds(host.in_network(netem_removal(DEVICE)))
                late = [(address[name], link) for name, link in delays.leaving(host.name)]
                for argv in netem_commands(DEVICE, late):
                    run(host.in_network(argv))
        for host in self._hosts:  # what TCP remembers of the former delays
            succeeds(host.in_network(["ip", "tcp_metrics", "flush"]))

    def change_links(self, delays: DelayMatrix) -> None:
        """Other delays and losses, at once, of links that pass by the relay already."""
        if self._method != "relay":
            raise RigError("links are cut by the relay alone: --delay relay")
        strange = [pair for pair in delays.links if pair not in self._delays.links]
        if strange:
            raise RigError(f"{' to '.join(strange[0])} does not pass by the relay")
        self._tell_relays(delays)

    @abstractmethod
    def _tell_relays(self, delays: DelayMatrix) -> None:
        """Start the relays that are needed, and give all of them their delays."""

    def _route(self, delays: DelayMatrix, address: Mapping[str, str]) -> None:
        """Let delayed packets, and no others, pass by the relay."""
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
        """Ping every pair of hosts once in each order of their names."""
        return {(a.name, b.name): a.ping(b.address, count) for a, b in combinations(self._hosts, 2)}

    def delay_statistics(self, *, reset: bool = False) -> DelayStatistics:
        """What the relays did since they were reset."""
        told = [relay.counters(reset=reset) for relay in self._relays.values()]
        return merged([text for text, _ in told], sum(cpu_s for _, cpu_s in told))

    def description(self) -> dict[str, Any]:
        """Versions and settings of the engine, for the manifest."""
        settings = {}
        if self._hosts:
            path = f"/proc/sys/{CONGESTION_CONTROL.replace('.', '/')}"
            settings[CONGESTION_CONTROL] = run(self._hosts[0].in_network(["cat", path])).strip()
        return {
            "engine": self.name,
            "delay_method": self._method,
            "kernel": platform.release(),
            **self._versions(),
            "settings": settings,
        }

    @abstractmethod
    def _versions(self) -> dict[str, Any]:
        """Of what the hosts are made from."""
