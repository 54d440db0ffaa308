"""Which engine this machine can use, and what it is made from."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from simrep.rig.command import succeeds
from simrep.rig.docker import Docker, compose_program, engine_answers
from simrep.rig.engine import DelayMethod, Engine, EngineName
from simrep.rig.errors import RigError
from simrep.rig.namespaces import Namespaces
from simrep.rig.rootfs import RECIPES, default_rootfs, is_rootfs

__all__ = ["IMAGES", "Ability", "Choice", "abilities", "choose"]

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


@dataclass(frozen=True, slots=True)
class Ability:
    """Something that an engine needs, and whether this machine has it."""

    name: str
    present: bool
    note: str


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine, and why it was taken."""

    engine: Engine
    reason: str


def choose(
    server: str,
    *,
    wanted: EngineName | None = None,
    base: str | None = None,
    delay_method: DelayMethod | None = None,
) -> Choice:
    """An engine for servers of a kind.

    Parameters
    ----------
    server : str
        ``mariadb``, ``mysql`` or ``percona``.
    wanted : "netns", "docker", optional
        By default Docker if an engine answers, else network namespaces.
    base : str, optional
        An image, or the folder of a root file system.
    delay_method : "netem", "relay", optional

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
