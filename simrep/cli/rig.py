"""``simrep rig``: real clusters, measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from simrep.cli.arguments import MANY, Json, path_in
from simrep.cli.ending import at_its_own_pace
from simrep.cli.output import check_writable, print_json, show
from simrep.errors import SimrepError
from simrep.printable import printable

if TYPE_CHECKING:
    from simrep.rig.campaign import Told
    from simrep.rig.cell import ServerName
    from simrep.rig.engine import DelayMethod, EngineName
    from simrep.rig.equipment import ThisMachine
    from simrep.rig.experiment import Experiment
    from simrep.rig.journal import Progress
    from simrep.rig.predictions import Blind, Prediction

__all__ = ["rig"]

rig = typer.Typer(
    name="rig",
    help="Measure real clusters: build them, delay their network, load them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

FAILED = 1


@rig.callback()
def _begin() -> None:
    at_its_own_pace()


Server = Literal["mariadb", "mysql", "percona"]
EngineOption = Annotated[
    Literal["netns", "docker"] | None,
    typer.Option("--engine", help="Network namespaces or containers. Default: the available one."),
]
BaseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--base",
        metavar="[SERVER=]BASE",
        help="Image, or folder of a root file system, for all servers or for one kind of them.",
    ),
]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a dataset.")]
ExperimentOption = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        metavar="EXPERIMENT",
        help="The experiment. Default: the one that the folder names.",
    ),
]
DelayOption = Annotated[
    Literal["netem", "relay"] | None,
    typer.Option(
        "--delay", help="Method of delaying packets. Default: netem if the kernel has it."
    ),
]


def _only(kind: str) -> Any:
    return typer.Option(metavar="NAME", help=f"Only this {kind}; may be repeated.")


@rig.command()
def measure(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="One that ships, or a file (*.toml).")
    ],
    engine: EngineOption = None,
    base: BaseOption = None,
    delay: DelayOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            parser=path_in,
            help="Folder of the dataset. Default: named as the experiment.",
        ),
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option(min=1, max=MANY, help="Repetitions of each cell, at most.")
    ] = None,
    system: Annotated[list[str] | None, _only("system")] = None,
    layout: Annotated[list[str] | None, _only("layout")] = None,
    load: Annotated[list[str] | None, _only("load")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Repeat runs whose attempts are all marked.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cells, and run nothing.")
    ] = False,
) -> None:
    """Measure an experiment, or its missing runs, and write a dataset.

    [bold]Examples[/bold]

      simrep rig measure smoke
      simrep rig measure wan-concurrency --out measured/wan --engine netns
      simrep rig measure mine.toml --base mariadb=my-image:1 --system galera
    """
    from simrep.rig.experiment import load_experiment

    stored = load_experiment(experiment)
    part = stored.experiment.part(
        systems=system, layouts=layout, loads=load, repetitions=repetitions
    )
    if dry_run:
        _print_runs(part)
        return
    _need_drivers()
    from simrep.rig.campaign import Campaign
    from simrep.rig.dataset import check_folder, write_dataset

    folder = out or Path(stored.name)
    machine = _machine(part.systems[0].runs_on, engine, base, delay)
    check_folder(stored, folder)
    campaign = Campaign(stored, machine, folder, part=part, again=again, tell=_report)
    try:
        complete = campaign.run()
    finally:
        write_dataset(campaign)
        _say("\n".join([*campaign.problems, _summary(campaign)]))
    if not complete or campaign.unusable:
        raise typer.Exit(FAILED)


@rig.command()
def predict(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="One that ships, or a file (*.toml).")
    ],
    runs: Annotated[int, typer.Option(min=2, max=MANY, help="Simulated runs of each cell.")] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=path_in,
            help="CSV that is written; an existing file is kept as it is.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=MANY, help="Processes.")] = 1,
) -> None:
    """Predict an experiment with faults before it is measured.

    [bold]Examples[/bold]

      simrep rig predict galera-crash
      simrep rig predict mine.toml --runs 20 --out mine.predicted.csv
    """
    from simrep.files import write_text
    from simrep.rig.experiment import load_experiment
    from simrep.rig.predictions import predict as predicted
    from simrep.rig.predictions import predictions_text
    from simrep.runs.executor import workers

    check_writable("--out", out)
    stored = load_experiment(experiment)
    cells = len(list(stored.experiment.cells()))
    if out is not None and out.is_file():
        raise SimrepError(f"{out} is there already: predictions are not written anew")
    found = []
    each = predicted(stored.experiment, runs, executor=workers(jobs))
    for number, (label, own) in enumerate(each, 1):
        _say(f"[{number}/{cells}] {label}")
        found += own
    if out is not None:
        write_text(out, predictions_text(found))
        return
    _print_predictions(found)


@rig.command()
def blind(
    folder: FolderArgument,
    predicted: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Predictions. Default: those that ship with the experiment."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compare predictions with later measurements."""
    from simrep.rig.dataset import experiment_of
    from simrep.rig.predictions import blind as judged
    from simrep.rig.predictions import prediction_file, read_predictions
    from simrep.user_files import read_text

    file = predicted or prediction_file(experiment_of(folder).name)
    found = judged(folder, read_predictions(read_text(file, str(file))))
    kinds = ("timers", "slow phases", "processors", "errors of clients")
    scores = found.scores
    counts = (scores.timers, scores.slow_phases, scores.processors, scores.codes)
    if json:
        print_json({kind: list(own) for kind, own in zip(kinds, counts, strict=True)})
        return
    _print_blind(found)
    told = (f"{right} of {n} {kind}" for kind, (right, n) in zip(kinds, counts, strict=True) if n)
    print(f"right: {', '.join(told)}")


