"""What an explanation costs, as a ratio to the run that it explains; the result is the same.

``make benchmark`` prints the ratios. Nothing is asserted about time.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

import simrep
from simrep.why.commit import explain
from simrep.why.tail import explain_tail

SCENARIO = {
    "cluster": {"model": "galera", "nodes": 3},
    "network": {"rtt_ms": 20},
    "workload": {"preset": "sysbench-oltp-update-index", "threads": 16, "nodes": ["n1"]},
}


def fastest_s(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        began = process_time()
        call()
        seconds.append(process_time() - began)
    return min(seconds)


def test_an_explanation_is_of_the_same_run(request: pytest.FixtureRequest) -> None:
    timed = bool(request.config.getoption("benchmark_enable"))
    scenario = SCENARIO | {"run": {"duration_s": 10.0 if timed else 1.0, "seed": 1}}
    result = simrep.run(scenario)
    assert explain(scenario).latency_s == result.latency_s["max"]
    assert explain_tail(scenario).committed == result.committed
    if timed:
        plain_s = fastest_s(lambda: simrep.run(scenario))
        one_s = fastest_s(lambda: explain(scenario))
        tail_s = fastest_s(lambda: explain_tail(scenario))
        print(
            f"\nover a run of {result.committed:,.0f} transactions: one explained "
            f"{one_s / plain_s:.1f}, the tail explained {tail_s / plain_s:.1f}"
        )
