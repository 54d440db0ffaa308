"""Pairs of alternatives: which count, and which are predicted in the right order."""

from math import isnan

import numpy as np
import pytest
from scipy.stats import kendalltau

from simrep.data.cells import Cell
from simrep.data.scores import Agreement, agreement

FACTORS = ("threads", "delay_ms")


def cell(measured, predicted, threads=1, delay_ms=0, **changes):
    return Cell(
        **{
            "factors": {"threads": threads, "delay_ms": delay_ms},
            "measured": measured,
            "repetitions": 3,
            "predicted": predicted,
            "unit": "s",
            "relative_error": predicted / measured - 1.0,
            "interval": None,
            "used_in_fit": False,
            "series": "a",
            "metric": "seconds",
            "standard_error": 0.0,
            **changes,
        }
    )


def counts(*cells):
    found = agreement(cells, FACTORS)
    return found.pairs, found.right


def test_it_is_kendalls_tau_where_all_pairs_are_alternatives():
    """Without ties tau is the share in the right order less the share in the wrong one."""
    random = np.random.default_rng(5)
    measured = 1.5 ** np.arange(12.0)
    predicted = measured * np.exp(random.normal(0.0, 0.8, 12))
    found = agreement(
        [cell(m, p, threads=n) for n, (m, p) in enumerate(zip(measured, predicted, strict=True))],
        FACTORS,
    )
    assert found.pairs == 12 * 11 // 2
    assert 0.6 < found.share < 1.0
    assert 2 * found.share - 1 == pytest.approx(kendalltau(measured, predicted).statistic)


def test_alternatives_differ_in_one_factor():
    assert counts(cell(1.0, 1.0), cell(2.0, 2.0, threads=4)) == (1, 1)
    assert counts(cell(1.0, 1.0), cell(2.0, 2.0, threads=4, delay_ms=50)) == (0, 0)
    assert counts(cell(1.0, 1.0), cell(2.0, 2.0)) == (0, 0)


def test_another_system_is_an_alternative_at_equal_factors():
    assert counts(cell(1.0, 1.0), cell(2.0, 0.5, series="b")) == (1, 0)
    assert counts(cell(1.0, 1.0), cell(2.0, 2.0, series="b", threads=4)) == (0, 0)


def test_a_factor_that_another_system_does_not_have_makes_no_difference():
    assert counts(cell(1.0, 1.0), cell(2.0, 2.0, series="b", delay_ms="")) == (1, 1)
    assert counts(cell(1.0, 1.0), cell(2.0, 2.0, delay_ms="")) == (1, 1)


def test_figures_of_different_metrics_are_not_compared():
    assert counts(cell(1.0, 1.0), cell(2.0, 2.0, threads=4, metric="p95_s")) == (0, 0)


@pytest.mark.parametrize(
    ("other", "error", "pairs"),
    [
        (1.25, 0.1, 0),  # two standard errors of the difference are 0.28
        (1.30, 0.1, 1),
        (1.02, 0.0, 0),  # figures are known to 1 % at best
        (1.04, 0.0, 1),
        (1.14, None, 0),  # and to 5 % from one measurement
        (1.17, None, 1),
    ],
)
def test_pairs_count_if_they_were_measured_apart(other, error, pairs):
    one = cell(1.0, 1.0, standard_error=error)
    assert counts(one, cell(other, 2.0, threads=4, standard_error=error)) == (pairs, pairs)


def test_a_tie_and_no_prediction_are_wrong():
    assert counts(cell(1.0, 1.0), cell(2.0, 1.0, threads=4)) == (1, 0)
    assert counts(cell(1.0, 1.0), cell(2.0, float("nan"), threads=4)) == (1, 0)


def test_cells_of_a_fit_and_tolerated_ones_are_left_out():
    assert counts(cell(1.0, 1.0), cell(2.0, 2.0, threads=4, used_in_fit=True)) == (0, 0)
    assert counts(cell(1.0, 1.0), cell(2.0, 2.0, threads=4, within=True)) == (0, 0)


def test_shares_are_of_pairs():
    assert isnan(Agreement(0, 0).share)
    assert Agreement.sum([Agreement(3, 2), Agreement(1, 1)]) == Agreement(4, 3)
