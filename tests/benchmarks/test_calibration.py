"""The targets of calibration at full size: a hundred trials, and the time of a published pack.

``make benchmark`` runs them and prints what came out; the trials are asserted, the time is not.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import pytest

from simrep.calibrate.fit import fit
from tests.theory.test_recovery import recovered


@pytest.fixture
def timed(request: pytest.FixtureRequest) -> None:
    """Only where it was asked for."""
    if not request.config.getoption("benchmark_enable"):
        pytest.skip("make benchmark runs it")


@pytest.mark.usefixtures("timed")
def test_a_hundred_sets_of_costs_are_recovered(tmp_path: Path) -> None:
    """Within two standard errors in at least 90 of 100 trials.

    False alarm: the number is binomial with a mean of 95.4; below 90 in 1.4 % of all seeds, for
    each cost. The seed is fixed.
    """
    counts = recovered(tmp_path / "recovery", 100)
    print(f"\nrecovered of 100: {counts}")
    assert min(counts.values()) >= 90


@pytest.mark.usefixtures("timed")
def test_the_time_of_a_published_pack() -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        began = perf_counter()
        result = fit("wan-concurrency", series="pxc", executor=pool)
        seconds = perf_counter() - began
    print(f"\nwan-concurrency, pxc: {seconds:.0f} s, {result.evaluations} sets of costs")
    assert result.converged
