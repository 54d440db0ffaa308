"""Groups of MySQL's group communication without servers, on machines that take no time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.kernel.timeline import Noted, Timeline
from simrep.models.group_replication.gcs.group import Group
from simrep.models.group_replication.gcs.views import View
from simrep.models.group_replication.xcom.changing import ChangingXcom
from simrep.models.group_replication.xcom.detector import Detector
from simrep.models.group_replication.xcom.paxos import XcomOptions
from simrep.models.group_replication.xcom.transport import Transport
from simrep.network.link import Latency
from simrep.network.mesh import MessageWork
from simrep.network.network import EventfulNetwork, Path
from simrep.network.trouble import Trouble
from simrep.server.host import Host
from simrep.server.thread import WaitingThread
from tests.groups import symmetric

__all__ = ["Members", "Told", "cut_off"]


class Told(NamedTuple):
    """What a member was told."""

    time_s: float
    what: Any


def cut_off(
    size: int, member: int, from_s: float, to_s: float
) -> dict[tuple[int, int], tuple[Trouble, ...]]:
    """What happens to the links of a member that nobody hears for a while, nor does it hear."""
    cut = (Trouble(from_s, to_s, cut=True),)
    return {pair: cut for i in range(size) if i != member for pair in ((i, member), (member, i))}


class OpenNetwork(EventfulNetwork):
    """A test may put a method of its own in the place of one, in either build."""


class Members:
    """A group of all nodes, which begins at time 0.

    Parameters
    ----------
    size : int
    hop_s : float
        One-way delay in seconds.
    expel_timeout_s : float or sequence of float
        Of all members, or of each.
    troubles : mapping, optional
        By pair of nodes, what happens to the link.
    options : XcomOptions, optional
    seed : int

    Attributes
    ----------
    delivered : list of list of Told
        By member, payloads in order.
    views : list of list of Told
    expelled : list of list of Told
    """

    def __init__(
        self,
        size: int = 3,
        hop_s: float = 1e-4,
        expel_timeout_s: float | Sequence[float] = 5.0,
        *,
        troubles: Mapping[tuple[int, int], tuple[Trouble, ...]] | None = None,
        options: XcomOptions | None = None,
        seed: int = 0,
    ) -> None:
        self.clock = clock = Clock()
        self.timeline = Timeline(clock)
        streams = Streams(seed)
        delays = symmetric(size, hop_s)
        self.network = OpenNetwork(
            clock,
            streams,
            [f"n{i}" for i in range(size)],
            {
                (i, j): Path(Latency(delays[i][j]), troubles=(troubles or {}).get((i, j), ()))
                for i in range(size)
                for j in range(size)
                if i != j
            },
        )
        self.delivered: list[list[Told]] = [[] for _ in range(size)]
        self.views: list[list[Told]] = [[] for _ in range(size)]
        self.expelled: list[list[Told]] = [[] for _ in range(size)]
        self.groups: list[Group] = []
        self.transports: list[Transport] = []
        self.orders: list[ChangingXcom] = []
        each = [expel_timeout_s] * size if isinstance(expel_timeout_s, float) else expel_timeout_s
        for me in range(size):
            host = Host(clock, 1)
            work = MessageWork(host.routine(0.0), host.routine(0.0))
            uniform = partial(self._uniform, streams, me)
            transport = Transport(
                clock, self.network, me, size, WaitingThread(host), work, uniform("transport"),
                self.timeline,
            )  # fmt: skip
            detector = Detector(clock, transport, uniform("detector"))
            xcom = ChangingXcom(
                clock, transport, options or XcomOptions(), detector, uniform("order")
            )
            group = Group(
                clock, transport, detector, xcom, each[me], uniform("group"), self.timeline
            )
            group.on_deliver(partial(self._deliver, me))
            group.on_view(partial(self._tell, self.views[me]))
            group.on_expelled(partial(self._tell, self.expelled[me]))
            self.transports.append(transport)
            self.orders.append(xcom)
            self.groups.append(group)
        for group in self.groups:
            group.begin()

    @staticmethod
    def _uniform(streams: Streams, me: int, name: str) -> Any:
        return streams.uniform(f"{name}/{me}")

    def _deliver(self, member: int, _sender: int, payload: Any) -> None:
        self.delivered[member].append(Told(self.clock.now, payload))

    def _tell(self, log: list[Told], what: Any) -> None:
        log.append(Told(self.clock.now, what))

    def at(self, time_s: float, call: Callable[[], object]) -> None:
        """Have something happen."""
        self.clock.at(time_s, lambda _: call())

    def write(self, member: int, clients: int = 4, from_s: float = 0.0) -> list[Told]:
        """Have closed-loop clients of a member write; the times of their commits, and how long."""
        done: list[Told] = []
        began: dict[Any, float] = {}
        numbers = iter(range(10**9))
        group = self.groups[member]

        def begin(_: None) -> None:
            payload = f"{member}:{next(numbers)}"
            began[payload] = self.clock.now
            group.send(payload, 500)

        def delivered(sender: int, payload: Any) -> None:
            self._deliver(member, sender, payload)
            if payload in began:
                done.append(Told(self.clock.now, self.clock.now - began.pop(payload)))
                self.clock.at(self.clock.now + 0.010, begin)

        group.on_deliver(delivered)
        for client in range(clients):
            self.clock.at(from_s + 0.002 * client, begin)
        return done

    def noted(self, what: str, node: int | None = None) -> list[Noted]:
        """Lines of the error logs."""
        return [
            line for line in self.timeline.noted if line.what == what and node in (None, line.node)
        ]

    def members(self, member: int) -> Sequence[int]:
        """Those of the view of a member."""
        view: View | None = self.groups[member].view
        return () if view is None else view.members
