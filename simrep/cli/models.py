"""``simrep models``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from simrep.cli.arguments import Json
from simrep.cli.output import print_json, show

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["models"]

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Describe this model.")]


def models(name: Name = None, json: Json = False) -> None:
    """List the replication models, or describe one: options, defaults by version, costs.

    [bold]Examples[/bold]

      simrep models
      simrep models galera
      simrep models galera --json | jq '.options | keys'
    """
    from simrep.contract.card import model_card, model_cards
    from simrep.contract.registry import find_model

    if name is not None:
        described = model_card(find_model(name, "models"))
        if json:
            print_json(described)
        else:
            show(_description(described))
        return
    cards = list(model_cards().values())
    if json:
        print_json({"models": cards})
    else:
        show(_overview(cards))


def _overview(cards: list[dict[str, Any]]) -> Group:
    from rich import box
    from rich.console import Group
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("model", "what it simulates", "versions", "packs"):
        table.add_column(heading)
    for one in cards:
        table.add_row(
            one["name"], one["summary"], ", ".join(one["versions"]), ", ".join(one["packs"])
        )
    return Group(table, "simrep models NAME describes options, defaults by version and costs.")


def _description(one: dict[str, Any]) -> Group:
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    options = Table(box=box.SIMPLE_HEAD)
    options.add_column("option", no_wrap=True)
    for heading in ("default", "in versions", "allowed", "meaning"):
        options.add_column(heading, overflow="fold")
    for name, option in one["options"].items():
        options.add_row(
            name,
            _text(option["default"]),
            "\n".join(
                f"{version}: {_text(value)}"
                for version, value in option["by_version"].items()
                if value != option["default"]
            ),
            option["allowed"],
            option["description"],
        )
    costs = Table(box=box.SIMPLE_HEAD)
    for heading in ("cost", "default", "usual", "unit", "meaning"):
        costs.add_column(heading, justify="right" if heading == "default" else "left")
    for name, cost in one["costs"].items():
        usual = " to ".join(map(_text, cost["range"] or ()))
        costs.add_row(name, _text(cost["default"]), usual, cost["unit"], cost["description"])
    title = Text.assemble((one["name"], "bold"), f": {one['summary']}")
    versions = Text("Versions: " + (", ".join(one["versions"]) or "none"))
    packs = Text("Packs: " + (", ".join(one["packs"]) or "none"))
    return Group(
        *(title, versions, packs),
        *(Text("\nOptions, as in [cluster.options]:"), options),
        *(Text("Costs, as in [cluster.costs], when no pack gives others:"), costs),
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
