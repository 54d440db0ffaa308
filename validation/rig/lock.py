"""One rig on a machine at a time: names of namespaces and containers are the machine's."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

from simrep.rig.errors import BusyError, RigError

__all__ = ["RigLock"]

FOLDER = Path("/run/lock")  # writable for everybody, and empty after the machine starts
NAME = "simrep-rig.lock"


class RigLock:
    """Held from ``take`` to ``release``, or until the process ends."""

    def __init__(self) -> None:
        self._file: int | None = None

    @property
    def held(self) -> bool:
        """Whether this is the one."""
        return self._file is not None

    def take(self) -> None:
        """Hold the lock.

        Raises
        ------
        BusyError
            If another process holds it.
        """
        if self.held:
            return
        folder = FOLDER if os.access(FOLDER, os.W_OK) else Path(tempfile.gettempdir())
        path = folder / NAME
        file = _opened(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise BusyError(f"another rig is at work on this machine: it holds {path}") from None
        self._file = file

    def release(self) -> None:
        """Let others have it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _opened(path: Path) -> int:
    """For reading: a lock needs no more, and the file may be another user's."""
    try:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except PermissionError:
        raise RigError(f"{path} belongs to another user: remove it") from None
