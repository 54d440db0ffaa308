"""Pairs of replications of two scenarios: how far apart the two are, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any

from simrep.errors import ScenarioError, nearest
from simrep.measure.confidence import Interval, difference_interval, mean_interval, ratio_interval
from simrep.runs.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

__all__ = ["Compared", "Comparison"]

Pair = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One figure of two scenarios.

    Attributes
    ----------
    figure : str
        Its path in a result.
    a, b : Interval
        The mean of each, by itself.
    difference : Interval
        b - a, of pairs.
    ratio : Interval or None
        b / a, of pairs; None where a mean is not positive.
    values : tuple of (float, float)
        The pairs.
    """

    figure: str
    a: Interval
    b: Interval
    difference: Interval
    ratio: Interval | None
    values: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, figure: str, values: Sequence[tuple[float, float]], confidence: float) -> Compared:
        """From the pairs of one figure."""
        first, second = [pair[0] for pair in values], [pair[1] for pair in values]
        positive = fmean(first) > 0.0 and fmean(second) > 0.0
        return cls(
            figure=figure,
            a=mean_interval(first, confidence),
            b=mean_interval(second, confidence),
            difference=difference_interval(second, first, confidence),
            ratio=ratio_interval(second, first, confidence) if positive else None,
            values=tuple(values),
        )

    @property
    def different(self) -> bool:
        """Whether the interval of the difference leaves 0 out."""
        return 0.0 not in self.difference

    @property
    def gain(self) -> float | None:
        """By what factor fewer pairs this takes than independent replications would.

        For the difference, at the same precision: the variances of both by the variance of the
        difference. None where nothing varies.
        """
        first, second = [pair[0] for pair in self.values], [pair[1] for pair in self.values]
        apart = variance([high - low for low, high in self.values])
        return (variance(first) + variance(second)) / apart if apart > 0.0 else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Report):
    """Two scenarios, compared pair by pair.

    Attributes
    ----------
    figures : mapping of str to Compared
        By path. A figure that a pair does not have (no transaction committed) is left out.
    labels : (str, str)
    pairs : int
        Replications that both have.
    confidence : float
        Of each interval by itself.
    seed : int
    complete : bool
        False if it was interrupted.
    scenarios : (mapping, mapping)
        What was simulated, with all defaults.
    versions : (mapping, mapping)
        What computed it.
    """

    width = 120

    figures: Mapping[str, Compared]
    labels: tuple[str, str]
    pairs: int
    confidence: float
    seed: int
    complete: bool
    scenarios: tuple[Mapping[str, Any], ...]
    versions: tuple[Mapping[str, str], ...]

    @classmethod
    def of(
        cls,
        pairs: Sequence[Pair],
        figures: Sequence[str],
        *,
        confidence: float,
        **about: Any,
    ) -> Comparison:
        """From the figures of every pair."""
        found = {}
        for position, figure in enumerate(figures):
            values = [(one[position], other[position]) for one, other in pairs]
            if all(isfinite(value) for pair in values for value in pair):
                found[figure] = Compared.of(figure, values, confidence)
        return cls(figures=found, pairs=len(pairs), confidence=confidence, **about)

    def __getitem__(self, figure: str) -> Compared:
        if figure not in self.figures:
            raise ScenarioError(figure, "was not compared", nearest(figure, self.figures))
        return self.figures[figure]

    def precise(self, precision: float) -> bool:
        """Whether the ratio of the first figure is known to this share of it."""
        first = next(iter(self.figures.values()), None)
        return first is None or first.ratio is None or first.ratio.relative <= precision

    @property
    def verdict(self) -> str:
        """What the two differ in, in words."""
        from simrep.whatif.verdict import verdict

        return verdict(self)

    def tables(self) -> Group:
        """The verdict and a row per figure, for a terminal."""
        from simrep.show.text.comparison import tables

        return tables(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """The ratios with their intervals; saved when a path is given."""
        from simrep.show.plot.comparison import plot_comparison

        return plot_comparison(self, path)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "labels": list(self.labels),
            "verdict": self.verdict,
            "figures": {
                name: {
                    "a": _plain(one.a),
                    "b": _plain(one.b),
                    "difference": _plain(one.difference),
                    "ratio": None if one.ratio is None else _plain(one.ratio),
                    "different": one.different,
                    "gain": one.gain,
                    "values": [list(pair) for pair in one.values],
                }
                for name, one in self.figures.items()
            },
            "pairs": self.pairs,
            "confidence": self.confidence,
            "seed": self.seed,
            "complete": self.complete,
            "scenarios": [dict(one) for one in self.scenarios],
            "versions": [dict(one) for one in self.versions],
        }

    def _rows(self) -> list[dict[str, Any]]:
        """A row per figure: means, difference and ratio with their bounds."""
        rows = []
        for one in self.figures.values():
            row: dict[str, Any] = {"figure": one.figure, "a": one.a.mean, "b": one.b.mean}
            for name, interval in (("difference", one.difference), ("ratio", one.ratio)):
                row[name] = None if interval is None else interval.mean
                row[f"{name}_low"] = None if interval is None else interval.low
                row[f"{name}_high"] = None if interval is None else interval.high
            rows.append(row)
        return rows

    def __repr__(self) -> str:
        return f"<Comparison of {self.pairs} pairs, seed {self.seed}: {self.verdict}>"


def _plain(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}
