"""What results show of themselves: tables in a terminal and in a notebook, and as a DataFrame."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from simrep.files import whole_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import Group

__all__ = ["Report", "text_cell", "write_rows"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With one of these a cell begins that a spreadsheet computes, or takes for the next one."""

_HTML = (
    '<pre style="white-space: pre; overflow-x: auto; line-height: normal; '
    'font-family: monospace">{code}</pre>'
)


class Report(ABC):
    """A result that prints its tables, shows them in a notebook, draws and becomes a DataFrame."""

    __slots__ = ()

    width: ClassVar[int] = 100
    """Columns of the printed tables."""

    @abstractmethod
    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the DataFrame, by name of the column."""

    def tables(self) -> Group:
        """Tables for a terminal; ``rich.print(result.tables())`` or ``print(result)``."""
        tables: Group = self._view("tables")
        return tables

    def plot(self, path: str | Path | None = None) -> Figure:
        """The figure of the result; saved when a path is given.

        Parameters
        ----------
        path : str or Path, optional
            Where to save it, as PNG, PDF or SVG by the ending of the name.

        Raises
        ------
        ValueError
            If there is nothing to draw.
        SimrepError
            If results of its type have no figure.
        """
        figure: Figure = self._view("plot", path)
        return figure

    def player(self, path: str | Path | None = None, **options: Any) -> Any:
        """A page that plays the run, message by message; a notebook shows it.

        The run is simulated again, with all its messages.

        Parameters
        ----------
        path : str or Path, optional
            Where to save it: one HTML file that needs no other.

        Raises
        ------
        SimrepError
            If results of its type are of no single run.
        """
        return self._view("player", path, **options)

    def to_frame(self) -> pd.DataFrame:
        """The figures as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self._rows()))

    def _view(self, name: str, *arguments: Any, **options: Any) -> Any:
        """A view of the result; views know results, results know only where to ask."""
        from simrep.show.views import VIEWS

        return VIEWS[name](self, *arguments, **options)

    def __str__(self) -> str:
        """The tables as plain text, without spaces at the end of lines."""
        from simrep.show.views import console

        plain = console(width=self.width, no_color=True, force_terminal=False, force_jupyter=False)
        with plain.capture() as capture:
            plain.print(self.tables())
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    def _repr_html_(self) -> str:
        """The same for a notebook, with bold titles."""
        from simrep.show.views import console

        page = console(width=self.width, record=True, file=StringIO(), force_jupyter=False)
        page.print(self.tables())
        return page.export_html(inline_styles=True, code_format=_HTML)


def write_rows(
    path: str | Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()
) -> None:
    """Write rows as CSV, numbers digit by digit; ``columns`` are those of a file without rows.

    No text is a formula in a spreadsheet: see :func:`text_cell`.
    """
    names = list(dict.fromkeys(name for row in rows for name in row)) or list(columns)
    with whole_text(path) as file:
        writer = csv.DictWriter(file, names)
        writer.writerow({name: text_cell(name) for name in names})
        for row in rows:
            writer.writerow({name: _written(value) for name, value in row.items()})


def text_cell(text: str) -> str:
    """A text that a spreadsheet shows as it is, as a leading apostrophe makes it.

    >>> text_cell("=1+1"), text_cell("n1")
    ("'=1+1", 'n1')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def _written(value: Any) -> Any:
    if isinstance(value, str):
        return text_cell(value)
    return "" if isinstance(value, float) and not isfinite(value) else value
