"""A process full of clients that go on whatever happens, and write down every attempt.

``python -m simrep.rig.survivors PLAN.json`` prints ``ready``, and waits on standard input for ``go
NANOSECONDS``, the begin of the load on the system's monotonic clock; ``stop SECONDS`` ends the
load. A client connects by itself, stays with its node or goes to the next one after an error, and
gives each transaction a number of its own, by which its row is found again.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

import pymysql

from simrep.rig.attempts import WAITING, Attempt, attempts_text
from simrep.rig.clients import LoadClock
from simrep.rig.processes import used_cpu_s
from simrep.rig.proxy import PROXY
from simrep.rig.transactions import ATTEMPTS, DATABASE, USER

if TYPE_CHECKING:
    from pymysql.connections import Connection

__all__ = [
    "Survivor",
    "SurvivorPlan",
    "main",
    "run_survivors",
]

_GRACE_S = 1.0
"""For answers after the end of the load; whoever has none then, waits."""
_LOST = frozenset({0, 2, 1053, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 3032, 3169})
"""Errors after which the connection is gone."""
_NO_CODE = 1
_WORDS = 120
_PAD = "x" * 60
_SWITCH_S = 2e-4


@dataclass(frozen=True, slots=True)
class Survivor:
    """One client.

    Attributes
    ----------
    number : int
        Its own, in the whole load.
    group : str
    order : tuple of str
        Nodes: its own, and those that it fails over to.
    reads : bool
    think_s, pause_s : float
        Pauses after a transaction and after an error.
    read_timeout_s : float or None
    connect_timeout_s : float
    again : bool
        After an error the same transaction is submitted again, under its number.
    proxied : bool
        It connects by a proxy; ``order`` names the node that it is with until it knows better.
    """

    number: int
    group: str
    order: tuple[str, ...]
    reads: bool
    think_s: float
    pause_s: float
    read_timeout_s: float | None
    connect_timeout_s: float
    again: bool
    proxied: bool = False


@dataclass(frozen=True, slots=True)
class SurvivorPlan:
    """What the clients of one process do; sockets are by node, ``out`` is for the attempts."""

    clients: tuple[Survivor, ...]
    sockets: Mapping[str, str]
    out: str

    @property
    def program(self) -> str:
        """The module that runs them."""
        return "simrep.rig.survivors"

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SurvivorPlan:
        """The same back."""
        content = json.loads(text)
        clients = ({**client, "order": tuple(client["order"])} for client in content["clients"])
        return cls(
            tuple(Survivor(**client) for client in clients), content["sockets"], content["out"]
        )


class _Client:
    """One client in its thread."""

    def __init__(self, own: Survivor, plan: SurvivorPlan, clock: LoadClock, over: Event) -> None:
        self.own = own
        self._sockets = plan.sockets
        self._clock = clock
        self._over = over
        self._lock = Lock()
        self._attempts: list[Attempt] = []
        self._under_way: tuple[str, float, int, bool] | None = None
        self._session: Connection[Any] | None = None
        self._server = own.order[0]  # behind the proxy

    def run(self) -> None:
        """Until the load is over."""
        own, place, number, failed = self.own, 0, 0, False
        self._clock.wait_until(0.0)
        while not self._over.is_set():
            node = self._server if own.proxied else own.order[place]
            try:
                if self._session is None:
                    self._begin(node, number, connecting=True)
                    self._session = self._connect(PROXY if own.proxied else node)
                    if own.proxied:
                        node = self._server = _server_of(self._session)
                if not (own.again and failed):
                    number += 1
                self._begin(node, number, connecting=False)
                seen = self._submit(self._session, number)
                self._end(seen)
                failed = False
            except Exception as error:  # noqa: BLE001 - the driver fails in many ways
                failed = True
                code = _code(error)
                connecting = self._session is None
                self._end(number, code, _words(error))
                if own.order[1:] and not own.proxied:
                    place = (place + 1) % len(own.order)
                if own.proxied or own.order[1:] or code in _LOST or connecting:
                    self._close()
                self._over.wait(own.pause_s)
            else:
                if own.think_s:
                    self._over.wait(own.think_s)
        self._close()

    def _submit(self, session: Connection[Any], number: int) -> int:
        if not self.own.reads:
            session.query(
                f"insert into {ATTEMPTS} (client, sequence, pad) "
                f"values ({self.own.number}, {number}, '{_PAD}')"
            )
            return number
        with session.cursor() as cursor:
            cursor.execute(f"select count(*) from (select 1 from {ATTEMPTS} limit 1) as one")
            [(rows,)] = cursor.fetchall()
        return int(rows)

    def _connect(self, node: str) -> Connection[Any]:
        return pymysql.connect(
            unix_socket=self._sockets[node],
            user=USER,
            password=USER,
            database=DATABASE,
            autocommit=True,
            connect_timeout=self.own.connect_timeout_s,
            read_timeout=self.own.read_timeout_s,
        )

    def _close(self) -> None:
        if self._session is not None:
            with suppress(Exception):
                self._session.close()
            self._session = None

    def _begin(self, node: str, number: int, *, connecting: bool) -> None:
        with self._lock:
            self._under_way = (node, self._clock.now(), number, connecting)

    def _end(self, number: int, error: int = 0, text: str = "") -> None:
        with self._lock:
            if self._under_way is not None:  # else it was told that it waits
                self._attempts.append(self._attempt(number, error, text))
            self._under_way = None

    def _attempt(self, number: int, error: int, text: str) -> Attempt:
        assert self._under_way is not None
        node, began_s, _, connecting = self._under_way
        now_s = self._clock.now()
        return Attempt(
            self.own.group, self.own.number, node, began_s, now_s, number, error,
            connecting, self.own.reads, text,
        )  # fmt: skip

    def attempts(self) -> list[Attempt]:
        """All of it; what is under way waits."""
        with self._lock:
            if self._under_way is not None:
                number = self._under_way[2]
                self._attempts.append(self._attempt(number, WAITING, "no answer"))
                self._under_way = None
            return self._attempts


def _server_of(session: Connection[Any]) -> str:
    """Which node is behind the proxy."""
    with session.cursor() as cursor:
        cursor.execute("select @@server_id")
        [(number,)] = cursor.fetchall()
    return f"n{number}"


def _code(error: Exception) -> int:
    number = error.args[0] if error.args else _NO_CODE
    return number if isinstance(number, int) and number > 0 else _NO_CODE


def _words(error: Exception) -> str:
    words = str(error.args[1] if len(error.args) > 1 else error)
    return " ".join(words.split())[:_WORDS]


def run_survivors(plan: SurvivorPlan, clock: LoadClock, over: Event) -> list[Attempt]:
    """Let all clients of a process go on until the load is over; all their attempts."""
    clients = [_Client(own, plan, clock, over) for own in plan.clients]
    threads = [Thread(target=client.run, daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    over.wait()
    patience = time.monotonic() + _GRACE_S
    for thread in threads:
        thread.join(max(0.0, patience - time.monotonic()))
    return [attempt for client in clients for attempt in client.attempts()]


def main() -> None:
    """Do what the plan says."""
    sys.setswitchinterval(_SWITCH_S)
    plan = SurvivorPlan.from_json(Path(sys.argv[1]).read_text(encoding="utf-8"))
    _say("ready")
    orders = FileIO(sys.stdin.fileno(), closefd=False)
    order, _, begin = orders.readline().decode().partition(" ")
    if order != "go":
        return  # the parent has ended
    gc.disable()
    clock = LoadClock(int(begin))
    over = Event()

    def listen() -> None:
        word, _, at_s = orders.readline().decode().partition(" ")
        if word == "stop":
            clock.wait_until(float(at_s))
        over.set()

    Thread(target=listen, daemon=True).start()
    before = used_cpu_s()
    attempts = run_survivors(plan, clock, over)
    Path(plan.out).write_text(attempts_text(attempts), encoding="utf-8")
    _say(json.dumps({"cpu_s": round(used_cpu_s() - before, 4), "records": len(attempts)}))
    os._exit(0)  # a thread may wait for a server that does not answer any more


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
