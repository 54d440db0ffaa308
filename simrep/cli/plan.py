"""``simrep plan SCENARIO QUESTION``: a subcommand for each question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from simrep.cli.arguments import Jobs, Json, Plot, Seed, assignments, workers
from simrep.cli.fragment_size import (
    Payload,
    Sizes,
    Slowdown,
    Stall,
    Transaction,
    Unit,
)
from simrep.cli.output import check_writable, present, progress_bar
from simrep.cli.run import Scenario, Set
from simrep.measure.grammar import duration, quantities, range_of, share

__all__ = ["plan"]

Objective = Annotated[
    str,
    typer.Option(
        metavar="CONDITIONS",
        help="What has to be met: tps>=500,p99<=250ms (tps, mean, p50, p95, p99, max, stall, or "
        "the path of a figure).",
        show_default=False,
    ),
]
Within = Annotated[
    str | None, typer.Option(metavar="LOW..HIGH", help="Range of the search: 1..100.")
]
Precise = Annotated[
    str, typer.Option("--precision", metavar="SHARE", help="How close the answer is encircled.")
]
Most = Annotated[
    int, typer.Option("--replications", min=4, help="The most that one value is simulated with.")
]
Repeated = Annotated[
    int, typer.Option("--replications", min=2, help="Repetitions with other random numbers.")
]

plan = typer.Typer(
    name="plan",
    no_args_is_help=True,
    help="Answer an inverse question about a scenario: which value meets an objective.",
    rich_markup_mode="rich",
    subcommand_metavar="QUESTION [OPTIONS]",
    epilog="[bold]Examples[/bold]: [cyan]simrep plan cluster.toml rtt --objective "
    "'p99<=250ms'[/cyan], [cyan]simrep plan cluster.toml gcache --outage 4h[/cyan], "
    "[cyan]simrep plan cluster.toml rtt --help[/cyan]",
)


@plan.callback()
def scenario_of(context: typer.Context, scenario: Scenario) -> None:
    """Keep the scenario for the question that follows."""
    context.obj = scenario


@plan.command()
def rtt(
    context: typer.Context,
    objective: Objective,
    within: Within = None,
    path: Annotated[
        str, typer.Option(metavar="PATH", help="The delay to vary, where there are several.")
    ] = "network.rtt_ms",
    precision: Precise = "5%",
    replications: Most = 24,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """The largest round trip at which an objective is met.

    Example: simrep plan cluster.toml rtt --objective 'p99<=250ms'
    """
    own = {
        "objective": objective,
        "path": path,
        **_search(within, precision, replications, unit="ms"),
    }
    _answer(context, "rtt", own, set_, seed, jobs, json=json, plot=plot)


@plan.command()
def clients(
    context: typer.Context,
    objective: Objective,
    within: Within = None,
    precision: Precise = "5%",
    replications: Most = 24,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """The fewest clients with which an objective is met.

    Example: simrep plan cluster.toml clients --objective 'tps>=500,p99<=250ms'
    """
    own = {"objective": objective, **_search(within, precision, replications)}
    _answer(context, "clients", own, set_, seed, jobs, json=json, plot=plot)


@plan.command()
def appliers(
    context: typer.Context,
    tps: Annotated[
        float, typer.Option(help="Transactions per second to keep up.", show_default=False)
    ],
    within: Within = None,
    precision: Precise = "5%",
    replications: Most = 24,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """The fewest appliers with which a rate is kept up in the long run.

    Example: simrep plan cluster.toml appliers --tps 2000
    """
    own = {"tps": tps, **_search(within, precision, replications)}
    _answer(context, "appliers", own, set_, seed, jobs, json=json, plot=plot)


@plan.command()
def transaction(
    context: typer.Context,
    transaction: Transaction = None,
    longest_stall: Stall = "1s",
    within: Within = None,
    precision: Precise = "5%",
    replications: Most = 24,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """The largest scheduled transaction that stalls nobody for too long.

    Example: simrep plan cluster.toml transaction --longest-stall 2s
    """
    own = {
        "transaction": transaction,
        "longest_stall_s": duration("--longest-stall", longest_stall),
    }
    own |= _search(within, precision, replications)
    _answer(context, "transaction", own, set_, seed, jobs, json=json, plot=plot)


@plan.command()
def fragment(
    context: typer.Context,
    sizes: Sizes = None,
    unit: Unit = None,
    transaction: Transaction = None,
    longest_stall: Stall = "1s",
    largest_slowdown: Slowdown = 1.5,
    least_payload: Payload = "80%",
    replications: Annotated[
        int | None, typer.Option(min=1, help="Repetitions with other random numbers.")
    ] = None,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """The largest fragment of streaming replication that is safe.

    Example: simrep plan cluster.toml fragment --longest-stall 500ms
    """
    own = {
        "sizes": None if sizes is None else quantities("--sizes", sizes),
        "unit": unit,
        "transaction": transaction,
        "longest_stall_s": duration("--longest-stall", longest_stall),
        "largest_slowdown": largest_slowdown,
        "least_payload": share("--least-payload", least_payload),
        "replications": replications,
    }
    _answer(context, "fragment", own, set_, seed, jobs, json=json, plot=plot)


@plan.command()
def gcache(
    context: typer.Context,
    outage: Annotated[
        str, typer.Option(metavar="TIME", help="How long a node is away: 30min, 4h, 2d.")
    ],
    replications: Repeated = 10,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """The gcache.size for an incremental transfer after an outage (Galera).

    Example: simrep plan cluster.toml gcache --outage 4h
    """
    own = {"outage_s": duration("--outage", outage), "replications": replications}
    _answer(context, "gcache", own, set_, seed, jobs, json=json, plot=plot)


@plan.command()
def rate(
    context: typer.Context,
    precision: Precise = "5%",
    replications: Repeated = 5,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """The highest rate at which flow control never begins.

    Example: simrep plan cluster.toml rate --jobs 2
    """
    own = {"precision": share("--precision", precision), "replications": replications}
    _answer(context, "rate", own, set_, seed, jobs, json=json, plot=plot)


@plan.command()
def product(
    context: typer.Context,
    regions: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Where servers stand: us-east-1,us-west-2,eu-west-1.",
            show_default=False,
        ),
    ],
    writes: Annotated[
        str, typer.Option(metavar="LIST", help="Where clients write.", show_default=False)
    ],
    objective: Objective,
    rtts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Round trips of your own, in columns from, to and rtt_ms."
        ),
    ] = None,
    zone_rtt_ms: Annotated[
        str, typer.Option(metavar="TIME", help="Round trip within a region: 1 or 500us.")
    ] = "1ms",
    replications: Repeated = 8,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """Which product and layout meets an objective at given regions, ranked.

    Example: simrep plan cluster.toml product --regions us-east-1,us-west-2,eu-west-1
    --writes us-east-1 --objective 'tps>=500,p99<=250ms'
    """
    own = {
        "regions": _names(regions),
        "writes": _names(writes),
        "objective": objective,
        "rtts": rtts,
        "zone_rtt_ms": duration("--zone-rtt-ms", zone_rtt_ms, "ms"),
        "replications": replications,
    }
    _answer(context, "product", own, set_, seed, jobs, json=json, plot=plot)


def _answer(
    context: typer.Context,
    question: str,
    own: dict[str, Any],
    set_: list[str] | None,
    seed: int | None,
    jobs: int,
    *,
    json: bool,
    plot: Path | None,
) -> None:
    check_writable("--plot", plot, plot=True)
    scenario: Path = context.obj

    from simrep.scenario import load, with_values
    from simrep.whatif.plan.ask import plan as ask

    chosen = with_values(load(scenario), assignments(set_ or []))
    with workers(jobs) as executor, progress_bar(scenario.name, quiet=json) as progress:
        found = ask(chosen, question, **own, seed=seed, executor=executor, progress=progress)
    present(found, json=json, plot=plot, width=found.width)


def _search(
    within: str | None, precision: str, replications: int, *, unit: str = ""
) -> dict[str, Any]:
    """What all searches take; a range without a unit is one of whole numbers."""
    limits: dict[str, Any] = {}
    if within is not None:
        given = range_of("--within", within, unit=unit, whole=not unit)
        kind = float if unit else int
        limits["within"] = kind(given.low), kind(given.high)
    return {
        **limits,
        "precision": share("--precision", precision),
        "replications": replications,
    }


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
