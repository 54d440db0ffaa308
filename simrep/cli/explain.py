"""``simrep explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from simrep.cli.arguments import Json, Plot, Scenario, Seed, Set, changed, path_in
from simrep.cli.output import check_writable, progress_bar, tell
from simrep.errors import ScenarioError
from simrep.measure.grammar import duration, share

__all__ = ["explain"]


def explain(
    scenario: Scenario,
    txn: Annotated[
        str | None,
        typer.Option(
            metavar="slowest|p95|p99.9|ID",
            help="Which transaction: the slowest (default), that at a percentile, or a number.",
        ),
    ] = None,
    tail: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Explain what the slowest waited for: 5% or 0.05."),
    ] = None,
    stall: Annotated[
        bool, typer.Option("--stall", help="Explain the longest time without a commit.")
    ] = False,
    longer_than: Annotated[
        str | None,
        typer.Option(
            "--longer-than",
            metavar="TIME",
            help="Of --stall: leave shorter blockages out (20ms, 1s); default: 100ms.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            parser=path_in,
            help="Save what happened meanwhile as a trace for Perfetto.",
        ),
    ] = None,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Simulate a scenario once and say why: one commit, the slowest ones, or a stall.

    [bold]Examples[/bold]

      simrep explain cluster.toml
      simrep explain cluster.toml --txn p95 --plot commit.png
      simrep explain cluster.toml --txn 1234 --trace commit.json
      simrep explain cluster.toml --tail 5%
      simrep explain cluster.toml --stall --longer-than 20ms --plot stall.svg
      simrep explain cluster.toml --json | jq .stages
    """
    _check_together(txn=txn, tail=tail, stall=stall, longer_than=longer_than, trace=trace)
    check_writable("--plot", plot, plot=True)
    check_writable("--trace", trace)
    longest_s = duration("--longer-than", longer_than or "100ms")
    if not longest_s > 0.0:
        raise ScenarioError("--longer-than", f"must be above 0, given {longer_than!r}")
    slowest = None if tail is None else share("--tail", tail)
    if slowest is not None and not 0.0 < slowest <= 1.0:
        raise ScenarioError("--tail", f"must be above 0 and at most 100 %, given {tail!r}")
    if plot is not None and plot == trace:
        raise ScenarioError("--trace", f"{str(trace)!r} is the file of --plot, too")

    chosen = changed(scenario, set_)
    found: Any
    with progress_bar(scenario.name, quiet=json):
        if stall:
            from simrep.why.stall import explain_stall

            found = explain_stall(chosen, seed=seed, longer_than_s=longest_s)
        elif slowest is not None:
            from simrep.why.tail import explain_tail

            found = explain_tail(chosen, share=slowest, seed=seed)
        else:
            from simrep.why.commit import explain as explain_one

            found = explain_one(chosen, txn="slowest" if txn is None else txn, seed=seed)
    tell(found, json=json)
    if plot is not None:
        found.plot(plot)
    if trace is not None:
        found.trace(trace)


def _check_together(
    *, txn: str | None, tail: str | None, stall: bool, longer_than: str | None, trace: Path | None
) -> None:
    """Refuse what does not go together."""
    asked = {"--txn": txn is not None, "--tail": tail is not None, "--stall": stall}
    given = [name for name, is_given in asked.items() if is_given]
    if len(given) > 1:
        raise ScenarioError("simrep explain", f"{given[0]} and {given[1]} are two questions")
    if longer_than is not None and not stall:
        raise ScenarioError("--longer-than", "belongs to --stall")
    if trace is not None and (stall or tail is not None):
        raise ScenarioError("--trace", f"is of one transaction, not of {given[0]}")
