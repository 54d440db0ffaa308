"""Tables as a notebook shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["as_html"]

_FORMAT = '<pre style="line-height: 1.25; font-family: monospace">{code}</pre>'


def as_html(tables: RenderableType, width: int) -> str:
    """The tables in so many columns, as preformatted HTML."""
    from io import StringIO

    from rich.console import Console

    console = Console(width=width, record=True, highlight=False, file=StringIO())
    console.print(tables)
    return console.export_html(code_format=_FORMAT, inline_styles=True)
