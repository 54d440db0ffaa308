"""The ``[[setting]]`` table: a dynamic option that is set on a running cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from simrep.scenario.operation import OperationTable, OperationWord
from simrep.scenario.table import Name

__all__ = ["SettingTable"]


class SettingTable(OperationTable):
    """A ``[[setting]]``: ``SET GLOBAL`` on a running cluster."""

    options: dict[str, Any] = Field(
        min_length=1,
        description="dynamic options and their new values, in the product's own spelling",
    )
    nodes: tuple[Name, ...] | None = Field(
        None, min_length=1, description="nodes that it is set on; default: all with data"
    )

    @property
    def what(self) -> OperationWord:
        """See ``OperationTable.what``."""
        return "set"

    @property
    def text(self) -> str:
        """See ``OperationTable.text``."""
        return f"SET {', '.join(f'{name} = {value}' for name, value in self.options.items())}"

    def on(self, names: Sequence[str], arbitrators: Sequence[str] = ()) -> tuple[str, ...]:
        """See ``OperationTable.on``."""
        if self.nodes is not None:
            return self.nodes
        return tuple(name for name in names if name not in arbitrators)
