"""How long an attempt at a transaction is in each of its stages, and in which order."""

from __future__ import annotations

from typing import NamedTuple

from simrep.kernel.trace import Sent
from simrep.kernel.watch import Watch
from simrep.workload.laps import LAPS
from simrep.workload.transaction import Transaction

__all__ = ["Leg", "Stopwatch"]


class Leg(NamedTuple):
    """A stage of a transaction, from one mark to the next."""

    lap: int  # see ``Lap``
    seconds: float
    cause: Sent | None  # the message that its node was handling when the stage ended


class Stopwatch(list[float]):
    """Seconds per stage that remember in which order they were added."""

    def __init__(self, transaction: Transaction, watch: Watch, node: str) -> None:
        super().__init__([0.0] * len(LAPS))
        self.transaction = transaction
        self.legs: list[Leg] = []
        self._watch = watch
        self._node = node

    def __setitem__(self, lap: int, seconds: float) -> None:  # type: ignore[override]
        added = seconds - self[lap]
        if added:
            self.legs.append(Leg(lap, added, self._watch.handled_by(self._node)))
        super().__setitem__(lap, seconds)

    def copy(self) -> Stopwatch:
        """One that goes on from here, with the next part of a transaction that is split."""
        further = Stopwatch(self.transaction, self._watch, self._node)
        list.__init__(further, self)
        further.legs = self.legs.copy()
        return further
