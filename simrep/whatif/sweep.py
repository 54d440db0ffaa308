"""A scenario at many points: those that are known already are looked up, the others simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError
from simrep.measure.stopping import MOST
from simrep.runs.executor import as_finished, collected
from simrep.runs.replication import with_warmup_found
from simrep.runs.sampler import Progress, check_precision
from simrep.scenario import Scenario, load, with_values
from simrep.whatif.cache import Cache, key_of, standard_folder
from simrep.whatif.design import Setting, grid, latin_hypercube
from simrep.whatif.factors import Given, factors
from simrep.whatif.point import FIGURES, How, Outcome, measure
from simrep.whatif.swept import Sweep, SweepPoint

__all__ = ["sweep"]

_OF_ALL = {"run.seed", "run.replications"}


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
    seed : int, optional
        Root of all random numbers; default: ``run.seed`` of the scenario.
    replications : int, optional
        Of every point; default: ``run.replications``.
    precision : float, optional
        Instead: as many as it takes until the half width of the 95 % interval is this share of
        the figure; at least 10 and at most ``most``.
    of : str or sequence of str
        Figures of a result by their paths; the first is what precision and plots are about.
        Throughput and latencies are always there.
    most : int
        Replications at which to give up.
    executor : concurrent.futures.Executor, optional
        Where points are simulated; default: here, one after the other.
    cache : bool, str or Path
        Look up points that were simulated before and keep those that are now: in this folder, or
        with True in the one of the command line.
    progress : callable, optional
        Called with the number of finished points, and of all.

    Returns
    -------
    Sweep
        Holds the finished points when it was interrupted (Ctrl-C).

    Raises
    ------
    ScenarioError
        If a point cannot be setup, or a result has no such figure.

    Examples
    --------
    >>> one = {"cluster": {"model": "standalone", "nodes": 1}, "workload": {"queries": 64}}
    >>> found = sweep(one, {"workload.threads": "1..4:x2"})
    >>> [point.labels["workload.threads"] for point in found.points]
    [1, 2, 4]
    """
    loaded = load(scenario)
    seed = loaded.run.seed if seed is None else seed
    if precision is not None:
        check_precision(precision)
        if replications is not None:
            raise ScenarioError(
                "precision", "finds out how many replications there are", "give one of them"
            )
    replications = loaded.run.replications if replications is None else replications
    if replications < 1:
        raise ScenarioError("replications", f"must be at least 1, given {replications}")
    asked = (of,) if isinstance(of, str) else tuple(of)
    how = How(seed, replications, precision, most, tuple(dict.fromkeys((*asked, *FIGURES))))
    varied = factors(over)
    settings = grid(varied) if samples is None else latin_hypercube(varied, samples, seed)
    plans = [_planned(loaded, setting) for setting in settings]
    store = None if cache is False else Cache(standard_folder() if cache is True else Path(cache))
    keys = ["" if store is None else key_of(setup, how.to_dict()) for setup in plans]
    known = dict(_known(store, keys))
    missing = {number: (setup, how) for number, setup in enumerate(plans) if number not in known}

    def simulated() -> Iterator[tuple[int, Outcome]]:
        # Each point is a task: it takes a hundred times as long as sending it, and what is
        # finished is stored at once.
        if progress is not None:
            progress(len(known), len(plans))
        for number, outcome in as_finished(measure, missing, executor):
            if store is not None:
                store.put(keys[number], outcome.to_dict())
            yield number, outcome

    def tell(computed: int) -> None:
        if progress is not None:
            progress(len(known) + computed, len(plans))

    computed, complete = collected(simulated(), least=0, progress=tell)
    outcomes = known | dict(computed)
    return Sweep(
        name=loaded.name,
        factors=tuple(factor.name for factor in varied),
        figures=how.figures,
        about=how.figures[0],
        points=tuple(
            SweepPoint.of(settings[number].labels, outcome, how)
            for number, outcome in sorted(outcomes.items())
        ),
        seed=seed,
        computed=len(computed),
        complete=complete,
        versions=plans[0].versions,
    )


def _planned(scenario: Scenario, setting: Setting) -> Setup:
    for path in _OF_ALL.intersection(setting.settings):
        raise ScenarioError(
            path, "is the same for all points", "vary something else, or ask for replications"
        )
    try:
        return setup_of(with_warmup_found(with_values(scenario, setting.settings)))
    except ScenarioError as error:
        where = ", ".join(f"{name} = {label}" for name, label in setting.labels.items())
        raise ScenarioError(error.path, f"{error.problem}, at {where}", error.hint) from error


def _known(store: Cache | None, keys: Sequence[str]) -> Iterator[tuple[int, Outcome]]:
    if store is None:
        return
    for number, key in enumerate(keys):
        content = store.get(key)
        if content is None:
            continue
        try:
            yield number, Outcome.from_dict(content)
        except (AttributeError, KeyError, TypeError, ValueError):  # a file of somebody else
            continue
