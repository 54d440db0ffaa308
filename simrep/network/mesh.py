"""How one member reaches the others: copies over a full mesh, or relayed; in one order for all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from simrep.kernel.clock import Clock
from simrep.network.network import Copy, Envelope, Network
from simrep.server.host import Routine
from simrep.server.thread import Thread

__all__ = ["Deliver", "Mesh", "MessageWork", "TotalOrder"]


@dataclass(frozen=True, slots=True)
class MessageWork:
    """Work of the single group communication thread of a node.

    Parameters
    ----------
    send : Routine
        Per copy sent (one system call).
    receive : Routine
        Per message received (system call, protocol).
    byte_s : float
        Seconds per byte received (copy and checksum).
    """

    send: Routine
    receive: Routine
    byte_s: float = 0.0


def _drop(_: Any) -> None:
    pass


class Mesh:
    """Broadcast of one member as unicast copies.

    A peer in the member's own segment gets a copy of its own. Each other segment gets one copy,
    sent to one of its members, which relays it to the rest of its segment (Galera
    ``gmcast.cpp``: the member at (place of the sender in its own segment + number of the other
    segment) mod its size; places by position here, by UUID there).

    Parameters
    ----------
    clock : Clock
    network : Network
    me : int
        Position of this member.
    segments : sequence of int
        Segment of every member.
    thread : Thread
        The group communication thread that pays for the messages.
    work : MessageWork

    Attributes
    ----------
    size : int
        Number of members.
    sent, received : int
        Messages, relayed ones included.
    """

    __slots__ = (
        "_byte_s", "_clock", "_copies", "_handle", "_network", "_receive", "_relay_to",
        "_segments", "_send", "me", "received", "sent", "size", "thread",
    )  # fmt: skip

    def __init__(
        self,
        clock: Clock,
        network: Network,
        me: int,
        segments: Sequence[int],
        thread: Thread,
        work: MessageWork,
    ) -> None:
        self._clock = clock
        self._network = network
        self.thread = thread
        self._send = work.send
        self._receive = work.receive
        self._byte_s = work.byte_s
        self.me = me
        self.size = len(segments)
        self.sent = 0
        self.received = 0
        self._segments = tuple(segments)
        self.reach(range(self.size))
        network.on_receive(me, self._arrived)

    def reach(self, members: Collection[int]) -> None:
        """Let ``members``, itself among them, be whom to send to and who relays."""
        own = self._segments[self.me]
        places: dict[int, list[int]] = {}
        for member, segment in enumerate(self._segments):
            if member in members:
                places.setdefault(segment, []).append(member)
        place = places[own].index(self.me)
        self._relay_to = [(peer, False) for peer in places[own] if peer != self.me]
        self._copies: list[Copy] = []
        for segment, there in sorted(places.items()):
            if segment == own:
                self._copies += self._relay_to
            else:
                self._copies.append((there[(place + segment) % len(there)], len(there) > 1))

    def close(self) -> None:
        """Send and receive nothing more; what the network has already still arrives."""
        self._copies = self._relay_to = []
        self._network.on_receive(self.me, _drop)

    def reopen(self) -> None:
        """Receive again; ``reach`` tells whom to send to."""
        self._network.on_receive(self.me, self._arrived)

    def on_message(self, handle: Callable[[Any], object]) -> None:
        """Received messages are handed to ``handle(message)`` on the thread."""
        self._handle = self._network.handler(self.me, handle)

    def broadcast(self, message: Any, size_bytes: int) -> None:
        """Send ``message`` to every other member."""
        self._copy(self._copies, message, size_bytes)

    def send(self, peer: int, message: Any, size_bytes: int) -> None:
        """Send ``message`` to one other member."""
        self._copy([(peer, False)], message, size_bytes)

    def send_each(self, peers: Iterable[int], message: Any, size_bytes: int) -> None:
        """Send ``message`` to some other members, to each without a relay."""
        self._copy([(peer, False) for peer in peers], message, size_bytes)

    def _copy(self, copies: list[Copy], message: Any, size_bytes: int) -> None:
        cost = self._send.cost()
        self._network.send_copies(self.me, copies, size_bytes, message, cost)
        self.sent += len(copies)
        if cost:
            self.thread.charge(cost * len(copies))

    def _arrived(self, envelope: Envelope) -> None:
        message, size_bytes, relay = envelope
        self.received += 1
        cost = self._receive.cost(self._byte_s * size_bytes)
        if relay:
            self.thread.do(cost, self._relay, envelope)
        else:
            self.thread.do(cost, self._handle, message)

    def _relay(self, envelope: Envelope) -> None:
        message, size_bytes, _ = envelope
        self._copy(self._relay_to, message, size_bytes)
        self._handle(message)


Deliver = Callable[[int, Any], object]
"""Called as ``deliver(sender, payload)``, on every member in the same order."""


class TotalOrder(Protocol):
    """One member of a group whose members all deliver the same messages in the same order."""

    def send(self, payload: Any, size_bytes: int) -> bool:
        """Hand over a message; False when the output queue is full and the caller must retry."""
        ...

    def on_deliver(self, deliver: Deliver) -> None:
        """Deliver messages of all members, one's own included, to ``deliver``."""
        ...
