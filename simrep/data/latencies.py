"""Whole distributions of latencies: what was recorded beside what was simulated."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simrep.data.definition import Value
from simrep.data.measurements import MeasuredCell
from simrep.errors import ScenarioError
from simrep.measure.histogram import LatencyHistogram
from simrep.runs.batch import figures_of
from simrep.runs.result import Result

__all__ = ["QUANTILES", "Latencies", "compared", "figures_and_histogram", "recorded"]

FOLDER = "transactions"
QUANTILES = (5, 25, 50, 75, 95, 99)
"""Percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """The latencies of a cell, all repetitions and all replications together.

    Attributes
    ----------
    series : str
        Name of the measured system.
    factors : mapping
        What tells the cell from others.
    transactions : int
        Recorded ones that committed.
    measured_s, simulated_s : mapping of str to float
        ``mean`` and the quantiles ``p5``, ``p25``, ``p50``, ``p75``, ``p95``, ``p99`` in seconds.
    distance : float
        Wasserstein distance of the distributions, relative to the measured mean: how far a
        transaction has to be moved, on average, to make one of them the other.
    used_in_fit : bool
    """

    series: str
    factors: Mapping[str, Value]
    transactions: int
    measured_s: Mapping[str, float]
    simulated_s: Mapping[str, float]
    distance: float
    used_in_fit: bool


def recorded(folder: Path, cell: MeasuredCell) -> NDArray[np.float64]:
    """Latencies in seconds of all transactions that were recorded for a cell, unsorted.

    The rig keeps a file for every run in ``transactions/`` of the dataset's folder.
    """
    paths = [folder / FOLDER / f"{run}.csv.gz" for run in cell.runs]
    found = [_read(path) for path in paths if path.is_file()]
    return np.concatenate(found) if found else np.zeros(0)


def _read(path: Path) -> NDArray[np.float64]:
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            return np.array(
                [
                    float(row["end_s"]) - float(row["intended_s"])
                    for row in csv.DictReader(file)
                    if row["error"] == "0"
                ]
            )
    except (OSError, EOFError, zlib.error, csv.Error, KeyError, ValueError) as error:
        name = f"{path.parent.parent.name}/{FOLDER}/{path.name}"
        raise ScenarioError(name, f"holds no recorded transactions: {error}") from None


def figures_and_histogram(
    result: Result, paths: Sequence[str]
) -> tuple[tuple[float, ...], LatencyHistogram]:
    """Figures of a replication, and its latencies."""
    return figures_of(result, paths), result.histogram


def compared(
    series: str,
    cell: MeasuredCell,
    measured_s: NDArray[np.float64],
    simulated: Iterable[LatencyHistogram],
) -> Latencies | None:
    """The recorded latencies of a cell beside the simulated ones; None if either are missing."""
    histogram = LatencyHistogram.merged(simulated)
    if not len(measured_s) or not histogram.count:
        return None
    mean_s = float(np.mean(measured_s))
    quantiles = np.percentile(measured_s, QUANTILES).tolist()
    return Latencies(
        series=series,
        factors=cell.factors,
        transactions=len(measured_s),
        measured_s={"mean": mean_s} | dict(zip(_names(), quantiles, strict=True)),
        simulated_s={"mean": histogram.mean_s}
        | {name: histogram.percentile(q) for name, q in zip(_names(), QUANTILES, strict=True)},
        distance=_wasserstein(measured_s, histogram) / mean_s,
        used_in_fit=cell.used_in_fit,
    )


def _names() -> list[str]:
    return [f"p{q}" for q in QUANTILES]


def _wasserstein(measured_s: NDArray[np.float64], histogram: LatencyHistogram) -> float:
    """In seconds; what is simulated lies in the middle of its buckets, which are 0.2 % wide."""
    from scipy.stats import wasserstein_distance

    lower, counts = histogram.buckets()
    upper = histogram.cdf()[0][1:]
    distance: Any = wasserstein_distance(measured_s, (lower + upper) / 2, v_weights=counts)
    return float(distance)
