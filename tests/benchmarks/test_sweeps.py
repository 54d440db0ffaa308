"""How fast sweeps are: points in one process and in two, and what starting the program takes.

``make benchmark`` prints times and ratios of one run on one machine. Nothing is asserted about
time; that the points are the same always is.
"""

from __future__ import annotations

import subprocess
import sys
from os import times
from time import perf_counter
from typing import Any

import pytest

import simrep
from simrep.runs.crew import end_processes


@pytest.fixture
def timed(request: pytest.FixtureRequest) -> bool:
    """Whether this run is for the times."""
    return bool(request.config.getoption("benchmark_enable"))


def cluster(queries: int) -> dict[str, Any]:
    return {
        "cluster": {"model": "galera", "nodes": 3},
        "network": {"rtt_ms": 1.0},
        "workload": {"preset": "mysqlslap-insert", "queries": queries, "threads": 8},
    }


def swept(queries: int, over: dict[str, str], jobs: int) -> tuple[float, float, simrep.Sweep]:
    """Seconds, those of CPU, and points of a sweep by so many processes, their start included."""
    began, used = perf_counter(), cpu_s()
    found = simrep.sweep(cluster(queries), over, jobs=jobs)
    end_processes()
    return perf_counter() - began, cpu_s() - used, found


def cpu_s() -> float:
    """What this process and those it has waited for have used."""
    now = times()
    return now.user + now.system + now.children_user + now.children_system


@pytest.mark.slow
def test_speed_of_a_sweep(timed: bool) -> None:
    over = {"network.rtt_ms": "1..5:+1", "workload.threads": "2..4:+2"}
    queries = 40
    if timed:
        queries = 2_000
        over = {"network.rtt_ms": "5..100:+5", "workload.threads": "1..10:+1"}
    two_s, two_cpu_s, both = swept(queries, over, 2)
    one_s, one_cpu_s, alone = swept(queries, over, 1)
    assert both.points == alone.points
    if timed:
        print(
            f"\n{len(both.points)} points, 3 nodes, {queries} transactions each\n"
            f"  two processes   {two_s:6.1f} s, {two_cpu_s:5.1f} s of CPU\n"
            f"  one process     {one_s:6.1f} s, {one_cpu_s:5.1f} s of CPU\n"
            f"  ratio           {one_s / two_s:6.2f}, on a machine with nothing else to do"
        )


def started_s(*arguments: str) -> float:
    began = perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return perf_counter() - began


def test_speed_of_starting(timed: bool) -> None:
    rounds = 7 if timed else 1
    commands = {
        "python": ("-c", "pass"),
        "import simrep": ("-c", "import simrep"),
        "simrep --help": ("-m", "simrep", "--help"),
    }
    best = {name: min(started_s(*c) for _ in range(rounds)) for name, c in commands.items()}
    if timed:
        print(f"\nbest of {rounds}, beside Python alone")
        for name, seconds in best.items():
            print(f"  {name:<14} {seconds:5.2f} s  {seconds / best['python']:5.1f}")
