"""``simrep packs``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simrep.cli.arguments import MANY, Jobs, Json, Seed, Set, assignments, path_in
from simrep.cli.output import print_json, progress_bar, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from simrep.runs.near_pack import NearPack
    from simrep.whatif.machine_width import MachineWidth

__all__ = ["packs"]

Beside = Annotated[
    Path | None,
    typer.Argument(
        metavar="[SCENARIO.toml]",
        parser=path_in,
        help="Rank the packs by their distance from this cluster and load.",
    ),
]
Draws = Annotated[
    int,
    typer.Option(
        min=0,
        max=MANY,
        help="Machines of unknown speed to simulate, for the width of the answer; 0: none.",
    ),
]


def packs(
    scenario: Beside = None,
    set_: Set = None,
    draws: Draws = 12,
    seed: Seed = None,
    json: Json = False,
    jobs: Jobs = None,
) -> None:
    """List the shipped packs, or rank them by their distance from a scenario.

    [bold]Examples[/bold]

      simrep packs
      simrep packs cluster.toml
      simrep packs cluster.toml --set cluster.machine.cores=16 --draws 30
      simrep packs cluster.toml --json | jq -r '.packs[0].name'
    """
    if scenario is None:
        _list(json=json)
        return

    from simrep.errors import ScenarioError
    from simrep.runs.near_pack import near_packs
    from simrep.scenario import load, with_values

    chosen = with_values(load(scenario), assignments(set_ or []))
    near = near_packs(chosen)
    if not near:
        raise ScenarioError(
            "cluster.model",
            f"no pack ships for {chosen.cluster.model!r}",
            "docs/howto/fit-your-machine.md makes a pack",
        )
    width = None
    if draws:
        from simrep.whatif.machine_width import machine_width

        with progress_bar(scenario.name, quiet=json) as progress:
            width = machine_width(
                chosen, near[0].name, draws=draws, seed=seed, jobs=jobs, progress=progress
            )
    if json:
        told = None if width is None else width.to_dict()
        print_json({"packs": [one.to_dict() for one in near], "elsewhere": told})
    else:
        from rich.console import Group

        show(Group(*_ranking(near, width)))


def _list(*, json: bool) -> None:
    from simrep.contract.registry import usable_models
    from simrep.runs.near_pack import shipped_packs
    from simrep.show.text.layout import table

    shipped = shipped_packs(usable_models())
    if json:
        print_json({"packs": [one.card.model_dump() for one in shipped]})
        return
    rows = (
        (
            one.card.name,
            one.card.model,
            one.card.version or "-",
            "-" if one.machine.cores is None else str(one.machine.cores),
            _span(one.validated.clients),
            _span(one.validated.rtt_ms),
            one.card.description,
        )
        for one in shipped
    )
    heads = ("pack", "model", "version", "cores", "clients", "rtt (ms)", "what it stands for")
    show(table(heads, "Lllrrrl", rows, edges=True))


def _span(span: tuple[float, float] | None) -> str:
    if span is None:
        return "-"
    from simrep.measure.units import number

    return " .. ".join(map(number, span if span[1] > span[0] else span[:1]))


def _ranking(near: Sequence[NearPack], width: MachineWidth | None) -> Iterator[RenderableType]:
    from simrep.show.text.layout import table, title, words

    rows = (
        (
            one.name,
            f"{one.doublings:.1f}",
            one.home,
            "\n".join(_reasons(one)) or "-",
        )
        for one in near
    )
    yield title("Packs, the nearest first")
    heads = ("pack", "doublings away", "measured there", "what differs")
    yield table(heads, "Lrll", rows, edges=True)
    if width is not None:
        what = "the throughput" if width.figure == "throughput_tps" else "the mean latency"
        yield words(
            f"On a machine of unknown speed {what} lies between {width.low:.2g} and "
            f"{width.high:.2g} times what {width.pack} says ({width.confidence:.0%}; "
            f"{width.machines} machines drawn from the priors of costs and traits, with the error "
            "of the model as far as its fits tell it)."
        )
    yield words(f"To take it: --set cluster.pack={near[0].name}, or pack in [cluster].")


def _reasons(near: NearPack) -> Iterator[Any]:
    return (f"{one.what} ({one.doublings:.1f})" for one in near.differences)
