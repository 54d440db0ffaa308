"""How often 95 % intervals of throughput and latency contain the truth, in 500 trials.

``make benchmark`` counts them; without it, a few trials show that it works.
"""

from __future__ import annotations

import pytest

from tests.coverage import covered, trial, truth


def test_coverage(request: pytest.FixtureRequest) -> None:
    timed = bool(request.config.getoption("benchmark_enable"))
    number, long_s = (500, 20_000.0) if timed else (5, 100.0)
    known = truth(long_s)
    trials = [trial(seed, replications=10, duration_s=4.0) for seed in range(number)]
    shares = {figure: covered(trials, figure, known[figure]) / number for figure in known}
    assert all(0.0 <= share <= 1.0 for share in shares.values())
    if timed:
        print(f"\n{number} trials of 10 replications of 4 s, an M/D/1 queue 60 % busy")
        for figure, share in shares.items():
            print(f"  {figure:<16} {100 * share:5.1f} % of the 95 % intervals hold the truth")
