"""The rig's own C programs, compiled where they are needed and kept until their source changes."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from simrep.rig.errors import RigError
from simrep.rig.folders import rig_folder

__all__ = ["compiled"]

SOURCES = Path(__file__).parent / "relay"
FILES = {
    "relay": ("relay.c", "nodes.c", "tunnel.c", "queue.c"),
    "probe": ("probe.c",),
    "queue_test": ("queue_test.c", "queue.c"),
}
FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror")


def compiled(program: str, *, static: bool = True) -> Path:
    """The executable of a program; static ones run in any container.

    Raises
    ------
    RigError
        If there is no C compiler, or it refuses.
    """
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for source in sorted(SOURCES.glob("*.[ch]")):
        digest.update(source.read_bytes())
    kind = "static" if static else "dynamic"
    executable = rig_folder() / "programs" / f"{program}-{kind}-{digest.hexdigest()[:12]}"
    if executable.exists():
        return executable
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise RigError("no C compiler for the relay: install gcc and the C library's headers")
    executable.parent.mkdir(parents=True, exist_ok=True)
    unfinished = executable.with_suffix(".unfinished")
    sources = [str(SOURCES / name) for name in FILES[program]]
    linking = ["-static"] if static else []
    argv = [compiler, *FLAGS, *linking, "-o", str(unfinished), *sources]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RigError(f"cannot compile {program}: {done.stderr.strip()[-800:]}")
    unfinished.replace(executable)
    return executable
