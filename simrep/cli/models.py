"""``simrep models``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simrep.cli.arguments import Json
from simrep.cli.output import print_json, show

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

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
    from rich.console import Group

    from simrep.show.text.layout import table, words

    rows = (
        (one["name"], one["summary"], ", ".join(one["versions"]), ", ".join(one["packs"]))
        for one in cards
    )
    heads = ("model", "what it simulates", "versions", "packs")
    content = table(heads, "l", rows, edges=True)
    advice = "simrep models NAME describes options, defaults by version and costs."
    return Group(content, words(advice))


def _description(one: dict[str, Any]) -> Group:
    from rich.console import Group

    from simrep.show.text.layout import table, words

    rows = (
        (
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
        for name, option in one["options"].items()
    )
    heads = ("option", "default", "in versions", "allowed", "meaning")
    options = table(heads, "Ll", rows, edges=True)
    for column in options.columns[1:]:
        column.overflow = "fold"
    prices = (
        (
            name,
            _text(cost["default"]),
            " to ".join(map(_text, cost["range"] or ())),
            cost["unit"],
            cost["description"],
        )
        for name, cost in one["costs"].items()
    )
    costs = table(("cost", "default", "usual", "unit", "meaning"), "lrl", prices, edges=True)
    heading = words(f"{one['name']}: {one['summary']}")
    heading.stylize("bold", 0, len(one["name"]))
    versions = words("Versions: " + (", ".join(one["versions"]) or "none"))
    packs = words("Packs: " + (", ".join(one["packs"]) or "none"))
    faults = words("Faults: " + (", ".join(one["faults"]) or "none"))
    operations = words("Operations: " + (", ".join(one["operations"]) or "none"))
    return Group(
        *(heading, versions, packs, faults, operations),
        *_part("Options, as in [cluster.options]", options),
        *_part("Costs, as in [cluster.costs], when no pack gives others", costs),
    )


def _part(head: str, content: Table) -> Iterator[RenderableType]:
    """A table below its head; of an empty one the head says so."""
    from simrep.show.text.layout import words

    if not content.row_count:
        yield words(f"\n{head.partition(',')[0]}: none")
        return
    yield words(f"\n{head}:")
    yield content


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
