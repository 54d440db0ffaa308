"""A member of a group that tells a watch who waits for whom."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from simpy.events import Event

from simrep.contract.cluster import Cluster
from simrep.kernel.chronicle import MessageText
from simrep.kernel.watch import Holder, Line
from simrep.measure.units import amount
from simrep.models.mysql.watched_appliers import RELAY_LOG
from simrep.models.watched import Silences, named, watch_stage, who
from simrep.workload.transaction import Transaction

from .consistency import Call, Consistency
from .flow_control import FlowControl
from .member import Member
from .messages import Kind, Ordered, Prepared
from .options import GroupReplicationCosts, GroupReplicationOptions

__all__ = ["WatchedMember", "describe_payload"]

_PAYLOADS = {
    Kind.FRAGMENT: "part of a transaction",
    Kind.STATISTICS: "statistics",
    Kind.GTID_EXECUTED: "executed transactions",
    Kind.SYNC_BEFORE: "begin in order",
    Kind.PREPARED: "prepared",
}


def describe_payload(payload: Any) -> MessageText:
    """What a member hands to its group."""
    if payload.kind == Kind.TRANSACTION:
        return MessageText("transaction", who(payload))
    return MessageText(_PAYLOADS[payload.kind])


class _WatchedFlowControl(FlowControl):
    """Tells a line which transactions wait for a new period."""

    def watch(self, line: Line) -> None:
        self._line = line

    def wait(self, call: Call, argument: Any = None) -> None:
        self._line.wait(argument)
        super().wait(self._released, (call, argument))

    def _released(self, wait: tuple[Call, Any]) -> None:
        call, argument = wait
        self._line.cut()
        self._line.go(argument)
        call(argument)

    def late(self) -> list[tuple[int, str]]:
        """Members whose queues are too long, and why."""
        found = []
        for _, of in sorted(self._members.items()):
            certifier, applier = self._over(of)
            if certifier:
                found.append((of.member, f"{amount(of.waiting_certification)} to certify"))
            elif applier:
                found.append((of.member, f"{amount(of.waiting_apply)} to apply"))
        return found


class _WatchedConsistency(Consistency):
    """Tells lines what waits for other members, or for what was before it.

    Attributes
    ----------
    last : int
        The member that tells now that it has prepared something; negative: none does.
    going : object
        What goes on now.
    beginning : object
        The transaction that begins now.
    """

    last = -1
    going: Any = None
    beginning: Any = None

    def watch(self, prepares: Line, begins: Line) -> None:
        self._prepares = prepares
        self._begins = begins

    def certified(self, order: int, call: Call, argument: Any) -> None:
        message, _ = argument
        self._prepares.wait(message)
        super().certified(order, self._go_on, (message, call, argument))

    def hold(self, change: Ordered, applied: Call) -> None:
        self._prepares.wait(change)
        super().hold(change, lambda held: self._go_on((held, applied, held)))

    def prepared(self, message: Prepared) -> None:
        self.last = message.member
        super().prepared(message)
        self.last = -1

    def _go_on(self, wait: tuple[Any, Call, Any]) -> None:
        item, call, argument = wait
        self.going = item
        self._prepares.cut()
        self._prepares.go(item)
        call(argument)

    def begin(self, *, in_order: bool) -> Generator[Event, Any, None]:
        token = self.beginning
        self._begins.wait(token)
        yield from super().begin(in_order=in_order)
        self._begins.cut()
        self._begins.go(token)


class WatchedMember(Member):
    """See ``Member``; lines for the total order, its queues, flow control and consistency."""

    def __init__(
        self,
        cluster: Cluster,
        index: int,
        options: GroupReplicationOptions,
        costs: GroupReplicationCosts,
        loop_at_s: float,
    ) -> None:
        super().__init__(cluster, index, options, costs, loop_at_s)
        watch, name = cluster.watch, self.server.name
        assert watch is not None
        self._names = cluster.names
        self._watch = watch
        self._delivered_by: dict[int, tuple[Any, Any]] = {}  # by identity, until handled

        def line(station: str, holder: Callable[[], Holder], **how: Any) -> Line:
            return Line(watch, name, station, holder, **how)

        silences = Silences(watch, self.mesh, self._names)
        self._order_line = order = line(
            "total order (XCom)", lambda: silences.holder(order.since_s), who=who
        )
        doing = "being passed on"
        watch_stage(watch, name, self._delivered, doing, name="delivery")
        doing = "being certified, or written to the relay log"
        watch_stage(watch, name, self._applier_module, doing, name="applier module (certification)")
        self.flow_control = self._quota = quota = _WatchedFlowControl(self.clock, options)
        quota.watch(line("flow control quota", self._period))
        self.consistency = self._waits = consistency = _WatchedConsistency(
            self.clock, index, cluster.size, self._send, self.channel.when_caught_up
        )
        consistency.watch(
            line("consistency AFTER", self._unprepared, who=who),
            line("consistency at begin", self._uncommitted),
        )

    def _period(self) -> Holder:
        quota = amount(self.flow_control.quota)
        text = f"a new period (quota {quota})"
        late = self._quota.late()
        if late:
            text += " because of " + " and ".join(f"{self._names[m]} ({why})" for m, why in late)
        return Holder(text, tuple((self._names[member], RELAY_LOG) for member, _ in late))

    def _unprepared(self) -> Holder:
        member, going = self._waits.last, self._waits.going
        if member < 0:
            return Holder("the others to prepare it")
        node, (one,) = self._names[member], who(going)
        text = f"{node} to prepare {named(one)}"
        return Holder(text, ((node, one), (node, RELAY_LOG)))

    def _uncommitted(self) -> Holder:
        return Holder("what was before it to commit", ((self.server.name, RELAY_LOG),))

    def _before_begin(self, transaction: Transaction) -> Generator[Event, Any, None]:
        self._waits.beginning = transaction
        return super()._before_begin(transaction)

    def _send(self, message: Any) -> None:
        if message.kind == Kind.TRANSACTION:
            self._order_line.wait(message)
        super()._send(message)

    def _deliver(self, sender: int, message: Any) -> None:
        self._order_line.cut()
        if sender == self.index and message.kind == Kind.TRANSACTION:
            self._order_line.go(message)
        self._delivered_by[id(message)] = (message, self._watch.handled_by(self.server.name))
        super()._deliver(sender, message)

    def _handle(self, messages: list[Any]) -> None:
        """What the applier module finds is owed to the message that delivered it."""
        node, watch = self.server.name, self._watch
        (message,) = messages
        _, cause = self._delivered_by.pop(id(message), (message, None))
        watch.owes(node, cause)
        super()._handle(messages)
        watch.owes(node, None)
