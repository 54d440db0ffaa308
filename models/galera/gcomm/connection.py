"""A TCP connection between two members, as one of them sees it, and what opens and closes it.

After the handshake of TCP comes that of ``gcomm/src/gmcast_proto.cpp``: who has accepted sends a
handshake, who has connected a response, and gets an ok. So who connects sends after three round
trips, who accepts half a round trip before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from simrep.modelling import LinkMessage

__all__ = [
    "Ack",
    "Alive",
    "Connection",
    "Evicted",
    "Handshake",
    "Keepalive",
    "Ok",
    "Response",
    "State",
    "Topology",
]


class State(Enum):
    """How far a connection is."""

    CONNECTING = 0  # has sent SYN, and waits for a handshake
    HANDSHAKE_SENT = 1  # has accepted
    RESPONSE_SENT = 2
    OPEN = 3


class Connection:
    """One end of a connection.

    Parameters
    ----------
    number : int
        By which both ends know it.
    peer : int
        The other end.
    state : State
    now_s : float
        From when on it is silent, in seconds.

    Attributes
    ----------
    connected : bool
        Whether the handshake of TCP is over, so that the other end can be told of its end.
    age : tuple of (float, int) or None
        By what both ends tell which of two connections is the newer one; None before they know.
    links : frozenset of int
        To whom the peer has links, as it says.
    heard_s, sent_s : float
        When something came last, and when a message of the group was last sent.
    """

    __slots__ = ("age", "connected", "heard_s", "links", "number", "peer", "sent_s", "state")

    def __init__(self, number: int, peer: int, state: State, now_s: float) -> None:
        self.number = number
        self.peer = peer
        self.state = state
        self.connected = state is not State.CONNECTING
        self.age: tuple[float, int] | None = None
        self.links: frozenset[int] = frozenset()
        self.heard_s = self.sent_s = now_s


class Ack(LinkMessage):
    """Ends the handshake of TCP."""

    text = "ACK"


@dataclass(frozen=True, slots=True)
class Handshake(LinkMessage):
    """Who has accepted begins."""

    text: ClassVar[str] = "handshake"
    size_bytes: ClassVar[int] = 120
    age: tuple[float, int]
    life: int  # how often the sender was started anew
    identity: int  # in which life it became who it is: a crash may leave that on its disk


@dataclass(frozen=True, slots=True)
class Response(LinkMessage):
    """Who has connected answers."""

    text: ClassVar[str] = "handshake response"
    size_bytes: ClassVar[int] = 180
    life: int
    identity: int


class Ok(LinkMessage):
    """The connection is open."""

    text = "handshake ok"
    size_bytes = 120


class Keepalive(LinkMessage):
    """Asks for a sign of life."""

    text = "link keepalive"
    membership = False
    size_bytes = 120


class Alive(LinkMessage):
    """Gives one: an ``Ok`` there."""

    text = "answer to a link keepalive"
    membership = False
    size_bytes = 120


class Evicted(LinkMessage):
    """The group has banned you."""

    text = "evicted"
    size_bytes = 120


@dataclass(frozen=True, slots=True)
class Topology(LinkMessage):
    """To whom the sender has links now."""

    text: ClassVar[str] = "topology"
    membership: ClassVar[bool] = False
    links: frozenset[int]

    @property
    def size_bytes(self) -> int:  # type: ignore[override]
        """A UUID and two addresses for each."""
        return 100 + 150 * len(self.links)
