"""Sessions of a server whose clients may sit elsewhere: each transaction pays its own way."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from simrep.kernel.clock import Event
from simrep.kernel.twin import attributes
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.session import Sessions
from simrep.workload.transaction import Transaction
from simrep.workload.ways import Way

__all__ = ["DistantSessions"]

T = TypeVar("T", bound=OpenTransaction)


class DistantSessions(Sessions[T]):
    """See the module; a transaction without a way is one of a client at hand."""

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """See ``Sessions.transact``."""
        if transaction.way is None:
            return super().transact(transaction)
        return self._leg(transaction.way).transact(transaction)

    def turn_away(self, transaction: Transaction, error: str) -> Generator[Event, Any, None]:
        """See ``Sessions.turn_away``."""
        if transaction.way is None:
            return super().turn_away(transaction, error)
        return self._leg(transaction.way).turn_away(transaction, error)

    def _leg(self, way: Way) -> _Leg:
        leg = _Leg.__new__(_Leg)
        for name, value in attributes(self).items():
            setattr(leg, name, value)
        leg.way = way
        leg._idle = []
        leg._delay_s = 1.0  # whatever it is: the way knows
        leg._requests_cost = True
        leg._one_core = False
        return leg


class _Leg(Sessions[Any]):
    """The same sessions to one transaction whose client is elsewhere."""

    way: Way

    def _sent(self) -> Event:
        return self.way.request()

    def _answered(self) -> Event:
        return self.way.answer()
