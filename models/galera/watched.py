"""A Galera node that tells a watch who waits for whom."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from simrep.contract.cluster import Cluster
from simrep.kernel.chronicle import MessageText
from simrep.kernel.mutex import WatchedMutex
from simrep.kernel.order import WatchedGate
from simrep.kernel.watch import Holder, Line
from simrep.measure.units import amount
from simrep.models.watched import HELD, Silences, describe, named, watch_stage, who
from simrep.server.watched import WatchedLocks

from .apply_monitor import ApplyMonitor
from .commit_monitor import IN_ORDER
from .flow_control import FlowControl
from .group import GroupMember
from .node import GaleraNode
from .options import GaleraCosts, GaleraOptions
from .row_writer import RowWriter
from .sender import Sender
from .stream_appliers import StreamApplier
from .writeset import Control, Kind, LocalTransaction, Ordered, Writeset

__all__ = ["WatchedNode", "describe_payload"]

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
    return MessageText(label, _who(payload))


def _who(item: Any) -> tuple[Hashable, ...]:
    if isinstance(item, Ordered):
        item = item.writeset
    if isinstance(item, Writeset):
        item = item.local
    return who(item)


def _who_flushes(item: tuple[int, Any, Any]) -> tuple[Hashable, ...]:
    return _who(item[-1])


class _Stopped(Control):
    """A stop or continue that says whose it is, and why."""

    __slots__ = ("queue", "upper")

    def __init__(self, kind: int, node: int, seqno: int, queue: int, upper: int) -> None:
        super().__init__(kind, node, seqno)
        self.queue = queue
        self.upper = upper


class _WatchedApplyMonitor(ApplyMonitor):
    """Tells a line what waits for what it depends on."""

    __slots__ = ("line",)
    line: Line

    def may_enter(self, ordered: Ordered) -> bool:
        may = super().may_enter(ordered)
        if not may:
            self.line.wait(ordered)
        return may

    def leave(self, ordered: Ordered) -> None:
        if ordered.seqno == self.last_left + 1:
            self.line.cut()
        super().leave(ordered)


class _WatchedSender(Sender):
    """Tells its node what it does."""

    node: WatchedNode

    def _begin(self, writeset: Writeset) -> None:
        self.node.sends(writeset)
        super()._begin(writeset)

    def control(self, message: Control) -> None:
        if message.kind in {Kind.STOP, Kind.CONTINUE} and not isinstance(message, _Stopped):
            message = self.node.stops(message)
        super().control(message)

    def fail(self, local: LocalTransaction) -> None:
        self.node.fails(local)
        super().fail(local)


class _WatchedWriter(RowWriter):
    """Tells its node what it does."""

    node: WatchedNode

    def _write(self, ordered: Ordered) -> None:
        self.node.writes(ordered)
        super()._write(ordered)


class WatchedNode(GaleraNode):
    """See ``GaleraNode``; lines for its monitors, its receive queue, its locks and its log."""

    def __init__(
        self,
        cluster: Cluster,
        index: int,
        options: GaleraOptions,
        costs: GaleraCosts,
        member: GroupMember,
    ) -> None:
        super().__init__(cluster, index, options, costs, member)
        watch, name = cluster.watch, self.name
        assert watch is not None
        self._watch = watch
        self._names = cluster.names
        self._writesets: dict[int, Writeset] = {}  # by their place in the order, until they end
        self._places: dict[Hashable, int] = {}
        self._in_hand: dict[Hashable, None] = {}  # of the appliers
        self._stops: dict[int, _Stopped] = {}
        self._mtu = member.options.mtu_bytes

        def line(station: str, holder: Callable[[], Holder], **how: Any) -> Line:
            return Line(watch, name, station, holder, **{"who": _who} | how)

        def place(seqno: int) -> tuple[Hashable, ...]:
            return _who(self._writesets.get(seqno, seqno))

        self.sender = sender = _WatchedSender(self.clock, self.host, self.switch_s, member.options)
        sender.connect(self.evs)
        sender.node = self
        self._mutex = mutex = WatchedMutex(
            self.clock, line(_SEND_MONITOR, self._who_sends), sender.hand_over
        )
        sender.monitor = mutex
        self.flow_control = FlowControl(options, cluster.size, mutex, sender.control)
        local_line = line(_LOCAL_MONITOR, lambda: self._at(local.next, HELD), who=place)
        commit_line = line(_COMMIT_ORDER, lambda: self._at(commit.next), who=place)
        self._local_monitor = local = WatchedGate(local_line)
        commit = self._commit_monitor
        if options.commit_order == IN_ORDER:  # the others are not watched
            self._commit_monitor = commit = WatchedGate(commit_line)
        self.apply_monitor = monitor = _WatchedApplyMonitor(
            self._wake_dependent, partial(sender.report_committed, index)
        )
        monitor.line = self._parent_line = line(
            "dependencies", lambda: self._at(monitor.last_left + 1)
        )
        self._queue_line = line(_RECEIVE_QUEUE, self._who_applies, holds_up=_RECEIVE_QUEUE)
        silences = Silences(watch, self.mesh, self._names)
        self._order_line = order = line("total order", lambda: silences.holder(order.since_s))
        self.locks = WatchedLocks(watch, name, self._owner, _who)
        self.writer = writer = _WatchedWriter(
            self.host, self.locks, self.streams, costs, self._few_keys, self._applied
        )
        writer.node = self
        if self.redo_stage is not None:
            doing = "writing and syncing the redo log"
            watch_stage(watch, name, self.redo_stage, doing, name="redo log", of=_who_flushes)

    # -- who is waited for ---------------------------------------------------------------------

    def _title(self, one: Hashable) -> str:
        seqno = self._places.get(one)
        if seqno is None:
            return ""
        part = self._writesets[seqno].part
        return f"{'writeset' if part is None else _PARTS[part.what]} {seqno}"

    def _holder(self, one: Hashable, verb: str, doing: str = "") -> Holder:
        return Holder(named(one, self._title(one)), ((self.name, one),), verb, doing)

    def _at(self, seqno: int, verb: str = "waited {} for") -> Holder:
        writeset = self._writesets.get(seqno)
        if writeset is None:
            return Holder(f"writeset {seqno}, which has not arrived")
        return self._holder(_who(writeset)[0], verb)

    def _who_sends(self) -> Holder:
        sender = self._mutex.holder
        if sender is not None:
            return self._holder(_who(sender)[0], HELD)
        nodes = self._stops.items()
        text = " and ".join(
            f"{self._names[node]} (receive queue {stop.queue:,} > {stop.upper:,})"
            for node, stop in nodes
        )
        keys = tuple((self._names[node], _RECEIVE_QUEUE) for node, _ in nodes)
        return Holder(f"flow control of {text}", keys, "was paused {} by")

    def _who_applies(self) -> Holder:
        in_hand = list(self._in_hand)
        if not in_hand:
            return Holder("an applier to wake")
        if len(in_hand) == 1:
            return self._holder(in_hand[0], "waited {} for", "being applied")
        return Holder(
            f"one of {len(in_hand)} busy appliers", tuple((self.name, one) for one in in_hand)
        )

    def _owner(self, owner: Any) -> Holder:
        if isinstance(owner, StreamApplier):
            origin = self._names[owner.stream[0]]
            text = f"a streaming transaction of {origin} ({amount(owner.rows)} rows so far)"
            return Holder(text, (), HELD, "being executed there")
        if isinstance(owner, Ordered):
            return self._holder(_who(owner)[0], HELD, "being applied")
        holder = describe(self.name, owner, HELD)
        return self._holder(_who(owner)[0], HELD, holder.doing)

    def _does(self, writeset: Writeset, what: str, station: str) -> None:
        self._watch.doing(self.name, _who(writeset)[0], what, station)

    def _let_go(self, ordered: Ordered) -> None:
        """An applier is free; whoever waits on, waits for the others."""
        (one,) = _who(ordered)
        if one in self._in_hand:
            self._queue_line.cut()
            del self._in_hand[one]

    def _end(self, ordered: Ordered) -> None:
        (one,) = _who(ordered)
        self._writesets.pop(ordered.seqno, None)
        if self._places.get(one) == ordered.seqno:  # else it has been tried again
            del self._places[one]
            self._watch.forget(self.name, one)

    # -- origin --------------------------------------------------------------------------------

    def sends(self, writeset: Writeset) -> None:
        """A writeset has entered the send monitor."""
        messages = -(-writeset.size_bytes // self._mtu)
        if messages > 1:
            self._does(writeset, f"handing over {amount(messages)} messages", _SEND_MONITOR)
        self._order_line.wait(writeset)

    def stops(self, message: Control) -> _Stopped:
        """A stop or continue, with the reason."""
        queue, upper = len(self._recv_q), self.flow_control.upper
        return _Stopped(message.kind, self.index, message.seqno, queue, upper)

    def fails(self, local: LocalTransaction) -> None:
        """A local transaction has failed."""
        self._watch.forget(self.name, _who(local)[0])

    # -- the ordered stream --------------------------------------------------------------------

    def _deliver(self, sender: int, message: Any) -> None:
        self._order_line.cut()
        if sender == self.index and isinstance(message, Writeset):
            self._order_line.go(message)
        super()._deliver(sender, message)

    def _receive(self, message: Any) -> None:
        kind = message.kind
        if isinstance(message, Writeset):
            seqno = self.certifier.ordered + 1
            self._writesets[seqno] = message
            self._places[_who(message)[0]] = seqno
        elif kind == Kind.STOP and self.flow_control.counts(message):
            self._stops[message.node] = message
        elif kind == Kind.VIEW:
            self._stops.clear()
        super()._receive(message)
        if kind == Kind.CONTINUE:
            self._stops.pop(message.node, None)

    def _certify_local(self, ordered: Ordered) -> None:
        self._certifies(ordered)
        super()._certify_local(ordered)

    def _certify_remote(self, ordered: Ordered) -> None:
        self._certifies(ordered)
        super()._certify_remote(ordered)

    def _certifies(self, ordered: Ordered) -> None:
        keys = ordered.writeset.key_count
        what = f"certifying {amount(keys)} {'key' if keys == 1 else 'keys'}"
        self._does(ordered.writeset, what, _LOCAL_MONITOR)

    # -- the appliers --------------------------------------------------------------------------

    def _enqueue(self, ordered: Ordered) -> None:
        self._queue_line.wait(ordered)
        super()._enqueue(ordered)

    def _fetch(self, _: None) -> None:
        if self._recv_q:
            ordered = self._recv_q[0]
            self._queue_line.go(ordered)
            self._in_hand[_who(ordered)[0]] = None
        super()._fetch(_)

    def _wake_dependent(self, ordered: Ordered) -> None:
        self._parent_line.go(ordered)
        super()._wake_dependent(ordered)

    def writes(self, ordered: Ordered) -> None:
        """An applier has the locks of a writeset, and writes its rows."""
        part = ordered.writeset.part
        what = "being applied"
        if part is not None and part.last:
            what = f"removing {amount(part.fragments)} stored fragments"
        self._does(ordered.writeset, what, "applier")

    # -- commit --------------------------------------------------------------------------------

    def _commit(self, ordered: Ordered) -> None:
        self._does(ordered.writeset, "being committed", _COMMIT_ORDER)
        super()._commit(ordered)

    def _committed(self, ordered: Ordered) -> None:
        if self._redo is not None:
            self._does(ordered.writeset, "being flushed", "redo log")
        super()._committed(ordered)

    def _finish(self, ordered: Ordered) -> None:
        self._let_go(ordered)
        super()._finish(ordered)
        self._end(ordered)

    def _cancel(self, ordered: Ordered) -> None:
        self._let_go(ordered)
        super()._cancel(ordered)
        self._end(ordered)
