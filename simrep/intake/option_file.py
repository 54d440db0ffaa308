"""MySQL option files (``my.cnf``): what a server reads of them, line by line.

The rules are those of the server's own reader (mysys/my_default.cc of MySQL, my_default.c of
MariaDB): ``#`` starts a comment anywhere outside quotes and ``;`` at the beginning of a line;
dashes are underscores; a later line wins; ``!include`` and ``!includedir`` are read where they
stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from configparser import MissingSectionHeaderError, ParsingError, RawConfigParser
from dataclasses import dataclass
from pathlib import Path

from simrep.errors import ScenarioError
from simrep.intake.given import Given, Place, text_of

__all__ = ["OptionLine", "is_of_mariadb", "options_of", "read_option_file", "release_in"]

_DEEPEST = 10
"""Files that include each other: the server gives up here, too."""
_BEFORE_COMMENT = re.compile(r"""(?:[^#"']|"(?:[^"\\]|\\.?)*+"?+|'(?:[^'\\]|\\.?)*+'?+)*+""")
_INCLUDE = re.compile(r"!(include|includedir)\s+(.+)")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}
_GROUP = re.compile(
    r"(?P<program>mysqld|server|mariadb|mariadbd|galera|client-server)"
    r"(?:-(?P<release>\d+(?:\.\d+)*))?"
)
_MARIADB_ALONE = {"mariadb", "mariadbd", "galera", "client-server"}
_NO = {"off", "0", "false", "no"}


@dataclass(frozen=True, slots=True)
class OptionLine:
    """An option as a file gives it.

    Attributes
    ----------
    group : str
        Without its brackets.
    spelling : str
        Its name as written.
    value : str or None
        Without quotes; None where there is no ``=``.
    place : Place
    """

    group: str
    spelling: str
    value: str | None
    place: Place


class _Parser(RawConfigParser):
    """Groups and options of one file; the name of every option begins with its line number.

    So nothing is lost when an option is there twice, and the order of the file is known.
    """

    def __init__(self) -> None:
        super().__init__(
            allow_no_value=True,
            strict=False,
            delimiters=("=",),
            comment_prefixes=("#", ";"),
            empty_lines_in_values=False,
            default_section="\0",
        )
        self._line = 0

    def optionxform(self, optionstr: str) -> str:
        return f"{self._line} {optionstr}"

    def read_numbered(self, lines: Iterable[str]) -> None:
        """Read lines one by one, and know at which one the parser is."""

        def counted() -> Iterator[str]:
            for number, line in enumerate(lines, start=1):
                self._line = number
                yield line

        self.read_file(counted())


def read_option_file(path: Path) -> list[OptionLine]:
    """All options of a file and of those that it includes, in the order in which they count.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ScenarioError
        If a file cannot be read, or is no option file.
    """
    return list(_read(path, 0))


def _read(path: Path, depth: int) -> Iterator[OptionLine]:
    if depth > _DEEPEST:
        raise ScenarioError(str(path), f"files include each other more than {_DEEPEST} deep")
    includes: dict[int, tuple[str, str]] = {}
    lines = []
    for number, line in enumerate(text_of(path, "--mycnf").splitlines(), start=1):
        text = line.strip()
        if text.startswith("!"):
            match = _INCLUDE.fullmatch(text)
            if match is None:
                raise ScenarioError(
                    f"{path.name}:{number}", f"{text!r} is neither !include nor !includedir"
                )
            includes[number] = match[1], match[2].strip()
            text = ""
        found = _BEFORE_COMMENT.match(text)
        lines.append(found[0].rstrip() if found else text)
    own = _parsed(path, lines)
    for number in sorted(own.keys() | includes.keys()):
        if number in own:
            yield own[number]
        else:
            for inner in _included(path, number, *includes[number]):
                yield from _read(inner, depth + 1)


def _parsed(path: Path, lines: list[str]) -> dict[int, OptionLine]:
    parser = _Parser()
    try:
        parser.read_numbered(lines)
    except MissingSectionHeaderError as error:
        raise ScenarioError(
            f"{path.name}:{error.lineno}", "an option before any [group]", "is it an option file?"
        ) from None
    except ParsingError as error:
        number = error.errors[0][0]
        raise ScenarioError(f"{path.name}:{number}", "is not an option") from None
    own = {}
    for group in parser.sections():
        for key, value in parser.items(group):
            line, _, spelling = key.partition(" ")
            place = Place(path.name, int(line))
            text: str | None = value  # None for an option without "="
            plain = None if text is None else _unquoted(text)
            own[place.line] = OptionLine(group.strip(), spelling, plain, place)
    return own


def _included(path: Path, number: int, what: str, name: str) -> list[Path]:
    """The files that an include means; relative names start at the including file's folder."""
    target = path.parent / name
    if what == "include":
        return [target]
    if not target.is_dir():
        raise ScenarioError(
            f"{path.name}:{number}",
            f"there is no folder {name!r}",
            "copy it, too, or remove the line from the copy of the file",
        )
    return sorted(entry for entry in target.iterdir() if entry.suffix == ".cnf")


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[0]), text)


def options_of(
    lines: Iterable[OptionLine], *, mariadb: bool | None, release: tuple[int, ...] | None
) -> dict[str, Given]:
    """Options that a server reads, by name with underscores; the last line of each.

    Parameters
    ----------
    lines : iterable of OptionLine
    mariadb : bool or None
        Whether the server is a MariaDB, which reads more groups; None: not known.
    release : tuple of int or None
        Its version, which groups such as ``[mysqld-8.4]`` ask for; None: not known.

    Notes
    -----
    An option without a value is ``ON``. ``loose_`` is cut off; ``skip_`` and ``disable_`` before
    a name mean ``OFF``, ``enable_`` means ``ON``.
    """
    found: dict[str, Given] = {}
    for line in lines:
        if not _is_read(line.group, mariadb, release):
            continue
        name = line.spelling.replace("-", "_").lower().removeprefix("loose_")
        value = "ON" if line.value is None else line.value
        for prefix in ("skip_", "disable_", "enable_"):
            if name.startswith(prefix):
                name = name.removeprefix(prefix)
                no = (prefix != "enable_") != (value.lower() in _NO)
                value = "OFF" if no else "ON"
                break
        found.pop(name, None)
        found[name] = Given(value, line.place, line.spelling)
    return found


def _is_read(group: str, mariadb: bool | None, release: tuple[int, ...] | None) -> bool:
    match = _GROUP.fullmatch(group)
    if match is None or (mariadb is False and match["program"] in _MARIADB_ALONE):
        return False
    asked = _numbers(match["release"])
    return release is None or release[: len(asked)] == asked


def is_of_mariadb(line: OptionLine) -> bool:
    """Whether no other server reads its group."""
    match = _GROUP.fullmatch(line.group)
    return match is not None and match["program"] in _MARIADB_ALONE


def release_in(
    lines: Iterable[OptionLine], *, mariadb: bool | None
) -> tuple[tuple[int, ...], Place] | None:
    """The release that groups of the file are written for; None if they do not agree on one.

    Those of ``[mysqld-...]`` say nothing about a MariaDB: packages leave old ones behind.
    """
    found: dict[tuple[int, ...], Place] = {}
    for line in lines:
        match = _GROUP.fullmatch(line.group)
        if match is None or not match["release"]:
            continue
        if match["program"].startswith("mariadb") == bool(mariadb):
            found.setdefault(_numbers(match["release"]), line.place)
    return next(iter(found.items())) if len(found) == 1 else None


def _numbers(text: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")) if text else ()
