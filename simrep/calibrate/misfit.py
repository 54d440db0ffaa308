"""Which costs a fit may change, and how well sets of them explain the measured figures.

Costs vary by factors and are positive, so a set of them is told by
their logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from math import exp, log
from statistics import median

import numpy as np
from pydantic.fields import FieldInfo

from simrep.calibrate.measured_figures import Floats, MeasuredFigures
from simrep.contract.model import Model
from simrep.contract.setup import setup_of
from simrep.data.definition import Fit, Parameter
from simrep.data.reproduce import simulate_cells
from simrep.errors import ScenarioError, nearest
from simrep.scenario import with_values
from simrep.scenario.cluster import MachineTable
from simrep.scenario.prior import Prior, prior_of

__all__ = ["MACHINE", "Misfit", "Progress", "Trials", "bounds", "chosen_parameters"]


MACHINE = "machine."
"""What the names of machine traits begin with."""
_REACH = 4.0
"""Bounds lie this many sigmas of the prior away where none are given."""


def chosen_parameters(
    names: Sequence[str], spec: Fit | None, model: type[Model]
) -> tuple[Parameter, ...]:
    """What is fitted: these costs of a model (traits as ``machine.TRAIT``), or those of a dataset.

    The priors of the dataset (``spec``) go before the usual ones. A name that is no cost with a
    known range is refused.
    """
    known = _with_priors(model)
    given = {} if spec is None else {parameter.name: parameter for parameter in spec.parameter}
    if not names:
        if not given:
            raise ScenarioError(
                "--fit", "names no costs, and neither does the dataset", nearest("", known)
            )
        return tuple(given.values())
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise ScenarioError("--fit", f"{twice[0]!r} is there twice")
    found = []
    for name in names:
        if name not in given and name not in known:
            raise ScenarioError("--fit", f"no cost {name!r} of {model.name}", nearest(name, known))
        found.append(given.get(name) or _usual(name, known[name]))
    return tuple(found)


def _usual(name: str, prior: Prior) -> Parameter:
    return Parameter(name=name, prior=prior.median, sigma=prior.sigma, low=prior.least)


def _with_priors(model: type[Model]) -> dict[str, Prior]:
    """All costs and traits with a known range, by their names in a fit."""

    def known(fields: Mapping[str, FieldInfo], prefix: str) -> dict[str, Prior]:
        priors = {f"{prefix}{name}": prior_of(field) for name, field in fields.items()}
        return {name: prior for name, prior in priors.items() if prior is not None}

    return known(model.Costs.model_fields, "") | known(MachineTable.model_fields, MACHINE)


def bounds(parameter: Parameter) -> tuple[float, float]:
    """The logarithms between which a fit looks for a cost; bounds without room are refused."""
    reach = exp(_REACH * parameter.sigma)
    low = parameter.prior / reach if parameter.low is None else parameter.low
    high = parameter.prior * reach if parameter.high is None else parameter.high
    if not low < high:
        raise ScenarioError(f"fit.parameter.{parameter.name}", f"bounds {low} .. {high} are empty")
    return log(low), log(high)


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
    """Residuals of sets of costs, each simulated with the same random numbers."""

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
