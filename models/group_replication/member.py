"""One member of a group: from the commit of a client's transaction to its commit on all members."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, ClassVar, Final

from simrep.modelling import (
    Event,
    Lap,
    Moments,
    OpenTransaction,
    Parts,
    ServerStatus,
    Station,
    Thread,
    Trace,
    Transaction,
)
from simrep.models.group_replication.xcom.paxos import Xcom, XcomOptions
from simrep.models.mysql.channel import Channel, Committing
from simrep.models.mysql.server import BinlogHooks, BinlogTransaction, MysqlServer

from .certifier import Certifier, Executed
from .consistency import Consistency
from .election import MemberState
from .flow_control import FlowControl
from .messages import GtidExecuted, Statistics
from .options import GroupReplicationCosts, GroupReplicationOptions, waits_before
from .quiet.messages import DirectMesh, Inbox
from .sending import Sending
from .transaction_message import Kind, Ordered, TransactionMessage

__all__ = ["CONFLICT", "LOOP_S", "PRIMARY", "TOO_LARGE", "Member", "order_of"]

PRIMARY: Final = 0
_GTID_BROADCAST_PERIODS: Final = 60  # BROADCAST_GTID_EXECUTED_PERIOD, in turns of the same loop
LOOP_S: Final = 1.0

# As MySQL numbers them: an observer of the commit refused it; certification failed.
TOO_LARGE: Final = "3100 transaction exceeds group_replication_transaction_size_limit"
CONFLICT: Final = "3101 rolled back by the plugin: it failed certification"

_US: Final = 1e-6
_TRANSACTION: Final = Kind.TRANSACTION


class _Commits(BinlogHooks):
    """Notes what the member commits, its own transactions and those it applies."""

    def __init__(self, member: Member) -> None:
        super().__init__()
        self._member = member

    def in_engine(self, entry: Any) -> None:
        """See ``BinlogHooks.in_engine``."""
        self._member.committed(entry)


def order_of(entry: BinlogTransaction | Committing) -> int:
    """The number in the order of the group of what is committed; 0: the group does not know it."""
    if isinstance(entry, Committing):
        change = entry.change
        assert isinstance(change, Ordered)
        return change.order
    return entry.order


class Member:
    """A server in the group."""

    # What its parts are made of; other kinds of members have others.
    server_kind: ClassVar[type[MysqlServer]] = MysqlServer
    channel_kind: ClassVar[type[Channel]] = Channel
    consistency_kind: ClassVar[type[Consistency]] = Consistency
    flow_control_kind: ClassVar[type[FlowControl]] = FlowControl

    def __init__(
        self,
        parts: Parts,
        options: GroupReplicationOptions,
        costs: GroupReplicationCosts,
        loop_at_s: float,
        inboxes: list[Inbox | None] | None = None,
    ) -> None:
        self._inboxes = inboxes  # of quiet members, by position
        cluster, index = parts.cluster, parts.index
        clock, host = parts.clock, cluster.hosts[index]
        self.index = index
        self.clock = clock
        self.host = host
        self.trace: Trace | None = cluster.trace
        self._options = options
        self._waits_after = options.waits_after
        self._costs = costs
        self._replication = host.routine(costs.replicate_us * _US)
        self._byte_s = costs.byte_ns * 1e-9
        self._delivery = host.routine(costs.deliver_us * _US)
        self._certification = host.routine(costs.certify_us * _US)
        self._item_s = costs.certify_row_us * _US
        self._relay_writing = host.routine(costs.relay_log_us * _US)
        self._resumption = host.routine(costs.resume_us * _US)

        # Some of its sessions ask for a wait, or all of them do.
        sessions_ask = any(waits_before(options, one) for one in cluster.sessions)
        holds_up = sessions_ask or self._holds_up(options)
        self.server = parts.make(
            self.server_kind,
            parts,
            options,
            costs,
            log_bin=True,
            hooks=_Commits(self),
            before_begin=self._before_begin if holds_up else None,
            before_commit=self._before_commit,
            begin_before_commit=self._begin_before_commit,
            prepare=self._prepare,
        )
        sessions = self.server.sessions
        self.connect: Callable[[], Generator[Event, Any, str | None]] = sessions.connect
        self.transact: Callable[[Transaction], Generator[Event, Any, bool]] = sessions.transact
        self.channel = self.channel_kind(
            self.server, options, costs, after_apply=self._hold if options.waits_after else None
        )
        single_primary = options.single_primary_mode
        self.certifier = Certifier(detects_conflicts=not single_primary)
        self.executed = Executed()
        self.consistency = parts.make(
            self.consistency_kind,
            clock,
            index,
            cluster.size,
            self._send,
            self.channel.when_caught_up,
        )
        self.flow_control = parts.make(self.flow_control_kind, clock, options)

        self.mesh, self.xcom, order = self._total_order(parts, options, costs)
        self._sending = parts.make(Sending, host, order, options, costs)
        order.on_deliver(self._deliver)
        self._delivered = parts.stage(
            self._hand_over, "delivery", doing="being passed on", lap=Lap.CERTIFICATION
        )
        self._applier_module = parts.stage(
            self._handle,
            "applier module",
            title="applier module (certification)",
            doing="being certified, or written to the relay log",
            lap=Lap.CERTIFICATION,
            largest=1,
        )

        self._order = 0  # of the last transaction that has passed certification
        # What members have told since the last garbage collection.
        self._stable: dict[int, int] = {}
        self._forgotten = 0  # rows of transactions up to here are collected
        self._last = (0, 0, 0)  # certified, applied and local ones at the last statistics message
        # Left by a load of long before: transactions it has to apply, rows that nobody may forget.
        self.older = self.older_rows = 0
        self._loops = 0
        self._loops_to_skip = 0
        self.proposed = self.rolled_back = 0  # of its own clients; failed in certification
        self.checked = self.waiting_certification = 0  # whoever's they are
        self.too_large = self.local_commits = 0
        self.round_trip = Moments()
        clock.at(loop_at_s, self._loop)  # of once a second, which sends statistics

    def _holds_up(self, options: GroupReplicationOptions) -> bool:
        """Whether transactions may have to wait before they begin."""
        return options.waits_before or options.waits_after

    def _total_order(
        self, parts: Parts, options: GroupReplicationOptions, costs: GroupReplicationCosts
    ) -> tuple[Any, Any, Any]:
        """How it reaches the others."""
        size, thread, work = parts.cluster.size, Thread(self.host), costs.message_work(self.host)
        mesh: Any
        if self._inboxes is None:
            mesh = parts.mesh([0] * size, thread, work)
        else:
            network = parts.cluster.network
            mesh = DirectMesh(self.clock, network, self.index, thread, work, self._inboxes)
        leader = PRIMARY if options.paxos_single_leader and options.single_primary_mode else None
        xcom = Xcom(
            self.clock,
            mesh,
            size,
            XcomOptions(event_horizon=options.write_concurrency, leader=leader),
            self.host.routine(costs.propose_us * _US),
        )
        return mesh, xcom, xcom

    # -- origin: from the client's commit into the total order ---------------------------------

    def _prepare(self, transaction: Transaction) -> float:
        """CPU to build the message: write set, context, a copy of the row events."""
        return self._replication.cost(self._byte_s * transaction.size_bytes)

    def _before_begin(self, transaction: Transaction) -> Generator[Event, Any, None]:
        in_order = waits_before(self._options, transaction.session)
        return self.consistency.begin(transaction, in_order=in_order)

    def _before_commit(self, entry: BinlogTransaction) -> Generator[Event, Any, bool]:
        """The hook that replicates: it returns the verdict of certification."""
        message = TransactionMessage(entry)
        if self._too_large(message):
            return False
        if not self.flow_control.admit():
            gate = Event(self.clock)
            self.flow_control.wait(self.clock.fire, gate)
            yield gate
            entry.owner.mark(Lap.QUEUE)
        message.ticket = ticket = Event(self.clock)
        if not self._propose(message):
            return False
        passed: bool = yield ticket
        self._decided(message, passed)
        return passed

    def _begin_before_commit(self, entry: BinlogTransaction) -> bool:
        """The same without a generator: what passes is committed, and ``owner.done`` fires."""
        message = TransactionMessage(entry)
        if self._too_large(message):
            return False
        if self.flow_control.admit():
            return self._propose(message)
        self.flow_control.wait(self._admitted, message)
        return True

    def _admitted(self, message: TransactionMessage) -> None:
        owner = message.entry.owner
        owner.mark(Lap.QUEUE)
        if not self._propose(message):
            self.clock.fire(owner.done, False)

    def _too_large(self, message: TransactionMessage) -> bool:
        limit = self._options.transaction_size_limit
        if limit and message.size_bytes > limit:
            self.too_large += 1
            message.entry.owner.error = TOO_LARGE
            return True
        return False

    def _propose(self, message: TransactionMessage) -> bool:
        """Send it, unless it has been aborted."""
        owner = message.entry.owner
        if owner.aborted:
            return False
        owner.protected = True  # its thread waits for the verdict and nothing else
        self.proposed += 1
        message.snapshot = self.executed.snapshot()
        if message.transaction.journal is not None:
            message.transaction.journal.replicate()
        message.sent_s = self.clock._now
        message.entry.sleeper = self.host.doze()
        self._send(message)
        return True

    def _decided(self, message: TransactionMessage, passed: bool) -> None:
        """Its client's thread goes on with the verdict."""
        owner = message.entry.owner
        owner.mark(Lap.CONSISTENCY if self._waits_after else Lap.CERTIFICATION)
        self.round_trip.add(self.clock._now - message.sent_s)
        if not passed:
            owner.error = CONFLICT

    def _send(self, message: Any) -> None:
        self._sending.send(message)

    # -- every member: from the total order through certification ------------------------------

    def _deliver(self, sender: int, message: Any) -> None:
        if sender == self.index:
            kind: int = message.kind
            if kind == _TRANSACTION:
                change: TransactionMessage = message
                owner: OpenTransaction = change.entry.owner
                owner.mark(Lap.ORDER)
        self._delivered.join(message)

    def _hand_over(self, messages: list[Any]) -> None:
        """The thread of the group communication passes on what has come."""
        more_s = (len(messages) - 1) * self._delivery.seconds
        threshold = self._options.compression_threshold
        if threshold > 0:
            for message in messages:
                if isinstance(message, TransactionMessage) and threshold <= message.size_bytes:
                    more_s += self._costs.decompress_byte_ns * 1e-9 * message.size_bytes
        self._delivery.go_on(self._handed_over, messages, more_s)

    def _handed_over(self, messages: list[Any]) -> None:
        self._delivered.leave()
        for message in messages:
            if not isinstance(message, TransactionMessage):
                break
        else:
            self.waiting_certification += len(messages)
            self._applier_module.join_all(messages)
            return
        for message in messages:
            kind = message.kind
            if kind == Kind.STATISTICS:
                self.flow_control.hear(message)
            elif kind != Kind.FRAGMENT:
                if kind == _TRANSACTION:
                    self.waiting_certification += 1
                self._applier_module.join(message)

    def _handle(self, messages: list[Any]) -> None:
        """The applier module takes the next message out of its queue."""
        (message,) = messages
        kind: int = message.kind
        if kind == _TRANSACTION:
            change: TransactionMessage = message
            more_s = self._item_s * change.item_count
            if change.origin == self.index:
                self._certification.go_on(self._certify, change, more_s)
                return
            seconds = self._certification.cost(more_s)
            # Counted for those that fail, too: one visit less.
            seconds += self._relay_writing.cost(self._byte_s * change.entry.size_bytes)
            self.host.go_on(seconds, self._certify, change)
        elif kind == Kind.GTID_EXECUTED:
            self._collect_garbage(message)
        else:
            if kind == Kind.PREPARED:
                self.consistency.prepared(message)
            else:
                self.consistency.reached(message)
            self._applier_module.leave()

    def _certify(self, message: TransactionMessage) -> None:
        local = message.origin == self.index
        seqno = self.channel.received + (not local)
        parent = self.certifier.certify(
            self._order + 1, seqno, message.snapshot, message.items, message.ranges
        )
        self.checked += 1
        self.waiting_certification -= 1
        if self.trace is not None:
            self.trace.record(
                self.index, "certify", self.checked, message.origin, message.snapshot,
                (*message.items, *message.ranges), parent >= 0,
            )  # fmt: skip
        if parent < 0:
            if local:
                self.rolled_back += 1
                self._release((message, False))
            self._applier_module.leave()
        else:
            self._pass(message, seqno, parent)
        if self._options.preemptive_garbage_collection:
            self._forget_too_many()

    def _pass(self, message: TransactionMessage, seqno: int, parent: int) -> None:
        """It has passed: its origin goes on with it, and all others will apply it."""
        self._order = order = self._order + 1
        if message.origin == self.index:
            message.entry.order = order
            if self._waits_after:
                message.entry.owner.mark(Lap.CERTIFICATION)
                self.consistency.certified(order, self._release, (message, True))
            else:
                self._release((message, True))
            self._applier_module.leave()
        else:
            change = Ordered(message, order, seqno, parent, self.clock._now)
            self.channel.write(change, self._written)

    def _release(self, verdict: tuple[TransactionMessage, bool]) -> None:
        """Wake the client's thread with the verdict."""
        self.host.rouse(verdict[0].entry.sleeper, self._resumption.cost(), self._wake, verdict)

    def _wake(self, verdict: tuple[TransactionMessage, bool]) -> None:
        message, passed = verdict
        if message.ticket is not None:
            self.clock.fire(message.ticket, passed)
            return
        self._decided(message, passed)
        if passed:
            self.server.pipeline.commit(message.entry)
        else:
            self.clock.fire(message.entry.owner.done, False)

    def _written(self, _: Ordered) -> None:
        self._applier_module.leave()

    def _hold(self, change: Any, applied: Any) -> None:
        self.consistency.hold(change, applied)

    def committed(self, committing: BinlogTransaction | Committing) -> None:
        """The storage engine has committed a transaction: it is visible here."""
        if isinstance(committing, Committing):
            change = committing.change
            assert isinstance(change, Ordered)
            order = change.order
        else:
            order = committing.order
            self.local_commits += 1
        self.executed.add(order)
        if self.trace is not None:
            self.trace.record(self.index, "visible", order)
        if self._waits_after:
            self.consistency.committed(order)

    # -- garbage collection of certification info ----------------------------------------------

    def _collect_garbage(self, message: GtidExecuted) -> None:
        """When all members have told: what all of them have committed can conflict no more."""
        self._stable[message.member] = message.committed
        if len(self._stable) < self.mesh.size:
            self._applier_module.leave()
            return
        stable = min(self._stable.values())
        self._stable.clear()
        self.host.go_on(self._garbage_s(len(self.certifier), stable), self._collected, stable)

    def _garbage_s(self, rows: int, stable: int) -> float:
        """CPU to look through so many rows, and to forget all transactions up to ``stable``.

        Each transaction has a set of those before it, which goes with the last of its rows.
        """
        costs, forgotten = self._costs, max(0, stable - self._forgotten)
        rows += self.older_rows
        return (costs.garbage_ns * rows + costs.garbage_transaction_ns * forgotten) * 1e-9

    def _collected(self, stable: int) -> None:
        self._forgotten = stable
        self.certifier.collect(stable, self.channel.received)
        self._applier_module.leave()

    def _forget_too_many(self) -> None:
        options = self._options
        most = options.preemptive_garbage_collection_rows_threshold
        if options.single_primary_mode and len(self.certifier) >= most:
            self.certifier.forget(self.channel.received)

    # -- the loop of once a second -------------------------------------------------------------

    def _loop(self, _: None) -> None:
        """Flow control step and statistics every period, executed transactions every 60 turns."""
        self._loops += 1
        self._loops_to_skip -= 1
        if self._loops_to_skip <= 0:
            self._loops_to_skip = self._options.flow_control_period
            self._send(self._statistics())
            self.flow_control.step()
        if self._loops % _GTID_BROADCAST_PERIODS == 0:
            self._send(GtidExecuted(self.index, self.executed.low))
        self.clock.at(self.clock.now + LOOP_S, self._loop)

    def _statistics(self) -> Statistics:
        now = (self.checked, self.channel.applied, self.local_commits)
        certified, applied, local = (a - b for a, b in zip(now, self._last, strict=True))
        self._last = now
        waiting = self.channel.backlog + self.older
        return Statistics(
            self.index, self.waiting_certification, waiting, certified, applied, local
        )

    def status(self) -> ServerStatus:
        """See ``Model.status``: of a member of a group in which nothing happens."""
        writes = not self._options.single_primary_mode or self.index == PRIMARY
        return self._status(MemberState.ONLINE, serves=True, writes=writes)

    def _status(self, state: MemberState, *, serves: bool, writes: bool) -> ServerStatus:
        return ServerStatus(
            state=state.value,
            serves=serves,
            writes=writes,
            queue=self.waiting_certification + self.channel.backlog + self.older,
            rank=self.index,
        )

    # -- figures -------------------------------------------------------------------------------

    def settle(self) -> None:
        """Bring what it counts up to now."""

    @property
    def info_rows(self) -> int:
        """Rows in the certification info, but for those that were left by a load before."""
        return len(self.certifier)

    def stations(self) -> Iterable[Station]:
        """Those of its server, and the single threads that the order passes through."""
        own = (self._delivered, self._applier_module)
        return [*self.server.stations(), *own, *self.channel.stations()]

    def counters(self) -> dict[str, float]:
        """Of ``replication_group_member_stats``, of the server, and of the total order."""
        flow_control = self.flow_control
        return {
            "COUNT_TRANSACTIONS_IN_QUEUE": self.waiting_certification,
            "COUNT_TRANSACTIONS_CHECKED": self.checked,
            "COUNT_CONFLICTS_DETECTED": self.certifier.conflicts,
            "COUNT_TRANSACTIONS_ROWS_VALIDATING": self.info_rows + self.older_rows,
            "COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE": self.channel.backlog + self.older,
            "COUNT_TRANSACTIONS_REMOTE_APPLIED": self.channel.applied,
            "COUNT_TRANSACTIONS_LOCAL_PROPOSED": self.proposed,
            "COUNT_TRANSACTIONS_LOCAL_ROLLBACK": self.rolled_back,
            "Gr_flow_control_throttle_count": flow_control.waits,
            "Gr_flow_control_throttle_time_sum": flow_control.wait_s * 1e6,
            "Gr_data_messages_sent_count": self.round_trip.count,
            "Gr_data_messages_sent_roundtrip_time_sum": self.round_trip.total * 1e6,
            "transactions_too_large": self.too_large,
            "certification_items_collected": self.certifier.collected,
            "applier_lag_mean_s": self.channel.lag.mean,
            "xcom_batches": self.xcom.batches,
            "xcom_messages": self.xcom.proposed,
            "xcom_messages_sent": self.mesh.sent,
            "xcom_messages_received": self.mesh.received,
            "errors.3100": self.too_large,
            "errors.3101": self.rolled_back,
            **self.server.counters(),
        }
