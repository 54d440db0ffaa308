"""A process full of clients: threads that submit statements and write down every transaction.

``python -m simrep.rig.clients PLAN.json`` connects, prints ``ready``, and waits on standard input
for ``go NANOSECONDS``, the begin of the load on the system's monotonic clock, which all processes
share. ``stop SECONDS`` ends a load that has no end of its own. When all clients are through, it
prints what that cost, and writes the records.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from io import FileIO
from math import inf
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

import pymysql

from simrep.rig.processes import used_cpu_s
from simrep.rig.transactions import CONFLICTS, DATABASE, Statement, Transaction, records_text

if TYPE_CHECKING:
    from pymysql.connections import Connection

__all__ = ["Client", "ClientPlan", "LoadClock", "connect", "main", "run_clients"]

_LOST = {2006, 2013, 2014, 2055}
_NO_CODE = 1
_SWITCH_S = 2e-4
"""A thread that has an answer gets the interpreter so soon, even if another one is busy."""


@dataclass(frozen=True, slots=True)
class Client:
    """One client: its number, its node and the socket of that."""

    number: int
    node: str
    socket: str


@dataclass(frozen=True, slots=True)
class ClientPlan:
    """What the clients of one process do.

    Attributes
    ----------
    clients : tuple of Client
    statement : Statement
    each : int or None
        Transactions of a client; None: until the load is over.
    rates_tps : mapping of node to float
        Arrivals of an open loop; empty for a closed one.
    until_s : float
        No transaction begins later.
    retry : bool
    seed : int
    out : str
        File for the records.
    """

    clients: tuple[Client, ...]
    statement: Statement
    each: int | None
    rates_tps: dict[str, float]
    until_s: float
    retry: bool
    seed: int
    out: str

    @property
    def program(self) -> str:
        """The module that runs them."""
        return "simrep.rig.clients"

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ClientPlan:
        """The same back."""
        content = json.loads(text)
        content["clients"] = tuple(Client(**client) for client in content["clients"])
        content["statement"] = Statement(**content["statement"])
        return cls(**content)


class LoadClock:
    """Seconds since the begin of the load."""

    def __init__(self, begin_ns: int | None = None) -> None:
        self._begin_ns = time.monotonic_ns() if begin_ns is None else begin_ns

    def now(self) -> float:
        """Seconds; negative before the load begins."""
        return (time.monotonic_ns() - self._begin_ns) / 1e9

    def wait_until(self, moment_s: float) -> None:
        """Return then, or at once if it has passed."""
        while (left := moment_s - self.now()) > 0:
            time.sleep(left)


class ClosedLoop:
    """A client submits when its last transaction has ended: a number of them, or for some time."""

    def __init__(self, each: int | None = None, until_s: float = inf) -> None:
        self._each = each
        self._until_s = until_s

    def intended(self, submitted: int, previous_end_s: float) -> float | None:
        """When the next transaction of a client should begin; None if there is none.

        It has submitted so many, and the last one ended then; at 0 before the first.
        """
        if (self._each is not None and submitted >= self._each) or previous_end_s >= self._until_s:
            return None
        return previous_end_s

    def stop(self, at_s: float) -> None:
        """No transaction begins after that."""
        self._until_s = min(self._until_s, at_s)


class OpenLoop:
    """Poisson arrivals in one line, which the clients take in their order.

    An arrival that finds all clients busy keeps its time: its latency counts from there.
    """

    def __init__(self, rate_tps: float, generator: random.Random, until_s: float = inf) -> None:
        self._until_s = until_s
        self._line = self._arrivals(rate_tps, generator)
        self._turn = Lock()

    def _arrivals(self, rate_tps: float, generator: random.Random) -> Iterator[float]:
        now = 0.0
        while True:
            now += generator.expovariate(rate_tps)
            yield now

    def intended(self, _submitted: int, _previous_end_s: float) -> float | None:
        """When the next transaction should begin; None if there is none."""
        with self._turn:
            arrival = next(self._line)
            return arrival if arrival < self._until_s else None

    def stop(self, at_s: float) -> None:
        """What arrives after that is not submitted; what waits in line still is."""
        self._until_s = min(self._until_s, at_s)


def connect(client: Client) -> Connection[Any]:
    """A connection of the driver, over the socket of the node."""
    return pymysql.connect(
        unix_socket=client.socket, user="root", password="", database=DATABASE, autocommit=True
    )


def run_clients(
    plan: ClientPlan,
    sessions: Sequence[Connection[Any]],
    clock: LoadClock,
    *,
    on_start: Callable[[Callable[[float], None]], None] | None = None,
) -> list[Transaction]:
    """Let all clients of a process submit what they should, each in a thread of its own.

    ``on_start`` is given what ends the load at a time of the clock, which all times count from.
    """
    loops: dict[str, ClosedLoop | OpenLoop] = {}
    for position, node in enumerate(dict.fromkeys(client.node for client in plan.clients)):
        rate_tps = plan.rates_tps.get(node)
        if rate_tps is None:
            loops[node] = ClosedLoop(plan.each, plan.until_s)
        else:
            generator = random.Random(f"{plan.seed} arrivals {position}")  # noqa: S311
            loops[node] = OpenLoop(rate_tps, generator, plan.until_s)
    records: list[list[Transaction]] = [[] for _ in plan.clients]
    with ThreadPoolExecutor(len(plan.clients)) as pool:
        running = [
            pool.submit(_submit_all, plan, client, session, loops[client.node], clock, own)
            for client, session, own in zip(plan.clients, sessions, records, strict=True)
        ]
        if on_start is not None:
            on_start(partial(_stop_all, list(loops.values())))
        for client in running:
            client.result()  # raises what ended it
    return [record for own in records for record in own]


def _stop_all(loops: Sequence[ClosedLoop | OpenLoop], at_s: float) -> None:
    for loop in loops:
        loop.stop(at_s)


def _submit_all(
    plan: ClientPlan,
    client: Client,
    session: Connection[Any],
    loop: ClosedLoop | OpenLoop,
    clock: LoadClock,
    records: list[Transaction],
) -> None:
    generator = random.Random(f"{plan.seed} client {client.number}")  # noqa: S311
    end_s = 0.0
    while (intended_s := loop.intended(len(records), end_s)) is not None:
        clock.wait_until(intended_s)
        text = plan.statement.pick(generator)
        start_s = clock.now()
        attempts, error = _submit(session, text, retry=plan.retry)
        end_s = clock.now()
        records.append(
            Transaction(
                client=client.number,
                node=client.node,
                intended_s=intended_s,
                start_s=start_s,
                end_s=end_s,
                rows=0 if error else plan.statement.rows,
                bytes=len(text),
                attempts=attempts,
                error=error,
            )
        )
        if error in _LOST:
            return


def _submit(session: Connection[Any], text: str, *, retry: bool) -> tuple[int, int]:
    """Attempts, and the number of the last one's error; 0 if it was committed."""
    attempts = 0
    while True:
        attempts += 1
        try:
            session.query(text)
        except pymysql.err.MySQLError as problem:
            number = problem.args[0] if problem.args else _NO_CODE
            error = number if isinstance(number, int) and number else _NO_CODE
            if not retry or error not in CONFLICTS:
                return attempts, error
        else:
            return attempts, 0


def main() -> None:
    """Do what the plan says."""
    sys.setswitchinterval(_SWITCH_S)
    plan = ClientPlan.from_json(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sessions = [connect(client) for client in plan.clients]
    _say("ready")
    # Without a buffer: a thread that still reads when the process ends holds no lock of it.
    orders = FileIO(sys.stdin.fileno(), closefd=False)
    order, _, begin = orders.readline().decode().partition(" ")
    if order != "go":
        return  # the parent has ended
    gc.disable()  # no pause of the clients for what is garbage
    clock = LoadClock(int(begin))

    def listen(stop: Callable[[float], None]) -> None:
        def wait() -> None:
            word, _, at_s = orders.readline().decode().partition(" ")
            stop(float(at_s) if word == "stop" else clock.now())

        Thread(target=wait, daemon=True).start()

    before = used_cpu_s()
    records = run_clients(plan, sessions, clock, on_start=listen)
    _say(json.dumps({"cpu_s": round(used_cpu_s() - before, 4), "records": len(records)}))
    Path(plan.out).write_text(records_text(records), encoding="utf-8")
    for session in sessions:
        session.close()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
