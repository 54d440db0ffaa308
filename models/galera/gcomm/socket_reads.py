"""In which order the thread of group communication takes what has come from several members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simrep.modelling import Thread

__all__ = ["SocketReads"]


class SocketReads:
    """One thread that reads sockets, one for each connection.

    It is told which sockets have something, in the order in which they got it, and reads one after
    the other. What it reads from one socket at once it handles at once, before it turns to the
    next. So a thread that comes late handles two messages of one member before an earlier one of
    another: messages are in order only for each sender.

    Simplified: it reads however much there is; the product up to 32 KiB at once.

    Parameters
    ----------
    thread : Thread
    take : callable
        ``take(envelope)`` handles a message.

    References
    ----------
    gcomm/src/asio_tcp.cpp, ``AsioTcpSocket::read_handler``.
    """

    __slots__ = ("_take", "_thread", "_unread")

    def __init__(self, thread: Thread, take: Callable[[Any], object]) -> None:
        self._thread = thread
        self._take = take
        self._unread: dict[int, list[tuple[float, Any]]] = {}  # by the number of the connection

    def arrived(self, number: int, cost_s: float, envelope: Any) -> None:
        """A message is in a socket; to handle it takes so much of a core."""
        unread = self._unread.get(number)
        if unread is None:
            self._unread[number] = [(cost_s, envelope)]
            self._thread.do(cost_s, self._read, number)
        else:
            unread.append((cost_s, envelope))

    def _read(self, number: int) -> None:
        """The turn of a socket: what comes from now on is another turn."""
        (_, first), *others = self._unread.pop(number)
        for cost_s, envelope in reversed(others):
            self._thread.do_next(cost_s, self._take, envelope)
        self._take(first)
