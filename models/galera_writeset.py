"""What a Galera node replicates, and the local transaction behind it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from simrep.kernel.clock import Clock
from simrep.workload.session import OpenTransaction
from simrep.workload.transaction import Transaction

__all__ = ["Control", "Kind", "LocalTransaction", "Ordered", "Writeset"]

_HEADER_BYTES = 150  # writeset header, checksum, GTID and transaction events
_KEY_BYTES = 24  # FLAT8: one 8-byte hash per key part (schema, table, row)


class Kind:
    """What a message of the group is."""

    WRITESET, FRAGMENT, STOP, CONTINUE, LAST_COMMITTED = range(5)


class Control:
    """A message of the group communication layer itself."""

    __slots__ = ("kind", "node", "seqno")
    size_bytes = 48

    def __init__(self, kind: int, node: int = 0, seqno: int = 0) -> None:
        self.kind = kind
        self.node = node
        self.seqno = seqno


class LocalTransaction(OpenTransaction):
    """A transaction at its origin; it is protected from when it has passed certification."""

    __slots__ = ("withdraw",)

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.withdraw: Callable[[], object] | None = None

    def abort(self) -> None:
        """Brute force: if it still waits to be sent, it is interrupted there."""
        super().abort()
        if self.withdraw is not None:
            self.withdraw()


class Writeset:
    """A replicated transaction; while it is applied it owns the locks of its rows.

    Attributes
    ----------
    last_seen : int
        Last sequence number committed at the origin right before replication.
    locks : tuple of hashable
        Existing rows that it updates.
    sent_s : float
        When it was handed to the group communication; negative until then.
    """

    __slots__ = (
        "key_count", "keys", "last_seen", "local", "locks", "origin", "rows", "sent_s",
        "shared_keys", "size_bytes",
    )  # fmt: skip
    kind = Kind.WRITESET

    def __init__(
        self, transaction: Transaction, local: LocalTransaction, *, annotate: bool = False
    ) -> None:
        statements = transaction.statements
        self.local = local
        self.origin = transaction.node
        self.keys = transaction.keys
        self.shared_keys = transaction.shared_keys
        self.key_count = len(self.keys) + len(self.shared_keys)
        self.locks = (
            statements[0].locks
            if len(statements) == 1
            else tuple(dict.fromkeys(chain.from_iterable(s.locks for s in statements)))
        )
        self.rows = transaction.rows
        self.size_bytes = (
            transaction.size_bytes
            + (transaction.text_bytes if annotate else 0)
            + _HEADER_BYTES
            + _KEY_BYTES * self.key_count
        )
        self.last_seen = 0
        self.sent_s = -1.0


class Ordered:
    """A writeset at its place in the total order, on one node; it owns the locks of its rows."""

    __slots__ = ("depends", "seqno", "writeset")
    protected = True

    def __init__(self, writeset: Writeset, seqno: int) -> None:
        self.writeset = writeset
        self.seqno = seqno
        self.depends = 0

    def abort(self) -> None:
        """Required of a lock owner; nothing aborts an ordered writeset."""
        raise AssertionError("an ordered writeset cannot be aborted")
