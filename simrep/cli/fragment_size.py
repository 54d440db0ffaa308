"""``simrep fragment-size``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simrep.cli.arguments import (
    Jobs,
    Json,
    Plot,
    Replications,
    Seed,
    assignments,
    workers,
)
from simrep.cli.output import check_writable, present, progress_bar
from simrep.cli.run import Set
from simrep.measure.grammar import duration, quantities, share

__all__ = ["fragment_size"]

Scenario = Annotated[
    Path,
    typer.Argument(
        metavar="SCENARIO.toml", help="With a scheduled transaction.", show_default=False
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        help="Fragment sizes, such as 10K,100K,1M (K is 1000, Ki is 1024). "
        "Default: a grid from one row to all of it."
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(help="bytes, rows or statements. Default: as in the scenario, or bytes."),
]
Transaction = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which one, if several are scheduled.")
]
Stall = Annotated[str, typer.Option(metavar="TIME", help="How long the payload may stand still.")]
Slowdown = Annotated[
    float, typer.Option(metavar="FACTOR", help="How much longer the transaction may take.")
]
Payload = Annotated[
    str, typer.Option(metavar="SHARE", help="Throughput that the payload has to keep.")
]


def fragment_size(
    scenario: Scenario,
    sizes: Sizes = None,
    unit: Unit = None,
    transaction: Transaction = None,
    longest_stall: Stall = "1s",
    largest_slowdown: Slowdown = 1.5,
    least_payload: Payload = "80%",
    set_: Set = None,
    seed: Seed = None,
    replications: Replications = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """Find the fragment size of streaming replication that suits a large transaction.

    [bold]Examples[/bold]

      simrep fragment-size cluster.toml
      simrep fragment-size cluster.toml --sizes 10K,100K,1M --plot sizes.png
      simrep fragment-size cluster.toml --unit rows --longest-stall 500ms --jobs 2
    """
    check_writable("--plot", plot, plot=True)
    wanted = None if sizes is None else quantities("--sizes", sizes)
    stall_s = duration("--longest-stall", longest_stall)
    payload = share("--least-payload", least_payload)

    from simrep.models.galera.questions.fragment_sizes import fragment_sizes
    from simrep.scenario import load, with_values

    chosen = with_values(load(scenario), assignments(set_ or []))
    with workers(jobs) as executor, progress_bar(scenario.name, quiet=json) as progress:
        found = fragment_sizes(
            chosen,
            sizes=wanted,
            unit=unit,
            transaction=transaction,
            longest_stall_s=stall_s,
            largest_slowdown=largest_slowdown,
            least_payload=payload,
            seed=seed,
            replications=replications,
            executor=executor,
            progress=progress,
        )
    present(found, json=json, plot=plot, drawable=bool(found.sizes))
