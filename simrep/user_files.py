"""Files that users give: one reader of text, TOML and CSV, which refuses what nobody can use."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError
from simrep.printable import unprintable

__all__ = [
    "check_content",
    "csv_rows",
    "is_file",
    "parse_toml",
    "read_bytes",
    "read_text",
    "text_in",
]

_MOST_BYTES = 200_000_000
"""Of a file: one that never ends, such as a device, does not fill the memory."""
_DEEPEST = 20
"""Tables and lists inside each other; no file of simrep needs more than seven."""
_MOST = 10_000
"""Entries of a list or table: to check more than that takes minutes; data belong into CSV files."""
_LEAST, _LARGEST = -(2**63), 2**64
"""TOML promises whole numbers of 64 bits (https://toml.io/en/v1.0.0#integer); the defaults of MySQL
reach the largest without a sign."""
_TOO_LARGE = "a whole number must be between -2^63 and 2^64 - 1"
_TOO_DEEP = f"has tables or lists more than {_DEEPEST} deep inside each other"
_EXCERPT = 60  # characters of a text that is refused


def read_text(path: str | Path, where: str) -> str:
    """The text of a UTF-8 file, without a byte order mark.

    Parameters
    ----------
    path : str or Path
    where : str
        What errors call it.

    Raises
    ------
    ScenarioError
        If it cannot be read, is too large or no UTF-8.
    """
    return text_in(read_bytes(path, where), where)


def read_bytes(path: str | Path, where: str) -> bytes:
    """The content of a file; a ScenarioError if it cannot be read or is too large."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a ValueError for a name that no file has
        name = Path(path).name
        which = "" if name in where else f"{name!r} "
        reason = error.strerror if isinstance(error, OSError) else error
        raise ScenarioError(where, f"{which}cannot be read: {reason}") from error
    if len(content) > _MOST_BYTES:
        raise ScenarioError(where, f"is larger than {_MOST_BYTES / 1e6:.0f} MB")
    return content


def is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def text_in(content: bytes, where: str) -> str:
    """UTF-8 as text, without the byte order mark of some editors."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(where, f"is not UTF-8 text: {error}") from error


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The content of a TOML text, checked as :func:`check_content` does.

    Raises
    ------
    ScenarioError
        If it is no TOML, or nothing that simrep can take.
    """
    try:
        content = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(where, f"is not valid TOML: {error}") from error
    except RecursionError as error:
        raise ScenarioError(where, _TOO_DEEP) from error
    except ValueError as error:  # Python reads no numbers of more than 4,300 digits
        raise ScenarioError(where, _TOO_LARGE) from error
    check_content(content, where)
    return content


def check_content(content: Mapping[Any, Any], where: str) -> None:
    """Refuse what no TOML file may hold, in a mapping that Python gives as well.

    Raises
    ------
    ScenarioError
        If tables and lists are too deep inside each other or too long, a key is no text, a whole
        number has more than 64 bits, or a text holds characters that cannot be shown.
    """
    waiting: list[tuple[str, int, Any]] = [("", 0, content)]
    while waiting:
        path, depth, value = waiting.pop()
        if isinstance(value, str):
            _check_text(value, path or where)
        elif isinstance(value, int):
            if not _LEAST <= value < _LARGEST:
                raise ScenarioError(path, _TOO_LARGE)
        elif isinstance(value, (Mapping, list, tuple)):
            if depth > _DEEPEST:
                raise ScenarioError(where, _TOO_DEEP)
            if len(value) > _MOST:
                raise ScenarioError(
                    path or where, f"has {len(value):,} entries, at most {_MOST:,} are allowed"
                )
            table = isinstance(value, Mapping)
            pairs: Any = value.items() if isinstance(value, Mapping) else enumerate(value)
            for key, inner in pairs:
                if table:
                    _check_key(key, path or where)
                waiting.append((f"{path}.{key}" if path else str(key), depth + 1, inner))


def _check_key(key: Any, where: str) -> None:
    if not isinstance(key, str):
        raise ScenarioError(where, f"keys must be strings, given {key!r}", f"write {str(key)!r}")
    _check_text(key, where)


def _check_text(text: str, where: str) -> None:
    character = unprintable(text.replace("\t", ""))
    if character:
        raise ScenarioError(
            where,
            f"holds the character {character}, which cannot be shown, given {text[:_EXCERPT]!r}",
            "leave it out",
        )


def csv_rows(text: str, where: str) -> list[list[str]]:
    """The rows of a CSV text, those without any field left out.

    Raises
    ------
    ScenarioError
        If it is no CSV, or holds characters that cannot be shown.
    """
    plain = text.replace("\t", " ").replace("\r", "\n")
    if character := unprintable(plain):
        number = next(n for n, line in enumerate(plain.split("\n"), start=1) if unprintable(line))
        problem = f"holds the character {character}, which cannot be shown"
        raise ScenarioError(f"{where}, line {number}", problem, "leave it out")
    try:
        return [row for row in csv.reader(StringIO(text, newline="")) if row]
    except csv.Error as error:
        raise ScenarioError(where, f"is no CSV table: {error}") from error
