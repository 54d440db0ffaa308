"""Fitting local costs to the cells of a dataset that may be used for it.

Least squares on the logarithms of simulated over measured figures (on their differences, where an
absolute deviation is given), with the same random numbers in every evaluation, so that the sum of
squares is a function of the costs alone. Costs vary by factors and are positive, so the fit moves
in their logarithms. What is known beforehand enters as one more residual for each cost (a
log-normal prior): a handful of cells cannot tell a dozen costs apart, and without it the fit would
trade one for another at will.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from math import exp, hypot, isfinite, log, nan
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from simrep.errors import ScenarioError, SimrepError, nearest
from simrep.experiment.plan import plan
from simrep.experiment.reproduce import simulate_cells
from simrep.experiment.dataset import Fit, MeasuredCell, Parameter, Series, Dataset, load_dataset
from simrep.scenario import load, with_values

__all__ = ["CalibrationError", "Estimate", "FitResult", "Residual", "fit"]

Floats = NDArray[np.float64]
Progress = Callable[[int, float], None]
_STEP = 0.1
"""Relative step of the difference quotients: events of a simulation swap places as costs change,
so its figures are rough on a smaller scale."""
_TOLERANCE = 1e-4
_REACH = 4.0
"""Bounds lie this many sigmas of the prior away where none are given."""


class CalibrationError(SimrepError):
    """A fit that cannot be made, or that was stopped.

    Parameters
    ----------
    message : str
    best : mapping of str to float, optional
        The best costs found until then.
    """

    def __init__(self, message: str, best: dict[str, float] | None = None) -> None:
        self.best = best or {}
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A fitted cost.

    Attributes
    ----------
    name : str
    prior : float
        What it was expected to be.
    value : float
        Best value, in the unit of its name.
    standard_error : float
        Standard error of its logarithm, from the Jacobian; close to the sigma of the prior when
        the cells say nothing about it.
    """

    name: str
    prior: float
    value: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class Residual:
    """A figure the costs were fitted to.

    Attributes
    ----------
    label : str
        Column and factors.
    measured, fitted : float
    """

    label: str
    measured: float
    fitted: float

    @property
    def relative_error(self) -> float:
        """Fitted relative to measured, minus one; NaN if 0 was measured."""
        return self.fitted / self.measured - 1.0 if self.measured else nan


@dataclass(frozen=True, slots=True)
class FitResult:
    """Fitted costs and how well they explain the cells.

    Attributes
    ----------
    series : str
    estimates : tuple of Estimate
    residuals : tuple of Residual
    cost : float
        Half the sum of squared residuals, prior included.
    evaluations : int
        Sets of costs that were simulated.
    converged : bool
    """

    series: str
    estimates: tuple[Estimate, ...]
    residuals: tuple[Residual, ...]
    cost: float
    evaluations: int
    converged: bool

    @property
    def costs(self) -> dict[str, float]:
        """Fitted values by name."""
        return {estimate.name: estimate.value for estimate in self.estimates}


