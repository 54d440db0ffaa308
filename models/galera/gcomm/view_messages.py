"""What members of an EVS group tell each other when their view changes.

The messages of Galera's gcomm (``gcomm/src/evs_message2.hpp``) but for the user message and the
gap, which are ``EvsMessage``. Sizes are those of the serialised messages with headers, rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from simrep.models.galera.gcomm.view import EvsMessage, Life, Member

__all__ = [
    "DelayCounts",
    "Install",
    "Join",
    "Leave",
    "LivingMessage",
    "NodeState",
    "RangeRequest",
    "ResentMessage",
    "ViewGap",
    "ViewMessage",
]

_HEADER_BYTES = 110
_NODE_BYTES = 70  # what a join or install message tells of one member
_COUNT_BYTES = 17  # a UUID and a count


class LivingMessage(EvsMessage):
    """A user message or gap that tells which life of its source it comes from."""

    __slots__ = ("life",)

    def __init__(self, life: int, *fields: object) -> None:
        super().__init__(*fields)  # type: ignore[arg-type]
        self.life = life


class ResentMessage(LivingMessage):
    """A user message that was asked for."""

    __slots__ = ()

    resent = True


class RangeRequest(LivingMessage):
    """A gap that asks for the numbers ``low`` to ``high`` of the member at ``origin``."""

    __slots__ = ("high", "low", "origin")

    resent = True

    def __init__(self, life: int, view: int, source: int, aru: int) -> None:
        super().__init__(life, view, source, 0, -1, aru, False, (), 0)
        self.origin = self.low = self.high = -1


class NodeState(NamedTuple):
    """What the sender of a join message knows of a member."""

    operational: bool
    suspected: bool
    leave: int  # last number that it has sent, if it leaves, else -1
    view: int  # that it comes from; NO_VIEW if that is not known
    safe: int  # what it has reported to have in full
    low: int  # lowest number that has not been received from it
    high: int  # highest number that has been received from it

    @property
    def leaving(self) -> bool:
        """Whether it leaves in order."""
        return self.leave != -1


@dataclass(frozen=True, slots=True)
class ViewMessage:
    """What all of them have. ``number`` orders the messages of a sender."""

    view: ClassVar[int] = -2  # of no view
    text: ClassVar[str]
    sender: Member
    number: int

    @property
    def source(self) -> int:
        """Position of the sender."""
        return self.sender.position

    @property
    def size_bytes(self) -> int:
        """Bytes on the wire."""
        return _HEADER_BYTES


@dataclass(frozen=True, slots=True)
class Join(ViewMessage):
    """What the sender knows and has."""

    text: ClassVar[str] = "join"
    base: int  # the view that the sender comes from
    safe: int
    aru: int
    nodes: Mapping[Member, NodeState]
    evicted: frozenset[Life]  # identities

    @property
    def size_bytes(self) -> int:
        """Bytes on the wire."""
        return _HEADER_BYTES + _NODE_BYTES * len({*self.nodes, *self.evicted})


@dataclass(frozen=True, slots=True)
class Install(Join):
    """A proposed view: a join message on which all agree, and its number."""

    text: ClassVar[str] = "install"
    proposed: int
    resent: bool = False


@dataclass(frozen=True, slots=True)
class ViewGap(ViewMessage):
    """Commit gap (``commit``): the sender accepts the install message; or install gap."""

    proposed: int
    install: int  # number of the install message
    commit: bool

    @property
    def text(self) -> str:  # type: ignore[override]
        """What it is called."""
        return "commit gap" if self.commit else "install gap"


@dataclass(frozen=True, slots=True)
class Leave(ViewMessage):
    """The sender leaves in order."""

    text: ClassVar[str] = "leave"
    base: int
    last_sent: int
    aru: int
    resent: bool = False


@dataclass(frozen=True, slots=True)
class DelayCounts(ViewMessage):
    """How often the sender has found members delayed (``DelayedListMessage``)."""

    text: ClassVar[str] = "delayed list"
    membership: ClassVar[bool] = False  # repeated at every tick, for as long as there is a count
    base: int
    counts: Mapping[Life, int]  # by identity

    @property
    def size_bytes(self) -> int:
        """Bytes on the wire."""
        return _HEADER_BYTES + _COUNT_BYTES * len(self.counts)
