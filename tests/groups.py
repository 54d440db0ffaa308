"""A group of EVS members on machines that take no time: nothing but protocol and delays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from simrep.groupcomm.evs import Evs, EvsOptions
from simrep.groupcomm.mesh import Mesh, MessageWork
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.network.latency import Latency
from simrep.network.link import Tcp
from simrep.network.network import Network, Path
from simrep.server.host import Host
from simrep.server.thread import Thread

__all__ = ["Delivery", "Group", "Matrix", "symmetric"]

Matrix = Sequence[Sequence[float]]

_NO_SLOW_START = Tcp(initial_window_segments=1 << 20)


class Delivery(NamedTuple):
    """A payload that reached a member's application."""

    time_s: float
    member: int
    sender: int
    payload: Any


class Group:
    """Members 0..n-1 with the given one-way delays.

    Parameters
    ----------
    delays_s : matrix of float
        From row to column, in seconds.
    options : EvsOptions, optional
    segments : sequence of int, optional
        All members in segment 0 if not given.
    keepalives_s : sequence of float, optional
        When each member sends its first keepalive; none of them does if not given.
    """

    def __init__(
        self,
        delays_s: Matrix,
        options: EvsOptions | None = None,
        segments: Sequence[int] | None = None,
        keepalives_s: Sequence[float] | None = None,
    ) -> None:
        size = len(delays_s)
        self.clock = Clock()
        self.deliveries: list[Delivery] = []
        self.network = Network(
            self.clock,
            Streams(0),
            [f"n{i}" for i in range(size)],
            {
                (i, j): Path(Latency(delays_s[i][j]), tcp=_NO_SLOW_START)
                for i in range(size)
                for j in range(size)
                if i != j
            },
        )
        self.meshes: list[Mesh] = []
        self.members: list[Evs] = []
        for me in range(size):
            host = Host(self.clock, 1)
            work = MessageWork(host.routine(0.0), host.routine(0.0))
            mesh = Mesh(self.clock, self.network, me, segments or [0] * size, Thread(host), work)
            keepalive_at_s = None if keepalives_s is None else keepalives_s[me]
            member = Evs(self.clock, mesh, size, options or EvsOptions(), keepalive_at_s)
            member.on_deliver(partial(self._deliver, me))
            self.meshes.append(mesh)
            self.members.append(member)

    def _deliver(self, member: int, sender: int, payload: Any) -> None:
        self.deliveries.append(Delivery(self.clock.now, member, sender, payload))

    def isolated(self, sender: int = 0, size_bytes: int = 100) -> list[float]:
        """When each member delivers a single message that is sent now, in seconds from now."""
        began = self.clock.now
        assert self.members[sender].send("message", size_bytes)
        self.clock.run()
        return [
            delivery.time_s - began
            for delivery in sorted(self.deliveries, key=lambda delivery: delivery.member)
        ]

    @property
    def messages(self) -> int:
        """Copies sent by all members, those passed on by relays included."""
        return sum(mesh.sent for mesh in self.meshes)


def symmetric(size: int, hop_s: float = 1.0) -> Matrix:
    """The same delay between all members."""
    return [[0.0 if i == j else hop_s for j in range(size)] for i in range(size)]