def fit(
    dataset: Dataset | str | Path,
    *,
    series: str | None = None,
    replications: int | None = None,
    seed: int | None = None,
    max_steps: int = 30,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> FitResult:
    """Fit the costs that a series of a dataset names, to its cells marked for fitting.

    Parameters
    ----------
    dataset : Dataset, str or Path
    series : str, optional
        Needed only when several series of the dataset have a fit.
    replications, seed : int, optional
        Instead of those the dataset names.
    max_steps : int
        Steps of the search at most; each simulates one set of costs per fitted cost.
    executor : concurrent.futures.Executor, optional
        Where replications run; in this process when None.
    progress : callable, optional
        Called after each evaluation with their number and the lowest cost so far.

    Raises
    ------
    ScenarioError
        When the dataset has no such fit.
    CalibrationError
        When no figure can be compared, or the fit was interrupted (Ctrl-C).
    """
    from scipy.optimize import least_squares

    if not isinstance(dataset, Dataset):
        dataset = load_dataset(dataset)
    chosen, spec = _choose(dataset, series)
    problem = _Problem(
        dataset,
        chosen,
        spec,
        replications=spec.replications if replications is None else replications,
        seed=spec.seed if seed is None else seed,
        executor=executor,
        progress=progress,
    )
    try:
        found = least_squares(
            problem.residuals,
            np.clip(problem.start, problem.low, problem.high),
            problem.jacobian,
            bounds=(problem.low, problem.high),
            x_scale=problem.sigmas,
            ftol=_TOLERANCE,
            xtol=_TOLERANCE,
            gtol=None,
            max_nfev=max_steps,
        )
    except KeyboardInterrupt:
        raise CalibrationError("the fit was interrupted", problem.best()) from None
    covariance = np.linalg.inv(found.jac.T @ found.jac)  # regular: the priors see to that
    return FitResult(
        series=chosen.name,
        estimates=tuple(
            Estimate(parameter.name, parameter.prior, float(np.exp(x)), float(np.sqrt(variance)))
            for parameter, x, variance in zip(
                spec.parameter, found.x, np.diag(covariance), strict=True
            )
        ),
        residuals=problem.explained(found.x),
        cost=float(found.cost),
        evaluations=problem.evaluations,
        converged=bool(found.success),
    )


def _choose(dataset: Dataset, name: str | None) -> tuple[Series, Fit]:
    fits = {series.name: series for series in dataset.definition.series if series.fit is not None}
    if name is None and len(fits) == 1:
        name = next(iter(fits))
    if name is None or name not in fits:
        problem = f"no fit for series {name!r}" if name else f"{len(fits)} series have a fit"
        raise ScenarioError(dataset.name, problem, nearest(name or "", fits))
    chosen = fits[name]
    assert chosen.fit is not None
    return chosen, chosen.fit


@dataclass(frozen=True, slots=True)
class _Observation:
    """A measured figure: which scenario and which of its figures it is compared with."""

    scenario: int
    figure: int
    label: str
    measured: float
    noise: float
    absolute: float | None

    def error(self, value: float) -> float:
        """How far a simulated figure is off, in standard deviations of the measurement."""
        if self.absolute is not None:
            return (value - self.measured) / hypot(self.absolute, self.noise * self.measured)
        return log(value / self.measured) / self.noise


class _Problem:
    """Residuals of a set of costs, given as logarithms, and what has been tried."""

    def __init__(
        self,
        dataset: Dataset,
        series: Series,
        spec: Fit,
        *,
        replications: int,
        seed: int,
        executor: Executor | None,
        progress: Progress | None,
    ) -> None:
        self.evaluations = 0
        self.start = np.log([parameter.prior for parameter in spec.parameter])
        self.sigmas = np.array([parameter.sigma for parameter in spec.parameter])
        self.low, self.high = np.transpose([_bounds(parameter) for parameter in spec.parameter])
        self._names = [parameter.name for parameter in spec.parameter]
        self._paths = [parameter.path for parameter in spec.parameter]
        self._replications = replications
        self._seed = seed
        self._executor = executor
        self._progress = progress
        self._tried: dict[bytes, tuple[float, Floats, Floats]] = {}
        cells = [cell for cell in dataset.cells[series.name] if cell.used_in_fit]
        if not cells:
            raise CalibrationError(f"{dataset.name} names no cells for the fit of {series.name}")
        base = load(dataset.scenario_path(series))
        self._scenarios = [with_values(base, cell.settings) for cell in cells]
        metric = dataset.definition.metric
        self._figures = [metric.result, *(extra.result for extra in spec.extra)]
        columns: list[tuple[str, float, float | None]] = [(metric.column, spec.noise, None)]
        columns += [(extra.column, extra.noise, extra.absolute) for extra in spec.extra]
        self._observations = [
            _Observation(row, figure, _label(column, cell), cell.values[column], noise, absolute)
            for row, cell in enumerate(cells)
            for figure, (column, noise, absolute) in enumerate(columns)
            if cell.values.get(column, 0.0) > 0.0
            or (absolute is not None and cell.values.get(column) == 0.0)
        ]

    def residuals(self, x: Floats) -> Floats:
        """In units of their standard deviations; the prior comes last."""
        return self._try(x)[2]

    def jacobian(self, x: Floats) -> Floats:
        """Difference quotients, away from a bound."""
        here = self.residuals(x)
        columns = []
        for index in range(len(x)):
            step = _STEP if x[index] + _STEP <= self.high[index] else -_STEP
            moved = x.copy()
            moved[index] += step
            columns.append((self.residuals(moved) - here) / step)
        return np.transpose(columns)

    def explained(self, x: Floats) -> tuple[Residual, ...]:
        """The observations beside their fitted figures."""
        values = self._try(x)[1]
        return tuple(
            Residual(seen.label, seen.measured, value)
            for seen, value in zip(self._observations, values.tolist(), strict=True)
        )

    def best(self) -> dict[str, float]:
        """The costs with the smallest residuals so far."""
        if not self._tried:
            return {}
        key = min(self._tried, key=lambda tried: self._tried[tried][0])
        values = np.exp(np.frombuffer(key))
        return dict(zip(self._names, values.tolist(), strict=True))

    def _try(self, x: Floats) -> tuple[float, Floats, Floats]:
        key = x.tobytes()
        if key not in self._tried:
            values = self._simulated(np.exp(x))
            pairs = zip(self._observations, values.tolist(), strict=True)
            errors = [seen.error(value) for seen, value in pairs]
            residuals = np.concatenate([errors, (x - self.start) / self.sigmas])
            self._tried[key] = 0.5 * float(residuals @ residuals), values, residuals
            self.evaluations += 1
            if self._progress is not None:
                self._progress(self.evaluations, min(cost for cost, *_ in self._tried.values()))
        return self._tried[key]

    def _simulated(self, costs: Floats) -> Floats:
        """The simulated figures, in the order of the observations."""
        settings = dict(zip(self._paths, costs.tolist(), strict=True))
        plans = [plan(with_values(scenario, settings)) for scenario in self._scenarios]
        simulated = list(
            simulate_cells(plans, self._figures, self._replications, self._seed, self._executor)
        )
        values = []
        for seen in self._observations:
            value = median(sample[seen.figure] for sample in simulated[seen.scenario])
            if not (isfinite(value) and (value > 0.0 or seen.absolute is not None)):
                raise CalibrationError(f"{seen.label}: simulated {value}, needs a positive figure")
            values.append(value)
        return np.array(values)


def _bounds(parameter: Parameter) -> tuple[float, float]:
    reach = exp(_REACH * parameter.sigma)
    low = parameter.prior / reach if parameter.low is None else parameter.low
    high = parameter.prior * reach if parameter.high is None else parameter.high
    if not low < high:
        raise ScenarioError(f"fit.parameter.{parameter.name}", f"bounds {low} .. {high} are empty")
    return log(low), log(high)


def _label(column: str, cell: MeasuredCell) -> str:
    return column + " at " + ", ".join(f"{name} {value}" for name, value in cell.factors.items())
