"""Where to look, and what the answers say: the designs of Morris and of Sobol, by SALib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simrep.errors import SimrepError

__all__ = ["Design", "Indices", "check_installed", "design_of"]

Array = NDArray[np.float64]

_LEVELS = 4  # of Morris: the usual number
_STEP = _LEVELS / (2.0 * (_LEVELS - 1))  # of a trajectory, as a share of the range
_RESAMPLES = 200
_ONE_SIDED = 1.645  # standard deviations that 95 % of chance effects stay below


@dataclass(frozen=True, slots=True)
class Indices:
    """What a design says of every factor.

    Attributes
    ----------
    effects : sequence of float
        Morris: mean absolute effect over the whole range (mu star). Sobol: total share of the
        variance.
    halves : sequence of float
        Half widths of their 95 % intervals, by bootstrap.
    directions : sequence of float
        Morris: mean effect over mean absolute effect, from -1 (always lowers) to 1 (always
        raises); NaN for Sobol.
    alone : sequence of float
        Share of the effect that does not depend on the other factors. Morris: mean absolute
        effect over its sum with the standard deviation; Sobol: first order over total share.
    floor : float
        95 % of what has no effect stay below this by chance.
    """

    effects: Sequence[float]
    halves: Sequence[float]
    directions: Sequence[float]
    alone: Sequence[float]
    floor: float


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Points of the unit cube, in blocks that belong together.

    Attributes
    ----------
    method : {"morris", "sobol"}
    shares : array of shape (points, factors)
        From 0 to 1.
    block : int
        Rows that belong together; whole blocks can be analysed.
    seed : int
    """

    method: str
    shares: Array
    block: int
    seed: int

    def indices(self, values: Array, chance: float) -> Indices:
        """What the figures of the first rows say.

        Parameters
        ----------
        values : array
            Of whole blocks.
        chance : float
            Standard deviation of such a value by chance alone.
        """
        indices_of = _morris if self.method == "morris" else _sobol
        return indices_of(self, values, chance)


def _problem(factors: int) -> dict[str, Any]:
    names = [f"x{number}" for number in range(factors)]
    return {"num_vars": factors, "names": names, "bounds": [[0.0, 1.0]] * factors}


def check_installed() -> None:
    """Raise SimrepError where SALib is missing."""
    from importlib.util import find_spec

    if find_spec("SALib") is None:
        raise SimrepError("sensitivity needs SALib: pip install 'simrep[sensitivity]'")


def design_of(method: str, factors: int, points: int, seed: int) -> Design:
    """The points of a method."""
    from SALib.sample import morris, sobol

    problem = _problem(factors)
    if method == "morris":
        shares = morris.sample(problem, points, num_levels=_LEVELS, seed=seed)
        return Design(method, np.asarray(shares), factors + 1, seed)
    shares = sobol.sample(problem, points, calc_second_order=False, seed=seed)
    return Design(method, np.asarray(shares), factors + 2, seed)


def _morris(design: Design, values: Array, chance: float) -> Indices:
    from SALib.analyze import morris

    problem = _problem(design.shares.shape[1])
    found = morris.analyze(
        problem,
        design.shares[: len(values)],
        values,
        num_levels=_LEVELS,
        num_resamples=_RESAMPLES,
        conf_level=0.95,
        seed=design.seed,
    )
    stars, means, spreads = (np.asarray(found[name]) for name in ("mu_star", "mu", "sigma"))
    trajectories = len(values) // design.block
    # The effect of a step that changes nothing is a difference of two values; with common random
    # numbers it is smaller than that of independent ones, which this takes.
    step = chance * sqrt(2.0) / _STEP
    floor = step * (sqrt(2.0 / pi) + _ONE_SIDED * sqrt((1.0 - 2.0 / pi) / trajectories))
    return Indices(
        effects=stars.tolist(),
        halves=np.asarray(found["mu_star_conf"]).tolist(),
        directions=_ratio(means, stars).tolist(),
        alone=_ratio(stars, stars + spreads).tolist(),
        floor=floor,
    )


def _sobol(design: Design, values: Array, chance: float) -> Indices:
    from SALib.analyze import sobol

    variance = float(values.var())
    factors = design.shares.shape[1]
    if variance == 0.0:
        nothing = [0.0] * factors
        return Indices(nothing, nothing, [float("nan")] * factors, nothing, 0.0)
    found = sobol.analyze(
        _problem(factors),
        values,
        calc_second_order=False,
        num_resamples=_RESAMPLES,
        conf_level=0.95,
        seed=design.seed + 1,  # 0 is taken for none
    )
    totals, firsts = np.asarray(found["ST"]), np.asarray(found["S1"])
    return Indices(
        effects=totals.tolist(),
        halves=np.asarray(found["ST_conf"]).tolist(),
        directions=[float("nan")] * factors,
        alone=np.clip(_ratio(firsts, totals), 0.0, 1.0).tolist(),
        floor=chance**2 / variance,
    )


def _ratio(above: Array, below: Array) -> Array:
    """Of what is below zero or nothing at all, none."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0.0)
