"""``simrep reproduce``."""

from __future__ import annotations

from typing import Annotated

import typer

from simrep.cli.arguments import Jobs, Json, Plot, Replications, Seed, workers
from simrep.cli.output import check_writable, present, progress_bar

__all__ = ["reproduce"]

Name = Annotated[
    str, typer.Argument(metavar="[NAME]", help="A dataset, or a folder with a dataset.toml.")
]
List = Annotated[bool, typer.Option("--list", help="Name the datasets that ship, and stop.")]


def reproduce(
    name: Name = "wan-concurrency",
    list_: List = False,
    seed: Seed = None,
    replications: Replications = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = 1,
) -> None:
    """Simulate the cells of a dataset and print how far off the simulation is.

    [bold]Examples[/bold]

      simrep reproduce
      simrep reproduce wan-concurrency --plot wan-concurrency.png
      simrep reproduce galera-rig --replications 20 --jobs 2
      simrep reproduce --json | jq .summary
    """
    check_writable("--plot", plot, plot=True)

    from simrep.data.dataset import datasets, load_dataset

    if list_:
        for shipped in datasets():
            print(f"{shipped}: {load_dataset(shipped).definition.title}")
        return
    dataset = load_dataset(name)

    from simrep.data.reproduce import reproduce as simulate

    with workers(jobs) as executor, progress_bar(dataset.name, quiet=json) as progress:
        result = simulate(
            dataset, seed=seed, replications=replications, executor=executor, progress=progress
        )
    present(result, json=json, plot=plot, drawable=bool(result.finished))
