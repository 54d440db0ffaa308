"""Which costs the cells tell, which only together, and which not at all.

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
from numpy.typing import NDArray

__all__ = ["Estimate", "Knowledge", "Known", "in_words", "informed", "knowledge"]

Floats = NDArray[np.float64]
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
