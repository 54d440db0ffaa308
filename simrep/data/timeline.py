"""Commits over time around a scheduled transaction, for one cell of a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simrep.data.definition import Value
from simrep.runs.batch import figures_of
from simrep.runs.record import ScheduledRecord
from simrep.runs.result import Result
from simrep.scenario.events import Event

__all__ = ["Course", "Timeline", "figures_and_course"]


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What happened in one replication.

    Attributes
    ----------
    record : ScheduledRecord
        The scheduled transaction.
    edges_s : numpy.ndarray
        Bounds of the intervals in simulated seconds, shape (intervals + 1,).
    rate_tps : numpy.ndarray
        Commits of all others per second in each, shape (intervals,).
    events : tuple of Event
        What else the scenario lets happen.
    """

    record: ScheduledRecord
    edges_s: NDArray[np.float64]
    rate_tps: NDArray[np.float64]
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The course of one replication of a cell.

    Attributes
    ----------
    factors : mapping
        What tells the cell from others.
    series : str
        Name of the measured system.
    course : Course
    """

    factors: Mapping[str, Value]
    series: str
    course: Course

    def to_dict(self) -> dict[str, Any]:
        """As plain lists and numbers."""
        return {
            "factors": dict(self.factors),
            "series": self.series,
            "scheduled": self.course.record.to_dict(),
            "edges_s": self.course.edges_s.tolist(),
            "rate_tps": self.course.rate_tps.tolist(),
            "events": [event.to_dict() for event in self.course.events],
        }


def figures_and_course(
    result: Result, paths: Sequence[str], name: str
) -> tuple[tuple[float, ...], Course | None]:
    """Figures of a replication and, of the first one, also its course around a transaction."""
    figures = figures_of(result, paths)
    if result.runs[0].replication > 0 or name not in result.scheduled:
        return figures, None
    edges_s, rate_tps, _ = result.series.rates()
    return figures, Course(result.scheduled[name], edges_s, rate_tps)
