"""What opens and closes connections between members, and the end of one that sends."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from simrep.modelling import Link, LinkMessage

__all__ = [
    "FIRST_WAIT_S",
    "Accepted",
    "Offer",
    "Offered",
    "Request",
    "Response",
    "Sender",
    "longer",
]

FIRST_WAIT_S = 0.1  # INITIAL_CONNECT_WAIT
_WAIT_MORE_S = 1.0  # CONNECT_WAIT_INCREASE
_LONGEST_WAIT_S = 10.0  # MAX_CONNECT_WAIT


def longer(wait_s: float) -> float:
    """The wait after this one, between two attempts to connect or two looks for a connection."""
    return min(wait_s + _WAIT_MORE_S, _LONGEST_WAIT_S)


class Offer(LinkMessage):
    """Which versions of the protocol the sender speaks (``x_version_req``)."""

    text = "protocol request"
    size_bytes = 80


class Offered(LinkMessage):
    """Which of them is spoken (``x_version_reply``)."""

    text = "protocol reply"
    size_bytes = 80


class Request(LinkMessage):
    """What a client of XCom asks on a connection of its own."""

    __slots__ = ("what",)
    text = "request"
    size_bytes = 300

    def __init__(self, what: Any) -> None:
        self.what = what


class Response(LinkMessage):
    """What it is told."""

    __slots__ = ("what",)
    text = "response"
    size_bytes = 200

    def __init__(self, what: Any) -> None:
        self.what = what


class Accepted(NamedTuple):
    """A connection of another member, on which answers go back."""

    peer: int
    number: int
    link: Link


class Sender:
    """What a member has for another one as long as its process lives (``server`` there).

    Attributes
    ----------
    number : int
        Of its connection, the present one or the last.
    open : bool
        Whether there is a connection, as far as the member knows.
    spoken : bool
        Whether the protocol of the connection is agreed: then messages are sent on it.
    answered : bool
        Whether the other end has answered the offer; only who reads the connection learns that.
    reading, looking : bool
        Whether the task that reads answers has found the connection, or will look for one.
    broken : bool
        Whether the other end has closed it while nobody reads it.
    blocked : bool
        Whether the socket takes nothing more.
    dialling : bool
        Whether attempts to connect go on.
    queue : deque of (message, int)
        What waits to be sent, with its bytes.
    taken_bytes : int
        What the socket has taken since it was known to be empty.
    active_s : float
        When the socket last took a message.
    emptied_s : float
        When it was last looked at whether the other end has emptied the socket.
    cleared_s : float
        When the queue was last thrown away.
    wait_s, look_wait_s : float
        The next wait before a connection is tried and before one is looked for.
    pings, pinged_s : int, float
        How often the other asked whether this member lives, within five seconds of each other.
    """

    __slots__ = (
        "active_s", "answered", "blocked", "broken", "cleared_s", "dialling", "emptied_s",
        "look_wait_s",
        "looking", "number", "open", "peer", "pinged_s", "pings", "queue", "reading", "spoken",
        "taken_bytes", "wait_s",
    )  # fmt: skip

    def __init__(self, peer: int, number: int, now_s: float, *, connected: bool) -> None:
        self.peer = peer
        self.number = number
        self.open = self.spoken = self.answered = self.reading = connected
        self.broken = self.blocked = self.dialling = self.looking = False
        self.queue: deque[tuple[Any, int]] = deque()
        self.taken_bytes = 0
        self.active_s = self.emptied_s = self.cleared_s = now_s
        self.wait_s = self.look_wait_s = FIRST_WAIT_S
        self.pings = 0
        self.pinged_s = 0.0
