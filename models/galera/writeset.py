"""What a Galera node replicates, and the local transaction behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from simrep.modelling import Clock, Decided, Event, OpenTransaction, Transaction, Witness
from simrep.models.galera.gcomm.view import View

__all__ = [
    "UNDECIDED",
    "Control",
    "Kind",
    "LocalTransaction",
    "Ordered",
    "Part",
    "StateRequest",
    "StreamPart",
    "Verdict",
    "ViewChange",
    "Writeset",
    "is_prepare",
    "is_whole",
    "writeset_bytes",
]

_HEADER_BYTES: Final = 150  # writeset header, checksum, GTID and transaction events
# FLAT8: one 8-byte hash per key part (schema, table, row); parts that a key has in common with the
# one before it are not repeated (key_set.cpp).
_TABLE_BYTES: Final = 16
_KEY_BYTES: Final = 8


def writeset_bytes(row_event_bytes: int, text_bytes: int, keys: int) -> int:
    """The size of a writeset; ``text_bytes`` are those of its statements, if it has them."""
    size = row_event_bytes + text_bytes + _HEADER_BYTES
    return size + _TABLE_BYTES + _KEY_BYTES * keys if keys else size


class Kind:
    """What a message of the group is."""

    WRITESET: Final = 0
    FRAGMENT: Final = 1
    STOP: Final = 2
    CONTINUE: Final = 3
    LAST_COMMITTED: Final = 4
    VIEW: Final = 5
    REQUEST: Final = 6
    JOIN: Final = 7
    SYNC: Final = 8
    DESYNC: Final = 9
    VOTE: Final = 10


class Control:
    """A message of the group communication layer itself.

    ``seqno`` is up to where its node has committed, or the view in which it was sent.
    """

    __slots__ = ("kind", "node", "seqno")
    size_bytes = 48

    def __init__(self, kind: int, node: int = 0, seqno: int = 0) -> None:
        self.kind = kind
        self.node = node
        self.seqno = seqno


class StateRequest(Control):
    """A node asks for the state of the cluster, of which it has all up to ``seqno``."""

    __slots__ = ("anew",)
    size_bytes = 160

    def __init__(self, node: int, seqno: int, *, anew: bool) -> None:
        super().__init__(Kind.REQUEST, node, seqno)
        self.anew = anew  # its server has just started, and has prepared for a whole state


class ViewChange:
    """A view of the group, at its place in the order.

    ``lacks``: the node that handles it has not the state of the cluster.
    """

    __slots__ = ("lacks", "view")
    kind = Kind.VIEW

    def __init__(self, view: View, *, lacks: bool = False) -> None:
        self.view = view
        self.lacks = lacks


class LocalTransaction(OpenTransaction):
    """A transaction at its origin; it is protected from when it has passed certification."""

    __slots__ = ("placed", "stream", "withdraw")

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.withdraw: Callable[[], object] | None = None
        self.placed: Event | None = None  # what it waits for, once that has its place in the order
        self.stream: Any = None  # how it is replicated in fragments, if it is

    def abort(self) -> None:
        """Brute force: if it still waits to be sent, it is interrupted there."""
        super().abort()
        if self.withdraw is not None:
            self.withdraw()


class Part:
    """What a writeset of a streaming transaction is."""

    FRAGMENT: Final = 0
    PREPARE: Final = 1
    COMMIT: Final = 2
    ROLLBACK: Final = 3


@dataclass(frozen=True, slots=True)
class StreamPart:
    """Which part of which streaming transaction a writeset is."""

    stream: tuple[int, int]  # the transaction: its origin, and a number there
    what: int  # see ``Part``
    fragments: int  # parts that nodes have stored before this one
    pages: int = 0  # that these have of their own
    other_bytes: int = 0  # of the transaction's rows, and of stored parts that share pages

    @property
    def last(self) -> bool:
        """Whether nothing follows."""
        return self.what in {Part.COMMIT, Part.ROLLBACK}

    @property
    def barrier(self) -> bool:
        """Whether it is applied alone (``pa_unsafe``)."""
        return self.what != Part.FRAGMENT


class Verdict:
    """What certification has found of a writeset: the same on every node.

    Attributes
    ----------
    seqno : int
        Its place in the order.
    depends : int
        It may be applied when everything up to this number is committed; -1 if it has failed.
    passed : bool
        Whether it has not.
    passed_sum, distance_sum : int
        Of all writesets up to this one: see ``Certifier``.
    bytes_sum : int
        How many bytes they have.
    keys : int
        In the index then.
    reported : bool
        Whether a node that leaves it behind tells the group.
    """

    __slots__ = (
        "bytes_sum", "depends", "distance_sum", "keys", "passed", "passed_sum", "reported", "seqno",
    )  # fmt: skip

    def __init__(
        self,
        seqno: int,
        depends: int,
        passed_sum: int,
        distance_sum: int,
        bytes_sum: int,
        keys: int,
        *,
        reported: bool,
    ) -> None:
        self.seqno = seqno
        self.depends = depends
        self.passed = depends >= 0
        self.passed_sum = passed_sum
        self.distance_sum = distance_sum
        self.bytes_sum = bytes_sum
        self.keys = keys
        self.reported = reported


UNDECIDED: Final = Verdict(0, 0, 0, 0, 0, 0, reported=False)
"""Of what has not been certified."""


class Writeset:
    """A replicated transaction; while it is applied it owns the locks of its rows."""

    __slots__ = (
        "awaited", "journal", "key_count", "keys", "last_seen", "local", "locks", "origin",
        "part", "ranges", "rows", "scans", "sent_s", "shared_keys", "size_bytes",
        "verdict",
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
        self.ranges = transaction.ranges
        # Existing rows that it updates: neighbouring ones, too many to list, and others.
        self.scans: tuple[range, ...] = ()
        if self.ranges:
            self.key_count = transaction.key_count
            self.scans = tuple([s.scan for s in statements if s.scan])
        else:
            self.key_count = len(self.keys) + len(self.shared_keys)
        self.locks = (
            statements[0].locks
            if len(statements) == 1
            else tuple(dict.fromkeys(chain.from_iterable(s.locks for s in statements)))
        )
        self.rows = transaction.rows
        text_bytes = transaction.text_bytes if annotate else 0
        self.size_bytes = writeset_bytes(transaction.size_bytes, text_bytes, self.key_count)
        self.last_seen = 0  # last number committed at the origin right before replication
        self.sent_s = -1.0  # when it was handed to the group communication; negative until then
        self.awaited = True  # by its local transaction, as a rollback is not
        self.journal: Witness | None = transaction.journal
        self.part: StreamPart | None = None  # None: it is the whole transaction
        self.verdict = UNDECIDED  # see ``Verdicts``

    @property
    def transaction(self) -> Transaction:
        """What a client asked for; one that is streamed has many writesets."""
        return self.local.transaction


class Ordered(Decided):
    """A writeset at its place in the total order, on one node."""

    __slots__ = ("depends", "seqno", "stream", "writeset")

    def __init__(self, writeset: Writeset, seqno: int) -> None:
        self.writeset = writeset
        self.seqno = seqno
        self.depends = 0  # it may be applied when everything up to this number is committed
        # The open transaction in which it is applied; None: it holds the locks of its rows itself.
        self.stream: Any = None

    @property
    def transaction(self) -> Transaction:
        """See ``Writeset.transaction``."""
        return self.writeset.local.transaction


def is_prepare(writeset: Writeset) -> bool:
    """Whether it prepares an XA transaction."""
    return writeset.part is not None and writeset.part.what == Part.PREPARE


def is_whole(writeset: Writeset) -> bool:
    """Whether its commit makes the transaction visible."""
    return writeset.part is None or writeset.part.what == Part.COMMIT
