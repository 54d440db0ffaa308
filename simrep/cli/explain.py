"""``simrep explain``."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from simrep.cli.arguments import Json, Plot, Seed, assignments
from simrep.cli.output import check_writable, print_json, progress_bar, show, write_whole
from simrep.cli.run import Scenario, Set
from simrep.errors import ScenarioError

__all__ = ["explain"]

_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(us|ms|s)")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def explain(
    scenario: Scenario,
    stall: Annotated[
        bool, typer.Option("--stall", help="Explain the longest time without a commit.")
    ] = False,
    longer_than: Annotated[
        str,
        typer.Option(
            "--longer-than", metavar="DURATION", help="Leave shorter blockages out: 20ms, 1s."
        ),
    ] = "100ms",
    set_: Set = None,
    seed: Seed = None,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Simulate a scenario once and print what blocked whom, when and for how long.

    [bold]Examples[/bold]

      simrep explain cluster.toml --stall
      simrep explain cluster.toml --stall --set cluster.options.wsrep_slave_threads=8
      simrep explain cluster.toml --stall --longer-than 20ms --plot stall.png
      simrep explain cluster.toml --stall --json | jq .causes
    """
    if not stall:
        raise ScenarioError("simrep explain", "there is nothing to explain", "give --stall")
    longer_than_s = _seconds(longer_than)
    check_writable("--plot", plot, plot=True)

    from simrep.experiment.explain import explain_stall
    from simrep.scenario import load, with_values

    chosen = with_values(load(scenario), assignments(set_ or []))
    with progress_bar(scenario.name, quiet=json):
        found = explain_stall(chosen, seed=seed, longer_than_s=longer_than_s)
    if plot is not None:
        write_whole(plot, found.plot)
    if json:
        print_json(found.to_dict())
    else:
        show(found.summary())


def _seconds(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    if match is None or not float(match[1]) > 0.0:
        raise ScenarioError(
            "--longer-than", f"{text!r} is no duration above 0", "for example 100ms, 2s or 500us"
        )
    return float(match[1]) * _UNITS[match[2]]
