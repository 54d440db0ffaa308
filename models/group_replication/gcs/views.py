"""Views of the group: who is in it, as its members agree by telling each other where they are.

When a new configuration has only members that are alive, each of them sends an ordered message: the
view it has, and what the plugin tells the others. The view is there with the last of them, at the
same place in the order on all members; other messages that come in between wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["StateMessage", "View", "Views"]


@dataclass(frozen=True, slots=True)
class View:
    """Who is in the group.

    Attributes
    ----------
    number : int
        Which view it is, from 1.
    members : tuple of int
        Positions by node number.
    joined, left : frozenset of int
        Who was not in the view before, and who is no longer in it.
    states : Mapping of int to Any
        By position, what each member has told.
    forced : bool
        Somebody has made these the only members by hand.
    """

    number: int
    members: tuple[int, ...]
    joined: frozenset[int] = frozenset()
    left: frozenset[int] = frozenset()
    states: Mapping[int, Any] = field(default_factory=dict)
    forced: bool = False

    @property
    def gone(self) -> frozenset[int]:
        """Members whose former process is no longer there, whether a new one has joined or not."""
        return self.left | self.joined


class StateMessage:
    """What a member tells in an exchange."""

    __slots__ = ("exchange", "number", "source", "state")
    size_bytes = 1000  # with what the plugin tells: versions, addresses, executed GTIDs

    def __init__(self, source: int, exchange: int, number: int, state: Any) -> None:
        self.source = source
        self.exchange = exchange  # where in the order it began, the same on all members
        self.number = number  # of the view that the sender has
        self.state = state


class Views:
    """The views of one member.

    Parameters
    ----------
    me : int
        Position of this member.
    send : callable
        ``send(message, size_bytes)`` puts a message into the order.
    deliver : callable
        ``deliver(sender, payload)`` takes the messages of others.

    Attributes
    ----------
    current : View or None
    exchanged : int or None
        The exchange that led to it.
    """

    def __init__(
        self,
        me: int,
        send: Callable[[Any, int], object],
        deliver: Callable[[int, Any], object],
    ) -> None:
        self._me = me
        self._send = send
        self._deliver = deliver
        self.current: View | None = None
        self.exchanged: int | None = None
        self._exchange: int | None = None
        self._forced = False
        self._awaited: tuple[int, ...] = ()
        self._told: dict[int, StateMessage] = {}
        self._held: list[tuple[int, Any]] = []

    def start(
        self, exchange: int, members: tuple[int, ...], state: Any, *, forced: bool = False
    ) -> None:
        """Begin an exchange; one that was under way is given up."""
        if self._exchange is not None:
            self._release()
        self._exchange = exchange
        self._forced = forced
        self._awaited = members
        self._told.clear()
        number = 0 if self.current is None else self.current.number
        message = StateMessage(self._me, exchange, number, state)
        self._send(message, message.size_bytes)

    def take(self, sender: int, payload: Any) -> None:
        """An ordered message of the plugin: now, or behind the next view."""
        if self._exchange is not None:
            self._held.append((sender, payload))
        elif self.current is not None:
            self._deliver(sender, payload)

    def hear(self, message: StateMessage) -> View | None:
        """A member has told; the new view if it was the last one."""
        if message.exchange != self._exchange:
            return None
        self._told[message.source] = message
        if any(position not in self._told for position in self._awaited):
            return None
        before = frozenset(() if self.current is None else self.current.members)
        members = frozenset(self._awaited)
        # Who has no view yet joins, as those who have one see it.
        joined = frozenset(p for p in members if not self._told[p].number)
        number = 1 + max(told.number for told in self._told.values())
        states = {position: told.state for position, told in sorted(self._told.items())}
        joined = joined if any(told.number for told in self._told.values()) else members
        left = before - members
        self.current = View(number, self._awaited, joined, left, states, self._forced)
        self.exchanged = self._exchange
        return self.current

    def end(self) -> None:
        """The view is told: what waited for it follows."""
        self._exchange = None
        self._release()

    def forget(self) -> None:
        """Be in no group."""
        self.current = None
        self.exchanged = self._exchange = None
        self._held.clear()

    def _release(self) -> None:
        held, self._held = self._held, []
        if self.current is not None:
            for sender, payload in held:
                self._deliver(sender, payload)
