"""Ways of clients that sit beside a node to the other nodes: delays and cuts of its network."""

from __future__ import annotations

from collections.abc import Callable, Generator
from math import inf
from typing import Any

from simrep.kernel.clock import Clock, Event
from simrep.network.link import Link
from simrep.network.network import Network

__all__ = ["Way", "Ways", "dial"]

_SYN_REPEATED_S = 1.0  # TCP_TIMEOUT_INIT of Linux; it doubles every time


class Way:
    """One TCP connection of a client to a server elsewhere.

    A cut holds up what is sent, as TCP repeats it; what is never acknowledged again never arrives,
    and its client waits until it gives up. Simplified: a request and its answer take no bandwidth,
    and a connection that a killed server ends is told of like an answer.
    """

    def __init__(self, clock: Clock, out: Link, back: Link) -> None:
        self._clock = clock
        self._out = out
        self._back = back

    def request(self) -> Event:
        """The client sends something now: fires when it has arrived at the server."""
        return self._arrived(self._out)

    def answer(self) -> Event:
        """The server sends something now: fires when it has arrived at the client."""
        return self._arrived(self._back)

    def _arrived(self, link: Link) -> Event:
        at_s = link.arrival(0, self._clock.now)
        return Event(self._clock) if at_s == inf else self._clock.until(at_s)

    def shake_hands(self) -> Generator[Event, Any, None]:
        """The kernels agree on a connection: one round trip, as soon as both ways let it pass."""
        clock, wait_s = self._clock, _SYN_REPEATED_S
        while True:
            there_s = self._out.arrival_once(clock.now)
            back_s = inf if there_s == inf else self._back.arrival_once(there_s)
            if back_s < inf:
                yield clock.until(back_s)
                return
            yield clock.until(clock.now + wait_s)
            wait_s *= 2.0


class Ways:
    """All of them; every connection has links of its own, with random streams of their own.

    Attributes
    ----------
    played : bool
        The servers of the model take clients that are elsewhere.
    """

    def __init__(self, clock: Clock, network: Network) -> None:
        self._clock = clock
        self._network = network
        self._links: dict[tuple[int, int], Link] = {}
        self.played = False

    def open(self, origin: int | None, node: int) -> Way | None:
        """A new connection from beside a node to another one; None if it takes no time."""
        if origin is None or origin == node:
            return None
        out, back = self._link(origin, node), self._link(node, origin)
        return Way(self._clock, out.another(), back.another())

    def _link(self, source: int, target: int) -> Link:
        link = self._links.get((source, target))
        if link is None:
            link = self._network.aside(source, target, "client/link")
            self._links[source, target] = link
        return link


def dial(
    way: Way | None, connect: Callable[[], Generator[Event, Any, str | None]]
) -> Generator[Event, Any, str]:
    """Open a connection over a way; the error, empty if it is open.

    After the handshake of the kernels there are the greeting of the server, and authentication.
    """
    if way is None:
        return (yield from connect()) or ""
    yield from way.shake_hands()
    error = yield from connect()
    if error:
        return error
    yield way.answer()
    yield way.request()
    yield way.answer()
    return ""
