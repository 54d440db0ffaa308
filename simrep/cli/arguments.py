"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simrep.errors import ScenarioError
from simrep.measure.grammar import written_value

if TYPE_CHECKING:
    from simrep.scenario import Scenario as Loaded

__all__ = [
    "MANY",
    "CacheFolder",
    "Jobs",
    "Json",
    "Most",
    "NoCache",
    "Of",
    "Out",
    "Plot",
    "Precision",
    "Quick",
    "Replications",
    "Scenario",
    "Seed",
    "Set",
    "assignments",
    "changed",
    "most_of",
    "path_in",
]


def path_in(text: str) -> Path:
    """The path that an option gives; a path without a name would be the current folder."""
    if not text.strip():
        raise typer.BadParameter("is empty: name a file or a folder")
    return Path(text)


Scenario = Annotated[
    Path,
    typer.Argument(metavar="SCENARIO.toml", help="The scenario to simulate.", show_default=False),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a value of the scenario, by its path; may be repeated. Values are TOML, or "
        "else text; positions name entries of lists: network.egress.0.delay_ms=50.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", parser=path_in, help="Save a figure (png, svg, pdf)."),
]
MANY = 1_000_000
"""Repetitions, points or draws at most: the mean of a tenth of that is known to 1 % and better."""

Seed = Annotated[
    int | None,
    typer.Option(
        min=0, max=2**63 - 1, help="Root of all random numbers; default: run.seed of the scenario."
    ),
]
Replications = Annotated[
    int | None, typer.Option(min=1, max=MANY, help="Repetitions with other random numbers.")
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, max=1024, help="Processes to use; default: SIMREP_JOBS, or all cores."),
]

Quick = Annotated[
    bool,
    typer.Option("--quick", help="A first look: fewer and shorter runs, with wider intervals."),
]
Precision = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="Repeat the run until the 95 % interval of a figure is narrow enough: 2% or 0.02 of "
        "the figure on either side.",
    ),
]
Of = Annotated[
    str | None,
    typer.Option(
        metavar="FIGURE",
        help="The figure of --precision: latency_s.p95 ...; default: throughput_tps.",
    ),
]
Most = Annotated[
    int | None,
    typer.Option(
        min=2, max=MANY, help="Replications at which --precision gives up; default: 1000."
    ),
]


Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        parser=path_in,
        help="Save a row for every point, or cell of a drill: .csv or .parquet.",
    ),
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        parser=path_in,
        help="Folder of known results; default: SIMREP_CACHE, or simrep in the user's folder of "
        "caches.",
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Simulate all, and store nothing.")]


def assignments(texts: Sequence[str]) -> dict[str, Any]:
    """Values by path of ``path=value`` arguments.

    The value is read as TOML where it is TOML, and is text otherwise: ``5``, ``true``,
    ``["n1", "n2"]``, ``galera``.
    """
    found: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise ScenarioError("--set", f"{text!r} is not of the form path=value")
        found[path.strip()] = written_value(value)
    return found


def most_of(most: int | None, precision: str | None) -> int:
    """Replications at which ``--precision`` gives up; without it ``--most`` would say nothing."""
    if most is not None and precision is None:
        raise ScenarioError("--most", "limits what --precision takes", "give --precision, too")
    from simrep.runs.sampler import MOST

    return MOST if most is None else most


def changed(scenario: Path, texts: Sequence[str] | None) -> Loaded:
    """The scenario of a file, with the values of ``path=value`` arguments."""
    from simrep.scenario import load, with_values

    return with_values(load(scenario), assignments(texts or ()))
