"""Views of a group, and the messages that belong to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simrep.modelling import MessageText
from simrep.modelling.watching import together

__all__ = [
    "NO_VIEW",
    "EvsMessage",
    "Life",
    "Member",
    "View",
    "describe_evs",
    "view_number",
    "view_sequence",
]

Life = tuple[int, int]
"""A member by its position, and how often it has come back."""


NO_VIEW: Final = -1
"""The number of no view, and of the view of a member that delivers the rest of one."""

_MEMBER_BITS: Final = 40
_LIFE_BITS: Final = 20


class Member(NamedTuple):
    """Who a member is (gcomm: its UUID). The least of a group speaks for it."""

    position: int
    life: int  # how often it has been started anew


def view_number(sequence: int, representative: Member) -> int:
    """Make the number of a view (gcomm: ``ViewId``): that of no other, in separate parts either.

    Of two numbers the greater is that of the view with the greater sequence number.
    """
    identity = representative.life << _LIFE_BITS | representative.position
    return sequence << _MEMBER_BITS | identity


def view_sequence(number: int) -> int:
    """Which in a row of views has this number."""
    return number >> _MEMBER_BITS


@dataclass(frozen=True, slots=True)
class View:
    """Who belongs to the group from here on."""

    number: int  # higher than that of every earlier view: see ``view_number``
    members: tuple[int, ...]  # positions, in order
    # Who was not in the view before, and who was. A member that was away and is back before its
    # absence was noticed is in both.
    joined: tuple[int, ...]
    left: tuple[int, ...]
    primary: bool  # in a view that is not the primary component nothing is delivered
    # What each member has told of its application in the exchange of states, by its place in
    # ``members``; see ``Evs.on_report``.
    reports: tuple[Any, ...] = ()
    # It is primary, and no member of it comes from a primary component: all of them have given up
    # what they had under way.
    restored: bool = False
    # It was made primary: by hand, or as all of the last primary view have come back from a crash.
    bootstrapped: bool = False
    # Those of the view of this number who come along from it; never primary. What comes after it
    # was sent in that view, and is delivered in no primary component.
    transitional: bool = False


class EvsMessage:
    """A user message covers first..last; a gap (no ``payloads``, ``last`` -1) covers nothing."""

    __slots__ = ("aru", "first", "last", "more", "payloads", "size", "source", "view")

    resent = False  # on request

    def __init__(
        self,
        view: int,
        source: int,
        first: int,
        last: int,
        aru: int,
        more: bool,
        payloads: tuple[Any, ...],
        size: int,
    ) -> None:
        self.view = view
        self.source = source
        self.first = first
        self.last = last
        self.aru = aru
        self.more = more
        self.payloads = payloads
        self.size = size  # bytes of the payloads


def describe_evs(message: Any, payload: Callable[[Any], MessageText]) -> MessageText:
    """A message of an EVS group; ``payload`` describes what the application sends."""
    if not isinstance(message, EvsMessage):  # of a change of the view, or of a link
        return MessageText(message.text, membership=getattr(message, "membership", True))
    if message.last < 0:
        return MessageText("gap")
    if not message.payloads:
        return MessageText("empty message")
    return together(payload(one) for one in message.payloads)
