"""What members of a group send each other in the total order beside transactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from .certifier import Certifier
from .gcs.views import View
from .transaction_message import CONTEXT_BYTES, ITEM_BYTES, Kind

__all__ = [
    "Control",
    "GtidExecuted",
    "Metadata",
    "Packet",
    "Prepared",
    "Recovered",
    "Statistics",
    "SyncBefore",
    "ViewMessage",
    "Word",
]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a member tells the others every period (``Pipeline_stats_member_message``)."""

    kind: ClassVar[int] = Kind.STATISTICS
    size_bytes: ClassVar[int] = 250

    member: int
    waiting_certification: int
    waiting_apply: int
    certified: int
    applied: int
    local: int


@dataclass(frozen=True, slots=True)
class GtidExecuted:
    """Transactions that a member has committed without a gap, told every 60 periods."""

    kind: ClassVar[int] = Kind.GTID_EXECUTED
    size_bytes: ClassVar[int] = 300

    member: int
    committed: int


@dataclass(frozen=True, slots=True)
class SyncBefore:
    """Asks for its own place in the order: what is before it must be applied first."""

    kind: ClassVar[int] = Kind.SYNC_BEFORE
    size_bytes: ClassVar[int] = 150

    member: int
    number: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A member has applied a transaction up to its commit."""

    kind: ClassVar[int] = Kind.PREPARED
    size_bytes: ClassVar[int] = 150

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

    kind: ClassVar[int] = Kind.CONTROL
    size_bytes: ClassVar[int] = 150

    word: Word
    member: int
    of: int = -1
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ViewMessage:
    """A view at its place among the messages."""

    kind: ClassVar[int] = Kind.VIEW

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

    kind: ClassVar[int] = Kind.METADATA

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

    kind: ClassVar[int] = Kind.RECOVERED
    size_bytes: ClassVar[int] = 150

    member: int


@dataclass(frozen=True, slots=True, eq=False)
class Packet:
    """Something that the applier module of one member has to do in its turn."""

    kind: ClassVar[int] = Kind.PACKET

    call: Callable[[], object]
