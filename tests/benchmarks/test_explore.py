"""What it takes to see a new setting of the sliders, beside simulating it.

``make benchmark`` prints times of one run on one machine. Nothing is asserted about time; that
the figures are those of the plain run always is.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any

import pytest

import simrep


def cluster(queries: int) -> dict[str, Any]:
    return {
        "cluster": {"model": "galera", "nodes": 3},
        "network": {"rtt_ms": 20.0},
        "workload": {"preset": "sysbench-oltp-update-index", "queries": queries, "threads": 16},
    }


@pytest.mark.slow
def test_time_of_a_redraw(request: pytest.FixtureRequest) -> None:
    timed = bool(request.config.getoption("benchmark_enable"))
    scenario = simrep.load(cluster(500 if timed else 60))
    rtts = list(range(10, 110, 10)) if timed else [10]
    shown = simrep.explore(
        scenario, sliders={"network.rtt_ms": [20, *(rtt for rtt in rtts if rtt != 20)]}
    )
    slider, _, picture = shown.widget().children
    labels = shown.levels["network.rtt_ms"]
    redraws_s, simulations_s = [], []
    for rtt in rtts:
        before = bytes(picture.value)
        began = perf_counter()
        slider.value = labels.index(rtt)
        redraws_s.append(perf_counter() - began)
        began = perf_counter()
        alone = simrep.run(scenario.replace({"network.rtt_ms": rtt}))
        simulations_s.append(perf_counter() - began)
        assert shown.now.digest() == alone.digest()
        assert rtt == 20 or bytes(picture.value) != before
    if timed:
        redraw_s, simulation_s = median(redraws_s), median(simulations_s)
        print(
            f"\nredraw of 3 nodes, 500 transactions: median {redraw_s:.3f} s, longest "
            f"{max(redraws_s):.3f} s; {redraw_s / simulation_s:.1f} times the simulation alone"
        )
