"""What happened in a run, for those who explain it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from simrep.kernel.chronicle import Chronicle, MessageText, Sent, Span
from simrep.kernel.watch import Waited
from simrep.measure.meter import Meter
from simrep.workload.journeys import Journey, Journeys
from simrep.workload.laps import LapClock

__all__ = ["Follow", "Story", "followed"]


@dataclass(frozen=True, slots=True)
class Follow:
    """What of a run is kept.

    Parameters
    ----------
    since_s, until_s : float
        Waits and messages outside of this are not, in simulated seconds.
    details : bool
        Whether messages and every wait and service are, besides what stations waited for.
    """

    since_s: float = 0.0
    until_s: float = inf
    details: bool = True

    @classmethod
    def stages(cls) -> Follow:
        """Nothing but the stages of transactions, which costs least."""
        return cls(until_s=-inf, details=False)


@dataclass(frozen=True, slots=True)
class Story:
    """What happened in a run.

    Attributes
    ----------
    journeys : list of Journey
        Of all transactions that committed while it was measured, in that order.
    all_journeys : list of Journey
        The same with those of the warm-up, for which others may have waited.
    spans : list of Span
        Waits and services at the stations of all nodes.
    waited : list of Waited
        What stations waited for.
    sent : list of Sent
        Messages.
    describe : callable
        ``describe(message)``: what it is.
    names : tuple of str
        Of the nodes, by position.
    """

    journeys: list[Journey]
    all_journeys: list[Journey]
    spans: list[Span]
    waited: list[Waited]
    sent: list[Sent]
    describe: Callable[[Any], MessageText]
    names: tuple[str, ...]

    @classmethod
    def of(cls, journeys: Journeys, model: Any, measured_from_s: float) -> Story:
        """The story of a run that has ended; a model without ``describe`` sends just messages."""
        chronicle = journeys.chronicle
        return cls(
            [one for one in journeys.ended if one.ended_s >= measured_from_s],
            journeys.ended,
            chronicle.spans,
            chronicle.waited,
            chronicle.sent,
            getattr(model, "describe", _message),
            chronicle.names,
        )


def _message(_: Any) -> MessageText:
    return MessageText("message")


def followed(
    clock: LapClock, names: Sequence[str], follow: Follow, meter: Meter
) -> tuple[Chronicle | None, Journeys]:
    """What keeps it, in a run that is about to begin: for the cluster, and of transactions."""
    chronicle = Chronicle(clock, names, follow.since_s, follow.until_s, details=follow.details)
    journeys = Journeys(chronicle, names, meter.laps)
    clock.laps, clock.stopwatch = journeys.laps, journeys.begin
    return (chronicle if follow.until_s > follow.since_s else None), journeys
