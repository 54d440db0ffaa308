"""Where every setting of a scenario comes from: files and lines, or why a default was taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simrep.contract.recognition import Clue
from simrep.contract.server_reading import FileEntry, Place
from simrep.user_files import read_bytes

__all__ = ["Finding", "Findings", "text_of"]

_SECRET = ("auth", "passw", "secret")
"""Parts of the names of options whose values nobody else may see."""
_MOST_LINES = 4
"""Lines of a file that are named; further ones are an ellipsis."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A setting of the scenario or the pack."""

    setting: str  # its path: ``cluster.version``, ``workload.rate_tps``, ``pack.costs.fsync_us``
    value: Any
    origin: str  # files and lines; empty for a default
    note: str  # the formula, or why the default was taken

    @property
    def default(self) -> bool:
        """Whether nothing was read for it."""
        return not self.origin


@dataclass(slots=True)
class Findings:
    """All settings in the order in which they were found out, and what has no use."""

    settings: list[Finding] = field(default_factory=list)
    # Options that were read and that the model does not have, or not with such a value.
    not_simulated: list[Finding] = field(default_factory=list)
    # What the counters say besides, for people to judge by.
    remarks: list[str] = field(default_factory=list)

    def read(self, setting: str, value: Any, places: Iterable[Place], note: str = "") -> Any:
        """Note where a value comes from; returns it."""
        self.settings.append(Finding(setting, value, _lines(places), note))
        return value

    def told(self, setting: str, value: Any, option: str) -> Any:
        """Note that a value was given on the command line; returns it."""
        self.settings.append(Finding(setting, value, option, ""))
        return value

    def default(self, setting: str, value: Any, why: str) -> Any:
        """Note that nothing was read; returns the value taken instead."""
        self.settings.append(Finding(setting, value, "", why))
        return value

    def clue(self, setting: str, clue: Clue | None, default: Any, why: str) -> Any:
        """Note the clue of a value if there is one, else the default; returns what is taken."""
        if clue is None:
            return self.default(setting, default, why)
        return self.read(setting, type(default)(clue.value), clue.places, clue.note)

    def unused(self, entry: FileEntry, why: str = "") -> None:
        """Note an option that is not simulated."""
        hidden = any(part in entry.spelling.lower() for part in _SECRET)
        value = "..." if hidden else entry.value
        self.not_simulated.append(Finding(entry.spelling, value, _lines([entry.place]), why))

    def origins(self) -> Mapping[str, str]:
        """Where the settings come from, by their paths."""
        return {one.setting: one.origin or f"default: {one.note}" for one in self.settings}


def _lines(places: Iterable[Place]) -> str:
    """Files and lines, as ``my.cnf:12`` or ``status.txt:4, 9``."""
    lines: dict[str, set[int]] = {}
    for file, line in places:
        lines.setdefault(file, set()).add(line)
    parts = []
    for file, numbers in lines.items():
        named = [str(number) for number in sorted(numbers)[:_MOST_LINES]]
        more = ["..."] if len(numbers) > _MOST_LINES else []
        parts.append(f"{file}:{', '.join(named + more)}")
    return "; ".join(parts)


def text_of(path: Path, option: str) -> str:
    """The text of a file; bytes that are not UTF-8 are replaced, as names are all that is read."""
    content = read_bytes(path, f"{option}, {str(path)!r}")
    return content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
