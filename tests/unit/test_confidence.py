"""Intervals against published tables, SciPy, and their own coverage.

Tests that draw random numbers have fixed seeds. Coverage is compared with 5 standard deviations
of the number of covered trials: false alarms below 6e-7 for a fresh seed.
"""

import math

import numpy as np
import pytest

from simrep.measure.confidence import (
    Interval,
    difference_interval,
    mean_interval,
    ratio_interval,
)


def covers_as_claimed(covered: int, trials: int, confidence: float) -> bool:
    return abs(covered - trials * confidence) < 5 * math.sqrt(
        trials * confidence * (1 - confidence)
    )


def test_the_mean_interval_is_student_s() -> None:
    # t(4 degrees of freedom, 97.5 %) = 2.776; mean 3, standard deviation sqrt(2.5).
    interval = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert interval.mean == 3.0
    assert interval.half_width == pytest.approx(2.776 * math.sqrt(2.5 / 5), rel=2e-4)
    assert interval.low == pytest.approx(3.0 - interval.half_width)
    wider = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0], confidence=0.99)
    assert wider.half_width / interval.half_width == pytest.approx(4.604 / 2.776, rel=2e-4)


def test_the_mean_interval_covers_as_often_as_it_says() -> None:
    draws = np.random.default_rng(11).normal(10.0, 3.0, (2_000, 6))
    covered = sum(10.0 in mean_interval(row, 0.9) for row in draws)
    assert covers_as_claimed(covered, 2_000, 0.9)


def test_pairs_have_the_interval_of_their_differences() -> None:
    before, after = [10.0, 20.0, 31.0], [9.0, 18.0, 30.0]
    assert difference_interval(before, after) == mean_interval([1.0, 2.0, 1.0])
    # What both have in common cancels: the differences alone vary.
    assert difference_interval(before, after).half_width < mean_interval(before).half_width / 5


def test_a_ratio_by_hand() -> None:
    # Means 4 and 2; a / 4 - b / 2 = (-0.25, 0.25): Student's 12.706 / sqrt(2) times its spread.
    interval = ratio_interval([3.0, 5.0], [2.0, 2.0])
    half = 12.706 * math.sqrt(0.125) / math.sqrt(2)
    assert interval.mean == 2.0
    assert interval.low == pytest.approx(2.0 * math.exp(-half), rel=1e-3)
    assert interval.high == pytest.approx(2.0 * math.exp(half), rel=1e-3)


def test_the_ratio_turns_over_with_its_samples() -> None:
    rng = np.random.default_rng(17)
    a, b = rng.normal(10.0, 1.0, 8), rng.normal(5.0, 0.5, 8)
    there, back = ratio_interval(a, b), ratio_interval(b, a)
    assert (there.low * back.high, there.high * back.low) == (pytest.approx(1), pytest.approx(1))
    # A factor in common, however large its spread, leaves the ratio as sure as it was.
    common = rng.lognormal(0.0, 1.0, 8)
    exact = ratio_interval(2.0 * common, common)
    assert exact.mean == pytest.approx(2.0)
    assert exact.half_width < 1e-12


def test_the_ratio_interval_covers_as_often_as_it_says() -> None:
    # Correlated pairs, spreads of a tenth: the delta method is then as good as exact.
    rng = np.random.default_rng(18)
    covered = 0
    for _ in range(2_000):
        shared = rng.normal(size=10)
        a = 12.0 + shared + 0.5 * rng.normal(size=10)
        b = 10.0 + shared + 0.5 * rng.normal(size=10)
        covered += 1.2 in ratio_interval(a, b, 0.9)
    assert covers_as_claimed(covered, 2_000, 0.9)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 values"):
        mean_interval([1.0])
    with pytest.raises(ValueError, match="one dimension"):
        mean_interval(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="confidence"):
        mean_interval([1.0, 2.0], confidence=95)
    with pytest.raises(ValueError, match="needs pairs, given 2 and 3"):
        difference_interval([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"positive means, given 1\.5 and 0"):
        ratio_interval([1.0, 2.0], [-1.0, 1.0])


def test_an_interval_contains_what_lies_between_its_bounds() -> None:
    interval = Interval(low=1.0, high=3.0, mean=2.0, confidence=0.95)
    assert 1.0 in interval
    assert 3.5 not in interval
    assert interval.half_width == 1.0
    assert interval.relative == 0.5


def test_equal_values_have_an_interval_of_no_width() -> None:
    # Three times 0.1 has a standard deviation above 0 in floating point.
    assert np.std([0.1] * 3, ddof=1) > 0.0
    interval = mean_interval([0.1] * 3)
    assert interval.half_width == interval.relative == 0.0
    assert mean_interval([0.0, 0.0]).relative == 0.0
    assert mean_interval([-1.0, 1.0]).relative == math.inf
