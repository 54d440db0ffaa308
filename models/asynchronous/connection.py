"""The TCP connection between an IO thread and its dump thread, and the kernels at its ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, Protocol

from simrep.modelling import Clock, MessageText, Network
from simrep.models.mysql.server import BinlogTransaction

from .binary_log import Line

__all__ = ["Events", "Kind", "Packet", "Port", "Process"]


class Kind(Enum):
    """What a packet is."""

    SYN = "SYN"
    SYN_ACK = "SYN-ACK"
    QUERY = "query of an IO thread"
    ANSWER = "answer to an IO thread"
    DUMP = "request of the binary log"
    EVENTS = "events"
    HEARTBEAT = "heartbeat"
    REPLY = "reply"
    FIN = "FIN"
    RST = "RST"


_SIZES = {
    Kind.SYN: 60, Kind.SYN_ACK: 60, Kind.FIN: 60, Kind.RST: 60,
    Kind.QUERY: 120, Kind.ANSWER: 160, Kind.DUMP: 160, Kind.HEARTBEAT: 90,
}  # fmt: skip
_UNREPEATED = {Kind.SYN, Kind.SYN_ACK, Kind.RST}
_LAST = {Kind.FIN, Kind.RST}


class Events(NamedTuple):
    """A transaction on its way, whether its receipt is to be acknowledged, and of which line."""

    written: BinlogTransaction
    wanted: bool
    line: Line


@dataclass(frozen=True, slots=True)
class Packet:
    """What goes over one connection.

    Attributes
    ----------
    source, replica : int
        Positions of the nodes at its ends.
    number : int
        By which both ends know the connection.
    kind : Kind
    content : object
        ``EVENTS``: ``Events``; ``DUMP``: what the replica has, as a line and a position of it;
        ``REPLY``: node of the replica and position.
    """

    source: int
    replica: int
    number: int
    kind: Kind
    content: Any = None

    def describe(self) -> MessageText:
        """What it is, and which transactions it carries."""
        if self.kind is Kind.EVENTS:
            written = self.content.written
            return MessageText(f"events {written.seqno}", (written.transaction,), written.seqno)
        if self.kind is Kind.REPLY:
            _, position = self.content
            return MessageText(f"reply {position}", (), position)
        return MessageText(self.kind.value)


class Process(Protocol):
    """The program at one end: a server."""

    @property
    def alive(self) -> bool:
        """It is there."""

    @property
    def silent(self) -> bool:
        """Its machine is gone, too."""

    @property
    def closing(self) -> bool:
        """It was killed, and its connections are still open."""

    def when_closed(self, call: Callable[[], object]) -> None:
        """``call()`` when they are closed."""

    def hear(self, packet: Packet) -> None:
        """Something arrives for it."""


class Port:
    """The kernel of a machine: it answers for a server that is not there.

    Parameters
    ----------
    clock : Clock
    network : Network
    node : int
    process : callable
        ``process()``: the program there now, which may be at its end.
    """

    def __init__(
        self, clock: Clock, network: Network, node: int, process: Callable[[], Process]
    ) -> None:
        self._clock = clock
        self._network = network
        self._node = node
        self._process = process
        self._connections = 0
        self._unread: set[int] = set()  # connections with something that nobody has read
        network.on_receive(node, self._receive)

    def new_connection(self) -> int:
        """The number of the next connection that is opened from here."""
        self._connections += 1
        return self._connections

    def send(self, packet: Packet, size_bytes: int = 0) -> None:
        """Send to the other end."""
        network, node = self._network, self._node
        other = packet.replica if node == packet.source else packet.source
        send = network.send_once if packet.kind in _UNREPEATED else network.send
        send(node, other, size_bytes or _SIZES[packet.kind], packet, self._clock.now)

    def close(self, packet: Packet) -> None:
        """End a connection of a process that has ended: with RST if it has not read everything."""
        if packet.number in self._unread:
            self._unread.discard(packet.number)
            self.reset(packet)
        else:
            self.send(packet)

    def reset(self, packet: Packet) -> None:
        """Answer that there is no such connection."""
        self.send(Packet(packet.source, packet.replica, packet.number, Kind.RST))

    def _receive(self, packet: Packet) -> None:
        process = self._process()
        if process.alive:
            process.hear(packet)
        elif process.closing:
            if packet.kind is Kind.SYN:  # taken, and closed with all others
                process.when_closed(partial(self.reset, packet))
            self._unread.add(packet.number)
        elif not process.silent and packet.kind not in _LAST:
            self.reset(packet)
