"""What members of a group send each other in the total order."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Final

from simrep.modelling import Decided, Event, Transaction
from simrep.models.mysql.server import BinlogTransaction

from .certifier import Certifier, Snapshot
from .gcs.views import View

__all__ = [
    "CONTEXT_BYTES",
    "ITEM_BYTES",
    "Control",
    "Fragment",
    "GtidExecuted",
    "Kind",
    "Metadata",
    "Ordered",
    "Packet",
    "Prepared",
    "Recovered",
    "Statistics",
    "SyncBefore",
    "TransactionMessage",
    "ViewMessage",
    "Word",
]

# Transaction context event without its write set, GTID event, headers of three layers.
CONTEXT_BYTES = 330
ITEM_BYTES = 16  # a 64-bit hash as base64 text, with its length


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
        "entry", "item_count", "items", "locks", "origin", "ranges", "scans", "size_bytes",
        "snapshot", "ticket", "transaction",
    )  # fmt: skip
    kind = Kind.TRANSACTION
    snapshot: Snapshot  # what was committed at the origin when it was sent
    ticket: Event  # what its client's thread waits for

    def __init__(self, entry: BinlogTransaction) -> None:
        transaction = entry.transaction
        statements = transaction.statements
        self.entry = entry
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


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a member tells the others every period (``Pipeline_stats_member_message``)."""

    kind = Kind.STATISTICS
    size_bytes = 250

    member: int
    waiting_certification: int
    waiting_apply: int
    certified: int
    applied: int
    local: int


@dataclass(frozen=True, slots=True)
class GtidExecuted:
    """Transactions that a member has committed without a gap, told every 60 periods."""

    kind = Kind.GTID_EXECUTED
    size_bytes = 300

    member: int
    committed: int


@dataclass(frozen=True, slots=True)
class SyncBefore:
    """Asks for its own place in the order: what is before it must be applied first."""

    kind = Kind.SYNC_BEFORE
    size_bytes = 150

    member: int
    number: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A member has applied a transaction up to its commit."""

    kind = Kind.PREPARED
    size_bytes = 150

    member: int
    order: int


class Word(Enum):
    """What a member tells the others about roles."""

    PROMOTE = "switch the primary"  # to ``of``
    FIT = "fit for a switch"
    ELECT = "elect a primary"  # ``of``, which is told by hand
    READY = "primary is ready"  # it has applied what was ordered before its election
    READ_ONLY = "read mode is set"  # at a member that is not primary
    APPLIED = "queue is applied"  # at the primary: nothing is left of the one before it


@dataclass(frozen=True, slots=True)
class Control:
    """What a member tells the others about roles (``Single_primary_message``)."""

    kind = Kind.CONTROL
    size_bytes = 150

    word: Word
    member: int
    of: int = -1
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ViewMessage:
    """A view at its place among the messages."""

    kind = Kind.VIEW

    view: View


@dataclass(frozen=True, slots=True, eq=False)
class Metadata:
    """What a member tells one that joins in a view (``Recovery_metadata_message``).

    Attributes
    ----------
    view : int
        Number of the view.
    order : int
        Transactions of the group up to there.
    certifier : Certifier
        Certification info as of then.
    """

    kind = Kind.METADATA

    view: int
    order: int
    certifier: Certifier

    @property
    def size_bytes(self) -> int:
        """With the certification info: a hash and a set of GTIDs for each item."""
        return CONTEXT_BYTES + 2 * ITEM_BYTES * len(self.certifier)


@dataclass(frozen=True, slots=True)
class Recovered:
    """A member has all that the group has, and is ONLINE (``Recovery_message``)."""

    kind = Kind.RECOVERED
    size_bytes = 150

    member: int


@dataclass(frozen=True, slots=True, eq=False)
class Packet:
    """Something that the applier module of one member has to do in its turn."""

    kind = Kind.PACKET

    call: Callable[[], object]


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
