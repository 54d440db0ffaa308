"""The files of a server: its option file, its variables, its counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from simrep.contract.recognition import Recognition, ServerBranch
from simrep.contract.server_reading import ClientRow, FileEntry, ServerReading, StatusFigures
from simrep.errors import ScenarioError
from simrep.intake.client_tables import pairs, read_rows
from simrep.intake.option_file import (
    OptionLine,
    not_read,
    options_of,
    read_option_file,
    release_in,
)

__all__ = ["ServerFiles", "read_server"]

_MOST_STATUS = 2


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Where to read."""

    option_file: Path | None = None  # ``my.cnf``
    status: Sequence[Path] = ()  # ``SHOW GLOBAL STATUS``, once or twice; the earlier one first
    variables: Path | None = None  # ``SHOW GLOBAL VARIABLES``
    sysbench: Path | None = None  # the output of a run of sysbench


def read_server(
    files: ServerFiles, recognitions: Iterable[Recognition], version: str | None = None
) -> ServerReading:
    """Read all files of the server itself.

    A version that ``SELECT VERSION()`` printed counts above what the files say.
    """
    if files.option_file is None and files.variables is None and not files.status:
        raise ScenarioError(
            "--mycnf", "there is nothing to read", "give my.cnf, --variables or --status"
        )
    if len(files.status) > _MOST_STATUS:
        raise ScenarioError("--status", f"give it once or twice, not {len(files.status)} times")
    recognitions = tuple(recognitions)
    branches = dict.fromkeys(chain.from_iterable(one.branches for one in recognitions))
    lines = read_option_file(files.option_file) if files.option_file else []
    variable_rows, variables = _table(files.variables, "--variables")
    snapshots = [_table(path, "--status") for path in files.status]
    status = StatusFigures(
        snapshots[-1][1] if snapshots else {},
        snapshots[0][1] if len(snapshots) > 1 else None,
        tuple(chain.from_iterable(one.lasting for one in recognitions)),
    )
    entry = variables.get("version") or status.after.get("version")
    text = version or (entry.value if entry else "")
    branch = _branch(branches, text, lines, [*variables, *status.after])
    family = branch or next((one for one in branches if not one.word), ServerBranch("", ()))
    release = family.release(text)
    if release is None:
        asked = release_in(lines, family.own_groups)
        if asked is not None:
            release, place = asked
            entry = FileEntry(".".join(map(str, release)), place, "group")
    groups = {name for one in branches if branch in {None, one} for name in one.groups}
    options = options_of(lines, groups, release)
    for section, prefix in chain.from_iterable(one.sections.items() for one in recognitions):
        for name, read in options_of(lines, {section}, release).items():
            options[prefix + name] = read
    for name in chain.from_iterable(one.packed for one in recognitions):
        for values in (variables, options):
            if name in values:
                values.update(_unpacked(values[name]))
    return ServerReading(
        options=options,
        variables=variables,
        status=status,
        rows=tuple(chain(variable_rows, *(rows for rows, _ in snapshots))),
        family=family.name,
        release=release,
        release_entry=None if version else entry,
        not_read=not_read(lines),
    )


def _table(path: Path | None, option: str) -> tuple[list[ClientRow], dict[str, FileEntry]]:
    """All rows of a file, and the variables among them."""
    if path is None:
        return [], {}
    rows = read_rows(path, option)
    variables = pairs(rows)
    if not variables:
        hint = f"the output of SHOW GLOBAL {option.removeprefix('--').upper()}"
        raise ScenarioError(option, f"{path.name} holds no variables", hint)
    return rows, variables


def _branch(
    branches: Iterable[ServerBranch],
    text: str,
    lines: Iterable[OptionLine],
    names: Sequence[str],
) -> ServerBranch | None:
    """The branch of a server by its version, by names or by groups; None if nothing tells."""
    branches = sorted(branches, key=lambda one: not one.word)
    for branch in branches:
        if text and branch.word in text.lower():
            return branch
    for branch in branches:
        if branch.prefixes and any(name.startswith(branch.prefixes) for name in names):
            return branch
    used = {line.group for line in lines}
    for branch in branches:
        others = chain.from_iterable(one.groups for one in branches if one is not branch)
        if used & {*branch.groups} - {*others}:
            return branch
    return None


def _unpacked(entry: FileEntry) -> Mapping[str, FileEntry]:
    """``a.b = c; d.e = f``: options of their own, each with the place of all."""
    parts = (part.partition("=") for part in entry.value.split(";"))
    return {
        name.strip().lower(): FileEntry(value.strip(), entry.place, name.strip())
        for name, equals, value in parts
        if equals
    }
