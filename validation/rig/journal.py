"""The journal of a campaign: a line per measured run, from which an interrupted one resumes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from simrep.rig.errors import RigError
from simrep.rig.files import content_of, write_whole
from simrep.rig.gates import Gate

__all__ = ["Entry", "Journal"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One attempt at a run.

    Attributes
    ----------
    id : str
        Of the run.
    attempt : int
        From 1.
    row : dict
        Its row of the data.
    failed : tuple of Gate
        Those that it did not pass.
    counters : mapping of node to mapping
        By how much the servers' counters grew.
    details : dict
        Round trips, facts of the health checks, versions.
    """

    id: str
    attempt: int
    row: dict[str, Any]
    failed: tuple[Gate, ...] = ()
    counters: dict[str, dict[str, float]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether its figures may be used."""
        return not self.failed


class Journal:
    """Entries in a file, each written to the disk before the next run begins.

    Parameters
    ----------
    path : Path
        May be there already, or its compressed form; a last line that was cut off by a crash is
        left out, and gone once something is added. Until then the file is only read: another
        process may be writing to it.

    Raises
    ------
    RigError
        If a line is not what this version writes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        text = content_of(path) or ""
        whole = text[: text.rfind("\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self.entries.append(_entry(line))
            except (ValueError, TypeError, KeyError):
                raise RigError(f"{path}:{number} is not an entry of this version") from None
        self._complete = path.exists() and whole == text

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        if not self._complete:
            write_whole(self.path, self.text())
            self._complete = True
        self.entries.append(entry)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(entry))
            file.flush()
            os.fsync(file.fileno())

    def text(self) -> str:
        """All lines."""
        return "".join(map(_line, self.entries))

    def attempts(self, run: str) -> int:
        """How often a run was tried."""
        return sum(entry.id == run for entry in self.entries)

    def finished(self, run: str, attempts: int) -> bool:
        """Whether a run passed, or was tried often enough."""
        own = [entry for entry in self.entries if entry.id == run]
        return any(entry.passed for entry in own) or len(own) >= attempts


def _entry(line: str) -> Entry:
    content = json.loads(line)
    content["failed"] = tuple(Gate(**gate) for gate in content["failed"])
    return Entry(**content)


def _line(entry: Entry) -> str:
    return json.dumps(asdict(entry), default=str) + "\n"
