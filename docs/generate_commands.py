"""Write the page of all options from the commands themselves, as ``--help`` shows them.

``python docs/generate_commands.py`` rewrites it; a test fails while it is out of date.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

from simrep.cli import app

__all__ = ["pages"]

REFERENCE = Path(__file__).parent / "reference"
PAGE = """<!-- Written by docs/generate_commands.py; change the code that it reads instead. -->

# Options

All options, as `simrep COMMAND --help` prints them. [Command line](command-line.md) has exit
codes, the form of times, shares and ranges, and what the commands print.

## Options of several commands
"""
SHARED = {
    "run": (
        "set",
        "seed",
        "replications",
        "precision",
        "most",
        "quick",
        "json",
        "plot",
        "jobs",
        "time-limit",
    ),
    "sweep": ("out", "cache", "no-cache"),
}


def pages() -> dict[Path, str]:
    """Content of the generated page, by its file."""
    return {REFERENCE / "options.md": "\n".join(_page()) + "\n"}


def _page() -> Iterator[str]:
    root: Any = typer.main.get_command(app)
    context = typer.Context(root, info_name="simrep")
    shared = [
        _option(root.get_command(context, name), f"--{flag}")
        for name, flags in SHARED.items()
        for flag in flags
    ]
    yield PAGE
    yield from _table(shared)
    yield from _commands(root, context, "simrep", {_row(one) for one in shared})


def _commands(group: Any, context: Any, path: str, shared: set[str]) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        words = [f"{path} {name}", *(_value(one) for one in command.params if not _is_option(one))]
        yield f"\n## {' '.join(words)}\n"
        yield command.help.partition("\n\n")[0].replace("\n", " ")
        options = [one for one in command.params if _is_option(one)]
        common = [f"`{one.opts[0]}`" for one in options if _row(one) in shared]
        own = [one for one in options if _row(one) not in shared]
        if common:
            yield f"\nTakes {', '.join(common)}{', and' if own else '.'}"
        if own:
            yield ""
            yield from _table(own)
        if hasattr(command, "list_commands"):
            inner = typer.Context(command, parent=context, info_name=name)
            yield from _commands(command, inner, words[0], shared)


def _option(command: Any, flag: str) -> Any:
    (found,) = [one for one in command.params if flag in one.opts]
    return found


def _is_option(parameter: Any) -> bool:
    return parameter.param_type_name == "option"


def _table(options: list[Any]) -> Iterator[str]:
    yield "| option | meaning |"
    yield "|---|---|"
    yield from map(_row, options)


def _row(option: Any) -> str:
    default = option.default
    told = "" if default in (None, False) or callable(default) else f" Default: {default}."
    flag = f"{option.opts[0]} {_value(option)}".rstrip()
    meaning = f"{option.help}{told}".replace("<", "&lt;").replace("|", "\\|")
    return f"| `{flag.replace('|', chr(92) + '|')}` | {meaning} |"


def _value(parameter: Any) -> str:
    """What stands behind an option, or for an argument."""
    if _is_option(parameter) and parameter.is_flag:
        return ""
    if parameter.metavar:
        return str(parameter.metavar)
    kind = parameter.type_descriptor.annotation
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return "N" if kind in (int, float) else "TEXT"


if __name__ == "__main__":
    for file, content in pages().items():
        file.write_text(content, encoding="utf-8")
