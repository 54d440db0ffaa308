"""Groups of members on machines that take no time: nothing but protocol and delays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.models.galera.gcomm.evs import Evs, EvsOptions
from simrep.models.group_replication.xcom.paxos import Xcom, XcomOptions
from simrep.network.link import Jitter, Latency, Tcp
from simrep.network.mesh import Mesh, MessageWork, TotalOrder
from simrep.network.network import Network, Path
from simrep.server.host import Host
from simrep.server.thread import Thread

__all__ = [
    "Delivery",
    "EvsGroup",
    "Group",
    "Matrix",
    "XcomGroup",
    "saturate",
    "started",
    "symmetric",
]

Matrix = Sequence[Sequence[float]]

_NO_SLOW_START = Tcp(initial_window_segments=1 << 20)


class Delivery(NamedTuple):
    """A payload that reached a member's application."""

    time_s: float
    member: int
    sender: int
    payload: Any


class Group(ABC):
    """Members 0..n-1 with the given one-way delays.

    Parameters
    ----------
    delays_s : matrix of float
        From row to column, in seconds.
    segments : sequence of int, optional
        All members in segment 0 if not given.
    jitter_s : float
        Mean of an exponential jitter on every path.
    message_s : float
        What a message costs its sender and its receiver.
    seed : int
    """

    members: Sequence[TotalOrder]

    def __init__(
        self,
        delays_s: Matrix,
        *,
        segments: Sequence[int] | None = None,
        jitter_s: float = 0.0,
        message_s: float = 0.0,
        seed: int = 0,
    ) -> None:
        size = len(delays_s)
        jitter = (Jitter("exponential", jitter_s),) if jitter_s else ()
        self.clock = Clock()
        self.deliveries: list[Delivery] = []
        self.network = Network(
            self.clock,
            Streams(seed),
            [f"n{i}" for i in range(size)],
            {
                (i, j): Path(Latency(delays_s[i][j], jitter), tcp=_NO_SLOW_START)
                for i in range(size)
                for j in range(size)
                if i != j
            },
        )
        self.meshes: list[Mesh] = []
        for me in range(size):
            host = Host(self.clock, 1)
            work = MessageWork(host.routine(message_s), host.routine(message_s))
            self.meshes.append(
                Mesh(self.clock, self.network, me, segments or [0] * size, Thread(host), work)
            )
        self.members = [self._join(mesh) for mesh in self.meshes]
        for me, member in enumerate(self.members):
            member.on_deliver(partial(self._deliver, me))

    @abstractmethod
    def _join(self, mesh: Mesh) -> TotalOrder:
        """Make the member that has this connection to the others."""

    def _deliver(self, member: int, sender: int, payload: Any) -> None:
        self.deliveries.append(Delivery(self.clock.now, member, sender, payload))

    def send_at(self, time_s: float, sender: int, payload: Any, size_bytes: int = 100) -> None:
        """Have a member send a message at some time."""

        def send(_: None) -> None:
            assert self.members[sender].send(payload, size_bytes)

        self.clock.at(time_s, send)

    def at_once(self, sender: int, payloads: Iterable[Any]) -> None:
        """Have a member send messages now, each by itself."""
        for payload in payloads:
            self.send_at(self.clock.now, sender, payload)

    def isolated(self, sender: int = 0, size_bytes: int = 100) -> list[float]:
        """When each member delivers a single message that is sent now, in seconds from now."""
        began, before = self.clock.now, len(self.deliveries)
        assert self.members[sender].send("message", size_bytes)
        self.clock.run()
        return [
            delivery.time_s - began
            for delivery in sorted(self.deliveries[before:], key=lambda delivery: delivery.member)
        ]

    def delivered(self, member: int) -> dict[Any, float]:
        """What a member has delivered, in order, and when."""
        return {one.payload: one.time_s for one in self.deliveries if one.member == member}

    @property
    def messages(self) -> int:
        """Copies sent by all members, those passed on by relays included."""
        return sum(mesh.sent for mesh in self.meshes)


class EvsGroup(Group):
    """A group of EVS members.

    Parameters
    ----------
    delays_s : matrix of float
    options : EvsOptions, optional
    keepalives_s : sequence of float, optional
        When each member sends its first keepalive; none of them does if not given.
    kind : type of Evs
    **how
        See ``Group``.
    """

    members: list[Evs]

    def __init__(
        self,
        delays_s: Matrix,
        options: EvsOptions | None = None,
        *,
        keepalives_s: Sequence[float] | None = None,
        kind: type[Evs] = Evs,
        **how: Any,
    ) -> None:
        self._options = options or EvsOptions()
        self._keepalives_s = keepalives_s
        self._kind = kind
        super().__init__(delays_s, **how)

    def _join(self, mesh: Mesh) -> Evs:
        at_s = None if self._keepalives_s is None else self._keepalives_s[mesh.me]
        return self._kind(self.clock, mesh, mesh.size, self._options, at_s)


class XcomGroup(Group):
    """A group of XCom members; see ``Group``."""

    members: list[Xcom]

    def __init__(self, delays_s: Matrix, options: XcomOptions | None = None, **how: Any) -> None:
        self._options = options or XcomOptions()
        super().__init__(delays_s, **how)

    def _join(self, mesh: Mesh) -> Xcom:
        return Xcom(self.clock, mesh, mesh.size, self._options)


def started(delays_s: Matrix, options: XcomOptions | None = None, sender: int = 0) -> XcomGroup:
    """A group that has delivered a message of the sender everywhere.

    Before it, nobody has an earlier slot than member 0.
    """
    group = XcomGroup(delays_s, options)
    group.isolated(sender)
    return group


def symmetric(size: int, hop_s: float = 1.0) -> Matrix:
    """The same delay between all members."""
    return [[0.0 if i == j else hop_s for j in range(size)] for i in range(size)]


def saturate(
    group: Group,
    clients: int,
    size_bytes: int,
    pause_s: Callable[[], float] | None = None,
    *,
    senders: int = 1,
    round_s: float = 3.0,
    until_s: float = 400.0,
) -> tuple[float, float]:
    """Clients of each sender, each with one message under way.

    Parameters
    ----------
    clients : int
        Of each sender.
    pause_s : callable, optional
        Time between a delivery and the next message of the client; none, and all begin at once,
        if not given.
    senders : int
        Members that send: the first ones.
    round_s : float
        Clients with a pause begin one after the other within this time.
    until_s : float
        End of the run, the first quarter of which does not count.

    Returns
    -------
    throughput, latency : float
        Messages per second and their mean time in seconds, of all senders.
    """
    clock = group.clock
    warm_up = until_s / 4
    sent: dict[Any, float] = {}
    latencies: list[float] = []
    number = 0

    def send(sender: int) -> None:
        nonlocal number
        number += 1
        sent[number] = clock.now
        assert group.members[sender].send(number, size_bytes)

    def delivered(member: int, sender: int, message: Any) -> None:
        if sender != member:
            return
        began = sent.pop(message)
        if clock.now > warm_up:
            latencies.append(clock.now - began)
        if pause_s is None:
            send(sender)
        else:
            clock.at(clock.now + pause_s(), send, sender)

    for sender in range(senders):
        group.members[sender].on_deliver(partial(delivered, sender))
        for client in range(clients):
            clock.at(round_s * client / clients if pause_s else 0.0, send, sender)
    clock.run(until_s)
    return len(latencies) / (until_s - warm_up), fmean(latencies)
