"""Fitting local costs to the cells of a dataset that may be used for it.

Least squares on the logarithms of simulated over measured figures (on their differences, where an
absolute deviation is given), with the same random numbers in every evaluation, so that the sum of
squares is a function of the costs alone. Costs vary by factors and are positive, so the fit moves
in their logarithms. What is known beforehand enters as one more residual for each cost (a
log-normal prior): a handful of cells cannot tell a dozen costs apart, and without it the fit would
trade one for another at will. A few replications lead close to the optimum; all of them finish it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simrep.calibrate.identify import (
    Discrepancy,
    Estimate,
    covariance_of,
    discrepancy_of,
    in_words,
    informed,
    knowledge,
)
from simrep.calibrate.measured_figures import CalibrationError, Floats, MeasuredFigures, Residual
from simrep.calibrate.misfit import MACHINE, Misfit, Progress, Trials, chosen_parameters
from simrep.contract.card import unit_of
from simrep.contract.registry import find_model
from simrep.contract.setup import setup_of
from simrep.data.cells_expression import cells_expression
from simrep.data.dataset import Dataset, load_dataset
from simrep.data.definition import Fit, Parameter, SeriesTable
from simrep.data.measurements import MeasuredCell
from simrep.errors import ScenarioError, nearest
from simrep.runs.executor import workers
from simrep.runs.report import Report
from simrep.runs.sampler import seed_of
from simrep.scenario import load

if TYPE_CHECKING:
    from simrep.calibrate.posterior import Posterior

__all__ = ["FitResult", "evaluations_expected", "fit", "fitted_series"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResult(Report):
    """Fitted costs and how well they explain the cells.

    Attributes
    ----------
    dataset, series, model : str
        What was fitted to which model.
    estimates : tuple of Estimate
    correlation : tuple of tuple of float
        Of the logarithms of the costs, in the order of the estimates.
    informed : int
        How many combinations of the costs the cells know better than the priors do: singular
        values above one.
    residuals : tuple of Residual
    discrepancy : Discrepancy
    method : str
        How the standard errors were found.
    emulator_error : float or None
        With a posterior: how far the emulator it rests on is off where it was not made, in units
        of the noise.
    noise : float
        Relative standard deviation of a measurement, as assumed.
    seed, replications : int
    cost : float
        Half the sum of squared residuals, prior included.
    evaluations : int
        Sets of costs that were simulated.
    converged : bool
    """

    width = 120

    dataset: str
    series: str
    model: str
    estimates: tuple[Estimate, ...]
    correlation: tuple[tuple[float, ...], ...]
    informed: int
    residuals: tuple[Residual, ...]
    discrepancy: Discrepancy
    method: str
    emulator_error: float | None
    noise: float
    seed: int
    replications: int
    cost: float
    evaluations: int
    converged: bool

    @property
    def costs(self) -> dict[str, float]:
        """Fitted values by name."""
        return {estimate.name: estimate.value for estimate in self.estimates}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fitted costs."""
        return tuple(estimate.name for estimate in self.estimates)

    def remarks(self) -> list[str]:
        """What the cells do not tell, in words."""
        return in_words(self.estimates, self.correlation)

    def _rows(self) -> list[dict[str, Any]]:
        """A row per cost."""
        return [asdict(estimate) for estimate in self.estimates]

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        content: dict[str, Any] = asdict(self)
        for row, residual in zip(content["residuals"], self.residuals, strict=True):
            row["relative_error"] = residual.relative_error if residual.measured else None
        content["remarks"] = self.remarks()
        return content


_COARSE = 4
"""The search begins with one in so many of the replications."""
_COARSE_TOLERANCE = 1e-2
_TOLERANCE = 1e-3


