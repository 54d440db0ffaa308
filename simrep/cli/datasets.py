"""``simrep reproduce`` and ``simrep validate``: datasets, simulated."""

from __future__ import annotations

from typing import Annotated

import typer

from simrep.cli.arguments import Jobs, Json, Plot, Replications, Seed
from simrep.cli.output import check_writable, present, progress_bar

__all__ = ["reproduce", "validate"]

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
    jobs: Jobs = None,
) -> None:
    """Simulate the cells of a dataset, and print the errors of the simulation.

    [bold]Examples[/bold]

      simrep reproduce
      simrep reproduce wan-concurrency --plot wan-concurrency.png
      simrep reproduce galera-rig --replications 20
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

    with progress_bar(dataset.name, quiet=json) as progress:
        result = simulate(
            dataset, seed=seed, replications=replications, jobs=jobs, progress=progress
        )
    present(result, json=json, plot=plot, drawable=bool(result.finished))


Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATASET ...]",
        help="Datasets, or folders with a dataset.toml; default: all shipped datasets.",
    ),
]
Pack = Annotated[
    str | None,
    typer.Option(
        metavar="PACK",
        help="Judge this pack, by its name or file, instead of the scenarios' packs; leaves out "
        "systems of other models.",
    ),
]
Holdout = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITIONS",
        help="Score only these cells: \"threads in (1, 64) and layout == 'lan'\".",
    ),
]


def validate(
    names: Names = None,
    pack: Pack = None,
    holdout: Holdout = None,
    seed: Seed = None,
    replications: Replications = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = None,
) -> None:
    """Predict every measured cell, and print the errors, the share of near ones, and the order.

    Cells of a fit are marked and not counted. Named datasets also list their cells.

    [bold]Examples[/bold]

      simrep validate --plot errors.png
      simrep validate wan-concurrency galera-rig
      simrep validate measured/ours --pack ours.toml --holdout "threads > 16"
      simrep validate --json | jq .scores
    """
    check_writable("--plot", plot, plot=True)

    from simrep.data.validation import validate as predict

    with progress_bar("validate", quiet=json) as progress:
        validation = predict(
            names or None,
            pack=pack,
            holdout=holdout,
            seed=seed,
            replications=replications,
            jobs=jobs,
            progress=progress,
        )
    tables = None if json else validation.tables(cells=bool(names))
    present(validation, json=json, plot=plot, tables=tables, drawable=bool(validation.parts))
