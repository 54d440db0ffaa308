"""Every error and warning simrep raises, so that callers can catch one family."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from simrep.printable import printable, shortened

__all__ = [
    "CacheWarning",
    "ContentionWarning",
    "DatasetWarning",
    "DegradedWarning",
    "ExtrapolationWarning",
    "ScenarioError",
    "ShortRunWarning",
    "SimrepError",
    "WriteError",
    "nearest",
]


_MOST = 2_400
"""Characters of a line of a message: a hint may list all names, but no value is shown in full."""
_MOST_OF_PATH, _MOST_OF_PROBLEM, _MOST_OF_HINT = 200, 500, 1_600
_COMPARED = 200
"""Characters of a name that are compared with others."""


class SimrepError(Exception):
    """Base of all errors that simrep raises on purpose.

    Its text can be shown as it is: long values in it are shortened, and what could command a
    terminal is escaped.
    """

    def __str__(self) -> str:
        return printable(shortened(self._text(), _MOST))

    def _text(self) -> str:
        return super().__str__()


class ScenarioError(SimrepError, ValueError):
    """A scenario, option or parameter that cannot be run.

    Parameters
    ----------
    path : str
        Where: the dotted path inside the scenario, e.g. ``cluster.options."evs.send_window"``.
    problem : str
        What is wrong, with the given value and what is allowed.
    hint : str, optional
        The next step, e.g. the nearest valid name.
    """

    def __init__(self, path: str, problem: str, hint: str = "") -> None:
        self.path = path
        self.problem = problem
        self.hint = hint
        super().__init__(path, problem, hint)  # SimPy and pickle rebuild it from its arguments

    def _text(self) -> str:
        several = "\n" in self.problem  # each on its line, with path and hint
        problem = shortened(self.problem, _MOST if several else _MOST_OF_PROBLEM)
        hint = f" ({shortened(self.hint, _MOST_OF_HINT)})" if self.hint else ""
        return f"{shortened(self.path, _MOST_OF_PATH)}: {problem}{hint}"


class WriteError(SimrepError, OSError):
    """A file that cannot be written: the disk is full, or its place is read-only."""


class DrawError(SimrepError, ValueError):
    """A result in which there is nothing that its picture could show."""


class CacheWarning(UserWarning):
    """Results are not kept, since the folder for them cannot be written."""


class ContentionWarning(UserWarning):
    """Defaults of a load tool send most writes to few rows, which is going to decide the run."""


class DatasetWarning(UserWarning):
    """Something in measured data that is not used, and perhaps should be."""


class DegradedWarning(UserWarning):
    """The cluster gave its clients less than the product promises, as far as its model tells."""


class OneProcessWarning(UserWarning):
    """One process does all the work, where several could share it if they knew the code."""


class ShortRunWarning(UserWarning):
    """The run held too few transactions for the figure that was asked of it."""


class ExtrapolationWarning(UserWarning):
    """A pack is used beyond the range of the cells that it was checked with."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint that names the closest valid name, or lists them all when none is close."""
    names = sorted(valid)
    close = get_close_matches(name[:_COMPARED], names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return "valid: " + ", ".join(names) if names else ""
