"""Root file systems for database servers, made with ``debootstrap`` where no image can be pulled.

MySQL and MariaDB conflict with each other, so each has its own. Post-install scripts would start
servers, so a policy forbids that, and the packages whose scripts insist are only unpacked. Network
namespaces use a root file system in place, and Docker can import it as an image.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from simrep.rig.errors import RigError
from simrep.rig.files import rig_folder
from simrep.rig.mark import marked_folder, remove_folder
from simrep.rig.processes import run

__all__ = [
    "RECIPES",
    "Recipe",
    "build",
    "chroot_command",
    "default_rootfs",
    "import_image",
    "installed_versions",
    "is_rootfs",
]

SUITE = "sid"
MIRROR = "http://deb.debian.org/debian"
DONE = "simrep-rig-done"
LONG_S = 3600.0
APT_SETTINGS = """\
// The suite's release file may be older than the machine's clock allows; signatures are checked.
Acquire::Check-Valid-Until "false";
APT::Install-Recommends "false";
// What a crash leaves half made is removed: files are synced once, when all of them are there.
DPkg::Options { "--force-unsafe-io"; };
"""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a root file system holds.

    Attributes
    ----------
    installed : tuple of str
        Debian packages, with all they depend on.
    unpacked : tuple of str
        Packages whose files are needed but whose scripts are not.
    """

    installed: tuple[str, ...]
    unpacked: tuple[str, ...]


TOOLS = ("iproute2", "iputils-ping", "procps", "passwd", "sysbench")
PROXIES = ("haproxy",)
RECIPES = {
    "mariadb": Recipe(
        installed=(
            *("mariadb-server-core", "mariadb-client-core", "galera-4", "mariadb-backup"),
            *("rsync", "socat", "lsof", "gawk", "psmisc", "libboost-program-options-dev", *TOOLS),
            *PROXIES,
        ),
        unpacked=("mariadb-server", "mariadb-client", "galera-arbitrator-4"),
    ),
    "mysql": Recipe(
        installed=("mysql-server-core", "mysql-client-core", "libaio1t64", *TOOLS),
        unpacked=("mysql-server", "mysql-client"),
    ),
}


def default_rootfs(server: str) -> Path:
    """Where the root file system of a server is, or would be made."""
    return rig_folder() / "rootfs" / server


def is_rootfs(root: Path) -> bool:
    """Whether a folder is a root file system with a database server in it."""
    return any((root / "usr/sbin" / name).exists() for name in ("mariadbd", "mysqld"))


def chroot_command(
    root: Path, argv: Sequence[str], mounts: Sequence[tuple[Path, str]] = ()
) -> list[str]:
    """The command line that runs another one inside of a root file system.

    Mounts live in a namespace of their own and vanish with its last process, even a killed one:
    ``/proc``, ``/dev``, and pairs of a folder outside and one inside.
    """
    place = shlex.quote(str(root))
    steps = [f"mount -t proc proc {place}/proc", f"mount --rbind /dev {place}/dev"]
    steps += [
        f"mount --bind {shlex.quote(str(outside))} {place}{shlex.quote(inside)}"
        for outside, inside in mounts
    ]
    script = " && ".join([*steps, f'exec chroot {place} "$@"'])
    unshare = ["unshare", "--mount", "--propagation", "private"]
    return [*unshare, "sh", "-c", script, "rig", *argv]


def build(
    server: str,
    root: Path | None = None,
    *,
    tell: Callable[[str], None] = print,
) -> Path:
    """Make the root file system of a server, unless it is there already; needs root.

    Raises
    ------
    RigError
        If a step fails; what was made so far is removed.
    """
    if server not in RECIPES:
        raise RigError(f"no recipe for {server!r}: there are {', '.join(RECIPES)}")
    place = root or default_rootfs(server)
    if (place / DONE).exists():
        return place
    remove_folder(place)
    marked_folder(place)
    tell(f"making a root file system with {server} in {place}: some minutes and 2 GB")
    try:
        _fill(place, RECIPES[server], tell)
    except BaseException:
        remove_folder(place)
        raise
    (place / DONE).touch()
    return place


def _fill(place: Path, recipe: Recipe, tell: Callable[[str], None]) -> None:
    tell(f"debootstrap {SUITE} from {MIRROR}")
    alone = ["unshare", "--mount", "--propagation", "private"]  # what it mounts ends with it
    base = ["debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, str(place)]
    run([*alone, *base, MIRROR], timeout_s=LONG_S)
    policy = place / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
    policy.chmod(0o755)
    (place / "etc/apt/apt.conf.d/99rig").write_text(APT_SETTINGS, encoding="utf-8")
    shutil.copy("/etc/resolv.conf", place / "etc/resolv.conf")
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL": "C",
        "DEBIAN_FRONTEND": "noninteractive",
    }

    def inside(*argv: str) -> None:
        run(chroot_command(place, argv), timeout_s=LONG_S, environment=environment)

    tell(f"installing {' '.join(recipe.installed)}")
    inside("apt-get", "update")
    inside("apt-get", "install", "-y", *recipe.installed)
    inside("sh", "-c", f"cd /tmp && apt-get download {shlex.join(recipe.unpacked)}")
    for package in sorted((place / "tmp").glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(place)], timeout_s=LONG_S)
        package.unlink()
    inside("apt-get", "clean")
    run(["sync", "--file-system", str(place)], timeout_s=LONG_S)
    if "\nmysql:" not in (place / "etc/passwd").read_text(encoding="utf-8"):
        inside("useradd", "-r", "-s", "/bin/false", "mysql")
    (place / "data").mkdir(exist_ok=True)


def import_image(root: Path, image: str) -> None:
    """Give Docker a root file system as an image; RigError if it does not take that."""
    pack = ["tar", "-C", str(root), "-c", "."]
    with subprocess.Popen(pack, stdout=subprocess.PIPE) as packing:
        try:
            made = run(["docker", "import", "-"], timeout_s=LONG_S, given=packing.stdout).strip()
        except BaseException:
            packing.kill()
            raise
    if packing.returncode:
        run(["docker", "image", "rm", made])
        raise RigError(f"{root} could not be packed: tar ended with code {packing.returncode}")

    run(["docker", "image", "tag", made, image])  # whatever had the name keeps it until now


def installed_versions(root: Path) -> dict[str, str]:
    """Versions of the Debian packages of servers and load tools in a root file system."""
    status = root / "var/lib/dpkg/status"
    if not status.exists():
        return {}
    wanted = re.compile(r"^(mariadb|mysql|galera|sysbench|percona)")
    found = {}
    for block in status.read_text(encoding="utf-8", errors="replace").split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version): (.+)$", block, re.MULTILINE))
        if wanted.match(fields.get("Package", "")) and "Version" in fields:
            found[fields["Package"]] = fields["Version"]
    return found
