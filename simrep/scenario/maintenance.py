"""The ``[[maintenance]]`` table: locks and desync on a running server."""

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
    mode: Literal["read", "write"] | None = Field(
        None,
        description="of lock-tables: LOCK TABLES ... READ lets others read, WRITE nobody; "
        "default: write",
    )
    classes: tuple[Name, ...] | None = Field(
        None,
        alias="class",
        min_length=1,
        description="of lock-tables: classes of transactions that use the tables; default: all",
    )
    until_s: Interval | None = Field(
        None, description="when it is taken back; default: at the end of the run"
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        for key, given in (("mode", self.mode), ("class", self.classes)):
            if given is not None and not self.locks_tables:
                raise ScenarioError(key, f"only goes with lock-tables, given {given!r}")
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
        said = _TEXTS[self.done]
        return f"{said} {'READ' if self.shared else 'WRITE'}" if self.locks_tables else said

    @property
    def locks_tables(self) -> bool:
        """Whether it locks tables one by one."""
        return self.done == "lock-tables"

    @property
    def shared(self) -> bool:
        """Whether others may read meanwhile."""
        return self.mode == "read" or not self.locks_tables

    @property
    def end_s(self) -> float:
        """See ``OperationTable.end_s``."""
        return inf if self.until_s is None else self.until_s

    def on(self, names: Sequence[str], arbitrators: Sequence[str] = ()) -> tuple[str, ...]:
        """See ``OperationTable.on``."""
        del names, arbitrators
        return (self.node,)
