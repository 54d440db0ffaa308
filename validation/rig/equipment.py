"""What this machine offers a campaign: engines, products on servers, the accuracy of delays."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError, nearest
from simrep.rig.accuracy import measure_accuracy
from simrep.rig.cell import ProductName, ServerName
from simrep.rig.cluster import RigCluster, RigProduct
from simrep.rig.docker import Docker, compose_program, engine_answers
from simrep.rig.engine import DelayMethod, EngineName, RigEngine
from simrep.rig.errors import RigError
from simrep.rig.experiment import SERVERS_OF
from simrep.rig.galera import GaleraCluster
from simrep.rig.group_replication import ReplicationGroup
from simrep.rig.machine import machine
from simrep.rig.namespaces import Namespaces
from simrep.rig.processes import succeeds
from simrep.rig.rootfs import RECIPES, default_rootfs, is_rootfs
from simrep.rig.server import SERVERS
from simrep.rig.source_replica import AsynchronousCluster, SemisyncCluster

__all__ = ["IMAGES", "Ability", "Choice", "ThisMachine", "abilities", "bases", "choose", "product"]

# Official images; `base` names others.
IMAGES = {
    "mariadb": "mariadb:11.8",
    "mysql": "mysql:9",
    "percona": "percona/percona-xtradb-cluster:8.4",
}
TOOLS_IMAGE = "nicolaka/netshoot"
PROGRAMS = {
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "sysctl": "procps",
    "ping": "iputils-ping",
    "gcc": "gcc and libc6-dev",
}


PRODUCTS: dict[ProductName, type[RigCluster]] = {
    "galera": GaleraCluster,
    "group_replication": ReplicationGroup,
    "semisync": SemisyncCluster,
    "asynchronous": AsynchronousCluster,
}


def product(name: ProductName, server: ServerName) -> RigProduct:
    """How a product's cluster is formed; RigError if servers of that kind do not have it."""
    if server not in SERVERS_OF.get(name, ()):
        known = ", ".join(f"{one} on {kind}" for one, kinds in SERVERS_OF.items() for kind in kinds)
        raise RigError(f"no {name} on {server}: there are {known}")
    return RigProduct(PRODUCTS[name], SERVERS[server])


