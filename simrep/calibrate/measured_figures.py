"""The measured figures of a fit, and the scenarios that simulate them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, isfinite, log, nan
from statistics import median

import numpy as np
from numpy.typing import NDArray

from simrep.data.dataset import Dataset
from simrep.data.definition import Extra, Fit, SeriesTable
from simrep.data.measurements import MeasuredCell, written
from simrep.errors import SimrepError
from simrep.scenario import Scenario, load, with_values

__all__ = ["CalibrationError", "Floats", "MeasuredFigures", "Observation", "Residual"]

Floats = NDArray[np.float64]


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


_UNSTATED = 0.05
"""Relative standard deviation of a measurement where a dataset does not state it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A measured figure, and with which simulated one it is compared."""

    # By position.
    scenario: int
    figure: int
    label: str
    measured: float
    noise: float  # relative standard deviation
    # Standard deviation in the unit of the figure, where differences are compared.
    absolute: float | None

    def error(self, value: float) -> float:
        """How far a simulated figure is off, in standard deviations of the measurement."""
        if self.absolute is not None:
            return (value - self.measured) / hypot(self.absolute, self.noise * self.measured)
        return log(value / self.measured) / self.noise

    def check(self, value: float) -> float:
        """The simulated figure, if it can be compared."""
        if isfinite(value) and (value > 0.0 or self.absolute is not None):
            return value
        raise CalibrationError(f"{self.label}: simulated {value}, needs a positive figure")


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
class MeasuredFigures:
    """What a fit has to explain."""

    scenarios: tuple[Scenario, ...]  # one per cell
    figures: tuple[str, ...]  # figures of a result that are looked at, by their paths
    observations: tuple[Observation, ...]

    @classmethod
    def of(
        cls, dataset: Dataset, series: SeriesTable, spec: Fit, cells: Sequence[MeasuredCell]
    ) -> MeasuredFigures:
        """Those of some cells of a series."""
        base = load(dataset.scenario_path(series))
        metric = dataset.definition.metric
        own = Extra(column=metric.column, result=metric.result)
        columns: list[tuple[Extra, float | None]] = [(own, spec.noise)]
        columns += [(extra, extra.noise) for extra in spec.extra]
        return cls(
            scenarios=tuple(with_values(base, cell.settings) for cell in cells),
            figures=tuple(seen.result for seen, _ in columns),
            observations=tuple(
                Observation(
                    row,
                    figure,
                    f"{seen.column} at {written(cell.factors)}",
                    cell.values[seen.column],
                    _noise(cell, seen.column) if noise is None else noise,
                    seen.absolute,
                )
                for row, cell in enumerate(cells)
                for figure, (seen, noise) in enumerate(columns)
                if seen.applies(cell.factors)
                if cell.values.get(seen.column, 0.0) > 0.0
                or (seen.absolute is not None and cell.values.get(seen.column) == 0.0)
            ),
        )

    @property
    def typical_noise(self) -> float:
        """Of the relative noises the median."""
        return median(seen.noise for seen in self.observations)

    @property
    def noise(self) -> Floats:
        """Relative noise of each figure; NaN where differences are compared."""
        return np.array([nan if o.absolute is not None else o.noise for o in self.observations])

    def errors(self, values: Floats) -> Floats:
        """How far simulated figures are off, in units of the noise."""
        pairs = zip(self.observations, values.tolist(), strict=True)
        return np.array([seen.error(value) for seen, value in pairs])

    def explained(self, values: Floats) -> tuple[Residual, ...]:
        """The observations beside their simulated figures."""
        pairs = zip(self.observations, values.tolist(), strict=True)
        return tuple(Residual(seen.label, seen.measured, value) for seen, value in pairs)


def _noise(cell: MeasuredCell, column: str) -> float:
    """What is not stated: a usual deviation, and how far the repetitions of the cell are apart."""
    error = cell.standard_errors.get(column, 0.0)
    return hypot(_UNSTATED, error / cell.values[column]) if cell.values[column] else _UNSTATED
