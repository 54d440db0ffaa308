"""What a campaign keeps so that it can be resumed: journal, state, and so what is missing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from simrep.rig.cell import Cell, Run
from simrep.rig.errors import RigError
from simrep.rig.experiment import Experiment, StoredExperiment
from simrep.rig.files import content_of, write_whole
from simrep.rig.gates import Gate
from simrep.rig.known import unknown_figures

__all__ = ["Entry", "Journal", "Progress", "State"]


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

    def mark(self) -> dict[str, Any]:
        """Why it may not."""
        gates = {gate.name: gate.detail for gate in self.failed}
        return {"run": self.id, "attempt": self.attempt, "gates": gates}

    def reasons(self) -> str:
        """The same for people."""
        return "; ".join(f"{gate.name} ({gate.detail})" for gate in self.failed)


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
            except (ValueError, TypeError, KeyError, RecursionError):
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


class State:
    """What was found out about machine, clusters and layouts, in a JSON file for the manifest.

    The compressed form is only read; RigError if a file is not whole.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.content: dict[str, Any] = {"clusters": {}}
        text = content_of(path)
        if text is not None:
            try:
                self.content = {"clusters": {}, **json.loads(text)}
            except (ValueError, TypeError, RecursionError):
                raise RigError(f"{path} cannot be read: it is not whole") from None

    def update(self, **values: Any) -> None:
        """Keep values by name."""
        self.content |= values
        self._write()

    def cluster(self, key: str, values: Mapping[str, Any]) -> None:
        """Keep what is known of a cluster."""
        known = self.content["clusters"].setdefault(key, {"layouts": {}})
        known.update(values)
        self._write()

    def layout(self, cluster: str, name: str, values: Mapping[str, Any]) -> None:
        """Keep the pings of a layout on a cluster."""
        known = self.content["clusters"].setdefault(cluster, {"layouts": {}})
        known["layouts"][name] = dict(values)
        self._write()

    def clusters(self) -> dict[str, dict[str, Any]]:
        """All clusters by their key."""
        found: dict[str, dict[str, Any]] = self.content["clusters"]
        return found

    def text(self) -> str:
        """All of it."""
        return json.dumps(self.content, indent=1, default=str) + "\n"

    def _write(self) -> None:
        write_whole(self._path, self.text())


class _Wanted:
    """Runs of an experiment: those planned, and the most that there may be."""

    def __init__(self, experiment: Experiment) -> None:
        self.planned = {run.id for run in experiment.runs()}
        self.most = experiment.runs(most=True)


class Progress:
    """The runs of an experiment, and what is known of them.

    Parameters
    ----------
    stored : StoredExperiment
    folder : Path
        Of the dataset.
    part : Experiment, optional
        What of it is wanted now; default: all.
    again : bool
        Runs of which no attempt passed get one more.
    """

    def __init__(
        self,
        stored: StoredExperiment,
        folder: Path,
        *,
        part: Experiment | None = None,
        again: bool = False,
    ) -> None:
        self.stored = stored
        self.experiment = stored.experiment
        self.folder = folder
        self.journal = Journal(folder / "runs.jsonl")
        self.state = State(folder / "state.json")
        self.factors = self.experiment.factors()
        self.runs = {run.id: run for run in self.experiment.runs(most=True)}
        self._whole = _Wanted(self.experiment)
        self._part = self._whole if part is None else _Wanted(part)
        self._allowed = dict.fromkeys(self.runs, self.experiment.attempts)
        if again:
            for run in self.unusable:
                tried = self.journal.attempts(run.id)
                self._allowed[run.id] = max(tried + 1, self._allowed[run.id])

    @property
    def wanted(self) -> list[Run]:
        """Planned runs, further ones that were tried, and the next of cells that need one."""
        return self._of(self._part)

    @property
    def missing(self) -> list[Run]:
        """Wanted runs that neither passed nor were tried often enough, in their order."""
        return self._unfinished(self.wanted)

    @property
    def absent(self) -> list[Run]:
        """The same of the whole experiment."""
        return self._unfinished(self._of(self._whole))

    def unknown(self, cell: Cell) -> list[str]:
        """Figures of a cell that further repetitions are for: their mean is not known to 10 %."""
        passed = [
            entry
            for entry in self.journal.entries
            if entry.passed and entry.id in self.runs and self.runs[entry.id].cell.key == cell.key
        ]
        return unknown_figures(cell, passed)

    @property
    def unusable(self) -> list[Run]:
        """Wanted runs of which no attempt passed all gates."""
        passed = {entry.id for entry in self.journal.entries if entry.passed}
        return [run for run in self.wanted if run.id not in passed]

    @property
    def others(self) -> int:
        """Entries of runs that are not of the experiment as it is now."""
        return sum(entry.id not in self.runs for entry in self.journal.entries)

    def entries(self) -> list[Entry]:
        """Entries of the runs of the experiment as it is now, in its order."""
        order = {run: position for position, run in enumerate(self.runs)}
        own = [entry for entry in self.journal.entries if entry.id in order]
        return sorted(own, key=lambda entry: (order[entry.id], entry.attempt))

    def _of(self, wanted: _Wanted) -> list[Run]:
        tried = {entry.id for entry in self.journal.entries}
        found: list[Run] = []
        through: set[str] = set()  # cells of which nothing more is wanted
        for run in wanted.most:
            key = run.cell.key
            known = run.id in wanted.planned or run.id in tried
            if not known and key not in through and not self.unknown(run.cell):
                through.add(key)
            if known or key not in through:
                found.append(run)
            if not known or self._unfinished([run]):
                through.add(key)
        return found

    def _unfinished(self, runs: Sequence[Run]) -> list[Run]:
        return [run for run in runs if not self.journal.finished(run.id, self._allowed[run.id])]
