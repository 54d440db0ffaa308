"""A scenario at many points: those that are known already are looked up, the others simulated."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ContentionWarning, ScenarioError
from simrep.measure.units import plain
from simrep.runs.contention import preset_trap
from simrep.runs.executor import as_finished, collected, workers
from simrep.runs.pilot import QUICK
from simrep.runs.progress import told, work_expected
from simrep.runs.replication import with_warmup_found
from simrep.runs.report import Report
from simrep.runs.sampler import LEAST, MOST, Progress, at_least, check_precision, seed_of
from simrep.scenario import Scenario, load, with_values
from simrep.whatif.cache import Cache, cache_of, key_of
from simrep.whatif.design import Given, Setting, factors, grid, latin_hypercube
from simrep.whatif.point import FIGURES, How, SweepPoint, measure
from simrep.whatif.table_file import save_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Kind", "Sweep", "sweep"]

Kind = Literal["lines", "heat"]

_OF_ALL = {"run.seed", "run.replications"}


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
    asked : tuple of str
        Those of them that were asked for; the others are there anyway.
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
    asked: tuple[str, ...]
    points: tuple[SweepPoint, ...]
    seed: int
    computed: int
    complete: bool
    versions: Mapping[str, str]

    @property
    def about(self) -> str:
        """The figure of plots, and of the precision that was asked for."""
        return self.figures[0]

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
        save_table(self, path, self.rows(), self.factors)

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
                "asked": list(self.asked),
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


@told
def sweep(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    over: Mapping[str, Given],
    *,
    samples: int | None = None,
    seed: int | None = None,
    replications: int | None = None,
    precision: float | None = None,
    of: str | Sequence[str] = "throughput_tps",
    most: int = MOST,
    quick: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: bool | str | Path = False,
    progress: Progress | None = None,
) -> Sweep:
    """Simulate a scenario at many points.

    All points draw the same random numbers for the same purposes, so that differences between
    them are not blurred by luck. A warm-up that the scenario does not set is found out, point by
    point, and left out.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    over : mapping of str to levels
        Levels by the path of a value: a list, or a text such as ``"1..128:x2"`` (doubled),
        ``"1..10:+1"`` (steps of one), ``"galera,semisync"``. A mapping of labels to settings
        changes several values together.
    samples : int, optional
        So many points of a Latin hypercube instead of all combinations; factors may then be
        ranges, ``"1..100"`` or ``"1..100:log"``.
    seed, replications, precision, most
        See :func:`simrep.run`; the same for every point.
    of : str or sequence of str
        Figures of a result by their paths; the first is what precision and plots are about.
        Throughput and latencies are always there.
    quick : bool
        A first look: of points about which rates and latencies of the long run are asked, 4
        replications of about 5,000 transactions each.
    jobs : int, optional
        Processes of this machine that share the points; see :func:`simrep.run`.
    executor : concurrent.futures.Executor, optional
        Where points are simulated instead, for instance the machines of a Dask cluster.
    cache : bool, str or Path
        Look up points that were simulated before and keep those that are now: in this folder, or
        with True in the one of the command line.
    progress : callable or bool, optional
        True for a bar on a terminal, False for silence; or called with
        the number of finished points, and of all.

    Returns
    -------
    Sweep
        Holds the finished points when it was interrupted (Ctrl-C).

    Raises
    ------
    ScenarioError
        If a point cannot be simulated, or a result has no such figure.

    Examples
    --------
    >>> one = {"cluster": {"model": "standalone", "nodes": 1}, "workload": {"queries": 64}}
    >>> found = sweep(one, {"workload.threads": "1..4:x2"})
    >>> [point.labels["workload.threads"] for point in found.points]
    [1, 2, 4]
    """
    executor = workers(jobs, executor)
    loaded = load(scenario)
    seed = seed_of(seed, loaded.run.seed)
    if precision is not None:
        check_precision(precision)
        if quick:
            raise ScenarioError("quick", "cannot keep a precision", "leave out one of the two")
        if replications is not None:
            raise ScenarioError(
                "precision", "decides how many replications there are", "leave out one of the two"
            )
    shortened = QUICK if quick else 0
    if replications is not None:
        at_least("replications", replications, 1)
        shortened = replications if quick else 0
    else:
        replications = loaded.run.replications
        replications = min(QUICK, replications) if quick else replications
    asked = (of,) if isinstance(of, str) else tuple(of)
    every = tuple(dict.fromkeys((*asked, *FIGURES)))
    how = How(seed, replications, precision, most, every, asked, shortened)
    varied = factors(over)
    settings = grid(varied) if samples is None else latin_hypercube(varied, samples, seed)
    setups = [_setup_at(loaded, setting) for setting in settings]
    if trap := next(filter(None, map(preset_trap, setups)), ""):
        warnings.warn(trap, ContentionWarning, stacklevel=2)
    store = cache_of(cache)
    keys = ["" if store is None else key_of(setup, how.to_dict()) for setup in setups]
    known = dict(_known(store, keys))
    missing = {number: (setup, how) for number, setup in enumerate(setups) if number not in known}

    def simulated() -> Iterator[tuple[int, SweepPoint]]:
        # Each point is a task: it takes a hundred times as long as sending it, and what is
        # finished is stored at once.
        if callable(progress):
            progress(len(known), len(setups))
        for number, point in as_finished(measure, missing, executor):
            if store is not None:
                store.put(keys[number], point.to_dict())
            yield number, point

    def tell(computed: int, total: int) -> None:
        if callable(progress):
            progress(len(known) + computed, total)

    runs = LEAST if precision is not None else how.quick or replications
    work_expected(len(setups), done=len(known), runs=runs)
    computed, complete = collected(simulated(), least=0, progress=tell, total=len(setups))
    points = known | dict(computed)
    return Sweep(
        name=loaded.name,
        factors=tuple(factor.name for factor in varied),
        figures=how.figures,
        asked=tuple(dict.fromkeys(asked)),
        points=tuple(
            point.at(settings[number].labels, how) for number, point in sorted(points.items())
        ),
        seed=seed,
        computed=len(computed),
        complete=complete,
        versions=setups[0].versions,
    )


def _setup_at(scenario: Scenario, setting: Setting) -> Setup:
    for path in _OF_ALL.intersection(setting.settings):
        raise ScenarioError(
            path, "is the same for all points", "vary something else, or ask for replications"
        )
    try:
        return setup_of(with_warmup_found(with_values(scenario, setting.settings)))
    except ScenarioError as error:
        where = ", ".join(f"{name} = {label}" for name, label in setting.labels.items())
        raise ScenarioError(error.path, f"{error.problem}, at {where}", error.hint) from error


def _known(store: Cache | None, keys: Sequence[str]) -> Iterator[tuple[int, SweepPoint]]:
    if store is None:
        return
    for number, key in enumerate(keys):
        content = store.get(key)
        if content is None:
            continue
        try:
            yield number, SweepPoint.from_dict(content)
        except (AttributeError, KeyError, TypeError, ValueError):  # a file of somebody else
            continue
