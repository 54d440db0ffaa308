"""A Galera node whose parts tell a watch who waits for whom."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

from simrep.modelling import (
    Cluster,
    Holder,
    Lap,
    MessageText,
    OrderedGate,
    PausableMutex,
    RedoLog,
    watching,
)
from simrep.modelling.watching import (
    HELD,
    HeardMesh,
    Line,
    Twin,
    WatchedGate,
    WatchedMutex,
    amount,
    named,
    who,
)
from simrep.models.galera.gcomm.gmcast import Gmcast

from .altering_node import AlteringNode
from .certifier import Certifier
from .flow_control import FlowControl, MemberFlowControl
from .gcache import KeepingCertifier
from .group import GroupMember, Sender
from .monitors import IN_ORDER, ApplyMonitor, commit_monitor
from .node import GaleraNode
from .returning_node import ReturningNode
from .row_writer import RowWriter
from .schema_change import SchemaChange
from .stream_appliers import StreamApplier
from .writeset import Control, Kind, LocalTransaction, Ordered, Writeset

__all__ = ["WatchedParts", "describe_payload"]

_SEND_MONITOR = "send monitor"
_LOCAL_MONITOR = "local monitor (certification)"
_COMMIT_ORDER = "commit order"
_RECEIVE_QUEUE = "receive queue"
_PARTS = ("fragment", "XA prepare", "commit fragment", "rollback fragment")  # by ``Part``

_CONTROLS = {
    Kind.FRAGMENT: "part of a writeset",
    Kind.STOP: "flow control: stop",
    Kind.CONTINUE: "flow control: continue",
    Kind.LAST_COMMITTED: "last committed",
    Kind.REQUEST: "request for the state",
    Kind.JOIN: "joined",
    Kind.SYNC: "synced",
    Kind.DESYNC: "leaves flow control",
    Kind.VOTE: "vote on a writeset",
}
_COMING_BACK = {Kind.REQUEST, Kind.JOIN, Kind.SYNC}


def describe_payload(payload: Any) -> MessageText:
    """What a node hands to its group."""
    if not isinstance(payload, Writeset):
        kind = getattr(payload, "kind", None)
        if kind in _CONTROLS:
            return MessageText(_CONTROLS[kind], membership=kind in _COMING_BACK)
        return MessageText(getattr(payload, "text", "state of the group"), membership=True)
    label = "writeset" if payload.part is None else _PARTS[payload.part.what]
    return MessageText(label, who(payload))


class _WatchedNode(Twin, GaleraNode):
    def __init__(
        self, parts: WatchedParts, plain: Any, options: Any, costs: Any, member: GroupMember
    ) -> None:
        parts.order = parts.order_line("total order", member.mesh)
        super().__init__(parts, plain, options, costs, member)

    def _deliver(self, sender: int, message: Any) -> None:
        self._parts.order.cut()
        if sender == self.index and isinstance(message, Writeset):
            self._parts.order.go(message)
        super()._deliver(sender, message)

    def _commit(self, ordered: Ordered) -> None:
        changes = isinstance(ordered.writeset, SchemaChange)
        what = "being executed" if changes else "being committed"
        self._parts.does(ordered, what, _COMMIT_ORDER)
        super()._commit(ordered)

    def _finish(self, ordered: Ordered) -> None:
        self._parts.let_go(ordered)
        super()._finish(ordered)
        self._parts.end(ordered)

    def _cancel(self, ordered: Ordered) -> None:
        self._parts.let_go(ordered)
        super()._cancel(ordered)
        self._parts.end(ordered)


class _WatchedReturningNode(_WatchedNode, ReturningNode):
    """The same where servers come and go."""


class _WatchedAlteringNode(_WatchedNode, AlteringNode):
    """The same where statements change tables."""


class _WatchedSender(Twin, Sender):
    def _send_monitor(self) -> PausableMutex:
        parts: WatchedParts = self._parts

        def holder() -> Holder:
            held = mutex.holder
            return parts.stopped() if held is None else parts.holder(who(held)[0], HELD)

        mutex = WatchedMutex(
            self._clock, parts.line(_SEND_MONITOR, holder, lap=Lap.QUEUE), self._hand_over
        )
        return mutex

    def _begin(self, writeset: Writeset) -> None:
        messages = -(-writeset.size_bytes // self._mtu)
        if messages > 1:
            what = f"handing over {amount(messages)} messages"
            self._parts.does(writeset, what, _SEND_MONITOR)
        self._parts.order.wait(writeset)
        super()._begin(writeset)

    def fail(self, local: LocalTransaction, *, retry: bool = True) -> None:
        self._parts.order.release(local)
        self._parts.watch.forget(self._parts.name, who(local)[0])
        super().fail(local, retry=retry)


class _Stop(Control):
    """A stop or continue that says whose it is, and why."""

    __slots__ = ("queue", "upper")

    def __init__(self, kind: int, node: int, seqno: int, queue: int, upper: int) -> None:
        super().__init__(kind, node, seqno)
        self.queue = queue
        self.upper = upper


class _WatchedFlowControl(Twin, FlowControl):
    """Tells whose stops are in force, and why."""

    def __init__(self, parts: WatchedParts, *args: Any) -> None:
        *how, self._control = args
        self._queue = 0
        super().__init__(parts, *how, self._tell)

    def _tell(self, message: Control) -> None:
        node, queue = self._parts.index, self._queue
        self._control(_Stop(message.kind, node, message.seqno, queue, self.upper))

    def grown(self, queue: int) -> None:
        self._queue = queue
        super().grown(queue)

    def reset(self, view: int, size: int) -> None:
        self._parts.stops.clear()
        super().reset(view, size)

    def deliver(self, message: Control) -> None:
        if message.kind == Kind.STOP and self.counts(message):
            self._parts.stops[message.node] = message
        super().deliver(message)
        if message.kind == Kind.CONTINUE:
            self._parts.stops.pop(message.node, None)


class _WatchedMemberFlowControl(_WatchedFlowControl, MemberFlowControl):
    """The same where servers come and go."""


class _WatchedCertifier(Twin, Certifier):
    def number(self, message: Writeset) -> Ordered:
        ordered = super().number(message)
        self._parts.begin(ordered)
        return ordered


class _WatchedKeepingCertifier(_WatchedCertifier, KeepingCertifier):
    def given(self, ordered: Ordered) -> None:
        super().given(ordered)
        self._parts.begin(ordered)


class _WatchedLocalMonitor(WatchedGate):
    """Who enters begins to be certified."""

    def __init__(self, parts: WatchedParts) -> None:
        def holder() -> Holder:
            return parts.at(self.next, HELD)

        how = {"who": parts.whose, "lap": Lap.CERTIFICATION}
        super().__init__(parts.line(_LOCAL_MONITOR, holder, **how))
        self._parts = parts

    def _begin(self, position: int, call: Callable[[Any], object], argument: Ordered) -> None:
        keys = argument.writeset.key_count
        what = f"certifying {amount(keys)} {'key' if keys == 1 else 'keys'}"
        self._parts.does(argument, what, _LOCAL_MONITOR)
        super()._begin(position, call, argument)


def _watched_commit_monitor(parts: WatchedParts, mode: int) -> OrderedGate:
    """Only that in order makes anybody wait for another."""
    if mode != IN_ORDER:
        return commit_monitor(mode)
    how = {"who": parts.whose, "lap": Lap.COMMIT_ORDER}
    gate = WatchedGate(parts.line(_COMMIT_ORDER, lambda: parts.at(gate.next), **how))
    return gate


class _WatchedApplyMonitor(Twin, ApplyMonitor):
    """Has a line for what waits for what it depends on."""

    def __init__(self, parts: WatchedParts, wake: Callable[[Ordered], object], *args: Any) -> None:
        super().__init__(parts, self._wake_up, *args)
        self._wake_dependent = wake
        self._line = parts.line("dependencies", lambda: parts.at(self.last_left + 1))

    def may_enter(self, ordered: Ordered) -> bool:
        may = super().may_enter(ordered)
        if not may:
            self._line.wait(ordered)
        return may

    def leave(self, ordered: Ordered) -> None:
        if ordered.seqno == self.last_left + 1:
            self._line.cut()
        super().leave(ordered)

    def _wake_up(self, ordered: Ordered) -> None:
        self._line.go(ordered)
        self._wake_dependent(ordered)


class _WatchedQueue(Twin, deque[Ordered]):
    """A receive queue that tells what the appliers take in hand."""

    def append(self, ordered: Ordered) -> None:
        self._parts.queue.wait(ordered)
        super().append(ordered)

    def popleft(self) -> Ordered:
        ordered = super().popleft()
        self._parts.queue.go(ordered)
        self._parts.in_hand[who(ordered)[0]] = None
        return ordered


class _WatchedWriter(Twin, RowWriter):
    def _write(self, ordered: Ordered) -> None:
        part = ordered.writeset.part
        what = "being applied"
        if part is not None and part.last:
            what = f"removing {amount(part.fragments)} stored fragments"
        self._parts.does(ordered, what, "applier")
        super()._write(ordered)


class _WatchedRedoLog(Twin, RedoLog):
    def flush(
        self,
        size_bytes: int,
        call: Callable[[Any], object],
        argument: Any = None,
        commits: int = 1,
        *,
        appended: bool = False,
    ) -> None:
        self._parts.does(argument, "being flushed", "redo log")
        super().flush(size_bytes, call, argument, commits, appended=appended)


class _HeardGmcast(HeardMesh, Gmcast):
    """Links that know who was silent."""


def _heard_gmcast(parts: WatchedParts, *args: Any) -> Gmcast:
    return _HeardGmcast(parts.watch, *args)


class WatchedParts(watching.WatchedParts):
    """See ``watching.WatchedParts``; knows by which number a transaction is ordered here."""

    twins: ClassVar = {
        AlteringNode: _WatchedAlteringNode,
        ApplyMonitor: _WatchedApplyMonitor,
        Certifier: _WatchedCertifier,
        FlowControl: _WatchedFlowControl,
        GaleraNode: _WatchedNode,
        Gmcast: _heard_gmcast,
        KeepingCertifier: _WatchedKeepingCertifier,
        MemberFlowControl: _WatchedMemberFlowControl,
        OrderedGate: _WatchedLocalMonitor,
        RedoLog: _WatchedRedoLog,
        ReturningNode: _WatchedReturningNode,
        RowWriter: _WatchedWriter,
        Sender: _WatchedSender,
        commit_monitor: _watched_commit_monitor,
        deque: _WatchedQueue,
    }
    order: Line

    def __init__(self, cluster: Cluster, index: int) -> None:
        super().__init__(cluster, index)
        self._writesets: dict[int, Writeset] = {}  # by their place in the order, until they end
        self._places: dict[Hashable, int] = {}
        self.in_hand: dict[Hashable, None] = {}  # what the appliers have
        self.stops: dict[int, _Stop] = {}  # those in force, by node
        self.queue = self.line(_RECEIVE_QUEUE, self._who_applies, holds_up=_RECEIVE_QUEUE)

    # -- who is waited for ---------------------------------------------------------------------

    def holder(self, one: Hashable, verb: str, doing: str = "") -> Holder:
        """A transaction, with the number of its writeset if it has one here."""
        seqno = self._places.get(one)
        title = ""
        if seqno is not None:
            part = self._writesets[seqno].part
            title = f"{'writeset' if part is None else _PARTS[part.what]} {seqno}"
        return Holder(named(one, title), ((self.name, one),), verb, doing)

    def at(self, seqno: int, verb: str = "waited {} for") -> Holder:
        """The writeset at a place of the order."""
        writeset = self._writesets.get(seqno)
        if writeset is None:
            return Holder(f"writeset {seqno}, which has not arrived")
        return self.holder(who(writeset)[0], verb)

    def whose(self, seqno: int) -> tuple[Hashable, ...]:
        """The transaction of the writeset at a place of the order."""
        return who(self._writesets.get(seqno, seqno))

    def owner(self, owner: Any) -> Holder:
        """Who holds a row."""
        if isinstance(owner, StreamApplier):
            origin = self.cluster.names[owner.stream[0]]
            text = f"a streaming transaction of {origin} ({amount(owner.rows)} rows so far)"
            return Holder(text, (), HELD, "being executed there")
        doing = "being applied" if isinstance(owner, Ordered) else "being executed"
        return self.holder(who(owner)[0], HELD, doing)

    def stopped(self) -> Holder:
        """Who has stopped the cluster, and why."""
        names, stops = self.cluster.names, self.stops.items()
        if not stops:
            return Holder("the next view of the group", (), "was paused {} until")
        text = " and ".join(
            f"{names[node]} (receive queue {stop.queue:,} > {stop.upper:,})" for node, stop in stops
        )
        keys = tuple((names[node], _RECEIVE_QUEUE) for node, _ in stops)
        return Holder(f"flow control of {text}", keys, "was paused {} by")

    def _who_applies(self) -> Holder:
        in_hand = list(self.in_hand)
        if not in_hand:
            return Holder("an applier to wake")
        if len(in_hand) == 1:
            return self.holder(in_hand[0], "waited {} for", "being applied")
        keys = tuple((self.name, one) for one in in_hand)
        return Holder(f"one of {len(in_hand)} busy appliers", keys)

    # -- what is done --------------------------------------------------------------------------

    def does(self, item: Any, what: str, station: str) -> None:
        """From now on a transaction does this."""
        self.watch.doing(self.name, who(item)[0], what, station)

    def begin(self, ordered: Ordered) -> None:
        """A writeset has got its place in the order."""
        self._writesets[ordered.seqno] = ordered.writeset
        self._places[who(ordered)[0]] = ordered.seqno

    def let_go(self, ordered: Ordered) -> None:
        """Its applier is free; whoever waits on, waits for the others."""
        (one,) = who(ordered)
        if one in self.in_hand:
            self.queue.cut()
            del self.in_hand[one]

    def end(self, ordered: Ordered) -> None:
        """It has committed, or failed."""
        (one,) = who(ordered)
        self._writesets.pop(ordered.seqno, None)
        if self._places.get(one) == ordered.seqno:  # else it has been tried again
            del self._places[one]
            self.watch.forget(self.name, one)
