"""How much sooner closed forms answer than the simulation of the same scenario.

``make benchmark`` prints the ratio; no time is asserted.
"""

from __future__ import annotations

from time import perf_counter

import pytest

import simrep

SCENARIO = {
    "cluster": {"model": "galera", "machine": {"cores": 8}},
    "network": {"rtt_ms": 40},
    "workload": {"threads": 16, "transactions_per_client": 125},
}


def test_the_second_opinion_against_two_thousand_transactions(
    request: pytest.FixtureRequest,
) -> None:
    if not request.config.getoption("benchmark_enable"):
        pytest.skip("make benchmark runs it")
    simrep.analytic(SCENARIO)  # imports are not what is compared
    began = perf_counter()
    opinion = simrep.analytic(SCENARIO)
    halfway = perf_counter()
    result = simrep.run(SCENARIO)
    ended = perf_counter()
    print(f"\nsimulation / closed form: {(ended - halfway) / (halfway - began):.0f} times as long")
    assert opinion.holds
    assert result.committed == 2000
