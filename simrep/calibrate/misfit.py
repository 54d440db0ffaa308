"""How well sets of costs explain the measured figures, under common random numbers.

Costs vary by factors and are positive, so everything here is a function of their logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from statistics import median

import numpy as np
from numpy.typing import NDArray

from simrep.calibrate.measured_figures import MeasuredFigures
from simrep.calibrate.parameters import bounds
from simrep.contract.setup import setup_of
from simrep.data.definition import Parameter
from simrep.data.reproduce import simulate_cells
from simrep.scenario import with_values

__all__ = ["Misfit", "Progress", "Trials"]

Floats = NDArray[np.float64]
Progress = Callable[[int, float], None]

_STEP = 0.1
"""Step of the difference quotients on the way: events of a simulation swap places as costs
change, so its figures are rough on a smaller scale."""
_WIDE = 0.3
"""Step to both sides at the end: what the cells are said to tell must not be that roughness."""


class Trials:
    """All sets of costs that a fit has tried, and the best of them."""

    def __init__(self, names: Sequence[str], progress: Progress | None) -> None:
        self.count = 0
        self.best: dict[str, float] = {}
        self._names = names
        self._lowest = float("inf")
        self._progress = progress

    def add(self, x: Floats, cost: float) -> None:
        """Take note of one more."""
        self.count += 1
        if cost < self._lowest:
            self._lowest = cost
            self.best = dict(zip(self._names, np.exp(x).tolist(), strict=True))
        if self._progress is not None:
            self._progress(self.count, self._lowest)


class Misfit:
    """Residuals of sets of costs, with so many replications.

    Parameters
    ----------
    figures : MeasuredFigures
    parameters : sequence of Parameter
    trials : Trials
        Told of every set that is simulated.
    replications, seed : int
        The same random numbers for every set.
    executor : concurrent.futures.Executor or None
    """

    def __init__(
        self,
        figures: MeasuredFigures,
        parameters: Sequence[Parameter],
        trials: Trials,
        *,
        replications: int,
        seed: int,
        executor: Executor | None,
    ) -> None:
        self.figures = figures
        self.trials = trials
        self.replications = replications
        self.seed = seed
        self.start = np.log([parameter.prior for parameter in parameters])
        self.sigmas = np.array([parameter.sigma for parameter in parameters])
        self.low, self.high = np.transpose([bounds(parameter) for parameter in parameters])
        self._paths = [parameter.path for parameter in parameters]
        self._executor = executor
        self._simulated: dict[bytes, Floats] = {}

    def residuals(self, x: Floats) -> Floats:
        """In units of their standard deviations; the prior comes last."""
        [values] = self.values([x])
        return self._residuals(x, values)

    def jacobian(self, x: Floats) -> Floats:
        """Difference quotients of the residuals to one side, away from a bound."""
        steps = np.where(x + _STEP <= self.high, _STEP, -_STEP)
        here, *moved = self.values([x, *(x + np.diag(steps))])
        errors = self.figures.errors
        columns = [
            (errors(values) - errors(here)) / step
            for values, step in zip(moved, steps, strict=True)
        ]
        return self._with_prior(np.transpose(columns))

    def wide_jacobian(self, x: Floats) -> Floats:
        """The same to both sides, further away."""
        return self._with_prior(self.sensitivity(x))

    def sensitivity(self, x: Floats) -> Floats:
        """Change of each figure, in units of its noise, with the logarithm of each cost."""
        wide = np.diag(np.full(len(x), _WIDE))
        upper = np.clip(x + wide, None, np.maximum(self.high, x))
        lower = np.clip(x - wide, np.minimum(self.low, x), None)
        values = self.values([*upper, *lower])
        errors = [self.figures.errors(one) for one in values]
        widths = np.diag(upper - lower)
        return np.transpose(
            [
                (above - below) / width
                for above, below, width in zip(
                    errors[: len(x)], errors[len(x) :], widths, strict=True
                )
            ]
        )

    def values(self, points: Sequence[Floats]) -> list[Floats]:
        """The simulated figures of several sets of costs, in the order of the observations."""
        keys = [point.tobytes() for point in points]
        new = {
            key: point
            for key, point in zip(keys, points, strict=True)
            if key not in self._simulated
        }
        for (key, point), values in zip(new.items(), self._simulate(new.values()), strict=True):
            self._simulated[key] = values
            residuals = self._residuals(point, values)
            self.trials.add(point, 0.5 * float(residuals @ residuals))
        return [self._simulated[key] for key in keys]

    def _residuals(self, x: Floats, values: Floats) -> Floats:
        prior = (x - self.start) / self.sigmas
        return np.concatenate([self.figures.errors(values), prior])

    def _with_prior(self, sensitivity: Floats) -> Floats:
        return np.vstack([sensitivity, np.diag(1.0 / self.sigmas)])

    def _simulate(self, points: Iterable[Floats]) -> Iterator[Floats]:
        setups = [
            setup_of(with_values(scenario, dict(zip(self._paths, costs.tolist(), strict=True))))
            for costs in map(np.exp, points)
            for scenario in self.figures.scenarios
        ]
        how = self.replications, self.seed, self._executor
        samples = simulate_cells(setups, self.figures.figures, *how)
        for _ in range(len(setups) // len(self.figures.scenarios)):
            cells = [next(samples) for _ in self.figures.scenarios]
            yield np.array(
                [
                    seen.check(median(sample[seen.figure] for sample in cells[seen.scenario]))
                    for seen in self.figures.observations
                ]
            )
