"""``simrep compare``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from simrep.cli.arguments import (
    MANY,
    Jobs,
    Json,
    Plot,
    Precision,
    Quick,
    Seed,
    Set,
    assignments,
    most_of,
)
from simrep.cli.output import check_writable, present, progress_bar, tell_nearest_pack
from simrep.errors import ScenarioError
from simrep.measure.grammar import duration, share

__all__ = ["compare"]

First = Annotated[Path, typer.Argument(metavar="A.toml", help="A scenario.", show_default=False)]
Second = Annotated[
    Path | None,
    typer.Argument(
        metavar="B.toml", help="The other scenario; A if only values differ.", show_default=False
    ),
]
SetA = Annotated[
    list[str] | None, typer.Option("--set-a", metavar="PATH=VALUE", help="The same for A alone.")
]
SetB = Annotated[
    list[str] | None, typer.Option("--set-b", metavar="PATH=VALUE", help="The same for B alone.")
]
Figures = Annotated[
    list[str] | None,
    typer.Option(
        "--of",
        metavar="FIGURE",
        help="Figure to compare instead of throughput and latency: stall_max_s, latency_s.p99 ...; "
        "may be repeated.",
    ),
]
Pairs = Annotated[
    int | None,
    typer.Option(
        "--replications",
        min=2,
        max=MANY,
        help="Pairs with the same random numbers; default: until it is clear, 3 to 10, or "
        "4 to 40 of shorter runs.",
    ),
]
Rto = Annotated[
    str | None,
    typer.Option(
        "--rto",
        metavar="TIME",
        help="Longest time without a write in a drill; the answer names the sides that keep it.",
    ),
]
Rpo = Annotated[
    float | None,
    typer.Option(
        "--rpo",
        min=0,
        metavar="N",
        help="Most answered transactions that a drill may lose; the answer names the sides that "
        "keep it.",
    ),
]
Most = Annotated[
    int | None,
    typer.Option(min=2, max=MANY, help="Pairs at which --precision gives up; default: 1000."),
]


def compare(
    a: First,
    b: Second = None,
    set_: Set = None,
    set_a: SetA = None,
    set_b: SetB = None,
    of: Figures = None,
    quick: Quick = False,
    seed: Seed = None,
    replications: Pairs = None,
    precision: Precision = None,
    most: Most = None,
    rto: Rto = None,
    rpo: Rpo = None,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = None,
) -> None:
    """Compare two scenarios with the same random numbers, and print the differences.

    [bold]Examples[/bold]

      simrep compare today.toml tomorrow.toml
      simrep compare cluster.toml --set-b network.rtt_ms=50
      simrep compare cluster.toml --set-b network.rtt_ms=50 --quick
      simrep compare cluster.toml --set-b workload.threads=64 --precision 1%
      simrep compare a.toml b.toml --json | jq -r .verdict
    """
    check_writable("--plot", plot, plot=True)
    goal = None if precision is None else share("--precision", precision)
    if b is None and not (set_a or set_b):
        raise ScenarioError("simrep compare", "there is nothing to compare", "give B, or --set-b")

    from simrep.scenario import load, with_values
    from simrep.whatif.compare import compare as simulate

    both = assignments(set_ or [])
    first = with_values(load(a), both | assignments(set_a or []))
    second = with_values(load(a if b is None else b), both | assignments(set_b or []))
    with progress_bar(a.name, quiet=json) as progress:
        found = simulate(
            first,
            second,
            quick=quick,
            figures=of or None,
            labels=_labels(a, b),
            seed=seed,
            replications=replications,
            precision=goal,
            most=most_of(most, precision),
            rto_s=None if rto is None else duration("--rto", rto),
            rpo=rpo,
            jobs=jobs,
            progress=progress,
        )
    if quick and found.asked_s is None:  # else a note below the table tells it
        print(f"A first look: {found.pairs} pairs as long as asked for", file=sys.stderr)
    tell_nearest_pack(first, a)
    present(found, json=json, plot=plot)


def _labels(a: Path, b: Path | None) -> tuple[str, str]:
    """The names of the files, where they tell the two apart."""
    if b is None or a.stem == b.stem:
        return "A", "B"
    return a.stem, b.stem
