"""Status counters of a server: since it was started, or between two moments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simrep.errors import ScenarioError
from simrep.intake.given import Given, Number

__all__ = ["Status", "number_in"]

_UPTIME = "uptime"
_SINCE_FLUSH = "uptime_since_flush_status"


@dataclass(frozen=True, slots=True)
class Status:
    """Counters by name in small letters.

    Parameters
    ----------
    after : mapping of str to Given
        ``SHOW GLOBAL STATUS``; empty if there is none.
    before : mapping of str to Given, optional
        The same, earlier.

    Raises
    ------
    ScenarioError
        If the two are not of one server, in this order.
    """

    after: Mapping[str, Given]
    before: Mapping[str, Given] | None = None

    def __post_init__(self) -> None:
        if self.before is None:
            return
        times = [number_in(one.get(_UPTIME)) for one in (self.before, self.after)]
        earlier, later = times
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
    def seconds(self) -> Number | None:
        """How long the counters have counted; None if nothing says so."""
        uptime = number_in(self.after.get(_UPTIME))
        if uptime is None or self.before is None:
            return uptime
        earlier = number_in(self.before[_UPTIME])
        assert earlier is not None
        return Number(uptime.value - earlier.value, earlier.places + uptime.places)

    def latest(self, name: str) -> Number | None:
        """A figure that goes up and down, as it was last."""
        return number_in(self.after.get(name.lower()))

    def rate(self, *names: str) -> Number | None:
        """Growth per second of the sum of counters, of those that are there; None if none is.

        Where nothing tells the time, per second of an unknown unit: ratios hold.
        """
        found = [rate for name in names if (rate := self._rate(name.lower())) is not None]
        if not found:
            return None
        places = tuple(place for one in found for place in one.places)
        return Number(sum(one.value for one in found), places)

    def first_rate(self, names: Iterable[str]) -> tuple[str, Number] | None:
        """The first of some counters that has grown, with its name as the server writes it."""
        for name in names:
            rate = self._rate(name.lower())
            if rate is not None and rate.value > 0:
                return self.after[name.lower()].spelling, rate
        return None

    def _rate(self, name: str) -> Number | None:
        last = number_in(self.after.get(name))
        if last is None:
            return None
        if self.before is None:
            seconds = self._since(name)
            return Number(last.value / seconds if seconds else last.value, last.places)
        first = number_in(self.before.get(name)) or Number(0.0, ())
        if last.value < first.value:
            raise ScenarioError(
                "--status",
                f"{self.after[name].spelling} went from {first.value:g} to {last.value:g}",
                "was there a FLUSH STATUS between the two?",
            )
        seconds = self.seconds.value if self.seconds else 0.0
        return Number((last.value - first.value) / seconds, first.places + last.places)

    def _since(self, name: str) -> float:
        """Seconds since a counter was 0: FLUSH STATUS does not reach those of the provider."""
        uptime = number_in(self.after.get(_UPTIME))
        flushed = number_in(self.after.get(_SINCE_FLUSH))
        if flushed is not None and not name.startswith("wsrep_"):
            return flushed.value
        return uptime.value if uptime is not None else 0.0


def number_in(given: Given | None) -> Number | None:
    """The figure of a value; None where it is no number."""
    if given is None:
        return None
    try:
        return Number(float(given.value), (given.place,))
    except ValueError:
        return None
