"""``simrep fit``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from simrep.cli.arguments import Jobs, Json, Replications, Seed, workers
from simrep.cli.output import print_json, progress_bar, show, write_whole

if TYPE_CHECKING:
    from rich.console import Group

    from simrep.calibrate.fit import FitResult

__all__ = ["fit"]

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A dataset, or its folder.", show_default=False)
]
SeriesName = Annotated[
    str | None, typer.Option("--series", help="Which system, where the dataset fits several.")
]
Write = Annotated[
    bool, typer.Option("--write", help="Write the costs into the pack that the scenario names.")
]


def fit(
    name: Name,
    series: SeriesName = None,
    seed: Seed = None,
    replications: Replications = None,
    write: Write = False,
    json: Json = False,
    jobs: Jobs = 1,
) -> None:
    """Fit local costs to those cells of a dataset that are set aside for it.

    [bold]Examples[/bold]

      simrep fit wan-concurrency
      simrep fit galera-rig --jobs 2 --write
    """
    from simrep.experiment.dataset import load_dataset

    dataset = load_dataset(name)

    from simrep.calibrate.fit import CalibrationError
    from simrep.calibrate.fit import fit as fit_costs

    with workers(jobs) as executor, progress_bar(f"fit {dataset.name}", quiet=json):
        try:
            result = fit_costs(
                dataset, series=series, seed=seed, replications=replications, executor=executor
            )
        except CalibrationError as error:
            if error.best:
                values = ", ".join(f"{key} {value:.4g}" for key, value in error.best.items())
                print(f"Error: {error}; best so far: {values}", file=sys.stderr)
                raise typer.Exit(130) from None
            raise
    if json:
        print_json(_plain(result))
    else:
        show(_tables(result))
    if write:
        from simrep.calibrate.pack_file import pack_path, with_costs

        path = pack_path(dataset, result.series)
        text = with_costs(path.read_text(encoding="utf-8"), result.costs)
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
        print(f"Costs written: {path}", file=sys.stderr)


def _plain(result: FitResult) -> dict[str, object]:
    from dataclasses import asdict

    residuals = [
        {
            **asdict(residual),
            "relative_error": residual.relative_error if residual.measured else None,
        }
        for residual in result.residuals
    ]
    return {**asdict(result), "residuals": residuals}


def _tables(result: FitResult) -> Group:
    from rich import box
    from rich.console import Group
    from rich.table import Table

    costs = Table(box=box.SIMPLE_HEAD, title=f"Costs of {result.series}", title_justify="left")
    for heading in ("cost", "prior", "fitted", "standard error"):
        costs.add_column(heading, justify="left" if heading == "cost" else "right")
    for estimate in result.estimates:
        costs.add_row(
            estimate.name,
            f"{estimate.prior:.4g}",
            f"{estimate.value:.4g}",
            f"{estimate.standard_error:.0%}",
        )
    cells = Table(box=box.SIMPLE_HEAD, title="Fitted to", title_justify="left")
    for heading in ("figure", "measured", "fitted", "error"):
        cells.add_column(heading, justify="left" if heading == "figure" else "right")
    for residual in result.residuals:
        cells.add_row(
            residual.label,
            f"{residual.measured:.4g}",
            f"{residual.fitted:.4g}",
            f"{residual.relative_error:+.1%}" if residual.measured else "-",
        )
    state = "converged" if result.converged else "stopped before it converged"
    return Group(costs, cells, f"{result.evaluations} sets of costs simulated; {state}.")
