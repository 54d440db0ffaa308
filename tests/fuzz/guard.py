"""A guard that lets a case take so many events and clocks, in one process, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import entry_points
from typing import Any
from unittest.mock import patch

from simrep.kernel.clock import Clock

__all__ = ["OutOfBudgetError", "guarded"]

_ENTRY_POINTS = cache(entry_points)  # looking through all packages takes longer than many a case


class OutOfBudgetError(BaseException):
    """The case has had what it may take; no ``except Exception`` hides it."""


@contextmanager
def guarded(*, events: int, clocks: int) -> Iterator[None]:
    """Every run ends after so many events, and the case after so many runs or with a process.

    A run that has too many events ends with the error that any run has at its own limit.
    """
    left = clocks
    begin = Clock.__init__

    def counted(self: Clock, *arguments: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OutOfBudgetError
        begin(self, *arguments, **named)

    def refused(*_: Any, **__: Any) -> Any:
        raise OutOfBudgetError

    with (
        patch.object(Clock, "most_events", events),
        patch.object(Clock, "__init__", counted),
        patch.dict("os.environ", SIMREP_JOBS="1"),
        patch("simrep.runs.executor.Loop", refused),
        patch("simrep.contract.registry.entry_points", _ENTRY_POINTS),
    ):
        yield
