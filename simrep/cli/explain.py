"""``simrep explain``."""

from __future__ import annotations

from itertools import combinations
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
            help="Choose the transaction: the slowest (default), the one at a percentile (p99.9 or "
            "p999), or its number in the order of counted commits.",
        ),
    ] = None,
    tail: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Explain the waits of the slowest transactions: 5% or 0.05."
        ),
    ] = None,
    stall: Annotated[
        bool,
        typer.Option(
            "--stall", help="Explain the longest time without a commit, instead of one transaction."
        ),
    ] = False,
    longer_than: Annotated[
        str | None,
        typer.Option(
            "--longer-than",
            metavar="TIME",
            help="With --stall, leave out shorter blockages (20ms, 1s); default: 100ms.",
        ),
    ] = None,
    fault: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|N",
            help="Show how servers react to a fault, by its name or position: messages and "
            "time line, from the first suspicion to the next primary component.",
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Show a part of the run from this time on (15s); with --fault, another begin.",
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="The end of this part (16.5s).")
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            parser=path_in,
            help="Save all events meanwhile as a trace for Perfetto.",
        ),
    ] = None,
    film: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.gif|.html|.mp4",
            parser=path_in,
            help="Save a film of one commit, a fault or a part of the run: messages travel "
            "between the nodes. An .mp4 needs ffmpeg.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            parser=path_in,
            help="Save a page that plays the run around the answer, message by message.",
        ),
    ] = None,
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Simulate a scenario once, and explain one commit, the slowest commits, a stall or a fault.

    [bold]Examples[/bold]

      simrep explain cluster.toml
      simrep explain cluster.toml --txn p95 --plot commit.png
      simrep explain cluster.toml --txn 1234 --trace commit.json
      simrep explain cluster.toml --html run.html
      simrep explain cluster.toml --tail 5%
      simrep explain cluster.toml --stall --longer-than 20ms --plot stall.svg
      simrep explain broken.toml --fault n3-dies --plot view-change.png
      simrep explain broken.toml --fault n3-dies --film view-change.gif
      simrep explain broken.toml --fault n3-dies --html n3-dies.html
      simrep explain broken.toml --from 15s --until 16.5s
      simrep explain cluster.toml --json | jq .stages
    """
    asked = {
        "--txn": txn is not None,
        "--tail": tail is not None,
        "--stall": stall,
        "--fault": fault is not None or (from_ is not None or until is not None),
    }
    _check_together(asked, longer_than=longer_than, trace=trace, film=film)
    begin_s = None if from_ is None else duration("--from", from_)
    end_s = None if until is None else duration("--until", until)
    if fault is None and (begin_s is None) != (end_s is None):
        raise ScenarioError("simrep explain", "--from and --until go together, or with --fault")
    check_writable("--plot", plot, plot=True)
    check_writable("--trace", trace)
    check_writable("--film", film)
    check_writable("--html", html)
    if film is not None:
        from simrep.show.plot.why.film import check_ending

        check_ending("--film", film)
    longest_s = duration("--longer-than", longer_than or "100ms")
    if not longest_s > 0.0:
        raise ScenarioError("--longer-than", f"must be above 0, given {longer_than!r}")
    slowest = None if tail is None else share("--tail", tail)
    if slowest is not None and not 0.0 < slowest <= 1.0:
        raise ScenarioError("--tail", f"must be above 0 and at most 100 %, given {tail!r}")
    files = {"--plot": plot, "--trace": trace, "--film": film, "--html": html}
    for first, second in combinations([name for name in files if files[name] is not None], 2):
        if files[first] == files[second]:
            raise ScenarioError(second, f"{str(files[second])!r} is the file of {first}, too")

    chosen = changed(scenario, set_)
    found: Any
    with progress_bar(scenario.name, quiet=json):
        if stall:
            from simrep.why.stall import explain_stall

            found = explain_stall(chosen, seed=seed, longer_than_s=longest_s)
        elif asked["--fault"]:
            from simrep.why.window import explain_window

            found = explain_window(chosen, fault=fault, from_s=begin_s, until_s=end_s, seed=seed)
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
    if film is not None:
        found.animate(film)
    if html is not None:
        with progress_bar(scenario.name, quiet=json):
            found.player(html)


def _check_together(
    asked: dict[str, bool], *, longer_than: str | None, trace: Path | None, film: Path | None
) -> None:
    """Refuse what does not go together."""
    given = [name for name, is_given in asked.items() if is_given]
    if len(given) > 1:
        raise ScenarioError("simrep explain", f"{given[0]} and {given[1]} are two questions")
    if longer_than is not None and not asked["--stall"]:
        raise ScenarioError("--longer-than", "belongs to --stall")
    if trace is not None and given not in ([], ["--txn"]):
        raise ScenarioError("--trace", f"is of one transaction, not of {given[0]}")
    if film is not None and given not in ([], ["--txn"], ["--fault"]):
        raise ScenarioError("--film", f"is of one transaction or of a fault, not of {given[0]}")
