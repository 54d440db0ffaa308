"""A transaction as a replication model sees it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from simrep.workload.journal import Journal

__all__ = ["LongTransaction", "Statement", "Transaction"]


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
    scan : range or None
        Existing neighbouring rows that it locks as it comes to them, too many to list in
        ``locks``.
    """

    rows_read: int = 0
    rows_written: int = 1
    locks: tuple[Hashable, ...] = ()
    scan: range | None = None


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

    Attributes
    ----------
    queued_s : float
        How long after ``started_s`` a connection was free for it.
    ranges : tuple of range
        Certification keys of neighbouring rows, too many to list in ``keys``.
    """

    __slots__ = (
        "autocommit",
        "client",
        "keys",
        "kind",
        "node",
        "queued_s",
        "rows",
        "shared_keys",
        "size_bytes",
        "started_s",
        "statements",
        "text_bytes",
    )

    # What only a LongTransaction has otherwise: class attributes cost nothing to the others.
    special = False
    ranges: tuple[range, ...] = ()
    load_data = False
    pause_s = 0.0
    xa_hold_s: float | None = None
    session: Any = None
    same_content = False
    journal: Journal | None = None
    whole: Transaction | None = None
    last_part = True

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
        self.queued_s = 0.0

    @property
    def key_count(self) -> int:
        """Certification keys, one for each row."""
        return len(self.keys) + len(self.shared_keys) + sum(map(len, self.ranges))


class LongTransaction(Transaction):
    """A transaction with what few transactions have.

    Attributes
    ----------
    ranges : tuple of range
        See ``Transaction``.
    load_data : bool
        It is a ``LOAD DATA``, which some servers split.
    pause_s : float
        How long its client pauses before every statement but the first, in seconds.
    xa_hold_s : float or None
        It is prepared with ``XA PREPARE``, and committed so many seconds later; None: no XA.
    session : object
        Session variables of its client, of a type that the model knows; None for the defaults.
    same_content : bool
        Its new rows have no primary key and are identical: every part of it has all ``keys``.
    journal : Journal or None
        Where it notes what happens to it.
    whole : Transaction or None
        What it is a part of, if its server has split what its client sent.
    last_part : bool
        Whether nothing of that follows.
    """

    # No slots: there are few of them.
    special = True
