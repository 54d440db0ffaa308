"""MySQL option files (``my.cnf``): what a server reads of them, line by line.

The rules are those of the server's own reader (mysys/my_default.cc of MySQL, my_default.c of
MariaDB): ``#`` starts a comment anywhere outside quotes and ``;`` at the beginning of a line;
dashes are underscores; a later line wins; ``!include`` and ``!includedir`` are read where they
stand, relative names from the folder of the including file. One that leads nowhere is no error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from simrep.contract.server_reading import FileEntry, Place
from simrep.errors import ScenarioError
from simrep.intake.findings import text_of

__all__ = ["OptionLine", "not_read", "options_of", "read_option_file", "release_in"]

_DEEPEST = 10
"""Files that include each other: the server gives up here, too."""
_BEFORE_COMMENT = re.compile(r"""(?:[^#"']|"(?:[^"\\]|\\.?)*+"?+|'(?:[^'\\]|\\.?)*+'?+)*+""")
_INCLUDE = re.compile(r"!(include|includedir)\s+(.+)")
_GROUP = re.compile(r"\[(.+)\].*")
_RELEASE = re.compile(r"(.+?)(?:-(\d{1,4}(?:\.\d{1,4})*))?")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}
_NO = {"off", "0", "false", "no"}


@dataclass(frozen=True, slots=True)
class OptionLine:
    """An option as a file gives it, or an include of files that are not here."""

    group: str  # without its brackets and its release; empty: an include
    release: tuple[int, ...]  # that the group is for, as ``[mysqld-8.4]``; empty: for all
    spelling: str  # its name as written
    value: str | None  # without quotes; None where there is no ``=``
    place: Place


def read_option_file(path: Path) -> list[OptionLine]:
    """All options of a file and of those that it includes, in the order in which they count."""
    return list(_read(path, 0))


def _read(path: Path, depth: int) -> Iterator[OptionLine]:
    if depth > _DEEPEST:
        raise ScenarioError(str(path), f"files include each other more than {_DEEPEST} deep")
    group, release = "", ""
    for number, line in enumerate(text_of(path, "--mycnf").splitlines(), start=1):
        text, where = line.strip(), f"{path.name}:{number}"
        if text.startswith("!"):
            kind, name = _include(where, text)
            included = _included(path.parent / name, kind)
            if included is None:
                yield OptionLine("", (), f"!{kind}", name, Place(path.name, number))
            for inner in included or ():
                yield from _read(inner, depth + 1)
            continue
        if (match := _BEFORE_COMMENT.match(text)) is not None:
            text = match[0].rstrip()
        if not text or text.startswith(";"):
            continue
        if (match := _GROUP.fullmatch(text)) is not None:
            match = _RELEASE.fullmatch(match[1].strip())
            assert match is not None
            group, release = match[1], match[2]
            continue
        if not group:
            problem = "an option before any [group]"
            raise ScenarioError(where, problem, "is it an option file?")
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name:
            raise ScenarioError(where, "is not an option")
        plain = _unquoted(value) if equals else None
        yield OptionLine(group, _numbers(release), name, plain, Place(path.name, number))


def _include(where: str, text: str) -> tuple[str, str]:
    """Which kind of include a line is, and of what."""
    match = _INCLUDE.fullmatch(text)
    if match is None:
        raise ScenarioError(where, f"{text!r} is neither !include nor !includedir")
    return match[1], match[2].strip()


def _included(target: Path, kind: str) -> list[Path] | None:
    """The files that an include means; None where they are not on this machine."""
    if kind == "include":
        return [target] if target.exists() else None
    if not target.is_dir():
        return None
    return sorted(entry for entry in target.iterdir() if entry.suffix == ".cnf")


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[0]), text)


def _numbers(text: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")) if text else ()


def not_read(lines: Iterable[OptionLine]) -> tuple[FileEntry, ...]:
    """The includes of files that are not here: a server's own, of which one file was copied."""
    return tuple(
        FileEntry(line.value or "", line.place, line.spelling) for line in lines if not line.group
    )


def options_of(
    lines: Iterable[OptionLine], groups: Collection[str], release: tuple[int, ...] | None
) -> dict[str, FileEntry]:
    """Options that a server reads, by name with underscores; the last line of each.

    Groups such as ``[mysqld-8.4]`` ask for its release, if that is known. An option without a value
    is ``ON``. ``loose_`` is cut off; ``skip_`` and ``disable_`` before a name mean ``OFF``,
    ``enable_`` means ``ON``.
    """
    options: dict[str, FileEntry] = {}
    for line in lines:
        other = release is not None and release[: len(line.release)] != line.release
        if other or line.group not in groups:
            continue
        name = line.spelling.replace("-", "_").lower().removeprefix("loose_")
        value = "ON" if line.value is None else line.value
        for prefix in ("skip_", "disable_", "enable_"):
            if name.startswith(prefix):
                name = name.removeprefix(prefix)
                no = (prefix != "enable_") != (value.lower() in _NO)
                value = "OFF" if no else "ON"
                break
        options.pop(name, None)
        options[name] = FileEntry(value, line.place, line.spelling)
    return options


def release_in(
    lines: Iterable[OptionLine], groups: Collection[str]
) -> tuple[tuple[int, ...], Place] | None:
    """The release that these groups of the file are for; None if they do not agree on one."""
    places: dict[tuple[int, ...], Place] = {}
    for line in lines:
        if line.release and line.group in groups:
            places.setdefault(line.release, line.place)
    return next(iter(places.items())) if len(places) == 1 else None
