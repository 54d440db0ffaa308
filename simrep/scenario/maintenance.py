"""The ``[[maintenance]]`` table: locks, desync and backups on a running server."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.operation import OperationTable, OperationWord
from simrep.scenario.table import Interval, Name

__all__ = ["MaintenanceTable"]

_TEXTS = {
    "lock-tables": "LOCK TABLES",
    "flush-tables-with-read-lock": "FLUSH TABLES WITH READ LOCK",
    "desync": "desync",
}


class MaintenanceTable(OperationTable):
    """A ``[[maintenance]]``: what an operator, or a script of theirs, does to a running server."""

    done: Literal["lock-tables", "flush-tables-with-read-lock", "desync"] = Field(
        alias="what",
        description="lock-tables: LOCK TABLES ... WRITE; flush-tables-with-read-lock: FTWRL; "
        "desync: the node leaves flow control (wsrep_desync)",
    )
    node: Name = Field(description="the node that it is done on")
    until_s: Interval | None = Field(
        None, description="when it is taken back; default: at the end of the run"
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.until_s is not None and not self.until_s > self.at_s:
            raise ScenarioError(
                "until_s", f"must be after at_s = {self.at_s:g}, given {self.until_s:g}"
            )
        return self

    @property
    def what(self) -> OperationWord:
        """See ``OperationTable.what``."""
        return self.done

    @property
    def text(self) -> str:
        """See ``OperationTable.text``."""
        return _TEXTS[self.done]

    @property
    def end_s(self) -> float:
        """See ``OperationTable.end_s``."""
        return inf if self.until_s is None else self.until_s

    def on(self, names: Sequence[str], arbitrators: Sequence[str] = ()) -> tuple[str, ...]:
        """See ``OperationTable.on``."""
        del names, arbitrators
        return (self.node,)
