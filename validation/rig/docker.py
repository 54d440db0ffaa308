"""The engine with Docker: a container for every server, and one beside it that delays."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from simrep.rig.delays import DelayMatrix
from simrep.rig.engine import DEVICE, DelayMethod, EngineName, RigEngine, RigHost
from simrep.rig.errors import RigError
from simrep.rig.files import rig_folder
from simrep.rig.mark import LABEL, is_marked, marked_folder, recorded_pid, remove_folder
from simrep.rig.processes import cpu_seconds_of_stat, end, run, succeeds
from simrep.rig.relays import TUNNEL, Relay, compiled, link_lines

__all__ = [
    "ContainerHost",
    "ContainerRelay",
    "Docker",
    "compose_program",
    "engine_answers",
    "in_container",
    "routing_commands",
]

PROJECT = "simrep-rig"
COMPOSE_FILE = Path(__file__).parent / "compose" / "hosts.yml"
MOST_HOSTS = 5
SUBNET = "10.97.0"
PULL_S = 1800.0
NEEDED_TOOLS = "command -v ip && command -v tc && command -v ping"
RECORD = "launched.stat"
KILLED_S = 2.0
CLIENT_S = 10.0  # for the engine's client to tell that a program was killed
MARK = "0x51"  # of packets that the relay sends, as relay/tunnel.h has it
TABLE = "51"
START = (
    "cd /rig && cat /proc/$$/stat > relay.stat && "
    "exec ./relay relay.conf relay.csv > relay.log 2>&1"
)


def in_container(container: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs a program in a container, as root."""
    return ["docker", "exec", "--user", "root", container, *argv]


class ContainerHost(RigHost):
    """Programs run in the container, network tools in one beside it that shares its network."""

    def __init__(self, name: str, address: str, outside: Path) -> None:
        super().__init__(name, address, outside)
        self.container = f"{PROJECT}-{name}"
        self.tools = f"{PROJECT}-delay-{name}"

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs a program in the container."""
        return in_container(self.container, argv)

    def in_network(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs a program in the container of tools."""
        return in_container(self.tools, argv)

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0) -> str:
        """To kill the client of the engine would end nothing in the container."""
        limited = ["timeout", "--signal=KILL", f"{timeout_s:g}", *argv]
        return super().run(limited, timeout_s=timeout_s + CLIENT_S)

    def launch(self, argv: Sequence[str], log: Path) -> None:
        """Start the server; which process it is, is written down on the way."""
        if not self.alive():
            self.run(["rm", "-f", f"{self.inside}/{RECORD}"])
        script = f'cat /proc/$$/stat > {self.inside}/{RECORD}; exec "$@"'
        super().launch(["sh", "-c", script, "rig", *argv], log)

    def terminate(self, timeout_s: float = 60.0) -> None:
        """The server does not end with the client of the engine, which is ended last."""
        if self._server is None:
            return
        for name, patience_s in (("TERM", timeout_s), ("KILL", KILLED_S)):
            if self._server.poll() is None and (self.outside / RECORD).exists():
                with suppress(RigError):  # it may have ended meanwhile
                    self.run(["sh", "-c", f"kill -{name} {self._pid()}"])
            try:
                self._server.wait(patience_s)
                break
            except subprocess.TimeoutExpired:
                continue
        end(self._server, 5.0)
        self._server = None

    def _cpu_s(self, _pid: int) -> float:
        return cpu_seconds_of_stat(self.run(["cat", f"/proc/{self._pid()}/stat"]))

    def _pid(self) -> int:
        return recorded_pid(self.outside / RECORD, lambda path: self.run(["cat", path]))


class ContainerRelay(Relay):
    """Delays what one host sends: a container has no way into the networks of the others.

    Its folder is mounted as ``/rig`` in the container of tools.
    """

    def __init__(self, host: ContainerHost, hosts: Sequence[RigHost], folder: Path) -> None:
        super().__init__(folder)
        self._host = host
        self._nodes = [
            f"{'self' if other.name == host.name else 'peer'} {other.name} {other.address}"
            for other in hosts
        ]

    def start(self) -> None:
        """Start without any delay."""
        shutil.copy(compiled("relay"), self._folder / "relay")
        self._configure(DelayMatrix(()))
        for argv in routing_commands(f"{SUBNET}.0/24", DEVICE):
            self._run(argv)
        run(["docker", "exec", "--detach", "--user", "root", self._host.tools, "sh", "-c", START])
        self._await_counters()
        largest = self._run(["cat", f"/sys/class/net/{DEVICE}/mtu"]).strip()
        self._run(["ip", "link", "set", TUNNEL, "mtu", largest])

    def stop(self) -> None:
        """It ends with its container."""

    def _lines(self, delays: DelayMatrix) -> list[str]:
        return [*self._nodes, *link_lines(delays, self._host.name)]

    def _run(self, argv: Sequence[str]) -> str:
        return run(self._host.in_network(argv))

    def _signal(self, number: signal.Signals) -> None:
        self._run(["sh", "-c", f"kill -{number.name.removeprefix('SIG')} {self._pid()}"])

    def _cpu_s(self) -> float:
        return cpu_seconds_of_stat(self._run(["cat", f"/proc/{self._pid()}/stat"]))

    def _pid(self) -> int:
        return recorded_pid(self._folder / "relay.stat", lambda path: self._run(["cat", path]))

    def _check(self) -> object:
        """Only its container could tell."""

    def _silence(self) -> str:
        gone = not succeeds(self._host.in_network(["true"]))
        return f"the relay of {self._host.name} wrote no counters: " + (
            "its container is gone" if gone else self._told()
        )


