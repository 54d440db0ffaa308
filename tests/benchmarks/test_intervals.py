"""How often 95 % intervals of throughput and latency contain the truth, in 500 trials.

``make benchmark`` counts them; without it, a few trials show that it works.
"""

from __future__ import annotations

from functools import partial

import pytest

from simrep.runs.executor import process_pool
from tests.coverage import covered, long_run, trial, truth


def test_coverage(request: pytest.FixtureRequest) -> None:
    timed = bool(request.config.getoption("benchmark_enable"))
    number, parts, long_s = (500, 12, 1_000.0) if timed else (5, 2, 50.0)
    one = partial(trial, replications=10, duration_s=5.0)
    with process_pool(2) as executor:
        known = truth(executor.map(partial(long_run, long_s=long_s), range(parts)))
        trials = list(executor.map(one, range(number), chunksize=max(1, number // 50)))
    shares = {figure: covered(trials, figure, known[figure]) / number for figure in known}
    assert all(0.0 <= share <= 1.0 for share in shares.values())
    if timed:
        print(f"\n{number} trials of 10 replications of 5 s, a queue 60 % busy")
        for figure, share in shares.items():
            print(f"  {figure:<16} {100 * share:5.1f} % of the 95 % intervals hold the truth")
