"""How tables of results look: one kind of table, bold titles, indented sentences, closing notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from simrep.printable import printable

__all__ = ["closing", "sentences", "table", "title", "words"]


def words(text: str, style: str = "") -> Text:
    """A text as it stands: names that a file gives are no markup, and no commands to a terminal."""
    return Text(printable(text), style=style)


class _PlainTable(Table):
    """A table whose cells are no markup."""

    def add_row(self, *cells: RenderableType | None, **how: Any) -> None:
        """Add a row, as Rich does."""
        super().add_row(*(words(one) if isinstance(one, str) else one for one in cells), **how)


def table(
    heads: Sequence[str],
    columns: str = "lr",
    rows: Iterable[Sequence[RenderableType]] = (),
    *,
    total: Sequence[str] = (),
    name: str | None = None,
    edges: bool = False,
) -> Table:
    """A table with a line below its heads.

    Parameters
    ----------
    heads : sequence of str
    columns : str
        A letter for each column, the last one for all that follow: ``l`` and ``r`` are words at
        the left and numbers at the right; in capitals they are never folded.
    rows : iterable of sequence of str or other renderables
    total : sequence of str, optional
        The last row, below another line.
    name : str, optional
        Stands above it, folded to its width.
    edges : bool
        Whether there is room at both sides.
    """
    heading = None if name is None else words(name, "table.title")
    content = _PlainTable(box=box.SIMPLE_HEAD, title=heading, title_justify="left", pad_edge=edges)
    for position, head in enumerate(heads):
        letter = columns[min(position, len(columns) - 1)]
        content.add_column(
            words(head), justify="left" if letter in "lL" else "right", no_wrap=letter.isupper()
        )
    for row in rows:
        content.add_row(*row)
    if total:
        content.add_section()
        content.add_row(*total)
    return content


def title(text: str) -> Text:
    """A heading, as wide as it is; above a table it would be folded to the width of that."""
    return words(text, "bold")


def sentences(lines: Iterable[str]) -> Group:
    """Sentences, folded; what explains one stands below it, indented by spaces."""
    pairs = [(text, text.lstrip(" ")) for text in lines]
    return Group(
        *(Padding(words(own), (0, 0, 0, len(text) - len(own)), expand=False) for text, own in pairs)
    )


def closing(lines: Iterable[str], *, missing: str = "") -> Group:
    """What is to be said at the end, line by line; at last, what an interruption left out."""
    last = [f"Interrupted: {missing}."] if missing else []
    return Group(*(words(line) for line in (*lines, *last)))
