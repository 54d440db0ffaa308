r"""What a client of MySQL or MariaDB prints for a statement: tables in all their forms.

With borders (the terminal), tab-separated (``--batch``, with or without names of columns) and
vertical (``\G``). Several tables may follow each other, and what is between them is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from simrep.contract.server_reading import ClientRow, FileEntry, Place
from simrep.intake.findings import text_of

__all__ = ["pairs", "read_rows", "rows_of"]

NAME, VALUE = "variable_name", "value"
_BORDER = re.compile(r"\+(?:-+\+)+")
_RECORD = re.compile(r"\*{5,} *\d+\. row \*{5,}")
_FIELD = re.compile(r"([A-Za-z_][\w ]*): ?(.*)")
_VERSION = re.compile(r"Server version:\s+(.+)")
# First columns of tables other than those of variables, as their heading has them.
_HEADINGS = {"channel_name", "server_id", "member_id", "slave_io_state", "replica_io_state"}


def read_rows(path: Path, option: str) -> list[ClientRow]:
    """All rows of all tables in a file; ``option`` is what named it, for errors."""
    return rows_of(text_of(path, option), path.name)


def rows_of(text: str, file: str) -> list[ClientRow]:
    """All rows of all tables in the text of a file."""
    return [
        ClientRow(cells, Place(file, number))
        for number, cells in _cells(text.splitlines())
        if cells
    ]


def pairs(rows: Iterable[ClientRow]) -> dict[str, FileEntry]:
    """Values of variables, by name in small letters; the last of each."""
    return {
        row.cells[NAME].lower(): FileEntry(row.cells[VALUE], row.place, row.cells[NAME])
        for row in rows
        if NAME in row.cells and VALUE in row.cells
    }


def _cells(lines: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    columns: list[str] = []  # of the table that the lines are in
    borders = 0  # of it, so far: one above the heading, one below it, one at the end
    record: dict[str, str] | None = None
    began = 0
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if record is not None:
            if (field := _FIELD.fullmatch(text)) is not None:
                record[field[1].strip().lower()] = field[2]
                continue
            yield began, record
            record = None
        if _RECORD.fullmatch(text):
            record, began = {}, number
        elif _BORDER.fullmatch(text):
            borders = (borders + 1) % 3
            if borders != 2:
                columns = []
        elif borders and text.startswith("|") and text.endswith("|"):
            cells = _boxed(text, len(columns))
            if borders == 2:
                yield number, dict(zip(columns, cells, strict=False))
            else:
                columns = [cell.lower() for cell in cells]
        else:
            if borders:
                borders, columns = 0, []
            if (match := _VERSION.fullmatch(text)) is not None:
                yield number, {NAME: "version", VALUE: match[1]}
            elif "\t" in line and not line.partition("\t")[0].endswith(":"):
                cells = [cell.strip() for cell in line.split("\t")]
                if _is_heading(cells, columns):
                    columns = [cell.lower() for cell in cells]
                    continue
                if len(cells) == 2 and len(columns) != 2:
                    columns = [NAME, VALUE]
                if len(cells) == len(columns):
                    yield number, dict(zip(columns, cells, strict=True))
    if record is not None:
        yield began, record


def _boxed(text: str, count: int) -> list[str]:
    """The cells of a row; the last one may hold bars."""
    parts = text[1:-1].split("|", count - 1) if count else text[1:-1].split("|")
    return [part.strip() for part in parts]


def _is_heading(cells: list[str], columns: list[str]) -> bool:
    """Whether a tab-separated line names the columns of a new table."""
    first = cells[0].lower()
    if len(cells) == 2:  # server_id is a variable, too
        return first == NAME
    return first in _HEADINGS or len(cells) != len(columns)
