"""How well figures are predicted that no cost was fitted to: errors, intervals, and orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot, inf, isfinite, nan
from statistics import fmean, median

from simrep.data.cells import Cell

__all__ = ["NEAR", "Agreement", "Scores", "agreement"]

NEAR = 0.15
"""A prediction within this share of what was measured is near to it."""
_REACH = 2.0
"""Standard errors of a difference beyond which it is taken for one."""
_FINEST = 0.01
"""Relative standard error of a figure at least: two or three repetitions may agree by chance."""
_SINGLE = 0.05
"""Relative standard error of a figure that was measured once, where nothing else is known."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many pairs of alternatives are predicted in the order that was measured.

    Attributes
    ----------
    pairs : int
        Pairs of cells that tell which is better.
    right : int
        Those of them that the simulation puts in the same order; ties are wrong.
    """

    pairs: int
    right: int

    @property
    def share(self) -> float:
        """Of the pairs those that are right; NaN if there are none."""
        return self.right / self.pairs if self.pairs else nan

    @classmethod
    def sum(cls, parts: Iterable[Agreement]) -> Agreement:
        """All pairs of several."""
        every = list(parts)
        return cls(sum(part.pairs for part in every), sum(part.right for part in every))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """How well figures are predicted that no cost was fitted to.

    Attributes
    ----------
    n : int
        Figures that are judged by their relative error.
    fitted : int
        Figures that were used in a fit, and are not counted in anything else here.
    median_abs_error, max_abs_error : float
        Of the absolute relative errors; NaN if there are none. A cell of which nothing committed
        in the simulation is infinitely far off.
    bias : float
        Mean relative error.
    near : float
        Share of them within 15 %.
    inside_interval : float
        Share of them that lie in the interval of their prediction.
    pairs : int
        Pairs of alternatives that were measured apart; see :func:`agreement`.
    ordered : float
        Share of those that are predicted in the right order.
    tolerated, with_tolerance : int
        Figures of metrics with a tolerance: how many are met, and how many there are.
    """

    n: int
    fitted: int
    median_abs_error: float
    max_abs_error: float
    bias: float
    near: float
    inside_interval: float
    pairs: int
    ordered: float
    tolerated: int
    with_tolerance: int

    @classmethod
    def of(cls, cells: Iterable[Cell], pairs: Agreement) -> Scores:
        """The scores of some cells."""
        every = list(cells)
        unseen = [cell for cell in every if not cell.used_in_fit]
        judged = [cell.within for cell in unseen if cell.within is not None]
        sized = [cell for cell in unseen if cell.within is None]
        errors = [cell.relative_error for cell in sized]
        sizes = [abs(error) if isfinite(error) else inf for error in errors]
        spans = [(cell.interval, cell.measured) for cell in sized if cell.interval is not None]
        return cls(
            n=len(sizes),
            fitted=len(every) - len(unseen),
            median_abs_error=median(sizes) if sizes else nan,
            max_abs_error=max(sizes, default=nan),
            bias=fmean(errors) if errors else nan,
            near=_share([size <= NEAR for size in sizes]),
            inside_interval=_share([low <= measured <= high for (low, high), measured in spans]),
            pairs=pairs.pairs,
            ordered=pairs.share,
            tolerated=sum(judged),
            with_tolerance=len(judged),
        )


def _share(what: Sequence[bool]) -> float:
    return sum(what) / len(what) if what else nan


def agreement(cells: Sequence[Cell], factors: Iterable[str]) -> Agreement:
    """Count pairs of alternatives and those in the right order.

    Two cells of one metric are alternatives if they differ in a single factor, or only in the
    measured system; a factor that does not apply to one of two systems, and is empty there, makes
    no difference. They count if their measured figures are apart by more than two standard errors
    of the difference, and no cost was fitted to either. A figure has a standard error of 1 % at
    least, and of 5 % if it was measured once. Metrics with a tolerance are left out.
    """
    names = tuple(factors)
    pairs = [pair for pair in _alternatives(cells, names) if _apart(*pair)]
    return Agreement(len(pairs), sum(_same_order(*pair) for pair in pairs))


def _alternatives(cells: Sequence[Cell], names: Sequence[str]) -> Iterator[tuple[Cell, Cell]]:
    unseen = [cell for cell in cells if not cell.used_in_fit and cell.within is None]
    for one, other in combinations(unseen, 2):
        if one.metric == other.metric and _differences(one, other, names) == 1:
            yield one, other


def _differences(one: Cell, other: Cell, names: Sequence[str]) -> int:
    same_system = one.series == other.series
    count = 0 if same_system else 1
    for name in names:
        values = one.factors[name], other.factors[name]
        count += values[0] != values[1] and (same_system or "" not in values)
    return count


def _apart(one: Cell, other: Cell) -> bool:
    reach = _REACH * hypot(_standard_error(one), _standard_error(other))
    return abs(one.measured - other.measured) > reach


def _standard_error(cell: Cell) -> float:
    if cell.standard_error is None:
        return _SINGLE * cell.measured
    return max(cell.standard_error, _FINEST * cell.measured)


def _same_order(one: Cell, other: Cell) -> bool:
    return (one.measured - other.measured) * (one.predicted - other.predicted) > 0.0
