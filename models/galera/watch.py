"""A Galera node whose parts tell a watch who waits for whom."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from simrep.contract import watching
from simrep.contract.watching import HELD, named, who
from simrep.kernel.chronicle import MessageText
from simrep.kernel.mutex import PausableMutex, WatchedMutex
from simrep.kernel.order import OrderedGate, WatchedGate
from simrep.kernel.watch import Holder, Line
from simrep.measure.units import amount
from simrep.models.galera.gcomm.evs import EvsOptions
from simrep.server.host import Host
from simrep.server.storage import Disk, RedoLog
from simrep.workload.laps import Lap

from .apply_monitor import ApplyMonitor
from .certifier import Certifier
from .commit_monitor import IN_ORDER
from .flow_control import FlowControl
from .group import GroupMember, Sender
from .node import GaleraNode, Parts
from .options import GaleraCosts, GaleraOptions
from .row_writer import RowWriter
from .stream_appliers import StreamApplier, StreamAppliers
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
    Kind.SYNCED: "synced",
}


def describe_payload(payload: Any) -> MessageText:
    """What a node hands to its group."""
    if not isinstance(payload, Writeset):
        return MessageText(_CONTROLS.get(getattr(payload, "kind", -1), "state of the group"))
    label = "writeset" if payload.part is None else _PARTS[payload.part.what]
    return MessageText(label, who(payload))


class WatchedParts(watching.WatchedParts, Parts):
    """See ``Parts``; knows which writeset a transaction is, to call it by its number."""

    def node(self, options: GaleraOptions, costs: GaleraCosts, member: GroupMember) -> GaleraNode:
        """See ``Parts.node``."""
        self._writesets: dict[int, Writeset] = {}  # by their place in the order, until they end
        self._places: dict[Hashable, int] = {}
        self.order = self.order_line("total order", member.mesh)
        return _WatchedNode(self, options, costs, member)

    def sender(self, host: Host, switch_s: float, options: EvsOptions) -> Sender:
        """See ``Parts.sender``."""
        return _WatchedSender(self, host, switch_s, options)

    def flow_control(self, options: GaleraOptions, sender: Sender) -> FlowControl:
        """See ``Parts.flow_control``."""
        self._flow_control = _WatchedFlowControl(self, options, sender)
        return self._flow_control

    def certifier(self, streams: StreamAppliers) -> Certifier:
        """See ``Parts.certifier``."""
        return _WatchedCertifier(self, streams)

    def local_monitor(self) -> OrderedGate:
        """See ``Parts.local_monitor``."""
        gate: WatchedGate
        line = self.line(
            _LOCAL_MONITOR,
            lambda: self.at(gate.next, HELD),
            who=self.whose,
            lap=Lap.CERTIFICATION,
        )
        gate = _WatchedLocalMonitor(self, line)
        return gate

    def commit_monitor(self, mode: int) -> OrderedGate:
        """See ``Parts.commit_monitor``; only that in order makes anybody wait for another."""
        if mode != IN_ORDER:
            return super().commit_monitor(mode)
        gate: WatchedGate
        line = self.line(
            _COMMIT_ORDER, lambda: self.at(gate.next), who=self.whose, lap=Lap.COMMIT_ORDER
        )
        gate = WatchedGate(line)
        return gate

    def apply_monitor(
        self, wake: Callable[[Ordered], object], report: Callable[[int], object]
    ) -> ApplyMonitor:
        """See ``Parts.apply_monitor``."""
        return _WatchedApplyMonitor(self, wake, report)

    def receive_queue(self) -> deque[Ordered]:
        """See ``Parts.receive_queue``."""
        self._queue = _WatchedQueue(self)
        return self._queue

    def writer(self, *how: Any) -> RowWriter:
        """See ``Parts.writer``."""
        return _WatchedWriter(self, *how)

    def redo_log(self, disk: Disk, **how: Any) -> RedoLog:
        """See ``Parts.redo_log``."""
        return _WatchedRedoLog(self, disk, stage=self._redo_stage, **how)

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
        names, stops = self.cluster.names, self._flow_control.stops.items()
        text = " and ".join(
            f"{names[node]} (receive queue {stop.queue:,} > {stop.upper:,})" for node, stop in stops
        )
        keys = tuple((names[node], _RECEIVE_QUEUE) for node, _ in stops)
        return Holder(f"flow control of {text}", keys, "was paused {} by")

    # -- what is done --------------------------------------------------------------------------

    def does(self, item: Any, what: str, station: str) -> None:
        """From now on a transaction does this."""
        self.watch.doing(self.name, who(item)[0], what, station)

    def ordered(self, ordered: Ordered) -> None:
        """A writeset has got its place in the order."""
        self._writesets[ordered.seqno] = ordered.writeset
        self._places[who(ordered)[0]] = ordered.seqno

    def let_go(self, ordered: Ordered) -> None:
        """Its applier is free."""
        self._queue.let_go(ordered)

    def end(self, ordered: Ordered) -> None:
        """It has committed, or failed."""
        (one,) = who(ordered)
        self._writesets.pop(ordered.seqno, None)
        if self._places.get(one) == ordered.seqno:  # else it has been tried again
            del self._places[one]
            self.watch.forget(self.name, one)


class _WatchedNode(GaleraNode):
    def __init__(self, parts: WatchedParts, *how: Any) -> None:
        self._parts = parts
        super().__init__(parts, *how)

    def _deliver(self, sender: int, message: Any) -> None:
        self._parts.order.cut()
        if sender == self.index and isinstance(message, Writeset):
            self._parts.order.go(message)
        super()._deliver(sender, message)

    def _commit(self, ordered: Ordered) -> None:
        self._parts.does(ordered, "being committed", _COMMIT_ORDER)
        super()._commit(ordered)

    def _finish(self, ordered: Ordered) -> None:
        self._parts.let_go(ordered)
        super()._finish(ordered)
        self._parts.end(ordered)

    def _cancel(self, ordered: Ordered) -> None:
        self._parts.let_go(ordered)
        super()._cancel(ordered)
        self._parts.end(ordered)


class _WatchedSender(Sender):
    def __init__(
        self, parts: WatchedParts, host: Host, switch_s: float, options: EvsOptions
    ) -> None:
        self._parts = parts
        super().__init__(parts.clock, host, switch_s, options)

    def _send_monitor(self) -> PausableMutex:
        def holder() -> Holder:
            if mutex.holder is None:
                return self._parts.stopped()
            return self._parts.holder(who(mutex.holder)[0], HELD)

        line = self._parts.line(_SEND_MONITOR, holder, lap=Lap.QUEUE)
        mutex = WatchedMutex(self._clock, line, self._hand_over)
        return mutex

    def _begin(self, writeset: Writeset) -> None:
        messages = -(-writeset.size_bytes // self._mtu)
        if messages > 1:
            what = f"handing over {amount(messages)} messages"
            self._parts.does(writeset, what, _SEND_MONITOR)
        self._parts.order.wait(writeset)
        super()._begin(writeset)

    def fail(self, local: LocalTransaction) -> None:
        self._parts.watch.forget(self._parts.name, who(local)[0])
        super().fail(local)


class _Stop(Control):
    """A stop or continue that says whose it is, and why."""

    __slots__ = ("queue", "upper")

    def __init__(self, kind: int, node: int, seqno: int, queue: int, upper: int) -> None:
        super().__init__(kind, node, seqno)
        self.queue = queue
        self.upper = upper


class _WatchedFlowControl(FlowControl):
    """Knows whose stops are in force."""

    def __init__(self, parts: WatchedParts, options: GaleraOptions, sender: Sender) -> None:
        super().__init__(options, parts.cluster.size, sender.monitor, self._tell)
        self._control = sender.control
        self._node = parts.index
        self._queue = 0
        self.stops: dict[int, _Stop] = {}

    def _tell(self, message: Control) -> None:
        self._control(_Stop(message.kind, self._node, message.seqno, self._queue, self.upper))

    def grown(self, queue: int) -> None:
        self._queue = queue
        super().grown(queue)

    def reset(self, view: int, size: int) -> None:
        self.stops.clear()
        super().reset(view, size)

    def deliver(self, message: Control) -> None:
        if message.kind == Kind.STOP and self.counts(message):
            assert isinstance(message, _Stop)
            self.stops[message.node] = message
        super().deliver(message)
        if message.kind == Kind.CONTINUE:
            self.stops.pop(message.node, None)


class _WatchedCertifier(Certifier):
    def __init__(self, parts: WatchedParts, streams: StreamAppliers) -> None:
        super().__init__(parts.index, parts.cluster.size, streams, parts.cluster.trace)
        self._parts = parts

    def number(self, message: Writeset) -> Ordered:
        ordered = super().number(message)
        self._parts.ordered(ordered)
        return ordered


class _WatchedLocalMonitor(WatchedGate):
    """Who enters begins to be certified."""

    def __init__(self, parts: WatchedParts, line: Line) -> None:
        super().__init__(line)
        self._parts = parts

    def enter(self, position: int, call: Callable[[Any], object], argument: Any = None) -> None:
        super().enter(position, self._certify, (call, argument))

    def _certify(self, work: tuple[Callable[[Any], object], Ordered]) -> None:
        call, ordered = work
        keys = ordered.writeset.key_count
        what = f"certifying {amount(keys)} {'key' if keys == 1 else 'keys'}"
        self._parts.does(ordered, what, _LOCAL_MONITOR)
        call(ordered)


class _WatchedApplyMonitor(ApplyMonitor):
    """Has a line for what waits for what it depends on."""

    def __init__(
        self,
        parts: WatchedParts,
        wake: Callable[[Ordered], object],
        report: Callable[[int], object],
    ) -> None:
        super().__init__(self._wake_up, report)
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


class _WatchedQueue(deque[Ordered]):
    """A receive queue that knows what the appliers have in hand."""

    def __init__(self, parts: WatchedParts) -> None:
        super().__init__()
        self._parts = parts
        self._in_hand: dict[Hashable, None] = {}
        self._line = parts.line(_RECEIVE_QUEUE, self._holder, holds_up=_RECEIVE_QUEUE)

    def append(self, ordered: Ordered) -> None:
        self._line.wait(ordered)
        super().append(ordered)

    def popleft(self) -> Ordered:
        ordered = super().popleft()
        self._line.go(ordered)
        self._in_hand[who(ordered)[0]] = None
        return ordered

    def let_go(self, ordered: Ordered) -> None:
        """An applier is free; whoever waits on, waits for the others."""
        (one,) = who(ordered)
        if one in self._in_hand:
            self._line.cut()
            del self._in_hand[one]

    def _holder(self) -> Holder:
        in_hand = list(self._in_hand)
        if not in_hand:
            return Holder("an applier to wake")
        if len(in_hand) == 1:
            return self._parts.holder(in_hand[0], "waited {} for", "being applied")
        keys = tuple((self._parts.name, one) for one in in_hand)
        return Holder(f"one of {len(in_hand)} busy appliers", keys)


class _WatchedWriter(RowWriter):
    def __init__(self, parts: WatchedParts, *how: Any) -> None:
        super().__init__(*how)
        self._parts = parts

    def _write(self, ordered: Ordered) -> None:
        part = ordered.writeset.part
        what = "being applied"
        if part is not None and part.last:
            what = f"removing {amount(part.fragments)} stored fragments"
        self._parts.does(ordered, what, "applier")
        super()._write(ordered)


class _WatchedRedoLog(RedoLog):
    def __init__(self, parts: WatchedParts, disk: Disk, **how: Any) -> None:
        super().__init__(parts.clock, disk, **how)
        self._parts = parts

    def flush(self, size_bytes: int, call: Callable[[Any], object], argument: Any = None) -> None:
        self._parts.does(argument, "being flushed", "redo log")
        super().flush(size_bytes, call, argument)
