"""A server as its files show it: settings and counters, each with the place where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

from simrep.errors import ScenarioError

__all__ = ["ClientRow", "FileEntry", "Place", "Quantity", "ServerReading", "StatusFigures"]

_NO = {"", "0", "off", "no", "false", "none"}
_UPTIME = "uptime"
_SINCE_FLUSH = "uptime_since_flush_status"


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and the lines that it was computed from.

    Attributes
    ----------
    value : float
    places : tuple of Place
    name : str
        As the server writes it; empty for what is computed from several.
    """

    value: float
    places: tuple[Place, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A value as a file has it.

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

    @property
    def quantity(self) -> Quantity | None:
        """The value as a number; None where it is none."""
        try:
            number = float(self.value)
        except ValueError:
            return None
        return Quantity(number, (self.place,), self.spelling) if isfinite(number) else None


@dataclass(frozen=True, slots=True)
class ClientRow:
    """A row of a table."""

    cells: Mapping[str, str]  # by name of the column in small letters
    place: Place


@dataclass(frozen=True, slots=True)
class StatusFigures:
    """Counters since the start of the server, or between two moments.

    Two that are not of one server, in this order, are refused.
    """

    # ``SHOW GLOBAL STATUS``, by name in small letters; empty if there is none.
    after: Mapping[str, FileEntry] = field(default_factory=dict)
    before: Mapping[str, FileEntry] | None = None  # the same, earlier
    lasting: tuple[str, ...] = ()  # how counters begin that ``FLUSH STATUS`` does not reset

    def __post_init__(self) -> None:
        if self.before is None:
            return
        earlier, later = (_number(one, _UPTIME) for one in (self.before, self.after))
        if earlier is None or later is None:
            raise ScenarioError("--status", "Uptime is missing: how far are the two files apart?")
        if later.value <= earlier.value:
            raise ScenarioError(
                "--status",
                f"Uptime is {earlier.value:g} s in the first file and {later.value:g} s in the "
                "second one",
                "give the earlier one first; the server must not restart in between",
            )

    @property
    def seconds(self) -> Quantity | None:
        """How long the counters have counted; None if nothing says so."""
        uptime = self.latest(_UPTIME)
        earlier = _number(self.before or {}, _UPTIME)
        if uptime is None or earlier is None:
            return uptime
        return Quantity(uptime.value - earlier.value, earlier.places + uptime.places)

    def latest(self, name: str) -> Quantity | None:
        """A figure that goes up and down, as it was last."""
        return _number(self.after, name)

    def rate(self, *names: str) -> Quantity | None:
        """Growth per second of the sum of counters, of those that are there; None if none is.

        Where nothing tells the time, per second of an unknown unit: ratios hold.
        """
        rates = [rate for name in names if (rate := self._rate(name)) is not None]
        if not rates:
            return None
        places = tuple(place for rate in rates for place in rate.places)
        return Quantity(sum(rate.value for rate in rates), places)

    def first_rate(self, names: Iterable[str]) -> Quantity | None:
        """The first of some counters that has grown, per second."""
        rates = map(self._rate, names)
        return next((rate for rate in rates if rate is not None and rate.value > 0), None)

    def _rate(self, name: str) -> Quantity | None:
        last = _number(self.after, name)
        if last is None:
            return None
        if self.before is None:
            seconds = self._since(name)
            return Quantity(last.value / seconds if seconds else last.value, last.places, last.name)
        first = _number(self.before, name) or Quantity(0.0, ())
        if last.value < first.value:
            raise ScenarioError(
                "--status",
                f"{last.name} went from {first.value:g} to {last.value:g}",
                "was there a FLUSH STATUS between the two?",
            )
        seconds = self.seconds.value if self.seconds else 0.0
        grown = last.value - first.value
        return Quantity(grown / seconds, first.places + last.places, last.name)

    def _since(self, name: str) -> float:
        """Seconds since a counter was 0."""
        uptime, flushed = self.latest(_UPTIME), self.latest(_SINCE_FLUSH)
        if flushed is not None and not name.lower().startswith(self.lasting):
            return flushed.value
        return uptime.value if uptime is not None else 0.0


def _number(entries: Mapping[str, FileEntry], name: str) -> Quantity | None:
    entry = entries.get(name.lower())
    return None if entry is None else entry.quantity


@dataclass(frozen=True, slots=True)
class ServerReading:
    """All that is known of a server.

    Attributes
    ----------
    options : mapping of str to FileEntry
        As its option file sets them, by name in small letters with underscores.
    variables : mapping of str to FileEntry
        As the running server has them; empty if they were not given.
    status : StatusFigures
    rows : tuple of ClientRow
        Of all tables that were given.
    family : str
        As the models name its versions: the name of a ``ServerBranch``.
    release : tuple of int or None
        Its version; None if nothing says so.
    release_entry : FileEntry or None
        Where that stands; None if it was told.
        not_read : tuple of FileEntry
        Includes of files that are not here.
    """

    options: Mapping[str, FileEntry]
    variables: Mapping[str, FileEntry]
    status: StatusFigures
    rows: tuple[ClientRow, ...]
    family: str
    release: tuple[int, ...] | None
    release_entry: FileEntry | None
    not_read: tuple[FileEntry, ...] = ()

    def setting(self, *names: str) -> FileEntry | None:
        """A variable under the first of its names that is known; as it runs, or as configured."""
        for values in self._all():
            for name in names:
                if name.lower() in values:
                    return values[name.lower()]
        return None

    def is_on(self, *names: str) -> FileEntry | None:
        """The setting, if it is neither off nor empty."""
        entry = self.setting(*names)
        return None if entry is None or entry.value.lower() in _NO else entry

    def has_names(self, prefix: str) -> bool:
        """Whether an option, a variable or a counter begins so."""
        return any(name.startswith(prefix) for values in self._all() for name in values)

    def _all(self) -> tuple[Mapping[str, FileEntry], ...]:
        return self.variables, self.status.after, self.options
