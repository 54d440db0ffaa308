"""A member of a group whose parts tell a watch who waits for whom."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

from simrep.modelling import Event, Holder, Lap, Mesh, MessageText, Transaction
from simrep.modelling.watching import HeardMesh, Twin, amount, named, who
from simrep.models.group_replication.xcom.transport import Transport
from simrep.models.mysql import watch
from simrep.models.mysql.watch import RELAY_LOG

from .changing_member import ChangingMember
from .consistency import Call, ChangingConsistency, Consistency
from .flow_control import ChangingFlowControl, FlowControl
from .member import Member
from .messages import Prepared
from .sending import Sending
from .transaction_message import Kind, Ordered

__all__ = ["WatchedParts", "describe_payload"]

_ORDER = "total order (XCom)"
_PAYLOADS = {
    Kind.FRAGMENT: "part of a transaction",
    Kind.STATISTICS: "statistics",
    Kind.GTID_EXECUTED: "executed transactions",
    Kind.SYNC_BEFORE: "begin in order",
    Kind.PREPARED: "prepared",
    Kind.CONTROL: "role",
    Kind.METADATA: "certification info for a member that joins",
    Kind.RECOVERED: "recovered",
}


def describe_payload(payload: Any) -> MessageText:
    """What a member hands to its group."""
    if payload.kind == Kind.TRANSACTION:
        return MessageText("transaction", who(payload))
    return MessageText(_PAYLOADS[payload.kind])


class _WatchedFlowControl(Twin, FlowControl):
    """Has a line for transactions that wait for a new period."""

    def __init__(self, parts: WatchedParts, *args: Any) -> None:
        super().__init__(parts, *args)
        self._names = parts.cluster.names
        self._line = parts.line("flow control quota", self._period, lap=Lap.QUEUE)

    def wait(self, call: Call, argument: Any = None) -> None:
        self._line.wait(argument)
        super().wait(self._released, (call, argument))

    def _released(self, wait: tuple[Call, Any]) -> None:
        call, argument = wait
        self._line.release(argument)
        call(argument)

    def _period(self) -> Holder:
        text = f"a new period (quota {amount(self.quota)})"
        late = self._late()
        if late:
            text += " because of " + " and ".join(f"{name} ({why})" for name, why in late)
        return Holder(text, tuple((name, RELAY_LOG) for name, _ in late))

    def _late(self) -> list[tuple[str, str]]:
        """Members whose queues are too long, and why."""
        found = []
        for member, of in sorted(self._members.items()):
            certifier, applier = self._over(of)
            if certifier:
                found.append(
                    (self._names[member], f"{amount(of.waiting_certification)} to certify")
                )
            elif applier:
                found.append((self._names[member], f"{amount(of.waiting_apply)} to apply"))
        return found


class _WatchedChangingFlowControl(_WatchedFlowControl, ChangingFlowControl):
    """The same where members come and go."""


class _WatchedConsistency(Twin, Consistency):
    """Has lines for what waits for other members, or for what was before it."""

    def __init__(self, parts: WatchedParts, *args: Any) -> None:
        super().__init__(parts, *args)
        self._names = parts.cluster.names
        self._last = -1  # the member that tells now that it has prepared something
        self._going: Any = None  # what goes on now
        lap = Lap.CONSISTENCY
        self._prepares = parts.line("consistency AFTER", self._unprepared, lap=lap)
        self._begins = parts.line("consistency at begin", self._uncommitted_here, lap=lap)

    def _unprepared(self) -> Holder:
        if self._last < 0:
            return Holder("the others to prepare it")
        node, (one,) = self._names[self._last], who(self._going)
        text = f"{node} to prepare {named(one)}"
        return Holder(text, ((node, one), (node, RELAY_LOG)))

    def _uncommitted_here(self) -> Holder:
        return Holder("what was before it to commit", ((self._parts.name, RELAY_LOG),))

    def certified(self, order: int, call: Call, argument: Any) -> None:
        message, _ = argument
        self._prepares.wait(message)
        super().certified(order, self._go_on, (message, call, argument))

    def hold(self, change: Ordered, applied: Call) -> None:
        self._prepares.wait(change)
        super().hold(change, lambda held: self._go_on((held, applied, held)))

    def prepared(self, message: Prepared) -> None:
        self._last = message.member
        super().prepared(message)
        self._last = -1

    def _go_on(self, wait: tuple[Any, Call, Any]) -> None:
        item, call, argument = wait
        self._going = item
        self._prepares.release(item)
        call(argument)

    def begin(self, transaction: Transaction, *, in_order: bool) -> Generator[Event, Any, None]:
        self._begins.wait(transaction)
        yield from super().begin(transaction, in_order=in_order)
        self._begins.release(transaction)


class _WatchedChangingConsistency(_WatchedConsistency, ChangingConsistency):
    """The same where members come and go."""


class _WatchedSending(Twin, Sending):
    """Tells what waits for its place in the order from now on."""

    def send(self, message: Any) -> None:
        if message.kind == Kind.TRANSACTION:
            self._parts.order.wait(message)
        super().send(message)


class _WatchedMember(Twin, Member):
    """What its applier module finds is owed to the message that delivered it."""

    def __init__(self, parts: WatchedParts, *args: Any) -> None:
        self._delivered_by: dict[int, tuple[Any, Any]] = {}  # by identity, until handled
        super().__init__(parts, *args)

    def _deliver(self, sender: int, message: Any) -> None:
        order, watch = self._parts.order, self._parts.watch
        order.cut()
        if sender == self.index and message.kind == Kind.TRANSACTION:
            order.go(message)
        self._delivered_by[id(message)] = (message, watch.handled_by(self._parts.name))
        super()._deliver(sender, message)

    def _handle(self, messages: list[Any]) -> None:
        node, watch = self._parts.name, self._parts.watch
        (message,) = messages
        _, cause = self._delivered_by.pop(id(message), (message, None))
        watch.owes(node, cause)
        super()._handle(messages)
        watch.owes(node, None)


class _WatchedChangingMember(_WatchedMember, ChangingMember):
    """The same where members come and go."""

    def __init__(self, parts: WatchedParts, *args: Any) -> None:
        *_, seat = args
        parts.order = parts.order_line(_ORDER, seat.transport)
        super().__init__(parts, *args)


class _HeardTransport(HeardMesh, Transport):
    """Connections that know who was silent."""


def _heard_transport(parts: WatchedParts, *args: Any) -> Transport:
    return _HeardTransport(parts.watch, *args)


class WatchedParts(watch.WatchedParts):
    """See ``watching.WatchedParts``."""

    twins: ClassVar = {
        **watch.WatchedParts.twins,
        ChangingConsistency: _WatchedChangingConsistency,
        ChangingFlowControl: _WatchedChangingFlowControl,
        ChangingMember: _WatchedChangingMember,
        Consistency: _WatchedConsistency,
        FlowControl: _WatchedFlowControl,
        Member: _WatchedMember,
        Sending: _WatchedSending,
        Transport: _heard_transport,
    }

    def mesh(self, *how: Any) -> Mesh:
        """See ``Parts.mesh``."""
        mesh = super().mesh(*how)
        self.order = self.order_line(_ORDER, mesh)
        return mesh
