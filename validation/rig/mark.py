"""The rig's own mark: what does not carry it is neither ended nor removed.

Folders carry a file, processes a variable of their environment, network namespaces the alias of
their loopback device, containers and networks a label. A name or a process id proves nothing: it
may be somebody else's by now.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from simrep.rig.errors import RigError

__all__ = ["ENVIRONMENT", "LABEL", "MARK", "end_process", "is_marked", "marked_folder",
           "recorded_pid", "remove_folder"]  # fmt: skip

MARK = "simrep-rig"
LABEL = MARK
"""Of containers and networks, as compose/hosts.yml has it."""
ENVIRONMENT: Mapping[str, str] = {"SIMREP_RIG_MARK": MARK}
FILE = ".simrep-rig"
_TEXT = "simrep rig made this folder and removes it with all that is in it.\n"
_START = 21  # field of /proc/PID/stat, from 0: when the process began, in ticks since the boot


def marked_folder(path: Path) -> Path:
    """Make a folder with the mark; one that is there must carry it, or be empty.

    Raises
    ------
    RigError
        If it holds something of somebody else.
    """
    path.mkdir(parents=True, exist_ok=True)
    if not is_marked(path):
        if any(path.iterdir()):
            raise RigError(_foreign(path))
        (path / FILE).write_text(_TEXT, encoding="utf-8")
    return path


def is_marked(path: Path) -> bool:
    """Whether a folder carries the mark itself, and not what a link leads to."""
    return not path.is_symlink() and (path / FILE).is_file()


def remove_folder(path: Path) -> None:
    """Remove a folder of the rig, if there is one.

    Raises
    ------
    RigError
        If it is not the rig's.
    """
    if not is_marked(path):
        if path.is_symlink() or (path.exists() and (path.is_file() or any(path.iterdir()))):
            raise RigError(_foreign(path))
        return
    shutil.rmtree(path, ignore_errors=True)


def _foreign(path: Path) -> str:
    return (
        f"{path} is not the rig's (it has no {FILE}), so it is left alone: remove it yourself, or "
        "set SIMREP_RIG to another folder"
    )


def end_process(pid: int) -> bool:
    """Kill a process if it carries the mark; whether it did."""
    try:
        process = os.pidfd_open(pid)  # stays that of the process when another one gets its number
    except ProcessLookupError:
        return False
    try:
        if not _carries_mark(pid):
            return False
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(process)
    return True


def _carries_mark(pid: int) -> bool:
    try:
        given = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return all(f"{name}={value}".encode() in given for name, value in ENVIRONMENT.items())


def recorded_pid(record: Path, read: Callable[[str], str]) -> int:
    """The number of a process that wrote its ``/proc/PID/stat`` down when it began.

    Parameters
    ----------
    record : Path
    read : callable
        Reads a file where the process runs.

    Raises
    ------
    RigError
        If it has ended; its number may be another one's by now.
    """
    before = record.read_text(encoding="utf-8")
    number = before.partition(" ")[0]
    known = _identity(before)
    if known is None or _identity(read(f"/proc/{number}/stat")) != known:
        raise RigError(f"the process that wrote {record} has ended")
    return int(number)


def _identity(stat: str) -> tuple[str, str] | None:
    """Its name may have changed, and may hold spaces and brackets."""
    number, _, rest = stat.partition(" ")
    fields = rest.rpartition(")")[2].split()
    return (number, fields[_START - 2]) if len(fields) > _START - 2 else None
