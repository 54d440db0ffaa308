"""How the rows of a table are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log, pi, sqrt
from typing import TYPE_CHECKING, Final, Literal

from simrep.kernel.arrays import NDArray, np
from simrep.kernel.streams import Draw

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["Distribution", "Keys"]

Distribution = Literal["fresh", "uniform", "zipf", "hot", "gaussian", "pareto", "scan"]


@dataclass(frozen=True, slots=True)
class Keys:
    """How the rows of a table are chosen.

    Attributes
    ----------
    distribution : {"fresh", "uniform", "zipf", "hot", "gaussian", "pareto", "scan"}
        ``fresh`` inserts rows under new keys that nobody else can want (auto-increment); the
        others choose among ``rows`` existing ones, numbered from 0: all alike, the row of rank k
        with probability proportional to ``k ** -exponent``, the first ``hot_rows`` with
        probability ``hot_fraction``, around the middle, the first ones most (the first share
        ``pareto_h`` of the rows gets ``1 - pareto_h`` of the choices), or always from the first row
        on, as a full scan does.
    rows : int
        Size of the table.
    tables : int
        So many tables of that size, one of which is chosen evenly each time.
    exponent : float
        Of ``zipf``; 0 is uniform.
    hot_rows : int
        Of ``hot``: how many rows are hot, at most ``rows``.
    hot_fraction : float
        Of ``hot``: how many of the choices fall on them, 0 to 1.
    iterations : int
        Of ``gaussian``: so many uniform numbers have the place as their mean.
    pareto_h : float
        Of ``pareto``, between 0 and 1.
    """

    distribution: Distribution = "fresh"
    rows: int = 100_000
    exponent: float = 1.0
    hot_rows: int = 10
    hot_fraction: float = 0.9
    tables: int = 1
    iterations: int = 12
    pareto_h: float = 0.2

    def draw(self, first: int = 0) -> Draw:
        """The block-drawing function of row numbers, counted from ``first``.

        Tables lie behind each other.
        """
        rows, tables = self.rows, self.tables
        inside = self._draw_inside(first)
        if tables == 1:
            return inside
        return lambda generator, size: (
            inside(generator, size) + rows * generator.integers(0, tables, size)
        )

    def _draw_inside(self, first: int) -> Draw:
        """The same for one table."""
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
        if self.distribution == "gaussian":
            shape = self.iterations

            def middling(generator: Generator, size: int) -> NDArray[np.int64]:
                means = generator.random(size * shape).reshape(size, shape).mean(axis=1)
                places: NDArray[np.int64] = (means * rows).astype(np.int64) + first
                return places

            return middling
        if self.distribution == "pareto":
            power = self._power
            return lambda generator, size: (
                (generator.random(size) ** power * rows).astype(np.int64) + first
            )
        if self.distribution == "uniform":
            return lambda generator, size: generator.integers(first, first + rows, size)
        raise ValueError("fresh keys are counted, not drawn")

    @property
    def _power(self) -> float:
        """Of the uniform number that a ``pareto`` place is."""
        return log(self.pareto_h) / log(1.0 - self.pareto_h)

    def first_row(self) -> float:
        """Share of the choices in a table that the first row gets, of ``zipf`` and ``pareto``."""
        if self.distribution == "pareto":
            return float(self.rows ** (-1.0 / self._power))
        return float(_zipf(self.rows, self.exponent)[0])

    def same_row(self) -> float:
        """Probability that two choices fall on the same row; of new rows, 0."""
        if self.distribution == "fresh":
            return 0.0
        return self._same_inside() / self.tables

    def _same_inside(self) -> float:
        rows = self.rows
        if self.distribution == "scan":
            return 1.0
        if self.distribution == "hot" and self.hot_rows < rows:
            cold = rows - self.hot_rows
            return self.hot_fraction**2 / self.hot_rows + (1.0 - self.hot_fraction) ** 2 / cold
        if self.distribution == "zipf":
            weights = np.arange(1, rows + 1, dtype=np.float64) ** -self.exponent
            return float(np.sum(weights**2) / np.sum(weights) ** 2)
        if self.distribution == "gaussian":  # two of a standard deviation of 1 / sqrt(12 n)
            return min(1.0, sqrt(3.0 * self.iterations / pi) / rows)
        if self.distribution == "pareto":
            edges = (np.arange(min(rows, _FIRST) + 1) / rows) ** (1.0 / self._power)
            return float(np.sum(np.diff(edges) ** 2))
        return 1.0 / rows


_FIRST: Final = 1_000_000  # rows that nearly all choices of a Pareto distribution fall on


@lru_cache(maxsize=16)  # the clients of a run share it: 8 bytes per row
def _zipf(rows: int, exponent: float) -> NDArray[np.float64]:
    """Cumulative probabilities of the ranks; the last one is 1 exactly."""
    cumulative = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -exponent)
    cumulative /= cumulative[-1]
    return cumulative
