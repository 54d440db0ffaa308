"""Transactions as messages of a group in the total order, and at their places in it."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain
from typing import Final

from simrep.modelling import Decided, Event, Transaction
from simrep.models.mysql.server import BinlogTransaction

from .certifier import Snapshot

__all__ = ["CONTEXT_BYTES", "ITEM_BYTES", "Fragment", "Kind", "Ordered", "TransactionMessage"]

# Transaction context event without its write set, GTID event, headers of three layers.
CONTEXT_BYTES: Final = 330
ITEM_BYTES: Final = 16  # a 64-bit hash as base64 text, with its length


class Kind:
    """What a message is."""

    TRANSACTION: Final = 0
    FRAGMENT: Final = 1
    STATISTICS: Final = 2
    GTID_EXECUTED: Final = 3
    SYNC_BEFORE: Final = 4
    PREPARED: Final = 5
    CONTROL: Final = 6
    VIEW: Final = 7
    METADATA: Final = 8
    RECOVERED: Final = 9
    PACKET: Final = 10


class TransactionMessage:
    """A transaction on its way through the group."""

    __slots__ = (
        "entry", "item_count", "items", "locks", "origin", "ranges", "scans", "sent_s",
        "size_bytes", "snapshot", "ticket", "transaction",
    )  # fmt: skip
    kind = Kind.TRANSACTION
    snapshot: Snapshot  # what was committed at the origin when it was sent
    sent_s: float  # when it was

    def __init__(self, entry: BinlogTransaction) -> None:
        transaction = entry.transaction
        statements = transaction.statements
        self.entry = entry
        self.ticket: Event | None = None  # what its client's thread waits for, if it does so
        self.transaction = transaction
        self.origin = transaction.node
        # Its write set: rows it wrote and rows they refer to; neighbouring ones, too many to list,
        # are ranges. Of the rows that it updates, those are scans.
        self.items: tuple[Hashable, ...] = transaction.keys
        if transaction.shared_keys:
            self.items += transaction.shared_keys
        self.locks: tuple[Hashable, ...] = (
            statements[0].locks
            if len(statements) == 1
            else tuple(dict.fromkeys(chain.from_iterable(s.locks for s in statements)))
        )
        self.ranges = transaction.ranges
        self.scans: tuple[range, ...] = ()
        self.item_count = len(self.items)
        if self.ranges:
            self.scans = tuple([s.scan for s in statements if s.scan])
            self.item_count += sum(map(len, self.ranges))
        self.size_bytes = entry.size_bytes + CONTEXT_BYTES + ITEM_BYTES * self.item_count


class Fragment:
    """A part of a message that is too large; the last part is the message itself."""

    kind = Kind.FRAGMENT


class Ordered(Decided):
    """A transaction at its place in the order, on a member that applies it."""

    __slots__ = (
        "events", "locks", "order", "origin", "parent", "scans", "seqno", "size_bytes",
        "transaction", "written_s",
    )  # fmt: skip

    def __init__(
        self, message: TransactionMessage, order: int, seqno: int, parent: int, now_s: float
    ) -> None:
        self.transaction: Transaction = message.transaction
        self.origin = message.origin
        self.locks = message.locks
        self.scans = message.scans
        self.size_bytes = message.entry.size_bytes
        self.events = message.entry.events
        self.order = order
        self.seqno = seqno
        self.parent = parent
        self.written_s = now_s
