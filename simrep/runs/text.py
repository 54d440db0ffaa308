"""Tables for a terminal as plain text, and as what a notebook shows."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["as_html", "as_text"]

_HTML = (
    '<pre style="white-space: pre; overflow-x: auto; line-height: normal; '
    'font-family: monospace">{code}</pre>'
)


def as_text(tables: RenderableType, width: int) -> str:
    """The tables in so many columns, without colours and without spaces at the end of lines."""
    from rich.console import Console

    console = Console(
        width=width, no_color=True, highlight=False, force_terminal=False, force_jupyter=False
    )
    with console.capture() as capture:
        console.print(tables)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def as_html(tables: RenderableType, width: int) -> str:
    """The same for a notebook, with bold titles."""
    from rich.console import Console

    console = Console(
        width=width, highlight=False, record=True, file=StringIO(), force_jupyter=False
    )
    console.print(tables)
    return console.export_html(inline_styles=True, code_format=_HTML)
