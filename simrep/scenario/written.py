"""Single values as people write them on a command line."""

from __future__ import annotations

import tomllib
from typing import Any

__all__ = ["written_value", "written_values"]


def written_value(text: str) -> Any:
    """The value of a text: TOML where it is TOML, and text otherwise.

    >>> written_value("5"), written_value("true"), written_value(" galera")
    (5, True, 'galera')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def written_values(text: str) -> list[Any]:
    """The values of a text with commas between them.

    >>> written_values("1, 2.5"), written_values("galera,semisync"), written_values('["n1"],["*"]')
    ([1, 2.5], ['galera', 'semisync'], [['n1'], ['*']])
    """
    try:
        values: list[Any] = tomllib.loads(f"value = [{text}]")["value"]
    except tomllib.TOMLDecodeError:
        return [written_value(part) for part in text.split(",")]
    return values
