"""How tables of results look: one kind of table, bold titles, indented sentences, closing notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["closing", "sentences", "table", "title"]


def table(
    heads: Sequence[str],
    columns: str = "lr",
    rows: Iterable[Sequence[str | Text]] = (),
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
    rows : iterable of sequence of str or Text
    total : sequence of str, optional
        The last row, below another line.
    name : str, optional
        Stands above it, folded to its width.
    edges : bool
        Whether there is room at both sides.
    """
    content = Table(box=box.SIMPLE_HEAD, title=name, title_justify="left", pad_edge=edges)
    for position, head in enumerate(heads):
        letter = columns[min(position, len(columns) - 1)]
        content.add_column(
            head, justify="left" if letter in "lL" else "right", no_wrap=letter.isupper()
        )
    for row in rows:
        content.add_row(*row)
    if total:
        content.add_section()
        content.add_row(*total)
    return content


def title(words: str) -> Text:
    """A heading, as wide as it is; above a table it would be folded to the width of that."""
    return Text(words, style="bold")


def sentences(lines: Iterable[str]) -> Group:
    """Sentences, folded; what explains one stands below it, indented by spaces."""
    words = [(text, text.lstrip(" ")) for text in lines]
    return Group(
        *(Padding(Text(own), (0, 0, 0, len(text) - len(own)), expand=False) for text, own in words)
    )


def closing(lines: Iterable[str], *, missing: str = "") -> Group:
    """What is to be said at the end, line by line; at last, what an interruption left out."""
    last = [f"Interrupted: {missing}."] if missing else []
    return Group(*(Text(line) for line in (*lines, *last)))
