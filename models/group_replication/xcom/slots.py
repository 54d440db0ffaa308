"""What members send each other about a slot, and what each of them knows about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from .paxos import KINDS as FAULTLESS
from .site import STRIDE, Site

__all__ = [
    "SKIPPED",
    "Batch",
    "Configuration",
    "Kind",
    "Message",
    "Present",
    "Promise",
    "Round",
    "Slot",
    "Snapshot",
]


class Kind:
    """What a message is."""

    ACCEPT: Final = 0
    ACK: Final = 1
    LEARN: Final = 2
    SKIP: Final = 3
    ASK: Final = 4
    GRANT: Final = 5
    PREPARE: Final = 6
    PROMISE: Final = 7
    READ: Final = 8
    VALUE: Final = 9
    DIE: Final = 10


@dataclass(frozen=True, slots=True)
class Configuration:
    """Asks for another configuration.

    Attributes
    ----------
    what : str
        ``add`` and ``remove`` members, ``force`` these to be the only ones, ``lead``: prefer this
        one as the single leader.
    positions : tuple of int
    life : int
        Which process of a member is added.
    """

    what: str
    positions: tuple[int, ...]
    life: int = 0


@dataclass(frozen=True, slots=True)
class Present:
    """Who is alive as one member sees it (``view_msg``), of a configuration of so many members."""

    positions: frozenset[int]
    members: int


class Batch:
    """What is proposed in one slot: messages of one member, or one order for the group itself."""

    __slots__ = ("order", "payloads", "sender", "sent", "size_bytes", "taken_s", "void")

    def __init__(
        self,
        payloads: list[Any],
        size_bytes: int,
        sender: int,
        taken_s: float,
        order: Configuration | Present | None = None,
    ) -> None:
        self.payloads = payloads
        self.size_bytes = size_bytes
        self.sender = sender
        self.taken_s = taken_s  # when a proposer took it
        self.order = order
        self.sent = False
        self.void = False  # an order that was decided by those who force another configuration

    @property
    def forces(self) -> bool:
        """Whether it is a configuration that somebody forces."""
        return isinstance(self.order, Configuration) and self.order.what == "force"


class Message:
    """A message about a slot.

    A ballot is ``count * STRIDE + node number``; the owner's first proposal has count 0.
    """

    __slots__ = ("ballot", "batch", "delivered", "group", "kind", "known", "slot", "source")
    kinds: ClassVar[tuple[str, ...]] = (
        *FAULTLESS, "prepare", "promise", "read", "value", "die",
    )  # fmt: skip
    """Names of the messages by ``kind``."""

    def __init__(
        self,
        kind: int,
        source: int,
        slot: int,
        known: int,
        delivered: int,
        group: int,
        batch: Batch | None = None,
        ballot: int = -1,
    ) -> None:
        self.kind = kind
        self.source = source
        self.slot = slot
        self.known = known  # the highest slot that the sender knew to be learned
        self.delivered = delivered  # the slot that the sender was to deliver next
        self.group = group
        self.batch = batch  # None: the slot stays empty, or nothing is said of it
        self.ballot = ballot


class Promise(Message):
    """An acceptor promises to accept no lower ballot, and tells which one it has accepted."""

    __slots__ = ("accepted",)

    def __init__(self, accepted: int, *what: Any) -> None:
        super().__init__(*what)
        self.accepted = accepted  # -1: none


class Round:
    """One member's attempt to have a value accepted in a slot."""

    __slots__ = ("acks", "ballot", "batch", "majority", "promises", "value_ballot")

    def __init__(self, batch: Batch | None, ballot: int, majority: int) -> None:
        self.batch = batch  # None: that the slot stays empty
        self.ballot = ballot
        self.value_ballot = ballot  # of the proposal that the value is from
        self.majority = majority
        self.promises = 0
        self.acks = 0


class Slot:
    """What a member knows about a slot that it has not executed."""

    __slots__ = ("active_s", "ballot", "batch", "finished", "promise", "round")

    def __init__(self) -> None:
        self.batch: Batch | None = None  # accepted; None for an empty slot
        self.ballot = -1  # in which it was accepted; -1: nothing was
        self.promise = 0  # no lower ballot is accepted
        self.finished = False  # learned or skipped
        self.active_s = 0.0  # when something was last promised, accepted or learned; 0: never
        self.round: Round | None = None  # what this member proposes

    @property
    def begun(self) -> bool:
        """Whether somebody has proposed something, or it is finished."""
        return self.finished or self.promise >= STRIDE or self.ballot >= 0 or self.round is not None


SKIPPED: Final = Slot()
"""All slots that their owners leave empty."""
SKIPPED.finished = True


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a member that joins is sent: configurations, and where to begin.

    Attributes
    ----------
    sites : tuple of Site
        The oldest first.
    start : int
        The slot of the last configuration message; the joining member begins behind it.
    known : int
        The highest slot known to be learned.
    group : int
        Which group it is.
    """

    sites: tuple[Site, ...]
    start: int
    known: int
    group: int

    @property
    def size_bytes(self) -> int:
        """Its size, about: a node's address, UUID and flags take 200 bytes."""
        return 200 * (1 + sum(site.size for site in self.sites))
