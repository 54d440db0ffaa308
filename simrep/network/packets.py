"""What TCP itself sends to open and end a connection between two servers."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["Fin", "LinkMessage", "Rst", "Syn", "SynAck"]


class LinkMessage:
    """What a connection sends of its own, beside what it carries.

    Attributes
    ----------
    text : str
        What it is called.
    membership : bool
        Whether a connection begins or ends by it.
    size_bytes : int
        On the wire; by default the headers of IP and TCP.
    """

    __slots__ = ()
    text: ClassVar[str]
    membership: ClassVar[bool] = True
    size_bytes: ClassVar[int] = 60


class Syn(LinkMessage):
    """Asks for a connection."""

    text = "SYN"


class SynAck(LinkMessage):
    """The kernel of the other machine answers; a program has yet to accept."""

    text = "SYN-ACK"


class Fin(LinkMessage):
    """The other end has closed: comes behind everything that it had sent."""

    text = "FIN"


class Rst(LinkMessage):
    """There is no such connection here, or nobody who would accept one."""

    text = "RST"
