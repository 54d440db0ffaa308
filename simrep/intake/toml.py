"""A described server as the text of its two files, every value with where it was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.items import Item, Table

from simrep.intake.describe import Described

__all__ = ["pack_text", "scenario_text"]

_HEAD = "From a server's configuration and counters; beside each value where it was read."


def scenario_text(described: Described) -> str:
    """The scenario file."""
    return _text(described.scenario, "", described.origins)


def pack_text(described: Described) -> str:
    """The pack file; a cost that is not in it has the default of the model."""
    return _text(described.pack, "pack.", described.origins)


def _text(content: Mapping[str, Any], prefix: str, origins: Mapping[str, str]) -> str:
    document = tomlkit.document()
    document.add(tomlkit.comment(_HEAD))
    document.add(tomlkit.nl())
    _fill(document, content, prefix, origins)
    return tomlkit.dumps(document)


def _fill(
    table: Container | Table, content: Mapping[str, Any], prefix: str, origins: Mapping[str, str]
) -> None:
    """Keys of a table; those that are tables themselves come last, as TOML wants it."""
    for key, value in sorted(content.items(), key=lambda pair: _is_table(pair[1])):
        path = prefix + key
        if not _is_table(value):
            item = _in_one_line(value) if isinstance(value, Mapping) else tomlkit.item(value)
            if path in origins:
                item.comment(origins[path])
            table.add(key, item)
        elif isinstance(value, Mapping):
            inner = tomlkit.table()
            _fill(inner, value, f"{path}.", origins)
            table.add(key, inner)
        else:
            entries = tomlkit.aot()
            for position, entry in enumerate(value):
                inner = tomlkit.table()
                _fill(inner, entry, f"{path}.{position}.", origins)
                entries.append(inner)
            table.add(key, entries)


def _in_one_line(content: Mapping[str, Any]) -> Item:
    table = tomlkit.inline_table()
    table.update(content)
    return table


def _is_table(value: Any) -> bool:
    """Whether it has a heading of its own; ``keys`` of a class stand in one line."""
    if isinstance(value, Mapping):
        return "distribution" not in value
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
