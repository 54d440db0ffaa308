"""Stated quantities and the simulated ones: how far they are apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median

from simrep.data.cells import single_run_interval
from simrep.data.curve_quantities import QUANTITIES, Line
from simrep.data.curves import CurveDataset, Key, Stated
from simrep.data.definition import Value

__all__ = ["CurveSummary", "Row", "scored"]

_POINTS = 100.0
"""Distances of ratios are given in percentage points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One stated quantity and what the simulation has for it.

    Attributes
    ----------
    factors : mapping of str to value
        As stated; ``2-9`` means every value from 2 to 9, ``a+b`` the mean of both.
    quantity : str
    low, high : float
        The range that was stated.
    predicted : float
        Median over the replications; of a row about several values, the one furthest from the
        range.
    values : tuple of float
        For each of the values that the row is about.
    distance : float
        From the range: 0 inside it, negative below. In percentage points for a ratio, else in
        ``unit``.
    interval : (float, float) or None
        Where 95 % of single replications lie; None for one replication.
    unit : str
        Of what was stated.
    used_in_fit : bool
    """

    factors: Mapping[str, Value]
    quantity: str
    low: float
    high: float
    predicted: float
    values: tuple[float, ...]
    distance: float
    interval: tuple[float, float] | None
    unit: str
    used_in_fit: bool

    @property
    def distance_unit(self) -> str:
        """``points`` for ratios, else the unit of the row."""
        return "points" if self.unit == "ratio" else self.unit


@dataclass(frozen=True, slots=True)
class CurveSummary:
    """Distances of the rows that no fit has seen.

    Attributes
    ----------
    n : int
        Number of rows.
    inside : int
        How many of them lie in the stated range.
    median_distance, max_distance : mapping of unit to float
        Of the absolute distances.
    """

    n: int
    inside: int
    median_distance: Mapping[str, float]
    max_distance: Mapping[str, float]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> CurveSummary:
        """The summary of those among ``rows`` that were not used in a fit."""
        unseen = [row for row in rows if not row.used_in_fit]
        sizes: dict[str, list[float]] = {}
        for row in unseen:
            sizes.setdefault(row.distance_unit, []).append(abs(row.distance))
        return cls(
            len(unseen),
            sum(row.distance == 0.0 for row in unseen),
            {unit: median(own) for unit, own in sizes.items()},
            {unit: max(own) for unit, own in sizes.items()},
        )


def scored(
    dataset: CurveDataset, lines: Mapping[Key, Sequence[Line]], replications: int
) -> Iterator[Row]:
    """The rows whose curves were all simulated.

    Parameters
    ----------
    dataset : CurveDataset
    lines : mapping of key to sequence of Line
        A line for every replication.
    replications : int
    """
    for stated in dataset.rows:
        keys = [key for group in stated.groups for key in group]
        needed = {*keys, *(dataset.baseline(key) for key in keys)}
        rule = dataset.definition.quantity[stated.quantity]
        if not needed <= lines.keys():
            continue
        if rule.kind == "sustained_ratio" and not all(
            isfinite(line.sustained_tps) for key in keys for line in lines[key]
        ):
            continue
        compute = QUANTITIES[rule.kind].compute
        samples = [
            [
                compute(
                    [(lines[key][number], lines[dataset.baseline(key)][number]) for key in group],
                    rule.at,
                    rule.up_to,
                )
                for number in range(replications)
            ]
            for group in stated.groups
        ]
        yield _row(stated, samples)


def _row(stated: Stated, samples: Sequence[Sequence[float]]) -> Row:
    values = [median(own) for own in samples]
    distances = [_distance(value, stated.low, stated.high) for value in values]
    worst = max(range(len(values)), key=lambda index: abs(distances[index]))
    scale = _POINTS if stated.unit == "ratio" else 1.0
    return Row(
        factors=stated.factors,
        quantity=stated.quantity,
        low=stated.low,
        high=stated.high,
        predicted=values[worst],
        values=tuple(values),
        distance=scale * distances[worst],
        interval=single_run_interval(samples[worst], positive=False),
        unit=stated.unit,
        used_in_fit=stated.used_in_fit,
    )


def _distance(value: float, low: float, high: float) -> float:
    """From a range: 0 inside, negative below; NaN stays NaN."""
    if low <= value <= high:
        return 0.0
    return value - high if value > high else value - low
