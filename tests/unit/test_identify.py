"""What cells tell of costs, on linear problems whose answer is plain."""

import numpy as np
import pytest

from simrep.calibrate.identify import (
    EXPECTED,
    WEIGHT,
    Estimate,
    covariance_of,
    discrepancy_of,
    in_words,
    informed,
    knowledge,
    leverages,
)

NAMES = ("send_us", "receive_us", "statement_us", "rollback_us")
SIGMAS = np.full(4, 0.5)
# Two figures that feel the sum of the first two costs, one that feels the third.
SENSITIVITY = np.array([[20.0, 20.0, 0.0, 0.0], [30.0, 30.0, 0.0, 0.01], [0.0, 0.0, 40.0, 0.0]])


def estimates(sensitivity=SENSITIVITY, names=NAMES):
    sigmas = np.full(len(names), 0.5)
    covariance = covariance_of(sensitivity, sigmas)
    errors = np.sqrt(np.diag(covariance))
    found = [
        Estimate(name, "us", 10.0, 0.5, 10.0, error, one.known, one.partners)
        for name, error, one in zip(
            names, errors, knowledge(names, sensitivity, sigmas), strict=True
        )
    ]
    return found, (covariance / np.outer(errors, errors)).tolist()


def test_costs_are_told_alone_together_or_not_at_all():
    found, _ = estimates()
    assert [one.known for one in found] == ["together", "together", "data", "prior"]
    assert found[0].partners == ("receive_us",)
    assert found[1].partners == ("send_us",)
    assert informed(SENSITIVITY, SIGMAS) == 2


def test_what_is_not_known_is_said_in_words():
    assert in_words(*estimates()) == [
        "send_us and receive_us: only their sum, with weights, is known",
        "rollback_us: the cells say nothing about it, which stays near its prior",
    ]


def test_a_difference_is_not_called_a_sum():
    [sentence] = in_words(*estimates(np.array([[50.0, -50.0]]), ("send_us", "receive_us")))
    assert sentence == "send_us and receive_us: only a combination of them is known"


def test_three_costs_that_are_felt_together_are_one_group():
    [sentence] = in_words(*estimates(np.array([[50.0, 50.0, 50.0]]), NAMES[:3]))
    assert sentence.startswith("send_us, receive_us and statement_us: only their sum")


def test_two_sums_are_two_groups():
    sensitivity = np.array([[50.0, 50.0, 0.0, 0.0], [0.0, 0.0, 50.0, 50.0]])
    assert len(in_words(*estimates(sensitivity))) == 2


def test_nothing_is_said_of_costs_that_the_cells_tell():
    assert in_words(*estimates(np.diag([50.0, 50.0]), NAMES[:2])) == []


def test_a_cost_that_is_not_felt_keeps_its_prior_error():
    found, _ = estimates()
    assert found[3].standard_error == pytest.approx(0.5, rel=1e-3)
    assert found[2].standard_error == pytest.approx(1 / 40, rel=0.01)


def test_figures_are_used_up_by_as_many_costs_as_they_tell():
    used = leverages(SENSITIVITY, SIGMAS)
    assert used.sum() == pytest.approx(2.0, abs=0.02)  # of three figures
    assert used[2] == pytest.approx(1.0, abs=0.01)


def few(residuals, noise=0.05, sensitivity=None):
    count = len(residuals)
    sensitivity = np.zeros((count, 1)) if sensitivity is None else sensitivity
    return discrepancy_of(
        np.asarray(residuals), np.full(count, noise), sensitivity, np.array([0.5])
    )


def test_residuals_within_the_noise_leave_what_was_expected_to_fade():
    found = few([1.0, -1.0] * 50)
    assert found.excess == pytest.approx(1.0)
    assert found.freedom == WEIGHT + 100
    assert found.relative == pytest.approx(EXPECTED * (WEIGHT / (WEIGHT + 100)) ** 0.5)


def test_the_models_error_is_found_beside_the_noise():
    """False alarm: the mean of 10,000 squares is off by 5 % with a probability below 1e-3."""
    true, noise, count = 0.2, 0.05, 10_000
    generator = np.random.default_rng(1)
    residuals = generator.normal(0.0, np.hypot(true, noise), count) / noise
    found = few(residuals, noise)
    assert found.relative == pytest.approx(true, rel=0.025)
    assert found.excess == pytest.approx((true**2 + noise**2) / noise**2, rel=0.05)


def test_without_cells_to_spare_the_expectation_stands():
    found = few([0.0], sensitivity=np.array([[1e6]]))
    assert found.relative == pytest.approx(EXPECTED, rel=0.01)
    assert found.freedom == pytest.approx(WEIGHT, abs=0.01)


def test_differences_say_nothing_of_a_relative_error():
    residuals, noise = np.array([5.0, 1.0]), np.array([np.nan, 0.05])
    found = discrepancy_of(residuals, noise, np.zeros((2, 1)), np.array([0.5]))
    assert found.freedom == WEIGHT + 1
    assert found.excess == pytest.approx(13.0)


def test_a_larger_excess_makes_the_cells_weigh_less():
    told, doubted = covariance_of(SENSITIVITY, SIGMAS), covariance_of(SENSITIVITY, SIGMAS, 4.0)
    assert doubted[2, 2] == pytest.approx(4.0 * told[2, 2], rel=0.02)
    assert doubted[3, 3] == pytest.approx(told[3, 3], rel=1e-3)
