"""``simrep sensitivity``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from simrep.cli.arguments import MANY, Jobs, Json, Plot, Scenario, Seed, Set, changed
from simrep.cli.output import check_writable, present, progress_bar
from simrep.errors import ScenarioError
from simrep.measure.grammar import range_in

__all__ = ["ranges", "sensitivity"]

Of = Annotated[
    str, typer.Option(metavar="FIGURE", help="Figure of the result: throughput_tps, latency_s.p95.")
]
Over = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH=LOW..HIGH",
        help="Vary this number of the scenario; may be repeated. Default: the costs of the model "
        "within their usual ranges, and all delays from half to twice.",
    ),
]
Method = Annotated[
    str, typer.Option(help="morris: effects, few runs; sobol: shares of the variance, many.")
]
Points = Annotated[
    int | None,
    typer.Option(
        min=2, max=MANY, help="Trajectories of Morris (10), or rows of the sample of Sobol (64)."
    ),
]
Repeats = Annotated[
    int,
    typer.Option(min=3, max=MANY, help="Repetitions with other random numbers, to measure chance."),
]
Each = Annotated[int, typer.Option("--replications", min=1, max=MANY, help="Runs per point.")]


def sensitivity(
    scenario: Scenario,
    of: Of = "latency_s.p95",
    over: Over = None,
    method: Method = "morris",
    points: Points = None,
    repeats: Repeats = 10,
    set_: Set = None,
    seed: Seed = None,
    replications: Each = 1,
    json: Json = False,
    plot: Plot = None,
    jobs: Jobs = None,
) -> None:
    """Find out which numbers of a scenario move its answer most.

    [bold]Examples[/bold]

      simrep sensitivity cluster.toml --plot tornado.png
      simrep sensitivity cluster.toml --of throughput_tps
      simrep sensitivity cluster.toml --over network.rtt_ms=1..100 --over workload.threads=1..64
      simrep sensitivity cluster.toml --method sobol --points 128 --json | jq .effects
    """
    check_writable("--plot", plot, plot=True)
    chosen_ranges = ranges(over) if over else None

    from simrep.whatif.sensitivity.ask import METHODS
    from simrep.whatif.sensitivity.ask import sensitivity as find

    if method not in METHODS:
        raise ScenarioError("--method", f"no method {method!r}", f"valid: {', '.join(METHODS)}")
    chosen = changed(scenario, set_)
    with progress_bar(scenario.name, quiet=json) as progress:
        found = find(
            chosen,
            of=of,
            over=chosen_ranges,
            method=method,  # type: ignore[arg-type]
            points=points,
            repeats=repeats,
            replications=replications,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )
    present(found, json=json, plot=plot, drawable=bool(found.effects))


def ranges(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Ranges by path of ``path=low..high`` arguments."""
    found = {}
    for text in texts:
        path, _, written = text.partition("=")
        limits, steps = range_in(written) or (None, "")
        if not path.strip() or limits is None or steps:
            raise ScenarioError(
                "--over", f"{text!r} is not of the form path=low..high", "network.rtt_ms=1..100"
            )
        found[path.strip()] = (limits.low, limits.high)
    return found
