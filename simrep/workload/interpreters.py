"""Clients that are threads of interpreters, each of which runs one thread at a time."""

from __future__ import annotations

from typing import Any, Final

from simrep.kernel.deque import deque
from simrep.server.host import Call, Host

__all__ = ["Interpreter", "Interpreters"]

_LOOK_S: Final = 2e-6  # to find the lock taken, beside what it takes to sleep
_AFTER: Final = 0.3  # of a client's work, what comes after its request


class Interpreters:
    """The processes that clients are spread over, in turn.

    Parameters
    ----------
    host : Host
        Where they run.
    number : int
        How many there are.
    """

    __slots__ = ("_processes",)

    def __init__(self, host: Host, number: int) -> None:
        self._processes = [Interpreter(host) for _ in range(number)]

    def work(self, client: int, seconds: float, call: Call) -> None:
        """The answer of a client is there: ``call(None)`` when it sends its next request.

        What it does for both takes so long on a core, in seconds.
        """
        self._processes[client % len(self._processes)].work(client, seconds, call)


class _Turn:
    """What a thread wants the lock for."""

    __slots__ = ("call", "client", "rest_s", "seconds")

    def __init__(self, client: int, seconds: float, rest_s: float, call: Call | None) -> None:
        self.client = client
        self.seconds = seconds
        self.rest_s = rest_s  # with the lock again, after the request
        self.call = call  # sends the request; none: it has been sent


class Interpreter:
    """One process of clients, and the lock that its threads need to run (CPython's).

    A thread whose answer has come takes the lock, reads the answer and sends the next request.
    While it sends it has given the lock away, and needs it once more before it can wait for the
    answer. A thread that finds the lock taken sleeps. Whoever gives the lock away wakes the one
    that has slept longest; it has the lock when it gets a core, if no other thread was faster.

    Parameters
    ----------
    host : Host

    Notes
    -----
    Scheduler traces of the rig's driver (CPython 3.11, two processes) before Galera, MariaDB and a
    group of MySQL, with 4 clients: of 60, 82 and 115 us of processor time for a transaction, 42, 59
    and 84 us lie between the answer and the request. A thread looks for the lock in vain for 2 to
    3 us. With 64 clients of semi-synchronous MariaDB threads sleep 0.9 times in a transaction for
    the lock (simulated: 1.1), with 16 clients of Galera 0.3 times (0.6).

    Simplified: a thread that sleeps does not look again after the switch interval, and nobody gives
    the lock away before its work is done. With 64 clients of Galera threads slept 3.3 times
    (simulated: 1.0). If they look again every 0.2 ms, as in the driver, they sleep 3.1 times, but
    with MariaDB 2.9 times. A server that reads a request from a local socket wakes the client once
    for nothing; that is left out, too.

    References
    ----------
    CPython 3.11, Python/ceval_gil.h (``take_gil``, ``drop_gil``); net/unix/af_unix.c of Linux
    (``unix_write_space``)
    """

    __slots__ = ("_held", "_host", "_returning", "_waits")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._held = False
        self._waits: deque[tuple[_Turn, Any]] = deque()  # with the thread that sleeps
        # By client: who has sent a request and has not come back to wait for the answer, with what
        # it has to do if that is there already.
        self._returning: dict[int, _Turn | None] = {}

    def work(self, client: int, seconds: float, call: Call) -> None:
        """See ``Interpreters.work``."""
        turn = _Turn(client, seconds * (1.0 - _AFTER), seconds * _AFTER, call)
        if client in self._returning:
            self._returning[client] = turn
        else:
            self._host.run(_LOOK_S, self._look, turn)

    def _look(self, turn: _Turn) -> None:
        """The thread has a core: it takes the lock, or sleeps."""
        if self._held:
            self._waits.append((turn, self._host.doze()))
        else:
            self._held = True
            self._host.go_on(turn.seconds, self._done, turn)

    def _done(self, turn: _Turn) -> None:
        """The thread gives the lock away."""
        self._held = False
        if self._waits:
            waiting, sleeper = self._waits.popleft()
            self._host.rouse(sleeper, _LOOK_S, self._look, waiting)
        client, call = turn.client, turn.call
        if call is not None:
            back = client not in self._returning  # else it has given up a transaction before
            if back:
                self._returning[client] = None
            call(None)
            if back:
                self._look(_Turn(client, turn.rest_s, 0.0, None))
        elif (following := self._returning.pop(client)) is not None:
            self._look(following)
