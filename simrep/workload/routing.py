"""Clients whose way to a server is not theirs alone: by a proxy, or from beside another node."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from functools import partial
from math import inf
from typing import Any

from simrep.kernel.clock import Event, Process
from simrep.workload.failover import NO_ANSWER, Caller, FailoverClients, again, ending, is_lost
from simrep.workload.fate import Fate
from simrep.workload.proxy import Leg, Proxy
from simrep.workload.transaction import TrackedTransaction
from simrep.workload.ways import Ways, dial

__all__ = ["RoutedClients"]

CLOSED = "2013 the proxy has closed the connection"
NO_GREETING = "2013 the proxy has taken the connection, and no server has answered in time"


class RoutedClients(FailoverClients):
    """Clients of a run with a proxy, or of which some sit beside a node.

    A proxy that pins a client to a server decides by what the client does when it connects, and
    goes on with that server. One with a pool decides for every transaction. A client notices with
    its next transaction that its connection is closed.

    Parameters
    ----------
    *clients, **how
        Of ``FailoverClients``.
    proxy : Proxy or None
    ways : Ways or None
        How clients reach nodes that they are not beside.
    ends : iterable of (float, int)
        When the kernel of a machine closes the connections of a server, in seconds, and whose.
    """

    def __init__(
        self,
        *clients: Any,
        proxy: Proxy | None,
        ways: Ways | None,
        ends: Iterable[tuple[float, int]] = (),
        **how: Any,
    ) -> None:
        super().__init__(*clients, **how)
        self._proxy = proxy
        self._ways = ways
        self._ends = ends

    def start(self) -> Sequence[Process]:
        """See ``Clients.start``."""
        if self._proxy is not None:
            self._proxy.start()
            for at_s, node in self._ends:
                self._clock.at(at_s, self._proxy.ended, node)
        return super().start()

    def server_ends(self, node: int) -> None:
        """See ``Clients.server_ends``."""
        if self._proxy is not None:
            self._proxy.ended(node)

    def _routed(self, caller: Caller) -> Proxy | None:
        """The proxy that it goes to; None if it goes to a server itself."""
        return None if caller.policy.direct else self._proxy

    # -- connections ---------------------------------------------------------------------------

    def _dial(self, caller: Caller, node: int) -> Generator[Event, Any, str | None]:
        proxy = self._routed(caller)
        if proxy is not None:
            if proxy.rules.connections == "pooled":
                return None  # the proxy takes everybody
            leg = yield from proxy.reach(proxy.role(reads=not caller.writes), inf)
            if isinstance(leg, str):
                return leg
            if caller.leg is not None:  # it left, and is back
                proxy.release(caller.leg)
            caller.leg = leg
            return None
        origin = caller.home if caller.policy.beside_node else None
        caller.way = None if self._ways is None else self._ways.open(origin, node)
        return (yield from dial(caller.way, partial(self._server.connect, node)))

    def _not_connected(self, caller: Caller) -> str:
        if self._routed(caller) is None:
            return super()._not_connected(caller)
        return NO_GREETING  # the proxy has taken the connection

    def _turn(self, caller: Caller, node: int, error: str) -> None:
        proxy = self._routed(caller)
        if proxy is None:
            super()._turn(caller, node, error)
        elif is_lost(error) or caller.policy.on_error != "stay":
            caller.connected = False
            if caller.leg is not None:
                proxy.release(caller.leg)
                caller.leg = None

    # -- transactions --------------------------------------------------------------------------

    def _attempt(
        self, transaction: TrackedTransaction, caller: Caller, fate: Fate | None
    ) -> Generator[Event, Any, tuple[bool, TrackedTransaction, Fate | None]]:
        proxy = self._routed(caller)
        if proxy is None:
            transaction.way = caller.way
            return (yield from super()._attempt(transaction, caller, fate))
        clock, repeated = self._clock, False
        until_s = clock.now + caller.policy.read_timeout_s
        while True:
            leg = yield from self._leg(proxy, transaction, caller, until_s)
            if isinstance(leg, str):
                transaction.error = leg if clock.now < until_s else NO_ANSWER
                transaction.unserved = True
                return False, transaction, fate
            done = yield from self._pass_on(transaction, leg, until_s)
            lost = not done and is_lost(transaction.error)
            if leg is not caller.leg:
                proxy.release(leg, lost=lost)
            may = lost and clock.now < until_s and not repeated and _may_repeat(proxy, transaction)
            if done or not may:
                return done, transaction, fate
            repeated = True
            if fate is not None:
                fate.ended(ending(transaction, fate, transaction.error))
            transaction = again(transaction)
            self._in_flight[transaction.client] = transaction
            if fate is not None:
                fate = self._fates.begin(transaction, fate)

    def _leg(
        self, proxy: Proxy, transaction: TrackedTransaction, caller: Caller, until_s: float
    ) -> Generator[Event, Any, Leg | str]:
        """The connection that it takes; the error if there is none."""
        if proxy.rules.connections == "pooled":
            return (yield from proxy.reach(proxy.role(reads=not transaction.rows), until_s))
        leg = caller.leg
        if leg is None:  # an open loop begins with connections
            connected = yield from proxy.reach(proxy.role(reads=not caller.writes), until_s)
            if isinstance(connected, str):
                return connected
            leg = caller.leg = connected
        return CLOSED if leg.closed.triggered else leg

    def _pass_on(
        self, transaction: TrackedTransaction, leg: Leg, until_s: float
    ) -> Generator[Event, Any, bool]:
        """Whether it committed, by a connection that the proxy may close."""
        clock = self._clock
        if clock.now > until_s:  # it took the proxy too long to find the connection
            transaction.error = NO_ANSWER
            return False
        transaction.node, transaction.way = leg.node, leg.way
        running = clock.process(self._server.transact(transaction))
        if until_s < inf:
            yield running | leg.closed | clock.timeout(until_s - clock.now)
        else:
            yield running | leg.closed
        if running.triggered:
            return bool(running.value)
        transaction.abandoned = True
        transaction.error = CLOSED if leg.closed.triggered else NO_ANSWER
        return False


def _may_repeat(proxy: Proxy, transaction: TrackedTransaction) -> bool:
    """Whether the proxy submits it again, on its own, after it has lost the connection."""
    repeat = proxy.rules.repeat
    if repeat == "no" or (repeat == "reads" and transaction.rows):
        return False
    return transaction.autocommit