class Docker(RigEngine):
    """Hosts as containers.

    Parameters
    ----------
    image : str
        With the servers' programs: an official image, or one that was imported.
    tools_image : str
        With ip, tc and ping; taken if the other one has them not.
    delay_method : "netem", "relay", optional
    """

    name: EngineName = "docker"
    subnet = SUBNET
    patience_s = 5.0

    def __init__(
        self, image: str, tools_image: str, *, delay_method: DelayMethod | None = None
    ) -> None:
        super().__init__(delay_method)
        self._image = image
        self._tools_image = tools_image
        self._folder = rig_folder() / "docker"

    def _check(self, count: int) -> None:
        if count > MOST_HOSTS:
            raise RigError(f"the compose file has {MOST_HOSTS} hosts, not {count}")

    def _make(self, addresses: Mapping[str, str]) -> None:
        marked_folder(self._folder)
        for name in addresses:
            for folder in (name, f"delay-{name}"):
                (self._folder / folder).mkdir(parents=True, exist_ok=True)
        # The image of the servers, if it has the tools: one that need not be pulled.
        if self._once(["sh", "-c", NEEDED_TOOLS]):
            self._tools_image = self._image
        self._hosts = [
            ContainerHost(name, address, self._folder / name) for name, address in addresses.items()
        ]
        self._compose("up", "--detach", *addresses, *(f"delay-{name}" for name in addresses))
        # There and back may take different ways, one of them through the relay.
        path = f"/proc/sys/net/ipv4/conf/{DEVICE}/rp_filter"
        for host in self._hosts:
            if run(host.in_network(["cat", path])).strip() == "1":
                raise RigError(
                    "containers drop packets that come another way than answers would go: "
                    "`sysctl -w net.ipv4.conf.default.rp_filter=2` on this machine"
                )

    def _remove(self) -> None:
        _check_marks()
        self._compose("down", "--volumes", "--timeout", "1")
        if is_marked(self._folder):  # in a container: the data belong to the servers' user
            self._once(["sh", "-c", "rm -rf /rig/*"], ["--volume", f"{self._folder}:/rig"])
        remove_folder(self._folder)

    def _tell_relays(self, delays: DelayMatrix) -> None:
        for host in self._hosts:
            assert isinstance(host, ContainerHost)
            relay = self._relays.get(host.name)
            if relay is None and any(delays.leaving(host.name)):
                relay = ContainerRelay(host, self._hosts, self._folder / f"delay-{host.name}")
                relay.start()
                self._relays[host.name] = relay
            if relay is not None:
                relay.set_delays(delays)

    def _versions(self) -> dict[str, Any]:
        format_ = "{{.Server.Version}}"
        image = ["docker", "image", "inspect", "--format", "{{.Id}} {{.RepoDigests}}", self._image]
        return {
            "docker": run(["docker", "version", "--format", format_]).strip(),
            "compose": run([*compose_program(), "version", "--short"]).strip(),
            "base": self._image,
            "image": run(image).strip(),
        }

    def _once(self, argv: Sequence[str], options: Sequence[str] = ()) -> bool:
        """Whether a program ends well in a container of its own."""
        alone = ["docker", "run", "--rm", "--network=none", "--user=root", *options]
        first, *others = argv
        return succeeds([*alone, f"--entrypoint={first}", self._image, *others], timeout_s=PULL_S)

    def _compose(self, *arguments: str) -> None:
        environment = {
            **os.environ,
            "RIG_IMAGE": self._image,
            "RIG_TOOLS_IMAGE": self._tools_image,
            "RIG_FOLDER": str(self._folder),
        }
        argv = [*compose_program(), "-p", PROJECT, "-f", str(COMPOSE_FILE), *arguments]
        run(argv, timeout_s=PULL_S, environment=environment)


def _check_marks() -> None:
    """Refuse containers and networks that have the rig's names and not its mark."""
    label = f'{{{{.Label "{LABEL}"}}}}'
    project = f"label=com.docker.compose.project={PROJECT}"
    containers = ["docker", "ps", "--all", "--format", f"{{{{.Names}}}} {label}", "--filter"]
    networks = ["docker", "network", "ls", "--format", f"{{{{.Name}}}} {label}", "--filter"]
    for argv in ([*containers, project], [*containers, f"name=^{PROJECT}-"], [*networks, project]):
        for line in run(argv).splitlines():
            name, _, mark = line.partition(" ")
            if name and not mark.strip():
                raise RigError(
                    f"Docker has {name!r}, which is not the rig's (it has no label {LABEL}), so it "
                    "is left alone: remove or rename it"
                )


def routing_commands(subnet: str, device: str) -> list[list[str]]:
    """Commands that let the relay's own packets pass by the routes into the tunnel."""
    return [
        ["ip", "rule", "add", "fwmark", MARK, "lookup", TABLE, "pref", TABLE],
        ["ip", "route", "add", subnet, "dev", device, "table", TABLE],
    ]


def engine_answers() -> bool:
    """Whether a Docker engine can be used by this user."""
    return succeeds(["docker", "version", "--format", "{{.Server.Version}}"], timeout_s=10.0)


def compose_program() -> Sequence[str]:
    """``docker compose``, or ``docker-compose`` where that is there; RigError without either."""
    for argv in (["docker", "compose"], ["docker-compose"]):
        if succeeds([*argv, "version"], timeout_s=10.0):
            return argv
    raise RigError("no compose: install docker-compose-plugin or docker-compose")
