"""Which rows a transaction touches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simrep.kernel.streams import Draw

__all__ = ["Distribution", "Keys"]

Distribution = Literal["fresh", "uniform", "zipf", "hot", "scan"]


@dataclass(frozen=True, slots=True)
class Keys:
    """How the rows of a table are chosen.

    Parameters
    ----------
    distribution : {"fresh", "uniform", "zipf", "hot", "scan"}
        ``fresh`` inserts rows under new keys that nobody else can want (auto-increment); the
        others choose among ``rows`` existing ones, numbered from 0: all alike, the row of rank k
        with probability proportional to ``k ** -exponent``, the first ``hot_rows`` with
        probability ``hot_fraction``, or always from the first row on, as a full scan does.
    rows : int
        Size of the table.
    exponent : float
        Of ``zipf``; 0 is uniform.
    hot_rows : int
        Of ``hot``: how many rows are hot, at most ``rows``.
    hot_fraction : float
        Of ``hot``: how many of the choices fall on them, 0 to 1.
    """

    distribution: Distribution = "fresh"
    rows: int = 100_000
    exponent: float = 1.0
    hot_rows: int = 10
    hot_fraction: float = 0.9

    def draw(self, first: int = 0) -> Draw:
        """The block-drawing function of row numbers, counted from ``first``."""
        rows = self.rows
        if self.distribution == "zipf":
            cumulative = _zipf(rows, self.exponent)
            return lambda generator, size: (
                np.searchsorted(cumulative, generator.random(size), side="right") + first
            )
        if self.distribution == "hot":
            hot, fraction = self.hot_rows, self.hot_fraction
            if hot == rows:
                return lambda generator, size: generator.integers(first, first + rows, size)
            return lambda generator, size: np.where(
                generator.random(size) < fraction,
                generator.integers(first, first + hot, size),
                generator.integers(first + hot, first + rows, size),
            )
        if self.distribution == "scan":
            return lambda _, size: np.full(size, first)
        if self.distribution == "uniform":
            return lambda generator, size: generator.integers(first, first + rows, size)
        raise ValueError("fresh keys are counted, not drawn")


@lru_cache(maxsize=16)  # the clients of a run share it: 8 bytes per row
def _zipf(rows: int, exponent: float) -> NDArray[np.float64]:
    """Cumulative probabilities of the ranks; the last one is 1 exactly."""
    cumulative = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -exponent)
    cumulative /= cumulative[-1]
    return cumulative