def fit(
    dataset: Dataset | str | Path,
    *,
    series: str | None = None,
    model: str | None = None,
    parameters: Sequence[str] = (),
    cells: str | None = None,
    keep: bool = False,
    posterior: bool = False,
    replications: int | None = None,
    seed: int | None = None,
    max_steps: int = 30,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> FitResult:
    """Fit costs to measured cells of a series of a dataset.

    Parameters
    ----------
    dataset : Dataset, str or Path
    series, model : str, optional
        Which measured system, or the one that this model simulates; needed only when several
        could be meant.
    parameters : sequence of str
        Costs of the model, and traits of the machine as ``machine.TRAIT``; default: those that
        the dataset names. Their priors are those of the dataset, and the usual ranges for others.
    cells : str, optional
        A condition on the factors (``threads <= 16 and delay_ms == 0``) instead of the cells that
        ``fit_where`` names.
    keep : bool
        Do not search: tell how sure the costs are that the scenario has now.
    posterior : bool
        Sample the posterior with emcee instead of taking the covariance from the Jacobian.
    replications, seed : int, optional
        Instead of those the dataset names.
    max_steps : int
        Steps of the search at most; each simulates one set of costs per fitted cost, the last
        ones two.
    jobs, executor
        See :func:`simrep.run`.
    progress : callable, optional
        Called after each evaluation with their number and the lowest cost so far.

    Raises
    ------
    ScenarioError
        When the dataset has no such series, cost or cell.
    CalibrationError
        When no figure can be compared, or the fit was interrupted (Ctrl-C).
    """
    executor = workers(jobs, executor)
    if not isinstance(dataset, Dataset):
        dataset = load_dataset(dataset)
    dataset.check_measured()
    chosen = fitted_series(dataset, series, model, any_series=bool(parameters))
    used = _cells(dataset, chosen, cells)
    base = load(dataset.scenario_path(chosen))
    spec = chosen.fit
    wanted = chosen_parameters(parameters, spec, find_model(base.cluster.model))
    spec = Fit(parameter=wanted) if spec is None else spec
    replications = spec.replications if replications is None else replications
    seed = seed_of(seed, spec.seed)
    trials = Trials([parameter.name for parameter in wanted], progress)
    figures = MeasuredFigures.of(dataset, chosen, spec, used)
    if not figures.observations:
        raise CalibrationError(f"{dataset.name}: no figure of these cells can be compared")

    def misfit(count: int) -> Misfit:
        return Misfit(figures, wanted, trials, replications=count, seed=seed, executor=executor)

    sampled = None
    try:
        last = misfit(replications)
        if keep:
            found = _Found(_present(dataset, chosen, wanted), converged=True)
        else:
            found = _search(misfit, last, replications, max_steps)
        sensitivity = last.sensitivity(found.x)
        if posterior:
            from simrep.calibrate.posterior import sample

            sampled = sample(last, found.x, sensitivity, seed)
    except KeyboardInterrupt:
        raise CalibrationError("the fit was interrupted", trials.best) from None
    return _result(dataset, chosen, base.cluster.model, wanted, last, found, sensitivity, sampled)


def evaluations_expected(costs: int, *, keep: bool = False) -> int:
    """About how many sets of costs a fit simulates; searches of one to three costs took so many."""
    return 2 * costs + 1 if keep else 9 * costs + 7


def fitted_series(
    dataset: Dataset, name: str | None, model: str | None, *, any_series: bool
) -> SeriesTable:
    """The measured system that a fit is about."""
    all_of_them = {
        series.name: series
        for series in dataset.definition.series
        if any_series or series.fit is not None
    }
    possible = all_of_them
    if model is not None:
        models = {
            key: load(dataset.scenario_path(series)).cluster.model
            for key, series in all_of_them.items()
        }
        possible = {key: all_of_them[key] for key, one in models.items() if one == model}
        if not possible:
            hint = nearest(model, models.values())
            raise ScenarioError(dataset.name, f"no series to fit is one of {model!r}", hint)
    if name is None and len(possible) == 1:
        return next(iter(possible.values()))
    if name is None or name not in possible:
        what = "can be fitted" if any_series else "have a fit"
        problem = f"no fit for series {name!r}" if name else f"{len(possible)} series {what}"
        raise ScenarioError(dataset.name, problem, nearest(name or "", possible))
    return possible[name]


def _cells(dataset: Dataset, series: SeriesTable, condition: str | None) -> list[MeasuredCell]:
    cells = dataset.cells[series.name]
    if condition is None:
        used = [cell for cell in cells if cell.used_in_fit]
    else:
        meant = cells_expression(condition, cells[0].factors)
        used = [cell for cell in cells if meant(cell.factors)]
    if not used:
        what = "names no cells" if condition is None else f"has no cells with {condition!r}"
        raise CalibrationError(f"{dataset.name} {what} for the fit of {series.name}")
    return used


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a search has ended."""

    x: Floats
    converged: bool


def _present(dataset: Dataset, series: SeriesTable, wanted: Sequence[Parameter]) -> Floats:
    """The costs that the scenario has now, as logarithms."""
    setup = setup_of(load(dataset.scenario_path(series)))
    traits = setup.scenario.cluster.machine
    values = []
    for parameter in wanted:
        table = traits if parameter.name.startswith(MACHINE) else setup.costs
        value = getattr(table, parameter.name.removeprefix(MACHINE))
        if not value:
            raise ScenarioError(parameter.path, "has no positive value to keep", "fit it")
        values.append(float(value))
    return np.log(values)


def _search(
    misfit: Callable[[int], Misfit], last: Misfit, replications: int, max_steps: int
) -> _Found:
    """Least squares, first with few replications and then with all."""
    x = np.clip(last.start, last.low, last.high)
    coarse = max(1, replications // _COARSE)
    if coarse < replications:
        few = misfit(coarse)
        x = _descend(few, x, few.jacobian, _COARSE_TOLERANCE, max_steps).x
    return _descend(last, x, last.wide_jacobian, _TOLERANCE, max_steps)


def _descend(
    misfit: Misfit,
    start: Floats,
    jacobian: Callable[[Floats], Floats],
    tolerance: float,
    max_steps: int,
) -> _Found:
    from scipy.optimize import least_squares

    found = least_squares(
        misfit.residuals,
        start,
        jacobian,
        bounds=(misfit.low, misfit.high),
        x_scale=misfit.sigmas,
        ftol=tolerance,
        xtol=tolerance,
        gtol=None,
        max_nfev=max_steps,
    )
    return _Found(np.asarray(found.x), bool(found.success))


def _result(
    dataset: Dataset,
    series: SeriesTable,
    model: str,
    wanted: Sequence[Parameter],
    misfit: Misfit,
    found: _Found,
    sensitivity: Floats,
    sampled: Posterior | None,
) -> FitResult:
    figures, sigmas = misfit.figures, misfit.sigmas
    [values] = misfit.values([found.x])
    residuals = misfit.residuals(found.x)
    discrepancy = discrepancy_of(
        residuals[: len(figures.observations)], figures.noise, sensitivity, sigmas
    )
    covariance = covariance_of(sensitivity, sigmas, discrepancy.excess)
    method = "Jacobian of the least squares, with the priors"
    if sampled is not None:
        covariance, method = sampled.covariance, sampled.method
    told = sensitivity / np.sqrt(discrepancy.excess)
    names = [parameter.name for parameter in wanted]
    errors = np.sqrt(np.diag(covariance))
    return FitResult(
        dataset=dataset.name,
        series=series.name,
        model=model,
        estimates=tuple(
            Estimate(
                name=parameter.name,
                unit=unit_of(parameter.name),
                prior=parameter.prior,
                sigma=parameter.sigma,
                value=float(np.exp(x)),
                standard_error=float(error),
                known=one.known,
                partners=one.partners,
            )
            for parameter, x, error, one in zip(
                wanted, found.x, errors, knowledge(names, told, sigmas), strict=True
            )
        ),
        correlation=tuple(map(tuple, (covariance / np.outer(errors, errors)).tolist())),
        informed=informed(told, sigmas),
        residuals=figures.explained(values),
        discrepancy=discrepancy,
        method=method,
        emulator_error=None if sampled is None else sampled.emulator_error,
        noise=figures.typical_noise,
        seed=misfit.seed,
        replications=misfit.replications,
        cost=0.5 * float(residuals @ residuals),
        evaluations=misfit.trials.count,
        converged=found.converged,
    )
