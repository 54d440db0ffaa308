"""The sampled posterior, on problems without a simulation whose answer is known."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from simrep.calibrate.identify import covariance_of
from simrep.calibrate.posterior import Emulator, sample
from simrep.errors import ScenarioError

SENSITIVITY = np.array([[8.0, 6.0], [7.0, 8.0], [0.0, 5.0]])
SIGMAS = np.array([0.5, 0.4])
BEST = np.array([3.0, 1.0])


def linear(low=-9.0, high=9.0):
    """A misfit whose figures are linear and whose best costs are those of the prior."""
    figures = SimpleNamespace(
        noise=np.full(3, 0.05), errors=lambda values: np.asarray(values, float)
    )
    return SimpleNamespace(
        figures=figures,
        start=BEST,
        sigmas=SIGMAS,
        low=np.full(2, low),
        high=np.full(2, high),
        values=lambda points: [SENSITIVITY @ (point - BEST) for point in points],
    )


def test_an_emulator_of_a_quadratic_function_is_exact():
    generator = np.random.default_rng(1)
    points = generator.normal(size=(12, 2))
    residuals = np.column_stack([1 + points[:, 0] ** 2 - 2 * points[:, 1], 3 * points[:, 1]])
    emulator = Emulator(points, residuals, np.zeros(2), np.array([0.5, 2.0]))
    assert emulator.error == pytest.approx([0.0, 0.0], abs=1e-9)
    assert emulator(np.array([[2.0, -1.0]])) == pytest.approx(np.array([[7.0, -3.0]]))


def test_the_error_of_an_emulator_is_that_of_points_left_out():
    generator = np.random.default_rng(1)
    points = generator.normal(size=(14, 1))
    residuals = np.sin(5 * points)
    each = []
    for number in range(len(points)):
        others = np.arange(len(points)) != number
        emulator = Emulator(points[others], residuals[others], np.zeros(1), np.ones(1))
        each.append(emulator(points[number : number + 1])[0, 0] - residuals[number, 0])
    found = Emulator(points, residuals, np.zeros(1), np.ones(1)).error
    assert found == pytest.approx([np.sqrt(np.mean(np.square(each)))])


def test_the_posterior_of_a_linear_problem_is_the_normal_distribution():
    """Chains forget within about 30 steps of 1,500, each with 8 walkers: some 400 samples.

    A standard error of theirs is off by 3.5 %, so 15 % are four standard deviations; false alarm
    about 1e-4, and the seed is fixed.
    """
    found = sample(linear(), BEST, SENSITIVITY, seed=1)
    expected = covariance_of(SENSITIVITY, SIGMAS)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(np.sqrt(np.diag(expected)), rel=0.15)
    assert found.covariance[0, 1] == pytest.approx(expected[0, 1], rel=0.3)
    assert found.samples.mean(axis=0) == pytest.approx(BEST, abs=0.05)
    assert found.emulator_error == pytest.approx(0.0, abs=1e-6)
    again = sample(linear(), BEST, SENSITIVITY, seed=1)
    assert np.array_equal(found.samples, again.samples)


def test_samples_stay_within_the_bounds():
    found = sample(linear(low=0.99, high=3.05), BEST, SENSITIVITY, seed=1)
    assert found.samples.min() >= 0.99
    assert found.samples.max() <= 3.05


def test_without_emcee_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "emcee", None)
    with pytest.raises(ScenarioError, match=r"simrep\[calibrate\]"):
        sample(linear(), BEST, SENSITIVITY, seed=1)
