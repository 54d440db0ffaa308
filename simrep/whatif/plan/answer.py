"""What every answer to an inverse question has in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simrep.measure.units import plain
from simrep.runs.report import Report, write_rows

__all__ = ["Answer"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer(Report):
    """An answer with its interval, and what it rests on.

    Attributes
    ----------
    question : str
        What was asked, in words.
    sentence : str
        The answer, in words.
    value : float or None
        The answer; None if there is none.
    low, high : float or None
        An interval that holds the true answer with this confidence; None where it is open. Without
        a confidence, neighbours that were simulated.
    unit : str
    confidence : float or None
    notes : tuple of str
        What else there is to know.
    seed : int
    complete : bool
        False if it was interrupted.
    scenario : mapping
        What was asked about, with all defaults.
    versions : mapping of str to str
        What computed it.
    """

    width = 120

    question: str
    sentence: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    confidence: float | None
    notes: tuple[str, ...] = ()
    seed: int
    complete: bool = True
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def drawable(self) -> bool:
        """Whether there is anything to draw."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        return {
            "question": self.question,
            "sentence": self.sentence,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "unit": self.unit,
            "confidence": self.confidence,
            "steps": [plain(row) for row in self._rows()],
            "notes": list(self.notes),
            "seed": self.seed,
            "complete": self.complete,
            "scenario": dict(self.scenario),
            "versions": dict(self.versions),
        }

    def save(self, path: str | Path) -> None:
        """Write what was tried as a CSV file, a row each."""
        write_rows(Path(path), self._rows())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence}>"
