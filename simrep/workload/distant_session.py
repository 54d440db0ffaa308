"""Sessions of a server whose clients may sit elsewhere: each transaction pays its own way."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from simrep.kernel.clock import Clock, Event, PartClock
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.session import Sessions
from simrep.workload.transaction import Transaction
from simrep.workload.ways import Way

__all__ = ["DistantSessions"]

T = TypeVar("T", bound=OpenTransaction)


class _WayClock(PartClock):
    """The clock of a run to one transaction: where that waits for a message, it waits for its way.

    Sessions wait ``until`` a message has arrived, and for nothing else.
    """

    __slots__ = ("_way", "asks")

    def __init__(self, clock: Clock, way: Way) -> None:
        super().__init__(clock)
        self._way = way
        self.asks = False  # the next message is one of the client

    def until(self, when: float) -> Event:
        """See ``Clock.until``: the next message arrives."""
        del when
        if self.asks:
            self.asks = False
            return self._way.request()
        return self._way.answer()


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
        # A compiled class names its attributes, others keep them in a dictionary.
        for name in (*getattr(Sessions, "__mypyc_attrs__", ()), *vars(self)):
            if name != "__dict__":
                setattr(leg, name, getattr(self, name))
        leg.messages = leg._clock = _WayClock(self._clock, way)
        leg._delay_s = 1.0  # whatever it is: the clock knows
        leg._requests_cost = True
        leg._one_core = False
        return leg


class _Leg(Sessions[Any]):
    """The same sessions to one transaction whose client is elsewhere."""

    messages: _WayClock

    def turn_away(self, transaction: Transaction, error: str) -> Generator[Event, Any, None]:
        """See ``Sessions.turn_away``."""
        self.messages.asks = True
        return super().turn_away(transaction, error)

    def _request(self, owner: Any) -> Generator[Event, Any, None]:
        self.messages.asks = True
        return super()._request(owner)
