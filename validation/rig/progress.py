"""How far an experiment is measured: what its folder holds, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simrep.rig.cell import Run
from simrep.rig.experiment import Experiment, StoredExperiment
from simrep.rig.journal import Entry, Journal
from simrep.rig.state import State

__all__ = ["Progress"]


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
        self.runs = {run.id: run for run in self.experiment.runs()}
        self.wanted = list(self.runs.values()) if part is None else part.runs()
        self._allowed = dict.fromkeys(self.runs, self.experiment.attempts)
        if again:
            for run in self.unusable:
                tried = self.journal.attempts(run.id)
                self._allowed[run.id] = max(tried + 1, self._allowed[run.id])

    @property
    def missing(self) -> list[Run]:
        """Wanted runs that neither passed nor were tried often enough, in their order."""
        return self._unfinished(self.wanted)

    @property
    def absent(self) -> list[Run]:
        """The same of the whole experiment."""
        return self._unfinished(list(self.runs.values()))

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

    def _unfinished(self, runs: Sequence[Run]) -> list[Run]:
        return [run for run in runs if not self.journal.finished(run.id, self._allowed[run.id])]
