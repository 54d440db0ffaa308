"""What results show of themselves: tables in a terminal and in a notebook, and as a DataFrame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from simrep.runs.text import as_html, as_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

__all__ = ["Shown"]


class Shown(ABC):
    """A result that prints its tables, shows them in a notebook, and becomes a DataFrame."""

    __slots__ = ()

    width: ClassVar[int] = 100
    """Columns of the printed tables."""

    @abstractmethod
    def tables(self) -> Group:
        """Tables for a terminal; ``rich.print(result.tables())`` or ``print(result)``."""

    @abstractmethod
    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the DataFrame, by name of the column."""

    def to_frame(self) -> pd.DataFrame:
        """The figures as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self._rows()))

    def __str__(self) -> str:
        return as_text(self.tables(), self.width)

    def _repr_html_(self) -> str:
        return as_html(self.tables(), self.width)
