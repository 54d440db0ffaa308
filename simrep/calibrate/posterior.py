"""The posterior of fitted costs, sampled with emcee on an emulator of the simulation.

A sampler asks for tens of thousands of sets of costs, which nobody simulates. Between the costs
that are plausible at all, logarithms of figures are nearly linear in logarithms of costs: a line
and a curvature for each cost, fitted to simulations of some sets drawn from where the Jacobian says
that they lie. How far that is off for a set it was not fitted to is told, and counts as noise.

References
----------
D. Foreman-Mackey et al.: emcee: The MCMC Hammer. PASP 125 (2013), 306, doi:10.1086/670067.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simrep.calibrate.identify import covariance_of, discrepancy_of
from simrep.calibrate.measured_figures import Floats
from simrep.calibrate.misfit import Misfit
from simrep.errors import ScenarioError

__all__ = ["Emulator", "Posterior", "sample"]

_POINTS = 2
"""Simulated sets of costs for each number of the emulator."""
_WALKERS = 4
"""Walkers for each cost."""
_BURN_IN, _STEPS = 500, 1500


@dataclass(frozen=True, slots=True)
class Posterior:
    """What the samples say."""

    covariance: Floats  # of the logarithms of the costs
    samples: Floats  # the logarithms themselves
    # Root of the mean square error of the emulator for sets of costs that it was not fitted to, in
    # units of the noise.
    emulator_error: float
    method: str


class Emulator:
    """Residuals as a quadratic function of the logarithms of the costs, without products.

    ``error`` is the root of the mean square error for points left out, of shape (figures,).

    Parameters
    ----------
    points : array of shape (points, costs)
    residuals : array of shape (points, figures)
    centre, scale : array of shape (costs,)
        Where and how wide the points lie.
    """

    def __init__(self, points: Floats, residuals: Floats, centre: Floats, scale: Floats) -> None:
        self._centre, self._scale = centre, scale
        terms = self._terms(points)
        self._coefficients, *_ = np.linalg.lstsq(terms, residuals, rcond=None)
        orthogonal, _ = np.linalg.qr(terms)
        free = 1.0 - np.square(orthogonal).sum(axis=1)
        left_out = (residuals - terms @ self._coefficients) / free[:, None]
        self.error = np.sqrt(np.square(left_out).mean(axis=0))

    def __call__(self, points: Floats) -> Floats:
        """Residuals of shape (points, figures)."""
        return np.asarray(self._terms(points) @ self._coefficients, np.float64)

    def _terms(self, points: Floats) -> Floats:
        z = (points - self._centre) / self._scale
        return np.hstack([np.ones((len(z), 1)), z, z * z])


def sample(misfit: Misfit, best: Floats, sensitivity: Floats, seed: int) -> Posterior:
    """The posterior around the best costs (logarithms), with the sensitivity found there."""
    try:
        import emcee
    except ImportError:
        hint = "pip install 'simrep[calibrate]'"
        raise ScenarioError("--posterior", "needs the package emcee", hint) from None

    figures, sigmas, count = misfit.figures, misfit.sigmas, len(best)
    [values] = misfit.values([best])
    excess = discrepancy_of(figures.errors(values), figures.noise, sensitivity, sigmas).excess
    covariance = covariance_of(sensitivity, sigmas, excess)
    generator = np.random.default_rng(seed)

    def drawn(size: int) -> Floats:
        around = generator.multivariate_normal(best, covariance, size)
        return np.clip(around, misfit.low, misfit.high)

    points = drawn(_POINTS * (2 * count + 1))
    residuals = np.array([figures.errors(one) for one in misfit.values(list(points))])
    emulator = Emulator(points, residuals, best, np.sqrt(np.diag(covariance)))
    noise = excess + np.square(emulator.error)

    def log_probability(x: Floats) -> Floats:
        told = np.square(emulator(x)) / noise
        prior = np.square((x - misfit.start) / sigmas)
        inside = ((x >= misfit.low) & (x <= misfit.high)).all(axis=1)
        return np.where(inside, -0.5 * (told.sum(axis=1) + prior.sum(axis=1)), -np.inf)

    sampler = emcee.EnsembleSampler(_WALKERS * count, count, log_probability, vectorize=True)
    start = emcee.State(drawn(_WALKERS * count), random_state=np.random.MT19937(seed).state)
    sampler.run_mcmc(start, _BURN_IN + _STEPS)
    samples = np.asarray(sampler.get_chain(discard=_BURN_IN, flat=True), np.float64)
    return Posterior(
        covariance=np.atleast_2d(np.cov(samples, rowvar=False)),
        samples=samples,
        emulator_error=float(np.sqrt(np.square(emulator.error).mean())),
        method=f"emcee on a quadratic emulator of {len(points)} simulated sets of costs",
    )
