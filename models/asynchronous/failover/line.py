"""The connection of a failover manager to one server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from simrep.modelling import Clock, Event, Link

from .servers import Servers

__all__ = ["Answer", "Line", "Statement"]

Statement = Callable[[Callable[..., None]], object]
"""``statement(reply)``: the server does something, and ``reply(answer)`` says that it is done."""

_BYTES = 400  # of a statement, and of its answer: less than a segment
_SYN_AGAIN_S = 1.0  # Linux repeats a SYN after 1, 3, 7, ... s (RFC 6298)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a statement.

    Attributes
    ----------
    value : object
        What the server answered; None if it did not.
    error : str
        Why it did not; empty if it did.
    """

    value: Any = None
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether the server answered."""
        return not self.error


class Line:
    """Says one statement after the other to a server, over a connection that may break.

    A statement that nobody answers in time still counts where it arrives: a server that stands
    still reads it when it goes on.

    Parameters
    ----------
    clock : Clock
    server_clock : Clock
        By which the server gets round to what arrives for it.
    servers : Servers
    node : int
        The server.
    there, back : Link or None
        The way to it, and back; None if manager and server share a machine.
    connects_anew, pings_anew : bool
        See ``ManagerRules``.

    Notes
    -----
    Simplified: a new connection costs the round trip of TCP, and none for the greeting and the
    password; a statement costs the server no time.
    """

    def __init__(
        self,
        clock: Clock,
        server_clock: Clock,
        servers: Servers,
        node: int,
        there: Link | None,
        back: Link | None,
        *,
        connects_anew: bool = False,
        pings_anew: bool = False,
    ) -> None:
        self._clock = clock
        self._server_clock = server_clock
        self._servers = servers
        self._node = node
        self._there = there
        self._back = back
        self._connects_anew = connects_anew
        self._pings_anew = pings_anew
        self._open = False
        self._number = 0  # of the statement
        self._waiting: Event | None = None
        self._statement: Statement = _nothing
        self._connect_s = self._read_s = 0.0
        self._again = False  # whether it tries another connection if this one brings no answer
        self._timer = 0

    def ask(self, statement: Statement, connect_timeout_s: float, read_timeout_s: float) -> Event:
        """Say a statement; the event has its ``Answer``."""
        self._number += 1
        self._statement = statement
        self._connect_s, self._read_s = connect_timeout_s, read_timeout_s
        self._waiting = Event(self._clock)
        if self._connects_anew:
            self._open = False
        self._again = self._open and self._pings_anew
        if self._open:
            self._send(self._number)
        else:
            self._connect()
        return self._waiting

    # -- the manager's end -----------------------------------------------------------------------

    def _connect(self) -> None:
        self._set_timer(self._connect_s)
        self._syn((self._number, _SYN_AGAIN_S))

    def _syn(self, attempt: tuple[int, float]) -> None:
        number, again_s = attempt
        if number != self._number or self._open or self._waiting is None:
            return
        now = self._clock.now
        self._at(now if self._there is None else self._there.arrival_once(now), self._knock, number)
        self._clock.at(now + again_s, self._syn, (number, 2.0 * again_s))

    def _accepted(self, number: int) -> None:
        if number == self._number and self._waiting is not None and not self._open:
            self._open = True
            for link in (self._there, self._back):
                if link is not None:
                    link.renew()
            self._send(number)

    def _send(self, number: int) -> None:
        self._set_timer(self._read_s)
        now = self._clock.now
        arrival = now if self._there is None else self._there.arrival(_BYTES, now)
        self._at(arrival, self._arrives, (number, self._statement))

    def _set_timer(self, seconds: float) -> None:
        self._timer += 1
        if seconds < inf:
            self._clock.at(self._clock.now + seconds, self._time_is_over, (self._timer, seconds))

    def _time_is_over(self, timer: tuple[int, float]) -> None:
        number, seconds = timer
        if number != self._timer or self._waiting is None:
            return
        was_open, self._open = self._open, False
        if was_open and self._again:
            self._again = False
            self._connect()
        else:
            what = "answer" if was_open else "connection"
            self._end(Answer(error=f"no {what} within {seconds:g} s"))

    def _refused(self, number: int) -> None:
        if number == self._number and self._waiting is not None:
            self._open = False
            self._end(Answer(error="connection refused"))

    def _answered(self, answer: tuple[int, object]) -> None:
        number, value = answer
        if number == self._number and self._waiting is not None:
            self._end(Answer(value))

    def _end(self, answer: Answer) -> None:
        assert self._waiting is not None
        waiting, self._waiting = self._waiting, None
        self._timer += 1
        waiting.succeed(answer)

    def close(self) -> None:
        """The manager is gone."""
        self._waiting = None
        self._open = False
        self._number += 1

    # -- the server's end ------------------------------------------------------------------------

    def _knock(self, number: int) -> None:
        """A SYN arrives: the kernel answers, also for a server that stands still."""
        servers, now = self._servers, self._clock.now
        if servers.silent(self._node):
            return
        call = self._accepted if servers.alive(self._node) else self._refused
        self._at(now if self._back is None else self._back.arrival_once(now), call, number)

    def _arrives(self, said: tuple[int, Statement]) -> None:
        if self._servers.silent(self._node):
            return
        if self._servers.alive(self._node):
            self._server_clock.at(self._clock.now, self._execute, said)
        else:
            self._reset(said[0])

    def _execute(self, said: tuple[int, Statement]) -> None:
        """The server gets round to the statement."""
        number, statement = said
        if self._servers.silent(self._node):
            return
        if not self._servers.alive(self._node):
            self._reset(number)
            return

        def reply(value: object = None) -> None:
            now = self._clock.now
            arrival = now if self._back is None else self._back.arrival(_BYTES, now)
            self._at(arrival, self._answered, (number, value))

        statement(reply)

    def _reset(self, number: int) -> None:
        now = self._clock.now
        self._at(now if self._back is None else self._back.arrival_once(now), self._refused, number)

    def _at(self, when_s: float, call: Callable[[Any], object], argument: object) -> None:
        if when_s < inf:
            self._clock.at(when_s, call, argument)


def _nothing(_: object) -> None:
    pass
