"""Tables for a terminal as plain text: what ``print(result)`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["as_text"]


def as_text(tables: RenderableType, width: int) -> str:
    """The tables in so many columns, without colours and without spaces at the end of lines."""
    from rich.console import Console

    console = Console(width=width, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(tables)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
