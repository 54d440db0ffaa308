"""How well figures are predicted that no cost was fitted to, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from statistics import fmean, median

from simrep.data.agreement import Agreement
from simrep.data.cells import Cell

__all__ = ["NEAR", "Scores"]

NEAR = 0.15
"""A prediction within this share of what was measured is near to it."""


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
        Pairs of alternatives that were measured apart; see ``agreement``.
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
