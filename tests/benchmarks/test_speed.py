"""How fast the models simulate: Galera beside a naive twin with the same results, and others.

``make benchmark`` times them and prints ratios of one run on one machine. Nothing is asserted about
time, which depends on the machine and on who else uses it; that both do the same always is.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from time import process_time

import pytest

from simrep.kernel.clock import Clock
from simrep.models.galera.options import GaleraCosts
from tests.benchmarks.insert_load import (
    CLIENTS,
    CORES,
    DELAYS_S,
    OPTIONS,
    run_group_replication,
    run_model,
    run_naive,
)
from tests.clusters import GaleraCluster
from tests.streams import large


@pytest.fixture
def timed(request: pytest.FixtureRequest) -> bool:
    """Whether this run is for the times."""
    return bool(request.config.getoption("benchmark_enable"))


def fastest_s(run: Callable[[int], object], each: int, rounds: int) -> float:
    """CPU seconds of the fastest of several rounds, each of which begins without garbage.

    The collector stays on, as it is for users.
    """
    run(1)  # imports, caches of the interpreter
    seconds = []
    for _ in range(rounds):
        gc.collect()
        began = process_time()
        run(each)
        seconds.append(process_time() - began)
    return min(seconds)


def test_the_model_equals_its_naive_twin(timed: bool) -> None:
    # Enough for reports, keepalives and several stops of flow control.
    each = 30 if timed else 15
    model, naive = run_model(each), run_naive(each)
    assert [end[:2] for end in model.ends] == [end[:2] for end in naive.ends]
    assert [end[2] for end in model.ends] == pytest.approx(
        [end[2] for end in naive.ends], rel=0, abs=1e-9
    )
    assert model.makespan_s == pytest.approx(naive.makespan_s, rel=0, abs=1e-9)
    assert model.orders == naive.orders
    assert model.stops == naive.stops > 0
    assert model.paused_s == pytest.approx(naive.paused_s, rel=0, abs=1e-9)


def test_speed(timed: bool) -> None:
    each, rounds = (60, 3) if timed else (1, 1)
    transactions = CLIENTS * each
    model = transactions / fastest_s(run_model, each, rounds)
    naive = transactions / fastest_s(run_naive, each, rounds)
    if timed:
        version = ".".join(map(str, sys.version_info[:3]))
        print(
            f"\n{CLIENTS} clients, 3 nodes, one 50 ms away, {transactions} inserts, "
            f"best of {rounds}, Python {version}\n"
            f"  simrep      {model:9,.0f} committed transactions per CPU second\n"
            f"  naive twin  {naive:9,.0f}\n"
            f"  ratio       {model / naive:9.1f}"
        )


CALLBACKS = 500  # per client and transaction of the load


def run_callbacks(each: int) -> int:
    """As many clients that do nothing but schedule their next callback."""
    clock = Clock()
    ran = 0

    def again(left: int) -> None:
        nonlocal ran
        ran += 1
        if left:
            clock.at(clock.now + 1.0, again, left - 1)

    for _ in range(CLIENTS):
        again(each * CALLBACKS)
    clock.run()
    return ran


def test_group_replication_commits_all(timed: bool) -> None:
    each = 30 if timed else 5
    outcome = run_group_replication(each)
    assert len(outcome.ends) == CLIENTS * each
    assert outcome.orders[0] == CLIENTS * each
    assert outcome.stops == 0


def test_speed_of_group_replication(timed: bool) -> None:
    each, rounds = (60, 3) if timed else (1, 1)
    transactions = CLIENTS * each
    group = transactions / fastest_s(run_group_replication, each, rounds)
    if timed:
        galera = transactions / fastest_s(run_model, each, rounds)
        callbacks = run_callbacks(1) / fastest_s(run_callbacks, 1, rounds)
        print(
            f"\n{CLIENTS} clients, a group of 3, one 50 ms away, {transactions} inserts, "
            f"best of {rounds}\n"
            f"  group replication {group:9,.0f} committed transactions per CPU second\n"
            f"  beside Galera     {group / galera:9.2f}\n"
            f"  one of them takes {callbacks / group:9.0f} bare callbacks of the clock"
        )


FRAGMENT_ROWS = 100


def run_streaming(fragments: int) -> GaleraCluster:
    """A client that updates so many rows in as many fragments, of a range of the table."""
    cluster = GaleraCluster(
        DELAYS_S, options=OPTIONS, costs=GaleraCosts().model_dump(), cores=CORES, traced=False
    )
    rows = max(FRAGMENT_ROWS * fragments, 1001)
    cluster.client([large(rows, unit="rows", size=rows // fragments)])
    return cluster.run(limit_s=600.0)


def run_ordinary(transactions: int) -> GaleraCluster:
    """A client that updates as many rows in each of so many transactions."""
    cluster = GaleraCluster(
        DELAYS_S, options=OPTIONS, costs=GaleraCosts().model_dump(), cores=CORES, traced=False
    )
    starts = range(0, FRAGMENT_ROWS * transactions, FRAGMENT_ROWS)
    cluster.client([large(FRAGMENT_ROWS, first=start) for start in starts])
    return cluster.run(limit_s=600.0)


def test_speed_of_fragments(timed: bool) -> None:
    number, rounds = (500, 3) if timed else (20, 1)
    assert run_streaming(number).status(0, "fragments_replicated") == number
    assert run_ordinary(number).status(0, "wsrep_local_commits") == number
    if timed:
        fragment = fastest_s(run_streaming, number, rounds) / number
        ordinary = fastest_s(run_ordinary, number, rounds) / number
        print(
            f"\n{number} fragments of {FRAGMENT_ROWS} rows, 3 nodes, one 50 ms away, "
            f"best of {rounds}\n"
            f"  a fragment takes {fragment / ordinary:.2f} of what a transaction of as many rows "
            f"takes, {fragment * 1e6:.0f} us of CPU"
        )
