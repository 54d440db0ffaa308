"""The way of every transaction through its stages, one after the other. Off unless asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simrep.kernel.chronicle import Chronicle, Sent
from simrep.workload.laps import LAPS, LapRecorder
from simrep.workload.transaction import Transaction

__all__ = ["Journey", "Journeys", "Leg", "belongs"]


def belongs(who: object, transaction: Transaction) -> bool:
    """Whether somebody is a transaction, or a part of it that its server has made."""
    return who is transaction or getattr(who, "whole", None) is transaction


class Leg(NamedTuple):
    """A stage of a transaction, from one mark to the next.

    Parameters
    ----------
    lap : int
        See ``Lap``.
    seconds : float
    cause : Sent or None
        The message that its node was handling when the stage ended.
    """

    lap: int
    seconds: float
    cause: Sent | None


class _Stopwatch(list[float]):
    """Seconds per stage that remember in which order they were added."""

    def __init__(self, transaction: Transaction, chronicle: Chronicle, node: str) -> None:
        super().__init__([0.0] * len(LAPS))
        self.transaction = transaction
        self.legs: list[Leg] = []
        self._chronicle = chronicle
        self._node = node

    def __setitem__(self, lap: int, seconds: float) -> None:  # type: ignore[override]
        added = seconds - self[lap]
        if added:
            self.legs.append(Leg(lap, added, self._chronicle.handled_by(self._node)))
        super().__setitem__(lap, seconds)


class Journey(NamedTuple):
    """A transaction that has committed.

    Parameters
    ----------
    transaction : Transaction
    ended_s : float
        When its client was told, in simulated seconds.
    legs : list of Leg
        In the order of time, from the start of the transaction.
    """

    transaction: Transaction
    ended_s: float
    legs: list[Leg]

    @property
    def latency_s(self) -> float:
        """From the start to the answer in seconds."""
        return self.ended_s - self.transaction.started_s


class Journeys:
    """Collects the journeys of a run.

    Parameters
    ----------
    chronicle : Chronicle
        Which message a node is handling.
    names : sequence of str
        Of the nodes.
    recorder : callable
        Whom the clock tells otherwise (see ``LapClock.laps``); it is told as well.

    Attributes
    ----------
    ended : list of Journey
        In the order in which the transactions committed.
    """

    def __init__(
        self,
        chronicle: Chronicle,
        names: Sequence[str],
        recorder: LapRecorder,
    ) -> None:
        self.chronicle = chronicle
        self._names = names
        self._recorder = recorder
        self.ended: list[Journey] = []
        self._parts: dict[int, list[Leg]] = {}  # of what servers have split, by its identity

    def begin(self, transaction: Transaction) -> list[float]:
        """The seconds per stage of a new attempt at a transaction."""
        return _Stopwatch(transaction, self.chronicle, self._names[transaction.node])

    def laps(self, kind: str, seconds: Sequence[float]) -> None:
        """See ``LapRecorder``."""
        self._recorder(kind, seconds)
        if isinstance(seconds, _Stopwatch):
            transaction, legs = seconds.transaction, seconds.legs
            whole = transaction.whole
            if whole is not None:
                legs = self._parts.setdefault(id(whole), []) + legs
                self._parts[id(whole)] = legs
                if not transaction.last_part:
                    return
                del self._parts[id(whole)]
                transaction = whole
            self.ended.append(Journey(transaction, self.chronicle.clock._now, legs))
