"""``simrep sweep``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from typing import Annotated

import typer

from simrep.cli.arguments import (
    MANY,
    CacheFolder,
    Jobs,
    Json,
    Most,
    NoCache,
    Out,
    Plot,
    Precision,
    Quick,
    Replications,
    Scenario,
    Seed,
    Set,
    changed,
    most_of,
)
from simrep.cli.kept import check_places, finish, kept_work, where_kept
from simrep.cli.output import tell, tell_nearest_pack
from simrep.errors import ScenarioError, SimrepError
from simrep.measure.grammar import share

__all__ = ["sweep"]

Over = Annotated[
    list[str],
    typer.Option(
        "--over",
        metavar="PATH=LEVELS",
        help="Vary a value: 1,10,50 or 1..128:x2 or 1..10:+1 or 0..1:5 (five values) or "
        "galera,semisync; may be repeated.",
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MANY,
        help="Points of a Latin hypercube instead of all combinations; then also ranges, "
        "1..100 or 1..100:log.",
    ),
]
Of = Annotated[
    list[str] | None,
    typer.Option(
        "--of",
        metavar="FIGURE",
        help="A figure of the results: throughput_tps, latency_s.p95, counters.n1.NAME; may be "
        "repeated. The first holds for --precision and --plot.",
    ),
]
Heat = Annotated[bool, typer.Option("--heat", help="Let --plot draw a heat map of two factors.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Run on the cluster of a Dask scheduler.",
    ),
]


def sweep(
    scenario: Scenario,
    over: Over,
    samples: Samples = None,
    of: Of = None,
    set_: Set = None,
    quick: Quick = False,
    seed: Seed = None,
    replications: Replications = None,
    precision: Precision = None,
    most: Most = None,
    out: Out = None,
    json: Json = False,
    plot: Plot = None,
    heat: Heat = False,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
) -> None:
    """Simulate a scenario at many points, and look up known points.

    Finished points are kept, also when the sweep is interrupted or killed: the same command
    continues it.

    [bold]Examples[/bold]

      simrep sweep cluster.toml --over network.rtt_ms=1,10,50,100 --over workload.threads=1..128:x2
      simrep sweep cluster.toml --over workload.threads=1..128:x2 --quick
      simrep sweep cluster.toml --over cluster.model=galera,semisync --replications 5 --out a.csv
      simrep sweep cluster.toml --over network.rtt_ms=1..100:log --samples 50 --plot points.png
    """
    check_places(out, plot, cache, no_cache=no_cache)
    wanted_share = None if precision is None else share("--precision", precision)
    if heat and plot is None:
        raise ScenarioError("--heat", "says how --plot draws", "give --plot, too")
    if scheduler is not None and jobs is not None:
        raise ScenarioError("--jobs", "is for this machine", "leave it out beside --scheduler")

    from simrep.measure.units import counted
    from simrep.whatif.design import parse
    from simrep.whatif.sweep import sweep as simulate

    chosen = changed(scenario, set_)
    work = kept_work(scenario.name, "points", "sweep", quiet=json, kept=not no_cache)
    with _scheduled(scheduler) as executor, work as progress:
        found = simulate(
            chosen,
            parse(over),
            quick=quick,
            samples=samples,
            seed=seed,
            replications=replications,
            precision=wanted_share,
            of=of or "throughput_tps",
            most=most_of(most, precision),
            jobs=jobs,
            executor=executor,
            cache=where_kept(cache, no_cache=no_cache),
            progress=progress,
        )
    if not any(text.startswith("cluster.pack=") for text in over):
        tell_nearest_pack(chosen, scenario)
    tell(found, json=json)
    known = len(found.points) - found.computed
    told = f"{counted(found.computed, 'point')} simulated, {known} known already"
    finish(found, told, out, plot, lambda: found.plot(plot, kind="heat" if heat else None))


@contextmanager
def _scheduled(scheduler: str | None) -> Iterator[Executor | None]:
    """The workers of a Dask cluster, if one is asked for."""
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client, KilledWorker
    except ImportError as error:
        raise ScenarioError(
            "--scheduler", "Dask is not installed", "pip install 'simrep[distributed]'"
        ) from error
    try:
        client = Client(scheduler, timeout="10s")
    except (OSError, TimeoutError, ValueError) as error:
        raise ScenarioError("--scheduler", f"{scheduler!r} does not answer: {error}") from error
    with _nothing_logged(), client:
        try:
            yield client.get_executor(pure=False)
        except (CancelledError, KilledWorker) as error:
            raise SimrepError(
                f"the scheduler {scheduler}, or its workers, ended before all points were "
                "finished; the same command continues the sweep"
            ) from error


@contextmanager
def _nothing_logged() -> Iterator[None]:
    """Dask logs tracebacks of connections that end, beside its exceptions."""
    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
