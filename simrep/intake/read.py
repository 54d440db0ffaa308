"""Everything that is known of a server: its option file, its variables, its counters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from simrep.errors import ScenarioError
from simrep.intake.given import Given
from simrep.intake.option_file import (
    OptionLine,
    is_of_mariadb,
    options_of,
    read_option_file,
    release_in,
)
from simrep.intake.status import Status
from simrep.intake.sysbench import Sysbench, read_sysbench
from simrep.intake.tables import Row, pairs, read_rows

__all__ = ["Server", "ServerFiles", "read_server"]

_NO = {"", "0", "off", "no", "false", "none"}
_MOST_STATUS = 2
_PROVIDER = "wsrep_provider_options"
# Prefixes of names that only one of the two families has.
_MARIADB_NAMES = ("aria_", "feature_")
_MYSQL_NAMES = ("mysqlx_", "caching_sha2_", "innodb_redo_log_")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Where to read.

    Parameters
    ----------
    option_file : Path, optional
        ``my.cnf``.
    status : sequence of Path
        ``SHOW GLOBAL STATUS``, once or twice; the earlier one first.
    variables : Path, optional
        ``SHOW GLOBAL VARIABLES``.
    sysbench : Path, optional
        What a run of sysbench printed.
    """

    option_file: Path | None = None
    status: Sequence[Path] = ()
    variables: Path | None = None
    sysbench: Path | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """What the files say.

    Attributes
    ----------
    lines : tuple of OptionLine
        Of the option file, whatever the group.
    options : dict of str to Given
        Those of them that this server reads, by name; provider options by their own names.
    variables : dict of str to Given
        As the running server has them; empty if they were not given.
    status : Status
    rows : tuple of Row
        Of all tables in the status files and that of the variables.
    sysbench : Sysbench or None
    mariadb : bool or None
        Whether it is a MariaDB; None if nothing says so.
    release : tuple of int or None
        Its version; None if nothing says so.
    release_given : Given or None
        Where that stands.
    """

    lines: tuple[OptionLine, ...]
    options: dict[str, Given]
    variables: dict[str, Given]
    status: Status
    rows: tuple[Row, ...]
    sysbench: Sysbench | None
    mariadb: bool | None
    release: tuple[int, ...] | None
    release_given: Given | None

    def setting(self, *names: str) -> Given | None:
        """A variable under the first of its names that is known; as it runs, or as configured."""
        for values in (self.variables, self.status.after, self.options):
            for name in names:
                if name.lower() in values:
                    return values[name.lower()]
        return None

    def is_on(self, *names: str) -> Given | None:
        """The setting, if it is neither off nor empty."""
        given = self.setting(*names)
        return None if given is None or given.value.lower() in _NO else given

    def has_names(self, prefix: str) -> bool:
        """Whether an option, a variable or a counter begins so."""
        known = (self.variables, self.status.after, self.options)
        return any(name.startswith(prefix) for values in known for name in values)


def read_server(files: ServerFiles, server_version: str | None = None) -> Server:
    """Read all files.

    Parameters
    ----------
    files : ServerFiles
    server_version : str, optional
        What ``SELECT VERSION()`` prints; above what the files say.

    Raises
    ------
    ScenarioError
        If there is nothing to read, or a file is not what it should be.
    """
    if files.option_file is None and files.variables is None and not files.status:
        raise ScenarioError(
            "--mycnf", "there is nothing to read", "give my.cnf, --variables or --status"
        )
    if len(files.status) > _MOST_STATUS:
        raise ScenarioError("--status", f"give it once or twice, not {len(files.status)} times")
    lines = tuple(read_option_file(files.option_file)) if files.option_file else ()
    variable_rows = read_rows(files.variables, "--variables") if files.variables else []
    status_rows = [read_rows(path, "--status") for path in files.status]
    for path, rows in zip(files.status, status_rows, strict=True):
        if not pairs(rows):
            raise ScenarioError(
                "--status", f"{path.name} holds no variables", "the output of SHOW GLOBAL STATUS"
            )
    variables = pairs(variable_rows)
    if files.variables is not None and not variables:
        raise ScenarioError(
            "--variables",
            f"{files.variables.name} holds no variables",
            "the output of SHOW GLOBAL VARIABLES",
        )
    snapshots = [pairs(rows) for rows in status_rows]
    status = Status(
        snapshots[-1] if snapshots else {}, snapshots[0] if len(snapshots) > 1 else None
    )
    version = variables.get("version") or status.after.get("version")
    text = server_version or (version.value if version else "")
    release = _release(text)
    mariadb = _is_mariadb(text, lines, {*variables, *status.after})
    if release is None and (asked := release_in(lines, mariadb=mariadb)) is not None:
        release, place = asked
        version = Given(".".join(map(str, release)), place, "group")
    options = options_of(lines, mariadb=mariadb, release=release)
    for values in (variables, options):
        if _PROVIDER in values:
            values.update(_provider_options(values[_PROVIDER]))
    return Server(
        lines=lines,
        options=options,
        variables=variables,
        status=status,
        rows=(*variable_rows, *chain.from_iterable(status_rows)),
        sysbench=read_sysbench(files.sysbench) if files.sysbench else None,
        mariadb=mariadb,
        release=release,
        release_given=None if server_version else version,
    )


def _release(text: str) -> tuple[int, ...] | None:
    """The numbers of a version: ``8.0.36-28.1``, ``5.5.5-10.4.32-MariaDB-log``."""
    # MariaDB puts 5.5.5- before its version where old replicas listen.
    before = text.removeprefix("5.5.5-").partition("-MariaDB")[0]
    return tuple(int(digits) for digits in _DIGITS.findall(before)) or None


def _is_mariadb(text: str, lines: Sequence[OptionLine], names: set[str]) -> bool | None:
    if text:
        return "mariadb" in text.lower()
    if any(name.startswith(_MARIADB_NAMES) for name in names):
        return True
    if any(name.startswith(_MYSQL_NAMES) for name in names):
        return False
    return True if any(map(is_of_mariadb, lines)) else None


def _provider_options(given: Given) -> dict[str, Given]:
    """``a.b = c; d.e = f``: the options of the Galera provider, each with the place of all."""
    found = {}
    for part in given.value.split(";"):
        name, equals, value = part.partition("=")
        if equals:
            found[name.strip().lower()] = Given(value.strip(), given.place, name.strip())
    return found
