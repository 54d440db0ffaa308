"""What Galera replicates of a statement that changes a table, and whom it is in the way of."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from .writeset import LocalTransaction, Ordered, Part, Writeset, writeset_bytes

__all__ = ["ChangedTable", "NewRows", "Phase", "SchemaChange"]

_TEXT_BYTES: Final = 100
_KEYS: Final = 2


class Phase:
    """What an action of total order isolation does."""

    WHOLE: Final = 0
    """The statement, from its begin to its end (TOI)."""
    BEGIN: Final = 1
    """It takes the table (NBO)."""
    END: Final = 2
    """A node has done its work; with the last of them the table is free again (NBO)."""


class ChangedTable(NamedTuple):
    """A table that was changed at a place of the order."""

    seqno: int
    classes: Collection[str] | None  # of transactions that use it; None: all

    def refuses(self, ordered: Ordered) -> bool:
        """Whether a writeset was made without having seen that, by its own node or another.

        Each has the name of its table as a key, and the statement has it exclusively.
        """
        writeset = ordered.writeset
        if writeset.part is not None and writeset.part.what == Part.ROLLBACK:
            return False
        return writeset.last_seen < self.seqno and self.concerns(writeset.local.transaction.kind)

    def concerns(self, kind: str) -> bool:
        """Whether transactions of a class use it."""
        return self.classes is None or kind in self.classes


class NewRows(NamedTuple):
    """A table of one node that has other rows from a place of the order on (RSU)."""

    seqno: int
    classes: Collection[str] | None  # of transactions that use the table; None: all

    def concerns(self, kind: str) -> bool:
        """Whether transactions of a class use it."""
        return self.classes is None or kind in self.classes


class SchemaChange(Writeset):
    """A statement in total order isolation; its local transaction is that of its client.

    Parameters
    ----------
    local : LocalTransaction
    classes : collection of str or None
        Of transactions that use the table; None: all.
    told : Any
        What the scenario says of it.
    phase : int
        See ``Phase``.
    begun : int
        Of an ``END``: the place in the order of its ``BEGIN``.
    """

    __slots__ = ("begun", "classes", "phase", "told")

    def __init__(
        self,
        local: LocalTransaction,
        classes: Collection[str] | None,
        told: object,
        phase: int = Phase.WHOLE,
        begun: int = 0,
    ) -> None:
        super().__init__(local.transaction, local)
        self.rows = 0  # it carries its text alone, and keys of its schema and its table
        self.size_bytes = writeset_bytes(0, _TEXT_BYTES, _KEYS)
        self.classes = classes
        self.told = told
        self.phase = phase
        self.begun = begun
