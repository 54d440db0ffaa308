"""A mesh some members of which are told at once of what will reach them, when it is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from simrep.kernel.clock import Clock
from simrep.network.mesh import Mesh, MessageWork
from simrep.network.network import Network
from simrep.server.thread import Thread

__all__ = ["Coming", "DirectMesh", "Inbox"]

Coming = tuple[float, float, Any, int, float]
"""When a message arrives, what it costs to receive it in seconds, itself, its bytes if it is to be
relayed, else 0, and when it was sent: what was begun earlier goes before it at the same instant."""


class Inbox(Protocol):
    """What a member knows of the messages that will reach it."""

    receive_s: float
    """What a message costs to receive, in seconds."""
    byte_s: float
    """And what each of its bytes costs."""
    coming: list[Coming]
    """Those that it has not yet handled; in the order of their arrival only if ``sorted``."""
    last_s: float
    """When the last of them arrives, in seconds."""
    sorted: bool
    wake_s: float
    """When it looks at them next, in seconds."""

    def arm(self, when: float) -> None:
        """Look at them at ``when``, which is before ``wake_s``."""


class DirectMesh(Mesh):
    """A mesh that hands a message to the inbox of a member as soon as it is sent.

    Other members get it on arrival, as in every mesh.

    Parameters
    ----------
    inboxes : sequence of (Inbox or None)
        By position; None for members that handle a message when it arrives.
    """

    __slots__ = ("_inboxes", "_links", "charge")

    def __init__(
        self,
        clock: Clock,
        network: Network,
        me: int,
        segments: Sequence[int],
        thread: Thread,
        work: MessageWork,
        inboxes: list[Inbox | None],
    ) -> None:
        super().__init__(clock, network, me, segments, thread, work)
        self.charge: Callable[[float], object] = thread.charge
        self._inboxes = inboxes
        self._links = {peer: network.link(me, peer) for peer in range(self.size) if peer != me}

    @property
    def least_delay_s(self) -> float:
        """No message takes less time to reach this member, in seconds."""
        peers = [peer for peer in range(self.size) if peer != self.me]
        return min(self._network.link(peer, self.me).least_s for peer in peers)

    def work(self) -> tuple[float, float]:
        """What it costs to receive a message, and a byte of it, in seconds."""
        return self._receive.seconds, self._byte_s

    def relay(self, message: Any, size_bytes: int) -> None:
        """Send a message on to the rest of its own segment."""
        self._copy(self._relay_to, message, size_bytes)

    def _copy(self, copies: list[tuple[int, bool]], message: Any, size_bytes: int) -> None:
        cost = self._send.cost()
        at = now = self._clock._now
        links, inboxes = self._links, self._inboxes
        for peer, relay in copies:
            at += cost
            inbox = inboxes[peer]
            if inbox is None:
                self._network.send(self.me, peer, size_bytes, (message, size_bytes, relay), at)
                continue
            arrival = links[peer].arrival(size_bytes, at)
            seconds = inbox.receive_s + inbox.byte_s * size_bytes
            inbox.coming.append((arrival, seconds, message, size_bytes if relay else 0, now))
            if arrival >= inbox.last_s:
                inbox.last_s = arrival
            else:
                inbox.sorted = False
            if arrival + seconds < inbox.wake_s:
                inbox.arm(arrival + seconds)
        self.sent += len(copies)
        if cost:
            self.charge(cost * len(copies))
