"""The stages of one transaction as rows of a table or a waterfall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simrep.why.explanation import Stage

__all__ = ["StageRow", "stage_rows"]

_MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage, or all of a name."""

    stages: tuple[Stage, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        name, times = self.stages[0].name, len(self.stages)
        return name if times == 1 else f"{name} ({times:,} times)"

    @property
    def seconds(self) -> float:
        """All of them together."""
        return sum(one.seconds for one in self.stages)

    @property
    def reason(self) -> str:
        """Of the longest that has one."""
        known = [one for one in self.stages if one.reason]
        return max(known, key=lambda one: one.seconds).reason if known else ""


def stage_rows(stages: Sequence[Stage]) -> list[StageRow]:
    """A row per stage; if those are too many, one per name, in the order of their first begin."""
    if len(stages) <= _MOST_ROWS:
        return [StageRow((one,)) for one in stages]
    names = dict.fromkeys(one.name for one in stages)
    return [StageRow(tuple(one for one in stages if one.name == name)) for name in names]
