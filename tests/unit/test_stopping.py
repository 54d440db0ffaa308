"""Sequential stopping: how many replications are asked for, and what their interval is worth.

The stochastic test has a fixed seed; its bound is 5 standard deviations below what stopping at
few looks is known to cost: a false alarm below 3e-7 for a fresh seed.
"""

import math

import numpy as np
import pytest

from simrep.measure.confidence import mean_interval
from simrep.runs.sampler import LEAST, replications_wanted


def test_the_first_look_comes_after_some_replications() -> None:
    assert replications_wanted([], 0.02) == LEAST
    assert replications_wanted([1.0] * 3, 0.02) == LEAST
    assert replications_wanted([], 0.02, most=4) == 4


def test_equal_values_are_precise_enough() -> None:
    assert replications_wanted([0.1] * LEAST, 1e-9) == LEAST


def test_as_many_as_the_spread_asks_for() -> None:
    values = [0.9, 1.1] * 10
    found = mean_interval(values).relative
    assert replications_wanted(values, found) == 20
    # A quarter less width takes (4/3)^2 = 1.78 times as many.
    assert replications_wanted(values, 0.75 * found) == math.ceil(20 / 0.75**2)
    # Never more than twice as many, never less than a tenth more.
    assert replications_wanted(values, 0.1 * found) == 40
    assert replications_wanted(values, 0.999 * found) == 22


def test_it_ends_at_the_most_that_is_allowed() -> None:
    values = [0.9, 1.1] * 10
    assert replications_wanted(values, 1e-6, most=25) == 25
    assert replications_wanted([*values, 0.9, 1.1, 0.9, 1.1, 0.9], 1e-6, most=25) == 25


def stop(draws: np.ndarray, precision: float) -> list[float]:
    values: list[float] = []
    while (wanted := replications_wanted(values, precision)) > len(values):
        values = draws[:wanted].tolist()
    return values


@pytest.mark.parametrize("spread", [0.03, 0.1, 0.3])
def test_stopping_early_by_luck_costs_little_coverage(spread: float) -> None:
    # Wanted within 2 %: 9 to 870 normal values are needed. Looks are few, so that of 95 % at least
    # 92 % remain.
    trials, covered = 1_000, 0
    rng = np.random.default_rng(21)
    for _ in range(trials):
        values = stop(rng.normal(1.0, spread, 1_000), 0.02)
        assert mean_interval(values).relative <= 0.02 or len(values) == 1_000
        covered += 1.0 in mean_interval(values)
    assert covered / trials > 0.92 - 5 * math.sqrt(0.92 * 0.08 / trials)
