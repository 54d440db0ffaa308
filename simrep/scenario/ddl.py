"""The ``[[workload.ddl]]`` table: a statement that changes a table, such as ALTER TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.operation import OperationTable, OperationWord
from simrep.scenario.table import DataBytes, Name, TableRows

__all__ = ["DdlKind", "DdlTable"]

DdlKind = Literal["instant", "inplace", "copy"]


class DdlTable(OperationTable):
    """A ``[[workload.ddl]]``: a statement that changes the definition of a table."""

    node: Name | None = Field(
        None, description="node whose client issues it; default: the first with data"
    )
    nodes: tuple[Name, ...] | None = Field(
        None,
        description="of RSU: nodes that change it one after the other, each when the one before "
        "is synced again",
    )
    kind: DdlKind = Field(
        "copy",
        description="ALGORITHM: instant changes the definition alone; inplace goes through the "
        "rows, and writes go on where the product lets them; copy makes a new table, and nobody "
        "writes to the old one",
    )
    rows: TableRows = Field(description="rows of the table")
    bytes: DataBytes | None = Field(
        None, description="size of the table; default: 200 bytes for each row"
    )
    classes: tuple[Name, ...] | None = Field(
        None,
        alias="class",
        description="classes of transactions that use the table; [] for none; default: all",
    )
    method: Literal["TOI", "RSU", "NBO"] | None = Field(
        None, description="of Galera: wsrep_OSU_method; default: TOI"
    )
    compatible: bool = Field(
        True,
        description="of RSU, and of Group Replication with several primaries: rows written under "
        "one definition fit the other, as with a column added at the end; false: a node that has "
        "changed the table and one that has not cannot apply rows of each other",
    )

    @model_validator(mode="after")
    def _only_rolling(self) -> Self:
        if self.method != "RSU":
            if self.nodes is not None:
                raise ScenarioError(
                    "nodes",
                    "only goes with method = 'RSU': other statements are replicated",
                    "node says who issues it",
                )
        elif self.nodes is not None:
            if self.node is not None:
                raise ScenarioError("nodes", "and node are both given", "give one of them")
            if not self.nodes or len(set(self.nodes)) < len(self.nodes):
                raise ScenarioError("nodes", "must name at least one node, and none twice")
        return self

    @property
    def what(self) -> OperationWord:
        """See ``OperationTable.what``."""
        return "ddl"

    @property
    def text(self) -> str:
        """See ``OperationTable.text``."""
        return f"ALTER TABLE ({', '.join(filter(None, (self.kind, self.method)))})"

    @property
    def size_bytes(self) -> int:
        """How large the table is."""
        return 200 * self.rows if self.bytes is None else self.bytes

    def concerns(self, kind: str) -> bool:
        """Whether transactions of a class use the table."""
        return self.classes is None or kind in self.classes

    def on(self, names: Sequence[str], arbitrators: Sequence[str] = ()) -> tuple[str, ...]:
        """See ``OperationTable.on``."""
        if self.nodes is not None:
            return self.nodes
        return super().on(names, arbitrators) if self.node is None else (self.node,)
