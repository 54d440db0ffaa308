"""One queue with one server (M/M/1), in simrep and in SimPy: what the least of models costs.

Exponential times, load 0.9. Each function serves so many customers and returns the mean time that
they spent, in units of the mean service.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy
from simpy.events import Event

from simrep.kernel.clock import Clock
from simrep.kernel.queues import Fifo
from simrep.kernel.streams import Streams

__all__ = ["LOAD", "SIMULATORS"]

LOAD = 0.9


def on_simrep(customers: int) -> float:
    """A customer is two callbacks: the arrival, which books the visit, and the departure."""
    clock, streams = Clock(), Streams(1)
    between = streams.exponential("arrivals", 1 / LOAD)
    service = streams.exponential("service", 1.0)
    server, spent = Fifo(clock), 0.0

    def arrive(left: int) -> None:
        clock.at(server.book(service()), leave, clock.now)
        if left:
            clock.at(clock.now + between(), arrive, left - 1)

    def leave(arrived: float) -> None:
        nonlocal spent
        spent += clock.now - arrived

    clock.at(between(), arrive, customers - 1)
    clock.run()
    return spent / customers


def on_simpy(customers: int) -> float:
    """As SimPy's documentation has it: a process for each customer, and a resource."""
    clock, streams = simpy.Environment(), Streams(1)
    between = streams.exponential("arrivals", 1 / LOAD)
    service = streams.exponential("service", 1.0)
    server, spent = simpy.Resource(clock), 0.0

    def customer() -> Generator[Event, Any, None]:
        nonlocal spent
        arrived = clock.now
        with server.request() as turn:
            yield turn
            yield clock.timeout(service())
        spent += clock.now - arrived

    def arrivals() -> Generator[Event, Any, None]:
        for _ in range(customers):
            yield clock.timeout(between())
            clock.process(customer())

    clock.process(arrivals())
    clock.run()
    return spent / customers


SIMULATORS: dict[str, Callable[[int], float]] = {"simrep": on_simrep, "SimPy": on_simpy}
