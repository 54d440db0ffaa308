"""What operators do to a running cluster at a given time: what all such tables have in common."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Literal, Self, get_args

from pydantic import Field, PrivateAttr

from simrep.scenario.table import Name, Seconds, Table

__all__ = ["OPERATIONS", "OperationTable", "OperationWord"]

OperationWord = Literal[
    "ddl", "lock-tables", "flush-tables-with-read-lock", "desync", "backup", "set", "procedure"
]
OPERATIONS: frozenset[str] = frozenset(get_args(OperationWord))
"""Words of operations, by which a model says which of them it plays."""


class OperationTable(Table):
    """Something that an operator does; a subclass says what, and on which nodes."""

    name: Name | None = Field(None, description="what it is called in results")
    at_s: Seconds = Field(description="begin, in simulated seconds with the warm-up")

    _path: str = PrivateAttr(default="")

    @property
    def path(self) -> str:
        """Where the scenario says it: ``workload.ddl.0``."""
        return self._path

    @property
    def what(self) -> OperationWord:
        """The word by which a model says that it plays it."""
        raise AssertionError(f"{type(self).__name__} has a word of its own")

    @property
    def text(self) -> str:
        """It in words, without the node: ``FLUSH TABLES WITH READ LOCK``."""
        raise AssertionError(f"{type(self).__name__} has words of its own")

    @property
    def end_s(self) -> float:
        """When it is told to end; infinite if it ends by itself."""
        return inf

    def on(self, names: Sequence[str], arbitrators: Sequence[str] = ()) -> tuple[str, ...]:
        """Names of the nodes that it is done on, of those of the cluster: by default the first."""
        return tuple(name for name in names if name not in arbitrators)[:1]

    def further(self) -> tuple[str, ...]:
        """Names of other nodes that it needs; mostly none."""
        return ()

    def told_at(self, path: str) -> Self:
        """The same, said at a path."""
        copy = self.model_copy()
        copy._path = path
        return copy
