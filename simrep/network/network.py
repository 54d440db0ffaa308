"""The network between the nodes: a full mesh of ordered links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.network.link import Latency, Link, Tcp
from simrep.network.trouble import Trouble, TroubledLink

__all__ = [
    "EventfulNetwork",
    "Network",
    "Path",
    "Receive",
    "Relay",
]

Receive = Callable[[Any], object]
Relay = Callable[[Receive, Any], object]
"""``relay(call, argument)``: runs ``call(argument)`` when the relay has done its work."""
Copy = tuple[int, bool]
"""Whom a copy of a message is for, and whether that is to relay it."""
Envelope = tuple[Any, int, bool]
"""A message of which there are copies, its size in bytes, and whether to relay it."""


@dataclass(frozen=True, slots=True)
class Path:
    """Properties of one direction between two nodes."""

    latency: Latency  # one-way delay
    bytes_per_s: float = float("inf")  # bandwidth
    loss: float = 0.0  # probability that a segment is lost, 0 to below 1
    tcp: Tcp = field(default_factory=Tcp)  # what the sender's TCP does with large and lost messages
    relayed: bool = False  # whether a delay relay, a program in user space, hands the messages on
    troubles: tuple[Trouble, ...] = ()  # what happens to it, in the order of time


def _nobody(_: Any) -> None:
    raise AssertionError("nobody receives messages here")


class Network:
    """Delivers messages between nodes by callback, in order per pair.

    Nodes are addressed by their position in ``names``; ``paths`` has one entry per ordered pair of
    different nodes. Jitter and loss draw from the streams ``link/<from>/<to>``. ``relay(call,
    argument)`` has the delay relay of a test rig do its work for a message that is due; it is
    required if a path is relayed. ``gates[node](receive)`` is what takes the messages for a node
    that may stand still, and hands them to ``receive``.
    """

    def __init__(
        self,
        clock: Clock,
        streams: Streams,
        names: Sequence[str],
        paths: Mapping[tuple[int, int], Path],
        relay: Relay | None = None,
        gates: Mapping[int, Callable[[Receive], Receive]] | None = None,
    ) -> None:
        self._clock = clock
        self._gates = gates or {}
        self._receive: list[Receive] = [_nobody] * len(names)
        self._links: list[dict[int, Link]] = [{} for _ in names]  # by target
        self._relay = relay
        self._relays = any(path.relayed for path in paths.values())
        self._relayed = [[False] * len(names) for _ in names]
        self.names = tuple(names)
        self.paths = dict(paths)
        self._streams = streams
        for (source, target), path in self.paths.items():
            if path.relayed:
                if relay is None:
                    raise ValueError("a relayed path needs a relay")
                self._relayed[source][target] = True
            self._links[source][target] = self.aside(source, target, "link")
        for source, target in self.paths:
            self.link(source, target).answered_on(self.link(target, source))

    def aside(self, source: int, target: int, name: str) -> Link:
        """A link of its own over the path between two nodes, with random numbers of its own.

        It is for somebody beside a node whose messages are not those of the node: its bandwidth
        is that of nobody else. ``name`` is that of its streams: ``NAME/<from>/<to>``.
        """
        path, way_back = self.paths[source, target], self.paths[target, source]
        name = f"{name}/{self.names[source]}/{self.names[target]}"
        link: dict[str, Any] = {
            "back_s": way_back.latency.base_s,
            "sampler": path.latency.sampler(self._streams, name),
            "bytes_per_s": path.bytes_per_s,
            "loss": path.loss,
            "coin": self._streams.uniform(name + "/loss") if path.loss else None,
            "tcp": path.tcp,
        }
        troubles, back = path.troubles, way_back.troubles
        if not troubles and not any(trouble.cut for trouble in back):
            return Link(self._clock, path.latency.base_s, **link)
        return TroubledLink(
            self._clock,
            path.latency.base_s,
            troubles=troubles,
            back=back,
            streams=self._streams,
            name=name,
            **link,
        )

    def on_receive(self, node: int, receive: Receive) -> None:
        """Messages for ``node`` are handed to ``receive(message)``."""
        gate = self._gates.get(node)
        self._receive[node] = receive if gate is None else gate(receive)

    def handler(self, _node: int, handle: Receive) -> Receive:
        """What a node that queues its messages calls when it gets round to one of them."""
        return handle

    def direct(self, source: int, target: int) -> Link | None:
        """The link, if nothing but the link is between two nodes and nobody looks on.

        Whoever alone sends over it, and whose receiver knows it, may do so for a time to come.
        """
        link = self._links[source].get(target)
        alone = type(self) is Network and type(link) is Link
        if alone and not self._relayed[source][target] and target not in self._gates:
            return link
        return None

    def send(self, source: int, target: int, size_bytes: int, message: Any, at: float) -> None:
        """Send a message that leaves ``source`` at time ``at`` (now or later)."""
        receive = self._receive[target]
        arrival = self._links[source][target].arrival(size_bytes, at)
        if self._relayed[source][target]:
            self._clock.at(arrival, self._due, (receive, message))
        else:
            self._clock.at(arrival, receive, message)

    def send_copies(
        self, source: int, copies: Sequence[Copy], size_bytes: int, message: Any, each_s: float
    ) -> None:
        """Send copies of a message, one after the other; each takes the sender ``each_s``.

        What arrives is an ``Envelope``.
        """
        if self._relays:
            self._send_each(source, copies, size_bytes, message, each_s)
            return
        clock, receivers, links = self._clock, self._receive, self._links[source]
        plain = (message, size_bytes, False)
        at = clock._now
        for target, relay in copies:
            at += each_s
            clock.at(
                links[target].arrival(size_bytes, at),
                receivers[target],
                (message, size_bytes, True) if relay else plain,
            )

    def _send_each(
        self, source: int, copies: Sequence[Copy], size_bytes: int, message: Any, each_s: float
    ) -> None:
        """``send_copies`` by ``send``, where that does more."""
        at = self._clock._now
        for target, relay in copies:
            at += each_s
            self.send(source, target, size_bytes, (message, size_bytes, relay), at)

    def send_once(
        self,
        source: int,
        target: int,
        size_bytes: int,
        message: Any,
        at: float,
    ) -> None:
        """Send a single packet that TCP does not repeat when it is lost, and that overtakes.

        That of a connection which is not open yet, or no longer: SYN and its answers.
        """
        arrival = self.link(source, target).arrival_once(at)
        if arrival < inf:
            self._clock.at(arrival, *self._delivery(source, target, message))

    def send_on(
        self, link: Link, source: int, target: int, size_bytes: int, message: Any, at: float
    ) -> None:
        """Send on one of several connections between two nodes (``Link.another``)."""
        self._carry(link, source, target, size_bytes, message, at)

    def renew(self, source: int, target: int) -> None:
        """Begin a new connection in one direction: see ``Link.renew``."""
        self.link(source, target).renew()

    def _carry(
        self, link: Link, source: int, target: int, size_bytes: int, message: Any, at: float
    ) -> None:
        """Send on a link on which something may happen."""
        call, argument = self._delivery(source, target, message)
        link.carry(size_bytes, at, call, argument)

    def _delivery(self, source: int, target: int, message: Any) -> tuple[Receive, Any]:
        """What to call when a message arrives, and with which argument."""
        receive = self._receive[target]
        if self._relayed[source][target]:
            return self._due, (receive, message)
        return receive, message

    def _due(self, delivery: tuple[Receive, Any]) -> None:
        assert self._relay is not None
        self._relay(*delivery)

    def link(self, source: int, target: int) -> Link:
        """The link of an ordered pair, for its counters."""
        return self._links[source][target]


class EventfulNetwork(Network):
    """A network in which something happens to links: what waits for a cut's end may never arrive.

    Connections may end in it and begin anew (``renew``).
    """

    def send(self, source: int, target: int, size_bytes: int, message: Any, at: float) -> None:
        """See ``Network.send``."""
        self._carry(self.link(source, target), source, target, size_bytes, message, at)

    def send_copies(
        self, source: int, copies: Sequence[Copy], size_bytes: int, message: Any, each_s: float
    ) -> None:
        """See ``Network.send_copies``."""
        self._send_each(source, copies, size_bytes, message, each_s)
