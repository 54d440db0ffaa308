"""``simrep drill``."""

from __future__ import annotations

import sys
from pathlib import Path
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
    Quick,
    Seed,
    Set,
    changed,
    most_of,
    path_in,
)
from simrep.cli.kept import check_places, finish, kept_work, where_kept
from simrep.cli.output import check_writable, print_json, progress_bar, show
from simrep.errors import ScenarioError
from simrep.measure.grammar import duration, share

__all__ = ["drill"]

_WIDE = 120  # with the columns of a precision

Drilled = Annotated[
    Path | None,
    typer.Argument(metavar="SCENARIO.toml", help="The scenario to simulate.", show_default=False),
]
Catalogue = Annotated[
    bool, typer.Option("--list", help="Print the catalogue of faults; needs no scenario.")
]
Fault = Annotated[
    list[str] | None,
    typer.Option(
        "--fault",
        metavar="NAME",
        help="A fault of the catalogue; may be repeated. Default: all of them.",
    ),
]
Product = Annotated[
    list[str] | None,
    typer.Option(
        "--product",
        metavar="NAME",
        help="A product instead of the scenario's own: galera, group_replication, semisync ..., or "
        "all; may be repeated.",
    ),
]
Over = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="PATH=LEVELS",
        help="Vary a value, as simrep sweep does; may be repeated.",
    ),
]
Times = Annotated[
    int | None,
    typer.Option(
        "--replications",
        min=1,
        max=MANY,
        help="Repetitions of each fault; default: 10, with --quick 3; from 40 on there are "
        "95th percentiles.",
    ),
]
Precise = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="SHARE",
        help="Repeat each fault until the 95 % interval of its mean RTO is narrow enough: 10% or "
        "0.1 of the RTO on either side; an RTO below a second counts as a second.",
    ),
]
Limit = Annotated[
    str,
    typer.Option("--limit", metavar="TIME", help="Longest simulated time after a fault."),
]
Restart = Annotated[
    str | None,
    typer.Option(
        "--restart-after",
        metavar="TIME",
        help="Start a server that has ended again after this time; default: 30s, and 90s after "
        "a power loss.",
    ),
]
Rto = Annotated[
    str | None,
    typer.Option(
        "--rto",
        metavar="TIME",
        help="Longest time without an answered write; a table names settings that keep it in "
        "every replication.",
    ),
]
Rpo = Annotated[
    float | None,
    typer.Option(
        "--rpo",
        min=0,
        metavar="N",
        help="Most answered transactions that may be lost; a table names settings that keep it in "
        "every replication.",
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html",
        parser=path_in,
        help="Save a page that plays the run with the median RTO of each fault.",
    ),
]


def drill(
    scenario: Drilled = None,
    fault: Fault = None,
    product: Product = None,
    over: Over = None,
    set_: Set = None,
    quick: Quick = False,
    seed: Seed = None,
    replications: Times = None,
    precision: Precise = None,
    most: Most = None,
    limit: Limit = "180s",
    restart_after: Restart = None,
    rto: Rto = None,
    rpo: Rpo = None,
    out: Out = None,
    json: Json = False,
    plot: Plot = None,
    html: Html = None,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    jobs: Jobs = None,
    catalogue: Catalogue = False,
) -> None:
    """Play a catalogue of faults: time without writes, lost transactions, time to recover.

    Finished runs are kept, also when the drill is interrupted or killed: the same command
    continues it.

    [bold]Examples[/bold]

      simrep drill --list
      simrep drill cluster.toml
      simrep drill cluster.toml --quick
      simrep drill cluster.toml --fault 'kill writer' --replications 40
      simrep drill cluster.toml --fault 'kill writer' --precision 5%
      simrep drill cluster.toml --product all --rto 10s --rpo 0
      simrep drill cluster.toml --product galera --product group_replication --plot drill.png
      simrep drill cluster.toml --quick --fault 'kill writer' --html drill.html
      simrep drill cluster.toml --over 'cluster.options."evs.suspect_timeout"=PT3S,PT5S'
    """
    if catalogue:
        from simrep.show.text.drill import catalogue_table

        show(catalogue_table(), width=100)
        return
    if scenario is None:
        raise ScenarioError("simrep drill", "which scenario?", "give a file, or --list")
    check_places(out, plot, cache, no_cache=no_cache)
    check_writable("--html", html)
    goal = None if precision is None else share("--precision", precision)
    limit_s = duration("--limit", limit)
    rto_s = None if rto is None else duration("--rto", rto)
    restart_s = None if restart_after is None else duration("--restart-after", restart_after)

    from simrep.measure.units import counted
    from simrep.whatif.design import parse
    from simrep.whatif.drill.ask import drill as simulate

    chosen = changed(scenario, set_)
    work = kept_work(scenario.name, "runs", "drill", quiet=json, kept=not no_cache)
    with work as progress:
        found = simulate(
            chosen,
            quick=quick,
            faults=fault or None,
            products=product or (),
            over=parse(over or ()),
            replications=replications,
            precision=goal,
            most=most_of(most, precision),
            seed=seed,
            limit_s=limit_s,
            restart_s=restart_s,
            rto_s=rto_s,
            rpo=rpo,
            jobs=jobs,
            cache=where_kept(cache, no_cache=no_cache),
            progress=progress,
        )
    if json:
        print_json(found.to_dict())
    else:
        show(found.tables(), width=found.width if precision is None else _WIDE)
    told = f"{counted(found.computed, 'run')} simulated, {found.known} known already"
    finish(found, told, out, plot, lambda: found.plot(plot))
    if html is not None:
        with progress_bar(scenario.name, quiet=json):
            found.player(html)
        print(f"Page: {html}", file=sys.stderr)
