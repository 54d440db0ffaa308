"""What ``make benchmark`` runs, and the process that runs it: CPU per transaction, or its work.

    python tests/benchmarks/cases.py GROUP [--count]

prints JSON. PYTHONPATH says which simrep is measured; it may be older than this file, so nothing is
used here but what every version has. Each process first runs a little of all, and then each case
once. Transactions are all that committed; the CPU is that of the process and of those it started.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time
from types import FrameType
from typing import Any

import simpy

if __name__ == "__main__":  # behind everything else: PYTHONPATH says which simrep is measured
    sys.path.append(str(Path(__file__).resolve().parents[2]))

__all__ = ["GROUPS", "NODES", "PRODUCTS", "RTTS_MS", "THREADS", "Case", "group_of"]

PRODUCTS = ("galera", "group_replication", "semisync", "asynchronous", "standalone")
RTTS_MS = (0.5, 50)
THREADS = (1, 64, 256)
EACH = {1: 2000, 64: 40, 256: 20}  # transactions of a client
NODES = {
    "galera": (3, 10, 25),
    "group_replication": (3, 9),  # a group has at most nine
    "semisync": (3, 10, 25),
    "asynchronous": (3, 10, 25),
}
CUSTOMERS = 100_000
TWIN_EACH = 40

COUNTED = 0.25  # of the transactions: each call is seen, which takes its time
LITTLE = 0.0  # one transaction of each client

Work = Callable[[float], int]
"""Runs such a share of it, and returns how many transactions committed."""


@dataclass(frozen=True, slots=True)
class Case:
    """Something to measure."""

    name: str
    work: Work


def scenario(
    product: str, rtt_ms: float, threads: int, each: int, nodes: int = 3
) -> dict[str, Any]:
    """Clients that insert rows, each so many, one after the other, all on the first node."""
    cluster: dict[str, Any] = {"model": product}
    if product != "standalone":
        cluster["nodes"] = nodes
    return {
        "cluster": cluster,
        "network": {"rtt_ms": rtt_ms},
        "workload": {
            "preset": "sysbench-oltp-insert",
            "threads": threads,
            "transactions_per_client": each,
        },
        "run": {"seed": 1},
    }


def simulated(content: dict[str, Any], share: float) -> int:
    """A replication of a scenario."""
    import simrep

    each = max(1, round(share * content["workload"]["transactions_per_client"]))
    workload = content["workload"] | {"transactions_per_client": each}
    content = {**content, "workload": workload}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simrep.run(content, replications=1)
    return result.runs[0].traffic.committed


def of_product(product: str) -> list[Case]:
    return [
        Case(
            f"{product} {rtt_ms} {threads}",
            partial(simulated, scenario(product, rtt_ms, threads, EACH[threads])),
        )
        for rtt_ms in RTTS_MS
        for threads in THREADS
    ]


def of_nodes() -> list[Case]:
    return [
        Case(f"{product} {nodes}", partial(simulated, scenario(product, 0.5, 64, 10, nodes)))
        for product, numbers in NODES.items()
        for nodes in numbers
    ]


def of_twin() -> list[Case]:
    """The same load on the model and on its twin, which is written with SimPy's means alone."""
    from simrep.kernel import clock
    from tests.benchmarks import insert_load

    def on(run: Callable[[int], insert_load.Outcome]) -> Work:
        return lambda share: len(run(max(1, round(share * TWIN_EACH))).ends)

    cases = [Case("model", on(insert_load.run_model))]
    if clock.__file__.endswith(".py"):  # compiled code takes no clock but its own
        cases.append(Case("twin", on(insert_load.run_naive)))
    return cases


def of_queue() -> list[Case]:
    """Customers instead of transactions."""
    from tests.benchmarks.simple_queue import SIMULATORS

    def on(run: Callable[[int], float]) -> Work:
        def work(share: float) -> int:
            customers = max(10, round(share * CUSTOMERS))
            run(customers)
            return customers

        return work

    return [Case(name, on(run)) for name, run in SIMULATORS.items()]


GROUPS = (*PRODUCTS, "nodes", "twin", "queue")


def group_of(name: str) -> list[Case]:
    """The cases of a group."""
    others = {"nodes": of_nodes, "twin": of_twin, "queue": of_queue}
    return others[name]() if name in others else of_product(name)


def cpu_s() -> float:
    """What this process and those it has waited for have used."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def timed(case: Case) -> dict[str, float]:
    """Microseconds of CPU per transaction."""
    gc.collect()
    began = cpu_s()
    committed = case.work(1.0)
    return {"committed": committed, "cpu_us": (cpu_s() - began) / committed * 1e6}


class Events:
    """Of all clocks that run in this process, from now on."""

    def __init__(self) -> None:
        from simrep.kernel.clock import Clock

        self.count = 0
        run, step = Clock.run, simpy.Environment.step

        def run_counted(clock: Any, *until: Any) -> Any:
            before = clock.events
            try:
                return run(clock, *until)
            finally:
                self.count += clock.events - before

        def step_counted(clock: simpy.Environment) -> None:
            self.count += 1
            step(clock)

        if hasattr(Clock, "events"):
            Clock.run = run_counted
        else:  # 5e11d09 took them by SimPy's loop
            simpy.Environment.step = step_counted


def counted(case: Case, events: Events) -> dict[str, float]:
    """Events and Python calls per transaction."""
    before = events.count
    committed = case.work(COUNTED)
    of_clock, calls = events.count - before, 0

    def seen(_frame: FrameType, what: str, _argument: object) -> None:
        nonlocal calls
        calls += what == "call"

    sys.setprofile(seen)
    try:
        case.work(COUNTED)
    finally:
        sys.setprofile(None)
    return {"events": of_clock / committed, "calls": calls / committed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--count", action="store_true", help="events and calls, and no times")
    given = parser.parse_args()
    cases = group_of(given.group)
    for case in cases:
        case.work(LITTLE)  # imports, caches of the interpreter
    measure = partial(counted, events=Events()) if given.count else timed
    print(json.dumps({case.name: measure(case) for case in cases}))


if __name__ == "__main__":
    main()
