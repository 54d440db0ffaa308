"""Where the rig keeps what it makes, and files that are there as a whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

from simrep.files import user_caches, whole_file, write_text

__all__ = ["content_of", "packed_path", "rig_folder", "write_packed", "write_whole"]

ENVIRONMENT = "SIMREP_RIG"


def rig_folder() -> Path:
    """The folder for programs, root file systems and data of servers.

    ``SIMREP_RIG`` names it; else it is one in the user's cache.
    """
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given).resolve()
    return user_caches() / "simrep" / "rig"


def write_whole(path: Path, text: str) -> None:
    """Write a file; whoever is interrupted leaves the one that was there."""
    write_text(path, text)


def write_packed(path: Path, text: str) -> None:
    """Write a compressed file; equal texts make equal bytes."""
    packed = io.BytesIO()
    # Neither the name nor the time of the file.
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file:
        file.write(text.encode())
    with whole_file(path) as file:
        file.write(packed.getvalue())


def packed_path(path: Path) -> Path:
    """What a file is called in its compressed form."""
    return path.with_name(f"{path.name}.gz")


def content_of(path: Path) -> str | None:
    """The text of a file, or of its compressed form; None if there is neither."""
    if path.exists():
        return path.read_text(encoding="utf-8")
    packed = packed_path(path)
    return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else None
