"""Where the warm-up of a series ends, against series that were made with one."""

import warnings

import numpy as np
import pytest

from simrep.errors import ShortRunWarning
from simrep.measure.confidence import mser5


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
    with pytest.warns(ShortRunWarning, match="takes half"):
        assert mser5(np.arange(100.0)) == 50


def test_mser5_does_not_warn_of_a_good_run() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mser5([9.0] * 5 + [0.0, 1.0] * 50)


def test_too_few_values_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 10"):
        mser5([1.0] * 9)
