"""Files that simrep writes: whole or not at all, and one error for all that cannot be written.

A file grows beside its place and is put there when it is finished. A link stays, and the file that
it leads to is replaced. Devices and pipes (``/dev/stdout``, a shell's ``>(gzip)``) are written to
as they are, never replaced.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from simrep.errors import WriteError

__all__ = ["check_writable", "discard_unfinished", "is_device", "make_folder", "user_caches",
           "whole_file", "whole_text", "write_text"]  # fmt: skip

_KERNEL = Path("/proc")  # where links to this process's own pipes and devices lead
_MOST_LINKS = 40
_PROBE = b"\0" * 4096
"""One block: a full disk has room for an empty file."""

_unfinished: set[Path] = set()


@contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """A file to fill; it takes its place when the block ends, and not if that fails.

    Raises
    ------
    WriteError
        If the disk is full, or the place cannot be written to.
    """
    try:
        place = _place(Path(path))
        if is_device(place):
            with _opened(place) as file:
                yield file
        else:
            with _beside(place) as file:
                yield file
    except WriteError:
        raise
    except OSError as error:
        raise _refusal(path, error) from error


@contextmanager
def whole_text(path: str | Path) -> Iterator[TextIO]:
    """The same for text: UTF-8, with the ends of lines that are written."""
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            yield text
            text.flush()
        finally:
            text.detach()


def write_text(path: str | Path, text: str) -> None:
    """Write a whole file of text."""
    with whole_file(path) as file:
        file.write(text.encode())


def make_folder(path: Path) -> None:
    """Make a folder with those above it; WriteError if there can be none."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refusal(path, error) from error


def user_caches() -> Path:
    """The user's folder of caches; WriteError for a user without a home."""
    named = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(named) if named else Path.home() / ".cache"
    except RuntimeError:
        raise WriteError("there is no home folder to keep files in: set XDG_CACHE_HOME") from None


def check_writable(path: str | Path) -> None:
    """Find out before the work whether a file can be written there; nothing is left behind.

    Raises
    ------
    WriteError
        If not.
    """
    try:
        place = _place(Path(path))
        if is_device(place):
            place.stat()
            if not os.access(place, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        else:
            handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=place.parent)
            try:
                os.write(handle, _PROBE)
            finally:
                os.close(handle)
                Path(name).unlink()
    except OSError as error:
        raise _refusal(path, error) from error


def is_device(path: Path) -> bool:
    """Whether a path leads to a device or a pipe, which has no name to put another file under."""
    place = _place(path)
    if _KERNEL in place.parents:
        return True
    return place.exists() and not place.is_file() and not place.is_dir()


def discard_unfinished() -> None:
    """Remove what a process that ends at once would leave behind."""
    for part in tuple(_unfinished):
        part.unlink(missing_ok=True)


def _place(path: Path) -> Path:
    """Where links lead; a link of the kernel's own is an open file, and no place in a folder."""
    for _ in range(_MOST_LINKS):
        path = path.absolute()
        path = path.parent.resolve() / path.name
        if _KERNEL in path.parents or not path.is_symlink():
            return path
        path = path.parent / path.readlink()
    return path


def _opened(place: Path) -> BinaryIO:
    """The device itself, behind all that was written to it before."""
    sys.stdout.flush()
    if place.parent in {_KERNEL / "self" / "fd", _KERNEL / str(os.getpid()) / "fd"}:
        return os.fdopen(os.dup(int(place.name)), "wb")  # opened again, a file begins anew
    return place.open("ab")


@contextmanager
def _beside(place: Path) -> Iterator[BinaryIO]:
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=place.parent)
    part = Path(name)
    _unfinished.add(part)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        part.chmod(_mode(place))  # mkstemp makes files that only their owner may read
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)
        _unfinished.discard(part)


def _mode(place: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    try:
        return stat.S_IMODE(place.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _refusal(path: str | Path, error: OSError) -> WriteError:
    return WriteError(f"cannot write {str(path)!r}: {error.strerror or error}")
