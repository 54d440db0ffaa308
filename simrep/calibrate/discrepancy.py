"""How far a model is off beyond the noise of the measurements, from the residuals of its fit.

A model that is right but for its costs leaves residuals of the size of the noise, fewer by what
the fitted costs use up. What is beyond that is the model's own error. A handful of cells hardly
tells it, so an expectation goes in as well, with the weight of two cells: about 10 %, the size of
the errors of cells that no fit has seen. As a figure it is relative, and one and the same for all
cells of a fit.

References
----------
M. C. Kennedy, A. O'Hagan: Bayesian calibration of computer models. J. R. Statist. Soc. B 63 (2001),
425-464, doi:10.1111/1467-9868.00294, for the term.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simrep.calibrate.fit_result import Discrepancy

__all__ = ["EXPECTED", "WEIGHT", "covariance_of", "discrepancy_of", "leverages"]

Floats = NDArray[np.float64]

EXPECTED = 0.1
"""Relative error of a model that is expected before any residual is seen."""
WEIGHT = 2.0
"""How many cells that expectation counts for."""


def covariance_of(sensitivity: Floats, sigmas: Floats, excess: float = 1.0) -> Floats:
    """Covariance of the logarithms of the costs, from the cells and the priors.

    Parameters
    ----------
    sensitivity : array of shape (figures, costs)
        Change of a figure, in units of its noise, with the logarithm of a cost.
    sigmas : array of shape (costs,)
        Standard deviations of the logarithms of the priors.
    excess : float
        By how much the squares of the residuals are larger than the noise explains: the cells
        then weigh less.
    """
    return np.asarray(
        np.linalg.inv(sensitivity.T @ sensitivity / excess + np.diag(sigmas**-2.0)), np.float64
    )


def leverages(sensitivity: Floats, sigmas: Floats) -> Floats:
    """How much of each figure the fitted costs follow, 0 to 1; their sum is what they use up."""
    covariance = covariance_of(sensitivity, sigmas)
    return np.asarray(np.einsum("ij,jk,ik->i", sensitivity, covariance, sensitivity), np.float64)


def discrepancy_of(
    residuals: Floats, noise: Floats, sensitivity: Floats, sigmas: Floats
) -> Discrepancy:
    """The error of the model that the residuals leave.

    Parameters
    ----------
    residuals : array of shape (figures,)
        In units of the noise.
    noise : array of shape (figures,)
        Relative standard deviation of each measurement; NaN for figures that are compared by
        differences, which tell nothing of a relative error.
    sensitivity, sigmas : array
        See :func:`covariance_of`.
    """
    free = 1.0 - leverages(sensitivity, sigmas)
    excess = max(1.0, float(np.square(residuals).sum() / max(free.sum(), 1.0)))
    told = np.isfinite(noise)
    beyond = float((noise[told] ** 2 * (residuals[told] ** 2 - free[told])).sum())
    freedom = WEIGHT + float(free[told].sum())
    relative = float(np.sqrt((WEIGHT * EXPECTED**2 + max(0.0, beyond)) / freedom))
    return Discrepancy(relative, freedom, excess)
