"""What transactions wait for at a consistency level stronger than EVENTUAL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from typing import Any

from simrep.modelling import Clock, Event, Transaction

from .messages import Prepared, SyncBefore
from .transaction_message import Ordered

__all__ = ["ChangingConsistency", "Consistency"]

Call = Callable[[Any], object]


class _Preparing:
    """A transaction of level AFTER on one member, from its certification to its commit."""

    __slots__ = ("by", "go_on")

    def __init__(self) -> None:
        self.by: set[int] = set()  # members that have prepared it
        self.go_on: tuple[Call, Any] | None = None  # here, its commit waits for the others


class Consistency:
    """The waits of one member.

    ``AFTER``: a transaction commits, wherever it is applied, when all members have prepared it;
    each tells the others by a message in the total order. What begins on a member while a
    prepared transaction is about to commit there waits for that commit: so whoever has seen the
    origin's answer finds the change everywhere. ``BEFORE``: a transaction asks for a place in the
    total order and begins when everything before it is applied.

    References
    ----------
    plugin/group_replication/src/consistency_manager.cc: after_certification,
    after_applier_prepare, handle_remote_prepare, before_transaction_begin (8.0.14 and later).
    """

    def __init__(
        self,
        clock: Clock,
        member: int,
        size: int,
        send: Callable[[Any], object],
        when_caught_up: Callable[[Call, Any], object],
    ) -> None:
        self._clock = clock
        self._member = member
        self._size = size
        self._send = send  # into the total order
        self._when_caught_up = when_caught_up
        self._preparing: dict[int, _Preparing] = {}
        self._uncommitted: set[int] = set()  # prepared here, not committed here
        self._beginning: list[tuple[set[int], Event]] = []
        self._asked: dict[int, Event] = {}
        self._questions = 0

    # -- AFTER ---------------------------------------------------------------------------------

    def certified(self, order: int, call: Call, argument: Any) -> None:
        """The member's own transaction has passed; ``call(argument)`` when it may commit."""
        state = self._state(order)
        state.by.add(self._member)
        state.go_on = (call, argument)
        self._check(order, state)

    def hold(self, change: Ordered, applied: Call) -> None:
        """A transaction of another member is prepared here: tell all, and wait for all."""
        order = change.order
        self._uncommitted.add(order)
        state = self._state(order)
        state.by |= {self._member, change.origin}
        state.go_on = (applied, change)
        self._send(Prepared(self._member, order))
        self._check(order, state)

    def prepared(self, message: Prepared) -> None:
        """A member has told that it has prepared a transaction."""
        if message.member != self._member:
            state = self._state(message.order)
            state.by.add(message.member)
            self._check(message.order, state)

    def committed(self, order: int) -> None:
        """A transaction is committed here: those that began after its prepare may go on."""
        if order in self._uncommitted:
            self._uncommitted.discard(order)
            ready = []
            for waits_for, event in self._beginning:
                waits_for.discard(order)
                if not waits_for:
                    ready.append(event)
            self._beginning = [waiting for waiting in self._beginning if waiting[0]]
            for event in ready:
                self._clock.fire(event)

    def _state(self, order: int) -> _Preparing:
        return self._preparing.setdefault(order, _Preparing())

    def _check(self, order: int, state: _Preparing) -> None:
        if state.go_on is not None and len(state.by) == self._size:
            del self._preparing[order]
            call, argument = state.go_on
            call(argument)

    # -- BEFORE, and the begin of every transaction --------------------------------------------

    def begin(self, _transaction: Transaction, *, in_order: bool) -> Generator[Event, Any, None]:
        """Hold up a transaction's begin; ``in_order``: it asks for a place of its own."""
        if in_order:
            self._questions += 1
            event = self._asked[self._questions] = Event(self._clock)
            self._send(SyncBefore(self._member, self._questions))
            yield event
        if self._uncommitted:
            event = Event(self._clock)
            self._beginning.append((set(self._uncommitted), event))
            yield event

    def reached(self, message: SyncBefore) -> None:
        """The place in the order that a transaction asked for has come."""
        if message.member == self._member:
            event = self._asked.pop(message.number)
            self._when_caught_up(self._clock.fire, event)


class _Awaited(_Preparing):
    """It waits for the members that were ONLINE when it was certified, and are there."""

    __slots__ = ("members",)

    def __init__(self, members: Collection[int]) -> None:
        super().__init__()
        self.members = set(members)


class ChangingConsistency(Consistency):
    """The waits of a member where members come and go: those that have left are not waited for.

    Attributes
    ----------
    online : frozenset of int
        Members that are ONLINE, at the present place in the order.
    left : bool
        The member has left the group, and is not in the order again: nothing that is still to be
        applied waits for others.

    References
    ----------
    consistency_manager.cc: Transaction_consistency_info::handle_member_leave, handle_remote_prepare
    (9).
    """

    def __init__(
        self,
        clock: Clock,
        member: int,
        size: int,
        send: Callable[[Any], object],
        when_caught_up: Callable[[Call, Any], object],
    ) -> None:
        super().__init__(clock, member, size, send, when_caught_up)
        self.online: frozenset[int] = frozenset()
        self.left = False

    def expect(self, order: int) -> None:
        """A transaction was certified: who is ONLINE now has to prepare it."""
        if order not in self._preparing:
            self._preparing[order] = _Awaited(self.online)

    def hold(self, change: Ordered, applied: Call) -> None:
        """See ``Consistency.hold``."""
        if self.left:
            self._preparing.pop(change.order, None)
            applied(change)
            return
        self.expect(change.order)
        super().hold(change, applied)

    def certified(self, order: int, call: Call, argument: Any) -> None:
        """See ``Consistency.certified``."""
        self.expect(order)
        super().certified(order, call, argument)

    def prepared(self, message: Prepared) -> None:
        """See ``Consistency.prepared``; whoever is not waited for may tell it late."""
        if message.order in self._preparing:
            super().prepared(message)

    def leave(self, gone: Collection[int]) -> None:
        """Members have left: nothing waits for them any more."""
        self.online -= frozenset(gone)
        for order, state in list(self._preparing.items()):
            assert isinstance(state, _Awaited)
            state.members.difference_update(gone)
            self._check(order, state)

    def release(self) -> None:
        """The member has left the group: nothing waits for others any more."""
        self.left = True
        self._uncommitted.clear()
        events = [event for _, event in self._beginning] + list(self._asked.values())
        self._beginning.clear()
        self._asked.clear()
        for event in events:
            self._clock.fire(event)
        waiting, self._preparing = self._preparing, {}
        for state in waiting.values():
            if state.go_on is not None and isinstance(state.go_on[1], Ordered):
                call, change = state.go_on
                call(change)

    def reached(self, message: SyncBefore) -> None:
        """See ``Consistency.reached``; who asked may have given up."""
        if message.number in self._asked or message.member != self._member:
            super().reached(message)

    def _check(self, order: int, state: _Preparing) -> None:
        assert isinstance(state, _Awaited)
        if state.go_on is not None and state.members <= state.by:
            del self._preparing[order]
            call, argument = state.go_on
            call(argument)
