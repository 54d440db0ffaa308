"""``simrep run``."""

from __future__ import annotations

import csv
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simrep.cli.arguments import (
    MANY,
    Jobs,
    Json,
    Most,
    Of,
    Plot,
    Precision,
    Quick,
    Replications,
    Scenario,
    Seed,
    Set,
    assignments,
    most_of,
    path_in,
)
from simrep.cli.ending import INTERRUPTED
from simrep.cli.output import (
    check_writable,
    first_look,
    print_json,
    progress_bar,
    show,
    tell_nearest_pack,
)
from simrep.errors import ScenarioError
from simrep.files import whole_text
from simrep.measure.grammar import share

if TYPE_CHECKING:
    from simrep.runs.result import Result

__all__ = ["run"]

Log = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE.csv",
        parser=path_in,
        help="Save a row for every transaction: replication, started_s, latency_s, client,"
        " kind, committed, node, error.",
    ),
]
Draws = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=MANY,
        help="Runs with costs drawn from the pack, for the prediction interval; default: "
        "as many as replications, if there are several; with --precision at most 10.",
    ),
]

PlotNodes = Annotated[
    Path | None,
    typer.Option(
        "--plot-nodes",
        metavar="FILE",
        parser=path_in,
        help="Save a figure of the nodes: latencies, commits, aborts by error.",
    ),
]
Stale = Annotated[
    bool,
    typer.Option("--stale", help="Count stale reads: those that miss an answered commit."),
]
PlotStale = Annotated[
    Path | None,
    typer.Option(
        "--plot-stale",
        metavar="FILE",
        parser=path_in,
        help="Save a figure of the stale reads over time; with it --stale.",
    ),
]
SecondOpinion = Annotated[
    bool,
    typer.Option(
        "--analytic",
        help="Print throughput and latency by closed forms first, or why none holds; then the "
        "simulation, and the difference.",
    ),
]
Timeline = Annotated[
    bool,
    typer.Option(
        "--timeline",
        help="Print events of servers and their notes at the end, in the first replication.",
    ),
]


def run(
    scenario: Scenario,
    set_: Set = None,
    quick: Quick = False,
    seed: Seed = None,
    replications: Replications = None,
    precision: Precision = None,
    of: Of = None,
    most: Most = None,
    draws: Draws = None,
    json: Json = False,
    plot: Plot = None,
    plot_nodes: PlotNodes = None,
    stale: Stale = False,
    plot_stale: PlotStale = None,
    log: Log = None,
    jobs: Jobs = None,
    analytic: SecondOpinion = False,
    timeline: Timeline = False,
) -> None:
    """Simulate a scenario and print its figures.

    [bold]Examples[/bold]

      simrep run cluster.toml
      simrep run cluster.toml --set network.rtt_ms=50 --set workload.threads=64
      simrep run cluster.toml --set cluster.options.evs.send_window=10
      simrep run cluster.toml --quick
      simrep run cluster.toml --replications 10 --plot cluster.png
      simrep run cluster.toml --plot-nodes nodes.png
      simrep run cluster.toml --stale
      simrep run cluster.toml --precision 2% --of latency_s.p95
      simrep run cluster.toml --json | jq .throughput_tps
      simrep run cluster.toml --analytic
      simrep run broken.toml --timeline --plot broken.png
    """
    check_writable("--plot", plot, plot=True)
    check_writable("--plot-nodes", plot_nodes, plot=True)
    check_writable("--plot-stale", plot_stale, plot=True)
    check_writable("--log", log)
    if of is not None and precision is None:
        raise ScenarioError("--of", "is the figure of --precision", "give --precision, too")
    wanted_share = None if precision is None else share("--precision", precision)

    from simrep.runs.run import run as simulate
    from simrep.scenario import load, with_values

    changes = assignments(set_ or [])
    if log is not None:
        changes["run.log"] = True
    if stale or plot_stale is not None:
        changes["run.staleness"] = True
    chosen = with_values(load(scenario), changes)
    opinion = None
    if analytic:
        from simrep.whatif.analytic.opinion import analytic as closed_forms

        opinion = closed_forms(chosen)
        if not json:
            show(opinion.tables())
            sys.stdout.flush()
    goal = chosen.run.replications if replications is None else replications
    with progress_bar(scenario.name, quiet=json) as update:

        def progress(done: int, wanted: int) -> None:
            nonlocal goal
            goal = wanted
            update(done, wanted)

        result = simulate(
            chosen,
            quick=quick,
            seed=seed,
            replications=replications,
            precision=wanted_share,
            of=of or "throughput_tps",
            most=most_of(most, precision),
            draws=draws,
            jobs=jobs,
            progress=progress,
        )
    whole = result.replications >= goal
    tell_nearest_pack(chosen, scenario)
    if quick:
        measured_s = result.scenario["run"].get("duration_s")  # runs may end with their queries
        first_look(result.replications, measured_s, chosen.run.duration_s)
    if log is not None:
        _write_log(result, log)
    if json:
        beside = {} if opinion is None else {"analytic": opinion.to_dict(result)}
        if timeline:
            beside["timeline"] = result.timeline().to_dict()
        print_json({**result.to_dict(), **beside})
    else:
        show(result.summary())
        if opinion is not None and opinion.holds:
            show(opinion.tables(result))
        if timeline:
            show(result.timeline().tables())
    if plot is not None and whole:
        result.plot(plot)
    if plot_nodes is not None:
        result.nodes.plot(plot_nodes)
    if plot_stale is not None and result.stale is not None:
        result.stale.plot(plot_stale)
    if not whole:
        raise typer.Exit(INTERRUPTED)


def _write_log(result: Result, path: Path) -> None:
    from simrep.measure.meter import TransactionLog
    from simrep.runs.report import text_cell

    with whole_text(path) as file:
        writer = csv.writer(file)
        names = [field.name for field in fields(TransactionLog)]
        writer.writerow(["replication", *names])
        for record in result.runs:
            log = record.measurement.log
            if log is not None:
                columns = [getattr(log, name) for name in names]
                columns = [c.astype(int) if c.dtype == bool else c for c in columns]
                for row in zip(*(column.tolist() for column in columns), strict=True):
                    cells = (text_cell(c) if isinstance(c, str) else c for c in row)
                    writer.writerow([record.replication, *cells])
