"""``simrep calibrate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simrep.cli.arguments import Jobs, Json, Replications, Seed, path_in
from simrep.cli.ending import INTERRUPTED
from simrep.cli.output import check_writable, progress_bar, tell
from simrep.errors import ScenarioError
from simrep.files import write_text

if TYPE_CHECKING:
    from simrep.calibrate.fit import FitResult
    from simrep.data.dataset import Dataset

__all__ = ["calibrate"]

Name = Annotated[str, typer.Argument(metavar="DATASET", help="A dataset, or its folder.")]
SeriesName = Annotated[
    str | None, typer.Option("--series", help="The system to fit, if the dataset has several.")
]
Model = Annotated[str | None, typer.Option("--model", help="The system to fit, by its model.")]
Cells = Annotated[
    str | None,
    typer.Option(
        "--cells",
        metavar="EXPR",
        help="Fit to these cells: a condition such as 'threads <= 16 and delay_ms == 0'.",
    ),
]
Costs = Annotated[
    list[str] | None,
    typer.Option(
        "--fit",
        metavar="COST",
        help="Fit this cost, or machine.TRAIT, instead of the dataset's own; may be repeated.",
    ),
]
Keep = Annotated[
    bool, typer.Option("--keep", help="Do not search: print the certainty of the present costs.")
]
WithPosterior = Annotated[
    bool,
    typer.Option(
        "--posterior",
        help="Sample the posterior (emcee) for the standard errors.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="PACK.toml", parser=path_in, help="Write a new pack."),
]
Write = Annotated[
    bool,
    typer.Option(
        "--write", help="Write into the pack that the scenario names; its card and comments stay."
    ),
]


def calibrate(
    name: Name,
    series: SeriesName = None,
    model: Model = None,
    cells: Cells = None,
    fit: Costs = None,
    keep: Keep = False,
    posterior: WithPosterior = False,
    out: Out = None,
    write: Write = False,
    seed: Seed = None,
    replications: Replications = None,
    json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Fit local costs to measured cells, and tell which costs the cells determine.

    [bold]Examples[/bold]

      simrep calibrate wan-concurrency --series pxc
      simrep calibrate galera-rig --cells "egress_delay_ms == 0 and threads <= 16"
      simrep calibrate galera-rig --fit statement_us --fit commit_us --out mine.toml
    """
    check_writable("--out", out)
    if out is not None and out.suffix != ".toml":
        raise ScenarioError("--out", f"{out.name!r} is no pack file", "name it *.toml")

    from simrep.data.dataset import load_dataset

    dataset = load_dataset(name)

    from simrep.calibrate.fit import evaluations_expected, fitted_series
    from simrep.calibrate.fit import fit as fit_costs
    from simrep.calibrate.measured_figures import CalibrationError

    chosen = fitted_series(dataset, series, model, any_series=bool(fit))
    if write:
        from simrep.calibrate.pack_file import pack_path

        check_writable("--write", pack_path(dataset, chosen.name))
    costs = fit or (chosen.fit.parameter if chosen.fit else ())
    expected = evaluations_expected(len(costs), keep=keep)
    with progress_bar(f"calibrate {dataset.name}", quiet=json) as update:
        try:
            result = fit_costs(
                dataset,
                series=series,
                model=model,
                parameters=fit or (),
                cells=cells,
                keep=keep,
                posterior=posterior,
                seed=seed,
                replications=replications,
                jobs=jobs,
                progress=lambda done, _cost: update(done, max(expected, done + 1)),
            )
        except CalibrationError as error:
            if not isinstance(error.__context__, KeyboardInterrupt):
                raise
            values = ", ".join(f"{key} {value:.4g}" for key, value in error.best.items())
            print(f"Interrupted. Best so far: {values or 'nothing'}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    tell(result, json=json)
    _write(dataset, result, out=out, write=write)


def _write(dataset: Dataset, result: FitResult, *, out: Path | None, write: bool) -> None:
    from simrep.calibrate.pack_file import calibrated, new_pack, pack_path
    from simrep.user_files import read_text

    texts: dict[Path, str] = {}
    if out is not None:
        texts[out] = new_pack(dataset, result, out.stem)
    if write:
        path = pack_path(dataset, result.series)
        texts[path] = calibrated(read_text(path, str(path)), dataset, result)
    for path, text in texts.items():
        write_text(path, text)
        print(f"Pack written: {path}", file=sys.stderr)
