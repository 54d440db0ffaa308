"""Intervals against published tables, SciPy, and their own coverage.

Tests that draw random numbers have fixed seeds. Coverage is compared with 5 standard deviations
of the number of covered trials: false alarms below 6e-7 for a fresh seed.
"""

import math
import warnings

import numpy as np
import pytest

from simrep.errors import ShortRunWarning
from simrep.measure.statistics import (
    Interval,
    batch_means_interval,
    mean_interval,
    mser5,
    quantile_interval,
)


def covers_as_claimed(covered: int, trials: int, confidence: float) -> bool:
    return abs(covered - trials * confidence) < 5 * math.sqrt(
        trials * confidence * (1 - confidence)
    )


def test_the_mean_interval_is_student_s() -> None:
    # t(4 degrees of freedom, 97.5 %) = 2.776; mean 3, standard deviation sqrt(2.5).
    interval = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert interval.estimate == 3.0
    assert interval.half_width == pytest.approx(2.776 * math.sqrt(2.5 / 5), rel=2e-4)
    assert interval.low == pytest.approx(3.0 - interval.half_width)
    wider = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0], confidence=0.99)
    assert wider.half_width / interval.half_width == pytest.approx(4.604 / 2.776, rel=2e-4)


def test_the_mean_interval_covers_as_often_as_it_says() -> None:
    draws = np.random.default_rng(11).normal(10.0, 3.0, (2_000, 6))
    covered = sum(10.0 in mean_interval(row, 0.9) for row in draws)
    assert covers_as_claimed(covered, 2_000, 0.9)


def autoregressive(rng: np.random.Generator, count: int, memory: float) -> np.ndarray:
    noise = rng.normal(size=count + 200).tolist()
    level, values = 0.0, []
    for step in noise:
        level = memory * level + step
        values.append(level)
    return np.array(values[200:])


def test_batch_means_cover_where_a_naive_interval_does_not() -> None:
    rng = np.random.default_rng(12)
    series = [autoregressive(rng, 4_000, 0.8) for _ in range(200)]
    batched = sum(0.0 in batch_means_interval(values, 20, 0.9) for values in series)
    naive = sum(0.0 in mean_interval(values, 0.9) for values in series)
    assert covers_as_claimed(batched, 200, 0.9)
    assert naive < 120  # correlation 0.8: the naive interval is a third as wide as it must be


def test_batch_means_of_a_made_up_series() -> None:
    values = [100.0, 1.0, 3.0, 5.0, 7.0]  # the first fills no batch
    assert batch_means_interval(values, batches=2) == mean_interval([2.0, 6.0])


def test_mser5_finds_the_end_of_a_transient() -> None:
    rng = np.random.default_rng(13)
    values = 10.0 + rng.normal(size=1_000) + 20.0 * np.exp(-np.arange(1_000) / 30.0)
    cut = mser5(values)
    assert cut % 5 == 0
    assert 60 <= cut <= 200  # there the transient is 2.7 to 0.03 standard deviations high


def test_mser5_keeps_a_stationary_series() -> None:
    values = np.random.default_rng(14).normal(size=1_000)
    assert mser5(values) <= 100


def test_mser5_keeps_a_constant_series() -> None:
    assert mser5([0.1] * 100) == 0


def test_mser5_by_hand() -> None:
    # Means of five: 9, 0, 0, 0 -> dropping one leaves no variation at all.
    assert mser5([9.0] * 5 + [0.0] * 35) == 5


def test_mser5_warns_of_a_run_that_never_settles() -> None:
    with pytest.warns(ShortRunWarning, match="run longer"):
        assert mser5(np.arange(100.0)) == 50


def test_mser5_does_not_warn_of_a_good_run() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mser5([9.0] * 5 + [0.0, 1.0] * 50)


def test_quantile_interval_takes_the_right_order_statistics() -> None:
    # Of 100 values the number below the median is binomial: 40 to 60 with 96.5 %.
    assert sum(math.comb(100, k) for k in range(40, 61)) / 2**100 > 0.95
    assert sum(math.comb(100, k) for k in range(41, 60)) / 2**100 < 0.95
    interval = quantile_interval(np.arange(1.0, 101.0), 0.5)
    assert (interval.low, interval.high) == (40.0, 61.0)
    assert interval.estimate == 50.5


def test_quantile_interval_does_not_depend_on_order() -> None:
    values = np.random.default_rng(15).exponential(size=500)
    assert quantile_interval(values, 0.9) == quantile_interval(np.sort(values)[::-1], 0.9)


def test_quantile_interval_covers_at_least_as_often_as_it_says() -> None:
    rng = np.random.default_rng(16)
    true = -math.log(0.05)  # the 95 % quantile of the exponential distribution of mean 1
    covered = sum(
        true in quantile_interval(rng.exponential(size=400), 0.95, 0.9) for _ in range(1_000)
    )
    assert covered / 1_000 > 0.9 - 5 * math.sqrt(0.09 / 1_000)
    assert covered < 1_000


def test_too_few_values_leave_a_quantile_unbounded() -> None:
    # 0.95 ** 20 = 0.36: often not one of twenty values lies above the 95 % quantile.
    interval = quantile_interval(np.arange(20.0), 0.95)
    assert interval.high == math.inf
    assert interval.low > 0.0
    assert quantile_interval(np.arange(20.0), 0.05).low == -math.inf


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 values"):
        mean_interval([1.0])
    with pytest.raises(ValueError, match="one dimension"):
        mean_interval(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="confidence"):
        mean_interval([1.0, 2.0], confidence=95)
    with pytest.raises(ValueError, match="at least 2 batches"):
        batch_means_interval([1.0] * 10, batches=1)
    with pytest.raises(ValueError, match="at least 40 values"):
        batch_means_interval([1.0] * 39, batches=20)
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile_interval([1.0, 2.0], 95)
    with pytest.raises(ValueError, match="at least 10"):
        mser5([1.0] * 9)


def test_an_interval_contains_what_lies_between_its_bounds() -> None:
    interval = Interval(2.0, 1.0, 3.0, 0.95)
    assert 1.0 in interval
    assert 3.5 not in interval
    assert interval.half_width == 1.0
