"""Which costs the cells tell, which only together, which not at all; how far the model is off.

Everything is measured in what is known before: a cost is scaled by the standard deviation of its
prior, a figure by its noise. The singular values of the sensitivities, scaled so, say how much more
the cells know of a combination of costs than the priors do; a combination whose value is well below
one is not identified, and the prior stands in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simrep.calibrate.measured_figures import Floats

__all__ = [
    "EXPECTED",
    "WEIGHT",
    "Discrepancy",
    "Estimate",
    "Knowledge",
    "Known",
    "covariance_of",
    "discrepancy_of",
    "in_words",
    "informed",
    "knowledge",
    "leverages",
]

Known = Literal["data", "together", "prior"]
"""Who tells a cost: the cells, the cells only together with other costs, or the prior alone."""

_HALVED = 0.25
"""Variance, in that of the prior, of a cost whose standard deviation the cells have halved."""
_TRADED = 0.3
"""Correlation from which on two costs are traded for each other."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A fitted cost.

    Attributes
    ----------
    name : str
    unit : str
    prior : float
        What it was expected to be.
    sigma : float
        Standard deviation of the logarithm of the prior.
    value : float
        Best value, in the unit of its name.
    standard_error : float
        Standard error of its logarithm, prior and cells together; close to ``sigma`` when the
        cells say nothing about it.
    known : {"data", "together", "prior"}
        ``data``: the cells at least halve what the prior leaves open. ``together``: they would,
        if other costs were known. ``prior``: not even then.
    partners : tuple of str
        The costs that it can be traded for, if it is known only together with them.
    """

    name: str
    unit: str
    prior: float
    sigma: float
    value: float
    standard_error: float
    known: Known
    partners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Who tells a cost, and which others it can be traded for."""

    known: Known
    partners: tuple[str, ...] = ()


def informed(sensitivity: Floats, sigmas: Floats) -> int:
    """How many combinations of costs the cells know better than the priors do.

    Parameters
    ----------
    sensitivity : array of shape (figures, costs)
        Change of a figure, in units of its noise, with the logarithm of a cost.
    sigmas : array of shape (costs,)
        Standard deviations of the logarithms of the priors.
    """
    return int((np.linalg.svd(sensitivity * sigmas, compute_uv=False) > 1.0).sum())


def knowledge(names: Sequence[str], sensitivity: Floats, sigmas: Floats) -> list[Knowledge]:
    """Who tells each cost; see :func:`informed` for the arguments."""
    scaled = sensitivity * sigmas
    covariance = np.linalg.inv(scaled.T @ scaled + np.eye(len(names)))
    spread = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(spread, spread)
    alone = 1.0 / (1.0 + np.square(scaled).sum(axis=0))
    found = []
    for index in range(len(names)):
        if covariance[index, index] <= _HALVED:
            found.append(Knowledge("data"))
        elif alone[index] > _HALVED:
            found.append(Knowledge("prior"))
        else:
            found.append(Knowledge("together", _partners(names, correlation[index], index)))
    return found


def _partners(names: Sequence[str], correlation: Floats, index: int) -> tuple[str, ...]:
    """The costs that one is traded for; at least that with the strongest tie."""
    strength = np.abs(correlation)
    strength[index] = 0.0
    least = min(_TRADED, strength.max())
    return tuple(name for name, tie in zip(names, strength, strict=True) if tie >= least)


def in_words(estimates: Sequence[Estimate], correlation: Sequence[Sequence[float]]) -> list[str]:
    """What the cells do not tell of the costs, a sentence for each group of them."""
    position = {estimate.name: index for index, estimate in enumerate(estimates)}
    sentences = []
    for group in _groups(estimates):
        ties = [
            correlation[position[one]][position[other]]
            for number, one in enumerate(group)
            for other in group[number + 1 :]
        ]
        sum_only = all(tie < _TRADED for tie in ties)
        what = "their sum, with weights," if sum_only else "a combination of them"
        sentences.append(f"{_listed(group)}: only {what} is known")
    unseen = [estimate.name for estimate in estimates if estimate.known == "prior"]
    if unseen:
        them, stay = ("it", "stays") if len(unseen) == 1 else ("them", "stay")
        where = "its prior" if len(unseen) == 1 else "their priors"
        sentences.append(
            f"{_listed(unseen)}: the cells say nothing about {them}, which {stay} near {where}"
        )
    return sentences


def _groups(estimates: Sequence[Estimate]) -> list[list[str]]:
    """Costs that are known only together, joined where they share a partner."""
    groups: list[set[str]] = []
    for estimate in estimates:
        if estimate.known != "together":
            continue
        group = {estimate.name, *estimate.partners}
        for other in [other for other in groups if other & group]:
            group |= other
            groups.remove(other)
        groups.append(group)
    names = [estimate.name for estimate in estimates]
    return [sorted(group, key=names.index) for group in groups]


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """How far the model is off beyond the noise of the measurements.

    Attributes
    ----------
    relative : float
        Standard deviation of the logarithm of simulated over true figures.
    freedom : float
        On how many cells that rests, those that the expectation stands for included.
    excess : float
        Mean square of the residuals in units of the noise, per cell that is not used up by the
        fitted costs: 1 where the noise explains them.
    """

    relative: float
    freedom: float
    excess: float


EXPECTED = 0.1
"""Relative error of a model that is expected before any residual is seen."""
WEIGHT = 2.0
"""How many cells that expectation counts for."""


def covariance_of(sensitivity: Floats, sigmas: Floats, excess: float = 1.0) -> Floats:
    """Covariance of the logarithms of the costs, from the cells and the priors.

    ``sensitivity`` and ``sigmas`` are those of :func:`informed`. The squares of the residuals are
    larger by a factor of ``excess`` than the noise explains: the cells then weigh less.
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

    Notes
    -----
    A model that is right but for its costs leaves residuals of the size of the noise, fewer by what
    the fitted costs use up. What is beyond that is the model's own error. A handful of cells hardly
    tells it, so an expectation goes in as well, with the weight of two cells: about 10 %, the size
    of the errors of cells that no fit has seen. As a figure it is relative, and one and the same
    for all cells of a fit.

    References
    ----------
    M. C. Kennedy, A. O'Hagan: Bayesian calibration of computer models. J. R. Statist. Soc. B 63
    (2001), 425-464, doi:10.1111/1467-9868.00294, for the term.
    """
    free = 1.0 - leverages(sensitivity, sigmas)
    excess = max(1.0, float(np.square(residuals).sum() / max(free.sum(), 1.0)))
    told = np.isfinite(noise)
    beyond = float((noise[told] ** 2 * (residuals[told] ** 2 - free[told])).sum())
    freedom = WEIGHT + float(free[told].sum())
    relative = float(np.sqrt((WEIGHT * EXPECTED**2 + max(0.0, beyond)) / freedom))
    return Discrepancy(relative, freedom, excess)
