"""What every answer to an inverse question has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from simrep.runs.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group, RenderableType
    from rich.table import Table

__all__ = ["Answer", "table_of"]


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

    @abstractmethod
    def _body(self) -> RenderableType:
        """What was simulated, for a terminal."""

    @abstractmethod
    def plot(self, path: str | Path | None = None) -> Figure:
        """What the answer rests on; saved when a path is given."""

    def tables(self) -> Group:
        """Question, what was simulated, answer and notes, for a terminal."""
        from rich.console import Group
        from rich.text import Text

        lines = [*self.notes, *([] if self.complete else ["Interrupted: the search is not over."])]
        notes = [Text("\n" + "\n".join(lines))] if lines else []
        return Group(
            Text(f"{self.question}, seed {self.seed}", style="bold"),
            self._body(),
            Text(self.sentence),
            *notes,
        )

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
            "steps": [_finite(row) for row in self._rows()],
            "notes": list(self.notes),
            "seed": self.seed,
            "complete": self.complete,
            "scenario": dict(self.scenario),
            "versions": dict(self.versions),
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence}>"


def table_of(rows: Sequence[Sequence[str]], words: int = 1) -> Table:
    """A table for a terminal; the first row has its heads.

    Parameters
    ----------
    rows : sequence of sequence of str
    words : int
        So many columns at the left are text and not numbers; the last one always is.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, head in enumerate(rows[0]):
        table.add_column(head, justify=_side(position, words, len(rows[0])))
    for row in rows[1:]:
        table.add_row(*row)
    return table


def _side(position: int, words: int, columns: int) -> Literal["left", "right"]:
    return "left" if position < words or position == columns - 1 else "right"


def _finite(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in row.items()
    }