@rig.command()
def write(folder: FolderArgument, experiment: ExperimentOption = None) -> None:
    """Write the files of a dataset anew from its measurements; nothing is measured."""
    from simrep.rig.dataset import write_dataset

    progress = _progress(folder, experiment)
    if not progress.entries():
        raise SimrepError(f"{folder} holds no run of experiment {progress.stored.name!r}")
    write_dataset(progress)
    _say(_summary(progress))


@rig.command()
def status(folder: FolderArgument, experiment: ExperimentOption = None, json: Json = False) -> None:
    """List measured, marked and missing runs of an experiment, with reasons."""
    progress = _progress(folder, experiment)
    entries = progress.entries()
    marked = [entry for entry in entries if not entry.passed]
    if json:
        print_json(
            {
                "experiment": progress.stored.name,
                "passed": len(entries) - len(marked),
                "marked": [entry.mark() for entry in marked],
                "missing": [run.id for run in progress.missing],
                "never_passed": [run.id for run in progress.unusable],
            }
        )
        return
    for entry in marked:
        print(printable(f"marked: {entry.id} attempt {entry.attempt}: {entry.reasons()}"))
    for run in progress.missing:
        print(f"missing: {run.id}")
    print(_summary(progress))


@rig.command()
def verify(folder: FolderArgument) -> None:
    """Compare the files of a dataset with its manifest."""
    from simrep.rig.manifest import changes

    found = changes(folder)
    for name, what in sorted(found.items()):
        print(printable(f"{what}: {name}"))
    if {"changed", "missing"} & set(found.values()):
        raise typer.Exit(FAILED)


@rig.command("list")
def list_experiments(json: Json = False) -> None:
    """List the experiments that ship."""
    from simrep.rig.experiment import experiments, load_experiment

    described = [
        {
            "name": stored.name,
            "title": stored.experiment.title,
            "question": stored.experiment.question.strip(),
            "cells": len(list(stored.experiment.cells())),
            "runs": len(stored.experiment.runs()),
        }
        for stored in map(load_experiment, experiments())
    ]
    if json:
        print_json({"experiments": described})
        return
    from simrep.show.text.layout import table

    columns = ("name", "title", "cells", "runs")
    rows = ([str(content[column]) for column in columns] for content in described)
    show(table(("experiment", "what it measures", "cells", "runs"), "llr", rows, edges=True))


@rig.command()
def check(json: Json = False) -> None:
    """List the engines, delays and tools of this machine."""
    from simrep.rig.equipment import abilities

    found = abilities()
    if json:
        print_json({one.name: {"present": one.present, "note": one.note} for one in found})
        return
    from simrep.show.text.layout import table

    rows = ((one.name, "yes" if one.present else "no", one.note) for one in found)
    show(table(("what", "there", "note"), "l", rows, edges=True))


@rig.command()
def relay(
    engine: EngineOption = None,
    base: BaseOption = None,
    delay: DelayOption = None,
    server: Annotated[Server, typer.Option(help="The server whose hosts are used.")] = "mariadb",
    json: Json = False,
) -> None:
    """Measure the exactness and the cost of delays on this machine."""
    _need_drivers()
    from simrep.rig.guard import ended_by_signals

    machine = _machine(server, engine, base, delay)
    with ended_by_signals():
        found = machine.accuracy()
    if json:
        print_json(found)
        return
    from simrep.show.text.layout import table

    names = ("requested_ms", "mean_ms", "p50_ms", "p99_ms", "most_ms", "relay_cpu")
    rows = (
        (*(f"{row[name]:.3f}" for name in names), f"{row['received'] / row['sent']:.2%}")
        for row in found["delays"]
    )
    title = f"Delays by {found['delay_method']}"
    delays = table((*names, "received"), "r", rows, name=title, edges=True)
    delays.title_justify = "center"
    show(delays)


