"""What was read of a server and where, and what was taken instead of what could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from simrep.errors import ScenarioError

__all__ = ["Finding", "Findings", "Given", "Number", "Place", "text_of", "where"]

_SECRET = ("auth", "passw", "secret")
"""What is in the name of an option whose value nobody else may see."""
_MOST_LINES = 4
"""So many lines of a file are named; further ones are an ellipsis."""


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it is written somewhere.

    Attributes
    ----------
    value : str
    place : Place
    spelling : str
        The name as it is written there.
    """

    value: str
    place: Place
    spelling: str


@dataclass(frozen=True, slots=True)
class Number:
    """A figure and the lines that it was computed from."""

    value: float
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A setting of the scenario or the pack.

    Attributes
    ----------
    setting : str
        Its path: ``cluster.version``, ``workload.rate_tps``, ``pack.costs.fsync_us``.
    value : object
    origin : str
        Files and lines; empty for a default.
    note : str
        The formula, or why the default was taken.
    """

    setting: str
    value: Any
    origin: str
    note: str

    @property
    def default(self) -> bool:
        """Whether nothing was read for it."""
        return not self.origin


@dataclass(slots=True)
class Findings:
    """All settings in the order in which they were found out, and what has no use.

    Attributes
    ----------
    settings : list of Finding
    not_simulated : list of Finding
        Options that were read and that the model does not have, or not with such a value.
    remarks : list of str
        What the counters say besides, for people to judge by.
    """

    settings: list[Finding] = field(default_factory=list)
    not_simulated: list[Finding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def read(self, setting: str, value: Any, places: Iterable[Place], note: str = "") -> Any:
        """Note where a value comes from; returns it."""
        self.settings.append(Finding(setting, value, where(places), note))
        return value

    def told(self, setting: str, value: Any, option: str) -> Any:
        """Note that a value was given on the command line; returns it."""
        self.settings.append(Finding(setting, value, option, ""))
        return value

    def default(self, setting: str, value: Any, why: str) -> Any:
        """Note that nothing was read; returns the value taken instead."""
        self.settings.append(Finding(setting, value, "", why))
        return value

    def unused(self, given: Given, why: str = "") -> None:
        """Note an option that is not simulated."""
        hidden = any(part in given.spelling.lower() for part in _SECRET)
        value = "..." if hidden else given.value
        self.not_simulated.append(Finding(given.spelling, value, where([given.place]), why))

    def origins(self) -> Mapping[str, str]:
        """Where the settings come from, by their paths."""
        return {one.setting: one.origin or f"default: {one.note}" for one in self.settings}


def where(places: Iterable[Place]) -> str:
    """Files and lines, as ``my.cnf:12`` or ``status.txt:4, 9``."""
    lines: dict[str, list[int]] = {}
    for file, line in places:
        known = lines.setdefault(file, [])
        if line not in known:
            known.append(line)
    parts = []
    for file, numbers in lines.items():
        named = [str(number) for number in sorted(numbers)[:_MOST_LINES]]
        more = ["..."] if len(numbers) > _MOST_LINES else []
        parts.append(f"{file}:{', '.join(named + more)}")
    return "; ".join(parts)


def text_of(path: Path, option: str) -> str:
    """The text of a file; bytes that are not UTF-8 are replaced, as names are all that is read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ScenarioError(option, f"cannot read {str(path)!r}: {error.strerror}") from error
