"""What clients of XCom ask another process: each on a connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from simrep.modelling import Clock, LinkMessage, Rst, Thread
from simrep.models.group_replication.xcom.connection import Request, Response

__all__ = ["Requests"]

_CLIENT_S = 3.0  # a client waits so long for a connection (open_xcom_connection)


class _Process(Protocol):
    """The process that asks and is asked."""

    alive: bool
    thread: Thread

    def next_number(self, peer: int) -> int:
        """The number of the next connection to a peer."""
        ...

    def packet(self, peer: int, number: int, message: LinkMessage) -> None:
        """Let the kernel send what is not repeated."""


def _refuse(_: int, __: Any) -> Any:
    return None


class Requests:
    """Those of one process.

    Parameters
    ----------
    clock : Clock
    process : object
        Its connections.

    Notes
    -----
    Simplified: a request and its answer take one round trip, with the connection and the protocol.
    """

    def __init__(self, clock: Clock, process: _Process) -> None:
        self._clock = clock
        self._process = process
        self._waiting: dict[int, Callable[[Any], object]] = {}
        self._respond: Callable[[int, Any], Any] = _refuse

    def ask(self, peer: int, what: Any, call: Callable[[Any], object]) -> None:
        """Ask a peer, and tell ``call(response)``; None if there is none."""
        number = self._process.next_number(peer)
        self._waiting[number] = call
        self._process.packet(peer, number, Request(what))
        self._clock.at(self._clock._now + _CLIENT_S, self._give_up, number)

    def on_request(self, respond: Callable[[int, Any], Any]) -> None:
        """Requests are answered with what ``respond(peer, what)`` returns."""
        self._respond = respond

    def clear(self) -> None:
        """Forget what was asked."""
        self._waiting.clear()

    def arrived(self, source: int, number: int, request: Request) -> None:
        """A request has come to the kernel."""
        if self._process.alive:
            self._process.thread.do(0.0, self._answer, (source, number, request.what))
        else:
            self._process.packet(source, number, Rst())

    def _answer(self, request: tuple[int, int, Any]) -> None:
        source, number, what = request
        if self._process.alive:
            self._process.packet(source, number, Response(self._respond(source, what)))

    def answered(self, source: int, number: int, response: Response) -> None:
        """An answer has come."""
        del source
        self.ended(number, response.what)

    def ended(self, number: int, what: Any) -> None:
        """There is an answer, or none."""
        call = self._waiting.pop(number, None)
        if call is not None:
            call(what)

    def _give_up(self, number: int) -> None:
        self.ended(number, None)