@rig.command()
def base(
    server: Annotated[Literal["mariadb", "mysql"], typer.Argument(metavar="SERVER")],
    image: Annotated[
        str | None, typer.Option(metavar="NAME", help="Let Docker import it under this name.")
    ] = None,
) -> None:
    """Make the root file system with a server's programs, for network namespaces."""
    from simrep.rig.rootfs import build, import_image

    root = build(server, tell=_say)
    if image is not None:
        import_image(root, image)
    print(image or root)


def _machine(
    server: ServerName, engine: EngineName | None, base: list[str] | None, delay: DelayMethod | None
) -> ThisMachine:
    from simrep.rig import equipment
    from simrep.rig.files import rig_folder

    return equipment.ThisMachine(
        server,
        rig_folder(),
        engine=engine,
        base=equipment.bases(base or []),
        delay_method=delay,
        tell=_say,
    )


def _need_drivers() -> None:
    from importlib.util import find_spec

    if find_spec("pymysql") is None:
        raise SimrepError("the rig needs PyMySQL: pip install 'simrep[rig]'")


def _print_runs(experiment: Experiment) -> None:
    runs = experiment.runs()
    for cell, repetitions in experiment.cells():
        options = " ".join(f"{name}={value}" for name, value in cell.options.items())
        most = experiment.most_repetitions or 0
        times = f"{repetitions} to {most}" if most > repetitions else f"{repetitions}"
        print(f"{cell.label}  {times} x  {cell.nodes} nodes  {options}")
    clusters = len({run.cell.cluster_key for run in runs})
    more = len(experiment.runs(most=True))
    most_runs = f" to {more}" if more > len(runs) else ""
    print(f"{len(runs)}{most_runs} runs on {clusters} clusters")


def _print_predictions(found: list[Prediction]) -> None:
    from simrep.show.text.layout import table

    rows = (
        (one.series, one.factors, one.metric, f"{one.median:.4g}", f"{one.low:.4g}",
         f"{one.high:.4g}", f"{one.share:.0%}")
        for one in found
    )  # fmt: skip
    heads = ("series", "factors", "figure", "median", "from", "to", "runs that have it")
    show(table(heads, "lllrrrr", rows, edges=True))


def _print_blind(found: Blind) -> None:
    from statistics import median

    from simrep.rig.predictions import factors_text
    from simrep.show.text.layout import table

    rows = [
        (one.series, factors_text(one.factors), one.metric, f"{median(one.measured):.4g}",
         f"{one.predicted:.4g}", f"{one.low:.4g} .. {one.high:.4g}", one.decided_by)
        for one in found.missed
    ]  # fmt: skip
    heads = ("series", "factors", "missed", "measured", "predicted", "99 % of runs", "decided by")
    show(table(heads, "lllrrrl", rows, edges=True))
    for code in found.codes:
        if not code.right:
            mostly = ", ".join(f"{name} ({share:.0%})" for name, share in code.predicted.items())
            met = ", ".join(code.measured) or "none"
            where = f"{code.series} {factors_text(code.factors)}"
            print(printable(f"errors of {where}: met {met}; predicted {mostly or 'none'}"))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _report(told: Told) -> None:
    left = f"; about {max(1, round(told.left_s / 60))} min left" if told.left_s else ""
    _say(f"[{told.done}/{told.total}] {told.text}{left}")


def _progress(folder: Path, experiment: str | None) -> Progress:
    from simrep.rig.dataset import experiment_of
    from simrep.rig.journal import Progress

    return Progress(experiment_of(folder, experiment), folder)


def _summary(progress: Progress) -> str:
    from simrep.rig.manifest import CLOSE, repeatability

    entries = progress.entries()
    marked = sum(not entry.passed for entry in entries)
    counts = f"{len(entries)} attempts, {marked} of them marked"
    left = f"{len(progress.missing)} runs missing, {len(progress.unusable)} that never passed"
    lines = [f"{progress.folder}: {counts}; {left}"]
    if progress.others:
        lines.append(f"{progress.others} attempts at other runs are left out")
    where = {"wan": "with", "near": "without"}
    for kind, found in repeatability(entries, progress.runs).items():
        if found.cells:
            close = f"{found.close} of {found.cells} cells {where[kind]} delays"
            lines.append(f"{close} have all repetitions within {CLOSE:.0%} of their median")
    return "\n".join(lines)
