"""The engine with Docker: a container for every server, and one beside it that delays."""

from __future__ import annotations

import atexit
import os
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simrep.rig import netem, ping
from simrep.rig.command import run, succeeds
from simrep.rig.container_host import ContainerHost, in_container
from simrep.rig.container_relay import ContainerRelay
from simrep.rig.delays import DelayMatrix
from simrep.rig.engine import DelayMethod, DelayStatistics, EngineName, RoundTrip
from simrep.rig.errors import RigError
from simrep.rig.folders import rig_folder
from simrep.rig.lock import RigLock
from simrep.rig.relays import merged

__all__ = ["Docker", "compose_program", "engine_answers"]

PROJECT = "simrep-rig"
COMPOSE_FILE = Path(__file__).parent / "compose" / "hosts.yml"
MOST_HOSTS = 5
SUBNET = "10.97.0"
DEVICE = "eth0"
PULL_S = 1800.0
NEEDED_TOOLS = "command -v ip && command -v tc && command -v ping"


class Docker:
    """Hosts as containers.

    Parameters
    ----------
    image : str
        With the servers' programs: an official image, or one that was imported.
    tools_image : str
        With ip, tc and ping; taken if the other one has them not.
    delay_method : "netem", "relay", optional
        What delays packets; by default netem where the kernel has it.
    """

    name: EngineName = "docker"

    def __init__(
        self, image: str, tools_image: str, *, delay_method: DelayMethod | None = None
    ) -> None:
        self._image = image
        self._tools_image = tools_image
        self._wanted_method = delay_method
        self._method: DelayMethod = delay_method or "relay"
        self._folder = rig_folder() / "docker"
        self._hosts: list[ContainerHost] = []
        self._relays: dict[str, ContainerRelay] = {}
        self._lock = RigLock()

    @property
    def delay_method(self) -> DelayMethod:
        """What delays packets; known once the hosts are up."""
        return self._method

    @property
    def hosts(self) -> tuple[ContainerHost, ...]:
        """All hosts, ``n1`` first."""
        return tuple(self._hosts)

    def up(self, count: int) -> None:
        """Remove what an earlier run left behind and make so many hosts."""
        if count > MOST_HOSTS:
            raise RigError(f"the compose file has {MOST_HOSTS} hosts, not {count}")
        self.down()
        self._lock.take()
        atexit.register(self.down)
        self._compose("down", "--volumes", "--timeout", "1")
        self._remove_folder()
        names = [f"n{number}" for number in range(1, count + 1)]
        for name in names:
            (self._folder / name).mkdir(parents=True, exist_ok=True)
            (self._folder / f"delay-{name}").mkdir(parents=True, exist_ok=True)
        self._hosts = [
            ContainerHost(name, f"{SUBNET}.{10 + number}", self._folder / name)
            for number, name in enumerate(names, 1)
        ]
        self._choose_tools()
        self._compose("up", "--detach", *names, *(f"delay-{name}" for name in names))
        self._choose_method()
        self._check_return_ways()

    def set_delays(self, delays: DelayMatrix) -> None:
        """Delay packets as told, from now on, instead of as before."""
        address = {host.name: host.address for host in self._hosts}
        for host in self._hosts:
            if self._method == "netem":
                succeeds(in_container(host.tools, netem.remove_command(DEVICE)))
                late = [(address[name], link) for name, link in delays.leaving(host.name)]
                for argv in netem.add_commands(DEVICE, late):
                    run(in_container(host.tools, argv))
            elif host.name in self._relays or any(delays.leaving(host.name)):
                self._relay(host).set_delays(delays)
            succeeds(in_container(host.tools, ["ip", "tcp_metrics", "flush"]))

    def _relay(self, host: ContainerHost) -> ContainerRelay:
        if host.name not in self._relays:
            folder = self._folder / f"delay-{host.name}"
            relay = ContainerRelay(host, self._hosts, folder, f"{SUBNET}.0/24", DEVICE)
            relay.start()
            self._relays[host.name] = relay
        return self._relays[host.name]

    def round_trips(self, *, count: int = 20) -> dict[tuple[str, str], RoundTrip]:
        """Ping every pair of hosts."""
        return ping.all_pairs(self._hosts, count)

    def delay_statistics(self, *, reset: bool = False) -> DelayStatistics:
        """What the relays did since they were reset."""
        counters, cpu_s = [], 0.0
        for relay in self._relays.values():
            found, used_s = relay.counters(reset=reset)
            counters += found
            cpu_s += used_s
        return merged(counters, cpu_s)

    def description(self) -> dict[str, Any]:
        """Versions and settings of the engine."""
        format_ = "{{.Server.Version}}"
        image = ["docker", "image", "inspect", "--format", "{{.Id}} {{.RepoDigests}}", self._image]
        return {
            "engine": self.name,
            "delay_method": self._method,
            "kernel": platform.release(),
            "docker": run(["docker", "version", "--format", format_]).strip(),
            "compose": run([*compose_program(), "version", "--short"]).strip(),
            "base": self._image,
            "image": run(image).strip(),
            "settings": self._settings(),
        }

    def down(self) -> None:
        """Stop and remove the containers and their network."""
        try:
            for host in self._hosts:
                host.terminate(5.0)
            if self._hosts:
                self._compose("down", "--volumes", "--timeout", "1")
                self._remove_folder()
        finally:
            self._lock.release()
            self._hosts, self._relays = [], {}
            atexit.unregister(self.down)

    def _remove_folder(self) -> None:
        """In a container: the data belong to the servers' user."""
        if self._folder.exists():
            self._once(["sh", "-c", "rm -rf /rig/*"], ["--volume", f"{self._folder}:/rig"])
            shutil.rmtree(self._folder, ignore_errors=True)

    def _choose_tools(self) -> None:
        """The image of the servers, if it has the tools: one that need not be pulled."""
        if self._once(["sh", "-c", NEEDED_TOOLS]):
            self._tools_image = self._image

    def _once(self, argv: Sequence[str], options: Sequence[str] = ()) -> bool:
        """Whether a program ends well in a container of its own."""
        alone = ["docker", "run", "--rm", "--network=none", "--user=root", *options]
        first, *others = argv
        return succeeds([*alone, f"--entrypoint={first}", self._image, *others], timeout_s=PULL_S)

    def _check_return_ways(self) -> None:
        """There and back may take different ways, one of them through the relay."""
        path = f"/proc/sys/net/ipv4/conf/{DEVICE}/rp_filter"
        for host in self._hosts:
            if run(in_container(host.tools, ["cat", path])).strip() == "1":
                raise RigError(
                    "containers drop packets that come another way than answers would go: "
                    "`sysctl -w net.ipv4.conf.default.rp_filter=2` on this machine"
                )

    def _settings(self) -> dict[str, str]:
        if not self._hosts:
            return {}
        name = "net.ipv4.tcp_congestion_control"
        path = f"/proc/sys/{name.replace('.', '/')}"
        return {name: run(in_container(self._hosts[0].tools, ["cat", path])).strip()}

    def _choose_method(self) -> None:
        if self._wanted_method is None:
            tools = self._hosts[0].tools
            probes = netem.probe_commands(DEVICE)
            has_netem = all(succeeds(in_container(tools, argv)) for argv in probes)
            self._method = "netem" if has_netem else "relay"

    def _compose(self, *arguments: str) -> None:
        environment = {
            **os.environ,
            "RIG_IMAGE": self._image,
            "RIG_TOOLS_IMAGE": self._tools_image,
            "RIG_FOLDER": str(self._folder),
        }
        argv = [*compose_program(), "-p", PROJECT, "-f", str(COMPOSE_FILE), *arguments]
        run(argv, timeout_s=PULL_S, environment=environment)


def engine_answers() -> bool:
    """Whether a Docker engine can be used by this user."""
    return succeeds(["docker", "version", "--format", "{{.Server.Version}}"], timeout_s=10.0)


def compose_program() -> Sequence[str]:
    """``docker compose``, or ``docker-compose`` where that is what there is.

    Raises
    ------
    RigError
        If there is neither.
    """
    for argv in (["docker", "compose"], ["docker-compose"]):
        if succeeds([*argv, "version"], timeout_s=10.0):
            return argv
    raise RigError("no compose: install docker-compose-plugin or docker-compose")
