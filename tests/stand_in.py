"""Clients against a server that is a stand-in, and what scenarios make of a workload."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from simrep.kernel.clock import Clock, Event
from simrep.kernel.streams import Streams
from simrep.scenario import load
from simrep.workload.classes import TransactionClass
from simrep.workload.clients import Clients
from simrep.workload.mix import Mix
from simrep.workload.transaction import Transaction
from simrep.workload.workload import Workload

__all__ = ["INSERT", "Recorder", "Server", "played", "transactions", "workload_of"]


def transactions(one: TransactionClass, number: int = 1, client: str = "0") -> list[Transaction]:
    make = Mix([one], Streams(1)).client(client, 0, 0)
    return [make(0.0) for _ in range(number)]


def workload_of(table: dict[str, Any], nodes: int = 3) -> Workload:
    content: dict[str, Any] = {
        "cluster": {"model": "galera", "nodes": nodes},
        "workload": table,
    }
    if not table.keys() & {"queries", "transactions_per_client"}:
        content["run"] = {"duration_s": 1.0}
    scenario = load(content)
    return scenario.workload.workload(scenario.node_names)


class Server:
    """Answers after a fixed time: ``verdict`` whether an attempt commits, ``error`` why not."""

    def __init__(
        self,
        clock: Clock,
        service_s: float = 0.1,
        verdict: Callable[[int], bool] = lambda _: True,
        error: str = "",
    ) -> None:
        self.clock = clock
        self.service_s = service_s
        self.verdict = verdict
        self.error = error
        self.connected: list[int] = []
        self.starts: list[tuple[float, int, int]] = []

    def connect(self, node: int) -> Generator[Event, Any, None]:
        yield self.clock.timeout(1.0)
        self.connected.append(node)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        self.starts.append((self.clock.now, transaction.client, transaction.node))
        committed = self.verdict(len(self.starts))
        if not committed:
            transaction.error = self.error
        yield self.clock.timeout(self.service_s)
        return committed


class Recorder:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.opens: list[float] = []
        self.commits: list[tuple[float, float, str, int]] = []
        self.aborts: list[tuple[float, float, str, int]] = []
        self.errors: list[tuple[int, str]] = []  # with the node

    def opened(self) -> None:
        self.opens.append(self.clock.now)

    def committed(self, started_s: float, kind: str, client: int, node: int) -> None:
        self.commits.append((started_s, self.clock.now, kind, client))

    def aborted(self, started_s: float, kind: str, client: int, node: int, error: str) -> None:
        self.aborts.append((started_s, self.clock.now, kind, client))
        self.errors.append((node, error))


INSERT = (TransactionClass(name="insert"),)


def played(
    workload: Workload, until: float | None = None, **server: Any
) -> tuple[Clients, Server, Recorder]:
    clock = Clock()
    target, recorder = Server(clock, **server), Recorder(clock)
    clients = Clients(clock, Streams(1), workload, target, recorder)
    processes = clients.start()
    clock.run(clock.all_of(processes) if until is None else until)
    return clients, target, recorder
