"""Files that are there as a whole or not at all, packed or not."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

__all__ = ["content_of", "packed_path", "write_packed", "write_whole"]


def write_whole(path: Path, text: str) -> None:
    """Write a file; whoever is interrupted leaves the one that was there."""
    _replace(path, text.encode())


def write_packed(path: Path, text: str) -> None:
    """Write a compressed file; equal texts make equal bytes."""
    packed = io.BytesIO()
    # Neither the name nor the time of the file.
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file:
        file.write(text.encode())
    _replace(path, packed.getvalue())


def packed_path(path: Path) -> Path:
    """What a file is called in its compressed form."""
    return path.with_name(f"{path.name}.gz")


def content_of(path: Path) -> str | None:
    """The text of a file, or of its compressed form; None if there is neither."""
    if path.exists():
        return path.read_text(encoding="utf-8")
    packed = packed_path(path)
    return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else None


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)
