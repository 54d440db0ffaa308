"""What happened in a run, for those who explain it: the ways of its transactions, and the rest."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

from simrep.contract.cluster import Cluster
from simrep.contract.model import Model
from simrep.errors import ScenarioError
from simrep.kernel.trace import MessageText, Sent
from simrep.kernel.watch import Span, Waited, Watch
from simrep.measure.meter import Meter
from simrep.runs.failures import FailureLog
from simrep.runs.stopwatch import Leg, Stopwatch
from simrep.runs.writers import WriterWatch
from simrep.workload.laps import LapClock
from simrep.workload.transaction import Transaction

__all__ = ["Follow", "Journey", "Story", "belongs"]


def belongs(who: object, transaction: Transaction) -> bool:
    """Whether somebody is a transaction, or a part of it that its server has made."""
    return who is transaction or getattr(who, "whole", None) is transaction


class Journey(NamedTuple):
    """A transaction that has committed."""

    transaction: Transaction
    ended_s: float  # when its client was told, in simulated seconds
    legs: list[Leg]  # in the order of time, from the start of the transaction

    @property
    def latency_s(self) -> float:
        """From the start to the answer in seconds."""
        return self.ended_s - self.transaction.started_s


@dataclass(frozen=True, slots=True)
class Follow:
    """What of a run is kept."""

    # since_s, until_s: waits and messages outside of this are not, in simulated seconds.
    since_s: float = 0.0
    until_s: float = inf
    # Whether messages and every wait and service are, besides what stations waited for.
    details: bool = True
    # By client and start: what stations waited for is kept only where one of them waited.
    transactions: frozenset[tuple[int, float]] | None = None
    # When so many messages, waits, services and failures are kept, no further ones are.
    most: int | None = None
    # Whether attempts that fail are, and which nodes take writes.
    clients: bool = False

    @classmethod
    def stages(cls) -> Follow:
        """Nothing but the stages of transactions, which costs least."""
        return cls(until_s=-inf, details=False)


class Story:
    """What happens in a run: collected while it runs, to be read when it has ended.

    The clock of a run that is about to begin tells of the stages of transactions; ``meter``, whom
    it tells otherwise, is told as well.

    Attributes
    ----------
    watch : Watch or None
        For the cluster; None if only the stages of transactions are kept.
    journeys, all_journeys : list of Journey
        Of all transactions that committed while it was measured, in that order; the same with
        those of the warm-up, for which others may have waited.
    spans : list of Span
        Waits and services at the stations of all nodes.
    ended_s : float
        When the run has ended, in simulated seconds.
    counted : mapping of int to int
        How many messages left their nodes that are not kept, by tenths of a second.
    log : FailureLog or None
        Of attempts that fail; None if they are not kept.
    writers : WriterWatch or None
        Who takes writes; likewise, and None until the run begins.
    """

    def __init__(self, clock: LapClock, names: Sequence[str], follow: Follow, meter: Meter) -> None:
        chosen = follow.transactions or frozenset()

        def wanted(who: Hashable) -> bool:
            return isinstance(who, Transaction) and (who.client, who.started_s) in chosen

        self._watch = watch = Watch(
            clock,
            names=names,
            since_s=follow.since_s,
            until_s=follow.until_s,
            details=follow.details,
            of_interest=None if follow.transactions is None else wanted,
            most=follow.most,
        )
        self.watch = watch if follow.until_s > follow.since_s else None
        self.journeys: list[Journey] = []
        self.all_journeys: list[Journey] = []
        self.spans: list[Span] = watch.spans
        self.waited: list[Waited] = watch.waited
        self.sent: list[Sent] = watch.sent
        self.counted = watch.counted
        self._model: Model | None = None
        self.names = watch.names
        self.ended_s = 0.0
        self.log = FailureLog(clock, watch.keeps) if follow.clients else None
        self.writers: WriterWatch | None = None
        self._recorder = meter.laps
        clock.laps, clock.stopwatch = self._laps, self._begin

    def _begin(self, transaction: Transaction) -> list[float]:
        """The seconds per stage of a new attempt at a transaction."""
        stopwatch = Stopwatch(transaction, self._watch, self.names[transaction.node])
        if self.log is not None:
            self.log.timed(stopwatch)
        return stopwatch

    def _laps(self, kind: str, seconds: Sequence[float]) -> None:
        """See ``LapRecorder``."""
        self._recorder(kind, seconds)
        if isinstance(seconds, Stopwatch):
            journey = Journey(seconds.transaction, self._watch.clock._now, seconds.legs)
            self.all_journeys.append(journey)

    def begin(self, cluster: Cluster, model: Model) -> None:
        """The run is about to begin."""
        if self.log is not None:
            self.writers = WriterWatch(cluster, model)

    def node_changes(self, change: tuple[int, bool]) -> None:
        """The server of a node ends, or starts."""
        if self.writers is not None:
            self.writers.node_changes(change)

    def end(self, model: Model, measured_from_s: float) -> None:
        """The run has ended."""
        if self.log is not None:
            self.log.end()
        self.journeys = [one for one in self.all_journeys if one.ended_s >= measured_from_s]
        self._model = model
        self.ended_s = self._watch.clock._now

    @property
    def kept_until_s(self) -> float:
        """What happened later is not kept, in simulated seconds."""
        return min(self._watch.until_s, self.ended_s)

    def describe(self, message: Any) -> MessageText:
        """What a message is, as the model tells it; an error if it tells something else."""
        if self._model is None:
            return Model.describe(message)
        text = self._model.describe(message)
        label: Any = getattr(text, "label", None)
        about: Any = getattr(text, "about", None)
        if isinstance(label, str) and isinstance(about, tuple):
            return text
        raise ScenarioError(
            "cluster.model",
            f"describe() of model {self._model.name!r} must tell a MessageText of a label (text) "
            f"and the transactions that a message carries (tuple), told {text!r}",
        )

    def spans_of(self, transaction: Transaction) -> list[Span]:
        """Where a transaction waited and was served, in the order of the ends."""
        return self._by_transaction.get(id(transaction), [])

    @cached_property
    def _by_transaction(self) -> dict[int, list[Span]]:
        found: dict[int, list[Span]] = {}
        for span in self.spans:
            found.setdefault(id(getattr(span.who, "whole", None) or span.who), []).append(span)
        return found
