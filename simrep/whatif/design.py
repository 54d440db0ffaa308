"""Which points a sweep visits: all combinations, or a Latin hypercube."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from simrep.errors import ScenarioError
from simrep.kernel.streams import Streams
from simrep.whatif.factors import Factor, Level

__all__ = ["Setting", "grid", "latin_hypercube"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of a design.

    Attributes
    ----------
    labels : mapping of str to value
        The level of every factor.
    settings : mapping of str to value
        What that changes in the scenario, by path.
    """

    labels: Mapping[str, Any]
    settings: Mapping[str, Any]


def grid(factors: Sequence[Factor]) -> list[Setting]:
    """All combinations of the levels; those of the last factor change fastest.

    Raises
    ------
    ScenarioError
        If a factor is a range without steps.
    """
    for factor in factors:
        if factor.range is not None:
            raise ScenarioError(
                factor.name,
                "is a range without steps",
                "give steps, e.g. 1..128:x2, or --samples for a Latin hypercube",
            )
    return [_setting(factors, levels) for levels in product(*(f.levels for f in factors))]


def latin_hypercube(factors: Sequence[Factor], samples: int, seed: int) -> list[Setting]:
    """So many points, spread evenly over every factor; levels of a list are met equally often.

    Parameters
    ----------
    factors : sequence of Factor
    samples : int
    seed : int
        Equal seeds give equal points.

    References
    ----------
    M. D. McKay, R. J. Beckman, W. J. Conover: A comparison of three methods for selecting values
    of input variables in the analysis of output from a computer code. Technometrics 21 (1979),
    239-245, doi:10.2307/1268522.
    """
    from scipy.stats.qmc import LatinHypercube

    if samples < 1:
        raise ScenarioError("samples", f"must be at least 1, given {samples}")
    generator = Streams(seed).generator("sweep/latin hypercube")
    shares = LatinHypercube(len(factors), seed=generator).random(samples)
    return [
        _setting(factors, [f.level(share) for f, share in zip(factors, row, strict=True)])
        for row in shares.tolist()
    ]


def _setting(factors: Sequence[Factor], levels: Sequence[Level]) -> Setting:
    settings: dict[str, Any] = {}
    for factor, level in zip(factors, levels, strict=True):
        for path, value in level.settings.items():
            if path in settings:
                raise ScenarioError(factor.name, f"{path} is set by another factor, too")
            settings[path] = value
    labels = {factor.name: level.label for factor, level in zip(factors, levels, strict=True)}
    return Setting(labels, settings)
