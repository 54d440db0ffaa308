"""``simrep sweep``."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from typing import Annotated

import typer

from simrep.cli.arguments import (
    MANY,
    CacheFolder,
    Json,
    Most,
    NoCache,
    Out,
    Plot,
    Precision,
    Processes,
    Replications,
    Scenario,
    Seed,
    Set,
    changed,
    workers,
)
from simrep.cli.ending import INTERRUPTED, OutOfTime
from simrep.cli.output import check_writable, progress_bar, tell
from simrep.errors import ScenarioError, SimrepError
from simrep.measure.grammar import share

__all__ = ["sweep"]

Over = Annotated[
    list[str],
    typer.Option(
        "--over",
        metavar="PATH=LEVELS",
        help="Vary a value: 1,10,50 or 1..128:x2 or 1..10:+1 or 0..1:5 (so many) or "
        "galera,semisync; may be repeated.",
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MANY,
        help="So many points of a Latin hypercube instead of all combinations; then also ranges, "
        "1..100 or 1..100:log.",
    ),
]
Of = Annotated[
    list[str] | None,
    typer.Option(
        "--of",
        metavar="FIGURE",
        help="A figure of the results: throughput_tps, latency_s.p95, counters.n1.NAME; may be "
        "repeated. The first is that of --precision and --plot.",
    ),
]
Heat = Annotated[bool, typer.Option("--heat", help="Let --plot draw a heat map of two factors.")]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Run on the cluster of a Dask scheduler."),
]


def sweep(
    scenario: Scenario,
    over: Over,
    samples: Samples = None,
    of: Of = None,
    set_: Set = None,
    seed: Seed = None,
    replications: Replications = None,
    precision: Precision = None,
    most: Most = 1000,
    out: Out = None,
    json: Json = False,
    plot: Plot = None,
    heat: Heat = False,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    jobs: Processes = None,
    scheduler: Scheduler = None,
) -> None:
    """Simulate a scenario at many points, each once: what is known already is looked up.

    What was finished is kept, also when the sweep is interrupted or killed: started again, it goes
    on where it was.

    [bold]Examples[/bold]

      simrep sweep cluster.toml --over network.rtt_ms=1,10,50,100 --over workload.threads=1..128:x2
      simrep sweep cluster.toml --over cluster.model=galera,semisync --replications 5 --out a.csv
      simrep sweep cluster.toml --over network.rtt_ms=1..100:log --samples 50 --plot points.png
    """
    check_writable("--plot", plot, plot=True)
    check_writable("--out", out)
    wanted_share = None if precision is None else share("--precision", precision)
    if cache is not None and no_cache:
        raise ScenarioError("--cache", "makes no sense with --no-cache", "give one of them")
    if scheduler is not None and jobs is not None:
        raise ScenarioError("--jobs", "is for this machine", "leave it out beside --scheduler")

    from simrep.whatif.design import parse
    from simrep.whatif.sweep import check_ending
    from simrep.whatif.sweep import sweep as simulate

    if out is not None:
        check_ending(out)
    chosen = changed(scenario, set_)
    finished, wanted = 0, 0
    try:
        with (
            _executor(jobs, scheduler) as executor,
            progress_bar(scenario.name, quiet=json) as update,
        ):

            def progress(done: int, points: int) -> None:
                nonlocal finished, wanted
                finished, wanted = done, points
                update(done, points)

            found = simulate(
                chosen,
                parse(over),
                samples=samples,
                seed=seed,
                replications=replications,
                precision=wanted_share,
                of=of or "throughput_tps",
                most=most,
                executor=executor,
                cache=not no_cache if cache is None else cache,
                progress=progress,
            )
    except OutOfTime:
        if no_cache or not finished:
            raise
        raise OutOfTime(
            f"{finished} of {wanted} points are finished and kept; started again, the sweep goes on"
        ) from None
    tell(found, json=json)
    print(
        f"{found.computed} points simulated, {len(found.points) - found.computed} known already",
        file=sys.stderr,
    )
    if out is not None:
        found.save(out)
    if not found.complete:
        raise typer.Exit(INTERRUPTED)
    if plot is not None:
        found.plot(plot, kind="heat" if heat else None)
        print(f"Figure: {plot}", file=sys.stderr)


@contextmanager
def _executor(jobs: int | None, scheduler: str | None) -> Iterator[Executor | None]:
    """Processes of this machine, or the workers of a Dask cluster."""
    if scheduler is None:
        with workers(jobs or os.cpu_count() or 1) as pool:
            yield pool
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
                f"the scheduler {scheduler}, or worker after worker, ended while points were under "
                "way; started again, the sweep goes on with those that are finished"
            ) from error


@contextmanager
def _nothing_logged() -> Iterator[None]:
    """Dask logs tracebacks of connections that end, beside its exceptions."""
    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
