"""What a pack says of the fits that its costs come from, and of the range it was checked in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.problems import ProblemsError
from simrep.scenario.table import Count, Name, NotNegative, Positive, Real, Table, Whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FitTable", "FittedCell", "FittedCost", "RangeTable", "Span"]

Correlation = Annotated[float, Field(strict=True, ge=-1, le=1, allow_inf_nan=False)]


class FittedCost(Table):
    """A cost as a fit has left it; its value stands under ``[costs]`` or ``[machine]``."""

    name: Name = Field(description="cost of the model, or machine.TRAIT")
    unit: str = Field("", description="of its value")
    prior: Positive = Field(description="what it was expected to be")
    sigma: Positive = Field(description="standard deviation of the logarithm of that")
    standard_error: NotNegative = Field(description="of the logarithm of its value")
    known: Literal["data", "together", "prior"] = Field(
        description="who tells it: the cells, the cells together with other costs, or the prior"
    )
    partners: tuple[Name, ...] = Field((), description="the other costs, if together")
    correlation: tuple[Correlation, ...] = Field(
        (), description="of its logarithm with those of the costs before it"
    )


class FittedCell(Table):
    """A figure that a fit had to explain."""

    label: Name = Field(description="column and factors")
    measured: Real = Field(description="what was measured")
    fitted: Real = Field(description="what is simulated with the fitted costs")


class FitTable(Table):
    """A ``[[fit]]``: which cells of which dataset told what of the costs, and how well they fit."""

    dataset: Name = Field(description="where the cells come from")
    series: Name = Field(description="which measured system of it")
    data: Name = Field(description="SHA-256 of its data file")
    simrep: Name = Field(description="version that fitted")
    method: str = Field("", description="where the standard errors come from")
    seed: Whole = Field(description="root of the random numbers")
    replications: Count = Field(description="simulated runs of each cell")
    noise: Positive = Field(description="relative standard deviation of a measurement, as assumed")
    discrepancy: NotNegative = Field(
        description="relative error of the model beyond the noise: standard deviation of the "
        "logarithm"
    )
    freedom: Positive = Field(description="on how many cells that rests")
    costs: tuple[FittedCost, ...] = Field(min_length=1, description="what was fitted")
    cells: tuple[FittedCell, ...] = Field(min_length=1, description="what it was fitted to")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        found = [
            ScenarioError(
                f"costs.{position}.correlation",
                f"has {len(cost.correlation)} numbers, needs {position}",
                "one for each of the costs before it",
            )
            for position, cost in enumerate(self.costs)
            if len(cost.correlation) != position
        ]
        if found:
            raise ProblemsError(found)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fitted costs."""
        return tuple(cost.name for cost in self.costs)

    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the logarithms of the costs."""
        import numpy as np

        errors = np.array([cost.standard_error for cost in self.costs])
        correlation = np.eye(len(errors))
        for row, cost in enumerate(self.costs):
            correlation[row, :row] = correlation[:row, row] = cost.correlation
        return np.asarray(correlation * np.outer(errors, errors), np.float64)


def _pair(value: object) -> object:
    """A range is written as ``[lowest, highest]``."""
    if isinstance(value, Sequence) and len(value) == 2 and all(map(_is_number, value)):
        low, high = value
        if low <= high:
            return (float(low), float(high))
    raise ScenarioError("", f"must be [lowest, highest], given {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


Span = Annotated[tuple[float, float], BeforeValidator(_pair)]


class RangeTable(Table):
    """``[range]``: what the measured cells covered, those that were predicted included."""

    nodes: Span | None = Field(None, description="nodes of the cluster")
    clients: Span | None = Field(None, description="clients of a closed loop, on all nodes")
    rtt_ms: Span | None = Field(None, description="longest way between two nodes and back")
    rows: Span | None = Field(None, description="rows that the largest transaction writes")
    transaction_bytes: Span | None = Field(None, description="row events of that transaction")