@dataclass(frozen=True, slots=True)
class Ability:
    """Something that an engine needs, and whether this machine has it."""

    name: str
    present: bool
    note: str


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine, and why it was taken."""

    engine: RigEngine
    reason: str


def choose(
    server: str,
    *,
    wanted: EngineName | None = None,
    base: str | None = None,
    delay_method: DelayMethod | None = None,
) -> Choice:
    """An engine for servers of a kind, whose base is an image or the folder of a root file system.

    By default Docker if an engine answers, else network namespaces.

    Raises
    ------
    RigError
        If this machine can use neither, or the base is not for the engine.
    """
    if server not in IMAGES:
        raise RigError(f"no server {server!r}: there are {', '.join(IMAGES)}")
    name, reason = (wanted, "as told") if wanted else _by_ability(base)
    folder = base is not None and Path(base).is_dir()
    if name == "docker":
        if folder:
            raise RigError(f"{base} is a folder: Docker needs an image (rig base --image)")
        image = base or IMAGES[server]
        return Choice(Docker(image, TOOLS_IMAGE, delay_method=delay_method), reason)
    if base is not None and not folder:
        raise RigError(f"{base} is no folder with a root file system, as namespaces need it")
    if base is None and server not in RECIPES:
        raise RigError(f"{server} needs Docker, or the folder of a root file system as --base")
    rootfs = Path(base).resolve() if base else default_rootfs(server)
    return Choice(Namespaces(rootfs, delay_method=delay_method), reason)


def _by_ability(base: str | None) -> tuple[EngineName, str]:
    if base is not None and Path(base).is_dir():
        return "netns", "the base is a folder"
    if engine_answers():
        return "docker", "a Docker engine answers"
    if os.geteuid() == 0:
        return "netns", "no Docker engine answers"
    raise RigError("no Docker engine answers, and network namespaces need root: use sudo")


def abilities() -> list[Ability]:
    """What this machine can do, for both engines."""
    found = [Ability("root", os.geteuid() == 0, "network namespaces need it")]
    found += [
        Ability(program, shutil.which(program) is not None, f"package {package}")
        for program, package in PROGRAMS.items()
    ]
    found.append(Ability("/dev/net/tun", Path("/dev/net/tun").exists(), "the relay needs it"))
    found.append(Ability("netem", kernel_has_netem(), "else the relay delays packets"))
    found += [
        Ability(
            f"root file system with {server}",
            is_rootfs(default_rootfs(server)),
            f"{default_rootfs(server)}; `simrep rig base {server}` makes it",
        )
        for server in ("mariadb", "mysql")
    ]
    found.append(Ability("debootstrap", shutil.which("debootstrap") is not None, "to make one"))
    answers = engine_answers()
    found.append(Ability("Docker engine", answers, "package docker.io or docker-ce"))
    try:
        compose = " ".join(compose_program())
    except RigError as problem:
        found.append(Ability("compose", False, str(problem)))
    else:
        found.append(Ability("compose", True, compose))
    return found


def kernel_has_netem() -> bool:
    """Whether ``tc netem`` works, tried in a network namespace that vanishes at once."""
    script = "ip link set lo up && tc qdisc add dev lo root netem delay 1ms"
    return succeeds(["unshare", "--net", "sh", "-c", script], timeout_s=10.0)


def bases(texts: list[str]) -> dict[str, str]:
    """Images or folders by kind of server, of arguments like ``mariadb=my-image`` or ``my-image``.

    One without a kind holds for all kinds that have none of their own.

    Raises
    ------
    ScenarioError
        If there is no such kind, or two bases for one.
    """
    found: dict[str, str] = {}
    for text in texts:
        server, equals, base = text.partition("=")
        if not equals or "/" in server:  # of a path, not of a kind
            server, base = "", text
        if server and server not in IMAGES:
            raise ScenarioError("--base", f"no server {server!r}", nearest(server, IMAGES))
        if server in found:
            raise ScenarioError("--base", f"given {text}, there is {found[server]} already")
        found[server] = base
    return found


class ThisMachine:
    """Engines and products of this machine.

    Parameters
    ----------
    server : ServerName
        On whose hosts the accuracy of delays is measured.
    data : Path
        Whose file system is described.
    engine : EngineName, optional
        By default what this machine has.
    base : mapping of kind of server to str
        Images or root file systems; "" stands for all others.
    delay_method : DelayMethod, optional
        By default netem where the kernel has it.
    tell : callable, optional
        Is told which engine is taken, and why.
    """

    def __init__(
        self,
        server: ServerName,
        data: Path,
        *,
        engine: EngineName | None = None,
        base: Mapping[str, str] | None = None,
        delay_method: DelayMethod | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._server = server
        self._data = data
        self._wanted = engine
        self._base = base or {}
        self._delay_method = delay_method
        self._tell = tell or (lambda _text: None)
        self._told = ""

    def engine(self, server: ServerName) -> RigEngine:
        """Hosts for servers of a kind."""
        choice = choose(
            server,
            wanted=self._wanted,
            base=self._base.get(server, self._base.get("")),
            delay_method=self._delay_method,
        )
        if choice.engine.name != self._told:
            self._told = choice.engine.name
            self._tell(f"engine {choice.engine.name}: {choice.reason}")
        return choice.engine

    def product(self, name: ProductName, server: ServerName) -> RigProduct:
        """How clusters of a product are formed."""
        return product(name, server)

    def accuracy(self) -> dict[str, Any]:
        """How exactly packets are delayed between two hosts, measured now."""
        engine = self.engine(self._server)
        try:
            engine.up(2)
            found = [one.row() for one in measure_accuracy(engine)]
            return {"delay_method": engine.delay_method, "delays": found}
        finally:
            engine.down()

    def machine(self) -> dict[str, Any]:
        """What machine it is."""
        self._data.mkdir(parents=True, exist_ok=True)
        return machine(self._data)
