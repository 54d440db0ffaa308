"""What a sweep hands back: the figures of every point, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, Self

from simrep.measure.confidence import Interval, mean_interval
from simrep.measure.json_values import plain
from simrep.runs.notices import percentile_notice, precision_notice
from simrep.runs.text import as_text
from simrep.whatif.point import How, Outcome

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import Group

__all__ = ["Kind", "Sweep", "SweepPoint"]

Kind = Literal["lines", "heat"]


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
class Sweep:
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
        """A row for every point: its levels, then the figures with their 95 % intervals."""
        from simrep.show.text.sweep import rows

        return rows(self)

    def to_frame(self) -> pd.DataFrame:
        """The same as a table of pandas."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def save(self, path: str | Path) -> None:
        """Write the rows as ``.csv`` or ``.parquet``, which needs pandas and pyarrow."""
        from simrep.show.text.sweep import save

        save(self, Path(path))

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
        from simrep.show.plot.sweep import plot_sweep

        return plot_sweep(self, path, of=of, kind=kind)

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

    def tables(self) -> Group:
        """A table for a terminal; ``rich.print(found.tables())`` or ``print(found)``."""
        from simrep.show.text.sweep import tables

        return tables(self)

    def __str__(self) -> str:
        return as_text(self.tables(), 120)

    def __repr__(self) -> str:
        factors = ", ".join(self.factors)
        return f"<Sweep {len(self.points)} points over {factors}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        from simrep.show.text.sweep import html

        return html(self)
