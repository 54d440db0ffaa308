"""What a fit hands back: costs, how sure they are, and how well they explain the cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import nan
from typing import Any

from simrep.calibrate.identify import Estimate, in_words
from simrep.data.measurements import written
from simrep.runs.report import Report

__all__ = ["Discrepancy", "FitResult", "Residual"]


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


def labelled(column: str, factors: Mapping[str, object]) -> str:
    """A figure in words: its column and the factors of its cell."""
    return f"{column} at {written(factors)}"
