"""One rig on a machine at a time, and nothing left behind by one that is told to end."""

from __future__ import annotations

import fcntl
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType

from simrep.rig.errors import BusyError, RigError

__all__ = ["RigLock", "ended_by_signals", "undisturbed"]

FOLDER = Path("/run/lock")  # writable for everybody, and empty after the machine starts
NAME = "simrep-rig.lock"

_Handler = Callable[[int, FrameType | None], object] | int | None
_REQUESTS = (signal.SIGTERM, signal.SIGHUP)


class RigLock:
    """Held from ``take`` to ``release``, or until the process ends.

    Names of namespaces and containers are the machine's.
    """

    def __init__(self) -> None:
        self._file: int | None = None

    @property
    def held(self) -> bool:
        """Whether this is the one."""
        return self._file is not None

    def take(self) -> None:
        """Hold the lock; BusyError if another process does."""
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


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a request to end, or a terminal that is closed, do what Ctrl-C does."""
    # What is ignored, as under nohup, stays so.
    wanted = [n for n in _REQUESTS if signal.getsignal(n) is not signal.SIG_IGN]
    with _handled(wanted, _end):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore signals while servers are stopped and hosts removed."""
    with _handled([signal.SIGINT, *_REQUESTS], signal.SIG_IGN):
        yield


def _end(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def _handled(numbers: list[signal.Signals], handler: _Handler) -> Iterator[None]:
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            if former is not None:  # of a library in C: it cannot be put back
                signal.signal(number, former)
