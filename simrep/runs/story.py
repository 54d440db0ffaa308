"""What happened in a run, for those who explain it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from simrep.contract.model import Model
from simrep.kernel.chronicle import Chronicle, MessageText, Sent, Span
from simrep.kernel.watch import Waited
from simrep.measure.meter import Meter
from simrep.workload.journeys import Journey, Journeys
from simrep.workload.laps import LapClock
from simrep.workload.transaction import Transaction

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
    transactions : frozenset of (int, float), optional
        By client and start: what stations waited for is kept only where one of them waited.
    """

    since_s: float = 0.0
    until_s: float = inf
    details: bool = True
    transactions: frozenset[tuple[int, float]] | None = None

    @classmethod
    def stages(cls) -> Follow:
        """Nothing but the stages of transactions, which costs least."""
        return cls(until_s=-inf, details=False)


@dataclass(frozen=True)
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

    def spans_of(self, transaction: Transaction) -> list[Span]:
        """Where a transaction waited and was served, in the order of the ends."""
        return self._by_transaction.get(id(transaction), [])

    @cached_property
    def _by_transaction(self) -> dict[int, list[Span]]:
        found: dict[int, list[Span]] = {}
        for span in self.spans:
            found.setdefault(id(getattr(span.who, "whole", None) or span.who), []).append(span)
        return found

    @classmethod
    def of(cls, journeys: Journeys, model: Model, measured_from_s: float) -> Story:
        """The story of a run that has ended."""
        chronicle = journeys.chronicle
        return cls(
            [one for one in journeys.ended if one.ended_s >= measured_from_s],
            journeys.ended,
            chronicle.spans,
            chronicle.waited,
            chronicle.sent,
            model.describe,
            chronicle.names,
        )


def followed(
    clock: LapClock, names: Sequence[str], follow: Follow, meter: Meter
) -> tuple[Chronicle | None, Journeys]:
    """What keeps it, in a run that is about to begin: for the cluster, and of transactions."""
    chosen = follow.transactions or frozenset()

    def wanted(who: Hashable) -> bool:
        return isinstance(who, Transaction) and (who.client, who.started_s) in chosen

    chronicle = Chronicle(
        clock,
        names,
        follow.since_s,
        follow.until_s,
        details=follow.details,
        of_interest=None if follow.transactions is None else wanted,
    )
    journeys = Journeys(chronicle, names, meter.laps)
    clock.laps, clock.stopwatch = journeys.laps, journeys.begin
    return (chronicle if follow.until_s > follow.since_s else None), journeys
