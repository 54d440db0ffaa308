"""What a sweep hands back: the figures of every point, with their intervals."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite, nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, Self

from simrep.errors import ScenarioError
from simrep.measure.confidence import Interval, mean_interval
from simrep.measure.json_values import plain
from simrep.runs.notices import percentile_notice, precision_notice
from simrep.runs.report import Report
from simrep.whatif.point import How, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Kind", "Sweep", "SweepPoint", "check_ending"]

Kind = Literal["lines", "heat"]

_ENDINGS = (".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One point.

    Attributes
    ----------
    labels : mapping of str to value
        The level of every factor.
    values : mapping of str to tuple of float
        Figures by their paths, one value per replication; empty if the point failed.
    warmup_s : float
        Simulated time that was left out at the beginning.
    notices : tuple of str
        What is to be said of the figures.
    error : str
        Why it could not be simulated; empty if it was.
    """

    labels: Mapping[str, Any]
    values: Mapping[str, tuple[float, ...]]
    warmup_s: float = 0.0
    notices: tuple[str, ...] = ()
    error: str = ""

    @classmethod
    def of(cls, labels: Mapping[str, Any], outcome: Outcome, how: How) -> Self:
        """A point with what was measured there."""
        notices = dict.fromkeys(outcome.notices) | dict.fromkeys(_notices(outcome, how))
        return cls(labels, outcome.values, outcome.warmup_s, tuple(notices), outcome.error)

    @property
    def replications(self) -> int:
        """How many there were."""
        return len(next(iter(self.values.values()), ()))

    def mean(self, figure: str) -> float:
        """The mean over the replications; NaN if one of them does not have the figure."""
        values = self.values.get(figure, ())
        return fmean(values) if values else nan

    def interval(self, figure: str) -> Interval | None:
        """The 95 % interval of the mean; None for a single replication."""
        values = self.values.get(figure, ())
        if len(values) < 2 or not all(map(isfinite, values)):
            return None
        return mean_interval(values)


def _notices(outcome: Outcome, how: How) -> Iterator[str]:
    """What is wrong with the figure that the sweep is about."""
    if outcome.error:
        return
    about, values = how.about, outcome.values[how.about]
    fewest = min(outcome.values["committed"])
    if not fewest:
        yield "no transaction committed in the measured time of a replication"
    elif not all(map(isfinite, values)):
        yield f"a replication has no {about}"
    else:
        if notice := percentile_notice(about, fewest):
            yield notice
        if how.precision is not None and (notice := precision_notice(about, values, how.precision)):
            yield notice


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sweep(Report):
    """A scenario at many points.

    Attributes
    ----------
    name : str
        Title of the scenario.
    factors : tuple of str
        What was varied.
    figures : tuple of str
        What every point has, by their paths in a result.
    about : str
        The figure of plots, and of the precision that was asked for.
    points : tuple of SweepPoint
        In the order of the design.
    seed : int
    computed : int
        How many of them were simulated now; the others were known already.
    complete : bool
        False when it was interrupted and points are missing.
    versions : mapping of str to str
        What computed the first point.
    """

    width = 120

    name: str
    factors: tuple[str, ...]
    figures: tuple[str, ...]
    about: str
    points: tuple[SweepPoint, ...]
    seed: int
    computed: int
    complete: bool
    versions: Mapping[str, str]

    def rows(self) -> list[dict[str, Any]]:
        """A row for every point: its levels, then the figures with their 95 % intervals.

        The interval of FIGURE is in ``FIGURE.low`` and ``FIGURE.high``.
        """
        return [self._row(point) for point in self.points]

    _rows = rows

    def _row(self, point: SweepPoint) -> dict[str, Any]:
        row: dict[str, Any] = {
            **point.labels,
            "seed": self.seed,
            "replications": point.replications,
            "warmup_s": point.warmup_s,
        }
        for figure in self.figures:
            found = point.interval(figure)
            row[figure] = point.mean(figure)
            row[f"{figure}.low"] = None if found is None else found.low
            row[f"{figure}.high"] = None if found is None else found.high
        row["error"] = point.error
        return row

    def save(self, path: str | Path) -> None:
        """Write the rows as ``.csv`` or ``.parquet``, which needs pandas and pyarrow.

        Numbers of a CSV file are those of the simulation, digit by digit.
        """
        path = Path(path)
        check_ending(path)
        if path.suffix.lower() == ".parquet":
            self.to_frame().to_parquet(path, index=False)
            return
        rows = self.rows()
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]) if rows else list(self.factors))
            writer.writeheader()
            for row in rows:
                writer.writerow({name: _written(value) for name, value in row.items()})

    def plot(
        self, path: str | Path | None = None, *, of: str | None = None, kind: Kind | None = None
    ) -> Figure:
        """Lines with bands over the first numeric factor, or a heat map of two.

        Parameters
        ----------
        path : str or Path, optional
            Where to save it.
        of : str, optional
            Which figure; default: the one that the sweep is about.
        kind : {"lines", "heat"}, optional
            Default: lines; of the points of a Latin hypercube, points over every factor.
        """
        figure: Figure = self._view("plot", path, of=of, kind=kind)
        return figure

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it; what is not a number becomes None."""
        return plain(
            {
                "name": self.name,
                "factors": list(self.factors),
                "figures": list(self.figures),
                "about": self.about,
                "points": [
                    {
                        "labels": dict(point.labels),
                        "replications": point.replications,
                        "warmup_s": point.warmup_s,
                        "values": {name: list(own) for name, own in point.values.items()},
                        "intervals": {
                            name: [found.low, found.high]
                            for name in self.figures
                            if (found := point.interval(name)) is not None
                        },
                        "notices": list(point.notices),
                        "error": point.error,
                    }
                    for point in self.points
                ],
                "seed": self.seed,
                "computed": self.computed,
                "complete": self.complete,
                "versions": dict(self.versions),
            }
        )

    def __repr__(self) -> str:
        factors = ", ".join(self.factors)
        return f"<Sweep {len(self.points)} points over {factors}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        page: str = self._view("html")
        return page


def check_ending(path: Path) -> None:
    """Refuse a file of a kind that cannot be written here, before the work and not after it.

    Raises
    ------
    ScenarioError
        If it is neither CSV nor Parquet, or what writes Parquet is not installed.
    """
    if path.suffix.lower() not in _ENDINGS:
        raise ScenarioError("--out", f"cannot write {path.name!r}", "endings: .csv, .parquet")
    if path.suffix.lower() == ".parquet":
        for package in ("pandas", "pyarrow"):
            if find_spec(package) is None:
                raise ScenarioError(
                    "--out", f"Parquet needs {package}", "pip install 'simrep[parquet]'"
                )


def _written(value: Any) -> Any:
    return "" if isinstance(value, float) and not isfinite(value) else value
