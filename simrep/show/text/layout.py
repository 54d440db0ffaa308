"""How tables of results look: one kind of table, bold titles, indented sentences, closing notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from simrep.printable import printable

__all__ = ["FittedTable", "closing", "sentences", "table", "title", "words"]

_WORD, _LONGEST_WORD = 12, 32  # characters that a column of words is folded to, if it must be
_NUMBER = 30  # a longer cell at the right is no number
_ENDLESS = 10_000


def words(text: str, style: str = "") -> Text:
    """A text as it stands: names that a file gives are no markup, and no commands to a terminal."""
    return Text(printable(text), style=style)


class FittedTable(Table):
    """A table whose cells are no markup; where it is too wide, its columns stand in several blocks.

    Heads are folded between words, and texts where they must; numbers never are. Each block begins
    with the columns that tell its rows apart.
    """

    keys: int | None = None
    """How many columns tell the rows apart; None: those of words at the left."""

    def add_row(self, *cells: RenderableType | None, **how: Any) -> None:
        """Add a row, as Rich does."""
        super().add_row(*(words(one) if isinstance(one, str) else one for one in cells), **how)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        least, natural = self._needs(console, range(len(self.columns)))
        around = self._around(range(len(self.columns)))
        return Measurement(
            min(options.max_width, sum(least) + around),
            min(options.max_width, sum(natural) + around),
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.columns:
            return
        for number, chosen in enumerate(self._blocks(console, options.max_width)):
            if number:
                yield Text()
            yield from self._block(chosen, console, options, named=number == 0)

    def _blocks(self, console: Console, room: int) -> list[list[int]]:
        """Columns of each block, by their numbers."""
        count = len(self.columns)
        least, _ = self._needs(console, range(count))
        if sum(least) + self._around(range(count)) <= room:
            return [list(range(count))]
        keys = self._keys(least, room)
        blocks = [keys[:]]
        for position in range(len(keys), count):
            wider = [*blocks[-1], position]
            if len(blocks[-1]) > len(keys) and self._width(least, wider) > room:
                blocks.append([*keys, position])
            else:
                blocks[-1] = wider
        return blocks

    def _keys(self, least: Sequence[int], room: int) -> list[int]:
        """The columns that tell rows apart, as far as they leave room for others."""
        words = [column.justify == "left" for column in self.columns]
        count = 1 if all(words) else words.index(False)
        keys = [0]
        for position in range(1, count if self.keys is None else self.keys):
            if self._width(least, [*keys, position]) <= 2 * room // 3:
                keys.append(position)
        return keys

    def _width(self, widths: Sequence[int], chosen: Sequence[int]) -> int:
        return sum(widths[position] for position in chosen) + self._around(chosen)

    def _around(self, chosen: Iterable[int]) -> int:
        """What stands between the columns and at both sides of them."""
        count = len(list(chosen))
        inner = 2 * count if self.pad_edge else 2 * count - 2
        return inner + 2 + (count - 1)

    def _needs(self, console: Console, chosen: Iterable[int]) -> tuple[list[int], list[int]]:
        """The least width of each column in which it can be read, and that without folds."""
        needs = [self._need(console, self.columns[position]) for position in chosen]
        return [least for least, _ in needs], [natural for _, natural in needs]

    def _need(self, console: Console, column: Column) -> tuple[int, int]:
        wide = console.options.update(max_width=_ENDLESS)
        head = Measurement.get(console, wide, column.header)
        cells = [Measurement.get(console, wide, cell) for cell in column.cells]
        natural = max([head.maximum, *(cell.maximum for cell in cells)])
        least = [head.minimum]
        for cell in cells:
            whole = column.no_wrap or (column.justify == "right" and cell.maximum <= _NUMBER)
            word = max(_WORD, min(cell.minimum, _LONGEST_WORD))
            least.append(cell.maximum if whole else min(cell.maximum, word))
        return max(least), natural

    def _block(
        self, chosen: Sequence[int], console: Console, options: ConsoleOptions, *, named: bool
    ) -> RenderResult:
        """The chosen columns as a table of Rich with their widths."""
        least, natural = self._needs(console, chosen)
        spare = max(0, options.max_width - sum(least) - self._around(chosen))
        content = Table(
            box=self.box, title=self.title if named else None, title_justify="left",
            pad_edge=self.pad_edge,
        )  # fmt: skip
        widths = dict(zip(chosen, least, strict=True))
        for position, need in sorted(zip(chosen, natural, strict=True), key=lambda one: one[1]):
            more = min(spare, need - widths[position])
            widths[position] += more
            spare -= more
        for position in chosen:
            column = self.columns[position]
            room = min(widths[position], max(1, options.max_width - self._around(chosen)))
            content.add_column(column.header, justify=column.justify, width=room, overflow="fold")
        cells = [list(self.columns[position].cells) for position in chosen]
        for row, own in zip(self.rows, zip(*cells, strict=True), strict=True):
            content.add_row(*own, style=row.style, end_section=row.end_section)
        yield from content.__rich_console__(console, options)


def table(
    heads: Sequence[str],
    columns: str = "lr",
    rows: Iterable[Sequence[RenderableType]] = (),
    *,
    total: Sequence[str] = (),
    name: str | None = None,
    edges: bool = False,
    keys: int | None = None,
) -> FittedTable:
    """A table with a line below its heads.

    Parameters
    ----------
    heads : sequence of str
    columns : str
        A letter for each column, the last one for all that follow: ``l`` and ``r`` are words at
        the left and numbers at the right; in capitals words are never folded either.
    rows : iterable of sequence of str or other renderables
    total : sequence of str, optional
        The last row, below another line.
    name : str, optional
        Stands above it, folded to its width.
    edges : bool
        Whether there is room at both sides.
    keys : int, optional
        How many columns tell the rows apart: a table that is too wide repeats them beside each of
        its parts. Default: those of words at the left.
    """
    heading = None if name is None else words(name, "table.title")
    content = FittedTable(box=box.SIMPLE_HEAD, title=heading, title_justify="left", pad_edge=edges)
    content.keys = keys
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
