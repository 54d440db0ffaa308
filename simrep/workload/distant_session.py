"""Sessions of a server whose clients may sit elsewhere: each transaction pays its own way."""

from __future__ import annotations

from collections.abc import Generator
from operator import attrgetter
from typing import Any, TypeVar

from simpy.events import Event

from simrep.kernel.clock import Clock
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.session import Sessions
from simrep.workload.transaction import Transaction
from simrep.workload.ways import Way

__all__ = ["DistantSessions"]

T = TypeVar("T", bound=OpenTransaction)


class _WayClock(Clock):
    """The clock of a run to one transaction: where that waits for a message, it waits for its way.

    Sessions wait ``until`` a message has arrived, and for nothing else.
    """

    __slots__ = ("_way", "asks")  # the rest is that of the clock of the run

    def __init__(self, clock: Clock, way: Way) -> None:
        self.__dict__ = clock.__dict__
        self._way = way
        self.asks = False  # the next message is one of the client

    def until(self, when: float) -> Event:
        """See ``Clock.until``: the next message arrives."""
        del when
        if self.asks:
            self.asks = False
            return self._way.request()
        return self._way.answer()


def _of_all(name: str) -> Any:
    """A count that all transactions of a server share."""

    def count(leg: _Leg, value: Any) -> None:
        setattr(leg.home, name, value)

    return property(attrgetter(f"home.{name}"), count)


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
        leg.__dict__.update(self.__dict__)
        for name in ("victims", "rollbacks", "wasted_rows", "wasted_s"):
            del leg.__dict__[name]
        leg.home = self
        leg.messages = leg._clock = _WayClock(self._clock, way)
        leg._delay_s = 1.0  # whatever it is: the clock knows
        leg._requests_cost = True
        leg._one_core = False
        return leg


class _Leg(Sessions[Any]):
    """The same sessions to one transaction whose client is elsewhere."""

    home: DistantSessions[Any]
    messages: _WayClock
    victims = _of_all("victims")
    rollbacks = _of_all("rollbacks")
    wasted_rows = _of_all("wasted_rows")
    wasted_s = _of_all("wasted_s")

    def turn_away(self, transaction: Transaction, error: str) -> Generator[Event, Any, None]:
        """See ``Sessions.turn_away``."""
        self.messages.asks = True
        return super().turn_away(transaction, error)

    def _request(self, owner: Any) -> Generator[Event, Any, None]:
        self.messages.asks = True
        return super()._request(owner)
