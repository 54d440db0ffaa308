"""A transaction as a replication model sees it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

__all__ = ["Statement", "Transaction"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: what it reads, writes and locks.

    Parameters
    ----------
    rows_read, rows_written : int
        Rows touched.
    locks : tuple of hashable
        Existing rows that it locks for writing. Rows it inserts under fresh keys are not listed:
        nobody else can want them.
    """

    rows_read: int = 0
    rows_written: int = 1
    locks: tuple[Hashable, ...] = ()


class Transaction:
    """One transaction of one client.

    Parameters
    ----------
    client, node : int
        Which client submits it, and on which node.
    kind : str
        Name of its transaction class.
    statements : tuple of Statement
        In order; ``autocommit`` transactions have one and commit in the same round trip.
    keys, shared_keys : tuple of hashable
        Certification keys of the rows written (exclusive) and of the rows they refer to (shared).
    rows, size_bytes : int
        Rows written and size of their row events.
    text_bytes : int
        Size of the text of the statements that write.
    autocommit : bool
    started_s : float
        When the client submitted it.
    """

    __slots__ = (
        "autocommit",
        "client",
        "keys",
        "kind",
        "node",
        "rows",
        "shared_keys",
        "size_bytes",
        "started_s",
        "statements",
        "text_bytes",
    )

    def __init__(
        self,
        client: int,
        node: int,
        kind: str,
        statements: tuple[Statement, ...],
        keys: tuple[Hashable, ...],
        rows: int,
        size_bytes: int,
        *,
        shared_keys: tuple[Hashable, ...] = (),
        text_bytes: int = 0,
        autocommit: bool = True,
        started_s: float = 0.0,
    ) -> None:
        self.client = client
        self.node = node
        self.kind = kind
        self.statements = statements
        self.keys = keys
        self.shared_keys = shared_keys
        self.rows = rows
        self.size_bytes = size_bytes
        self.text_bytes = text_bytes
        self.autocommit = autocommit
        self.started_s = started_s
