"""A member without clients: its thread of delivery and its applier module, and what they need."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from math import inf, nextafter
from typing import Any, Final

from simrep.modelling import Cluster, Disk, Parts
from simrep.models.group_replication.member import Member
from simrep.models.group_replication.options import (
    GroupReplicationCosts,
    GroupReplicationOptions,
)
from simrep.models.group_replication.transaction_message import Kind
from simrep.models.group_replication.xcom.paxos import XcomOptions

from .appliers import Applied, QuietAppliers
from .commit import CommitQueue
from .machine import Job, Machine
from .messages import DirectMesh, Inbox, MemberThread
from .verdicts import Verdicts
from .xcom import QuietXcom

__all__ = ["QuietMember", "quiet_members"]

_US: Final = 1e-6
_TRANSACTION: Final = Kind.TRANSACTION


def quiet_members(
    cluster: Cluster, options: GroupReplicationOptions, costs: GroupReplicationCosts
) -> Collection[int]:
    """Positions of the members that are computed on event lists of their own.

    Only where they commit by the usual pipeline, nothing waits for them but messages, and all that
    they do takes some time.
    """
    if (
        not cluster.quiet
        or cluster.changes
        or options.waits_before
        or options.waits_after
        or options.paxos_single_leader
        or options.preemptive_garbage_collection
        or options.commit_pipeline != "mysql-5.7"
        or not options.preserve_commit_order
        or not options.binlog_order_commits
        or options.binlog_group_commit_sync_delay
    ):
        return ()
    network = cluster.network
    direct = all(
        network.direct(*ends) is not None and not network.link(*ends).instant
        for ends in network.paths
    )

    def is_quiet(node: int) -> bool:
        own = cluster.costs_of(node, costs)
        work = (
            own.send_us,
            own.receive_us,
            own.propose_us,
            own.deliver_us,
            own.certify_us,
            own.schedule_us,
            own.switch_us,
            own.apply_us,
            own.binlog_write_us,
            own.commit_us,
        )
        plain = not (own.fsync_work_us or own.journal_us)
        return min(work) > 0.0 and plain and type(cluster.disk(node, 0.0)) is Disk

    return [node for node in cluster.quiet if is_quiet(node)] if direct else ()


class _Delivery(Job):
    """The thread of the group communication that passes on what has come: a ``Stage``."""

    def __init__(self, member: QuietMember) -> None:
        super().__init__()
        self._member = member
        self._machine = member.machine
        self._figures = member.delivery_figures
        self._seconds = member.deliver_s
        self._waiting: list[tuple[float, Any]] = []
        self._messages: list[Any] = []  # that it passes on
        self._taken = False
        self._begun_s = 0.0

    def join(self, message: Any) -> None:
        """A message is delivered."""
        now = self._machine.now
        if self._taken:
            self._waiting.append((now, message))
            return
        self._taken = True
        self._figures.visits += 1
        self._begin([message], now)

    def _begin(self, messages: list[Any], now: float) -> None:
        self._messages = messages
        self._begun_s = now
        self._figures.groups += 1
        more_s = self._member.with_decompression((len(messages) - 1) * self._seconds, messages)
        self._machine.go_on(self, self._seconds + more_s)

    def done(self) -> None:
        """See ``Job.done``."""
        messages, figures, now = self._messages, self._figures, self._machine.now
        figures.busy_s += now - self._begun_s
        waiting = self._waiting
        if waiting:
            self._waiting = []
            longest = now - waiting[0][0]
            if longest > figures.wait_max_s:
                figures.wait_max_s = longest
            figures.visits += len(waiting)
            following: list[Any] = []
            for arrived_s, message in waiting:
                figures.wait_s += now - arrived_s
                following.append(message)
            self._begin(following, now)
        else:
            self._taken = False
        self._member.handed_over(messages)


class _ApplierModule(Job):
    """The applier module: it certifies, and writes the relay log; a ``Stage`` for one."""

    def __init__(
        self, member: QuietMember, verdicts: Verdicts, certify_s: float, item_s: float
    ) -> None:
        super().__init__()
        self._member = member
        self._machine = member.machine
        self._figures = member.module_figures
        self._verdicts = verdicts
        self._certify_s = certify_s
        self._item_s = item_s
        self._relay_s = member.relay_s
        self._byte_s = member.relay_byte_s
        self._waiting: deque[tuple[float, Any]] = deque()
        self._taken = False
        self._begun_s = 0.0
        self._message: Any = None  # in its hands
        self._relay_period = member.relay_period
        self._unsynced_events = 0  # in the relay log
        self._synced_bytes = 0
        self._relay_sync = _RelaySync(self)
        self.appliers = member.appliers
        self.begun = 0  # messages that it has had there
        self.place = 0  # in the order, of the next message that verdicts are about
        self.rows = 0  # in the certification information
        self.order = 0  # of the last transaction that has passed
        self.conflicts = 0
        self.received = self.received_bytes = 0  # in the relay log

    def join_all(self, messages: Sequence[Any]) -> None:
        """Messages have come."""
        now = self._machine.now
        if self._taken:
            for message in messages:
                self._waiting.append((now, message))
            return
        self._taken = True
        if len(messages) > 1:
            for message in messages[1:]:
                self._waiting.append((now, message))
        self._begin(messages[0], now)

    def _begin(self, message: Any, now: float) -> None:
        self.begun += 1
        self._message = message
        self._begun_s = now
        if message.kind == _TRANSACTION:
            seconds = (self._certify_s + self._item_s * message.item_count) + (
                self._relay_s + self._byte_s * message.entry.size_bytes
            )
            self._machine.go_on(self, seconds)
        elif self._member.tells_all(message):
            self._machine.go_on(self, self._member.garbage_s(self.rows))
        else:
            self.leave()

    def done(self) -> None:
        """A message is handled: a transaction is certified."""
        message = self._message
        place = self.place
        self.place = place + 1
        if message.kind != _TRANSACTION:
            self.rows = self._member.collect_garbage(place)
            self.leave()
            return
        parent, self.rows = self._verdicts.of(place, message)
        if parent < 0:
            self.conflicts += 1
            self.leave()
            return
        entry = message.entry
        appliers = self.appliers
        size_bytes = entry.size_bytes
        self.order = order = self.order + 1
        change = Applied(
            appliers, order, parent, size_bytes, message.transaction.rows, self._machine.now
        )
        self._unsynced_events = events = self._unsynced_events + entry.events
        if events < self._relay_period:
            self.received = order
            self.received_bytes += size_bytes
            appliers.submit(change)
            self.leave()
        else:
            self._sync_relay_log(change)

    def leave(self) -> None:
        """It takes the next one."""
        figures, now = self._figures, self._machine.now
        figures.busy_s += now - self._begun_s
        if self._waiting:
            arrived_s, message = self._waiting.popleft()
            wait = now - arrived_s
            figures.wait_s += wait
            if wait > figures.wait_max_s:
                figures.wait_max_s = wait
            self._begin(message, now)
        else:
            self._taken = False

    def _sync_relay_log(self, change: Applied) -> None:
        """See ``Channel._sync``; the module waits for it with the last transaction."""
        member, now = self._member, self._machine.now
        self._unsynced_events -= int(self._relay_period)
        size_bytes = self.received_bytes + change.size_bytes
        unsynced_bytes = size_bytes - self._synced_bytes
        self._synced_bytes = size_bytes
        member.channel.relay_syncs += 1
        self._relay_sync.change = change
        self._machine.at(member.server.disk.sync_at(unsynced_bytes, now), self._relay_sync, now)

    def synced(self, change: Applied) -> None:
        """The relay log was synchronised; often enough, or not yet."""
        if self._unsynced_events >= self._relay_period:
            self._sync_relay_log(change)
        else:
            self.received = change.seqno
            self.received_bytes += change.size_bytes
            self.appliers.submit(change)
            self.leave()


class _RelaySync(Job):
    """The applier module waits for an fsync of the relay log."""

    __slots__ = ("_module", "change")
    change: Applied

    def __init__(self, module: _ApplierModule) -> None:
        super().__init__()
        self._module = module

    def done(self) -> None:
        """See ``Job.done``."""
        self._module.synced(self.change)


class QuietMember(Member):
    """See the package. What it counts is right when ``settle`` was called."""

    def __init__(
        self,
        parts: Parts,
        options: GroupReplicationOptions,
        costs: GroupReplicationCosts,
        loop_at_s: float,
        inboxes: list[Inbox | None],
        verdicts: Verdicts,
    ) -> None:
        self.machine = Machine(parts.cluster.hosts[parts.index])
        super().__init__(parts, options, costs, loop_at_s, inboxes)
        self._verdicts = verdicts
        self._passed_on = self._collections = 0  # transactions; times that garbage was
        self.deliver_s = self._delivery.seconds
        self.delivery_figures = self._delivered
        self.module_figures = self._applier_module
        self.relay_s = self._relay_writing.seconds
        self.relay_byte_s = self._byte_s
        self._decompress_s = costs.decompress_byte_ns * 1e-9
        self._compressed = options.compression_threshold or inf
        self.relay_period = options.sync_relay_log or inf
        self._delivery_thread = _Delivery(self)
        queue = CommitQueue(self.machine, self.server, self.channel, costs.commit_us * _US)
        self.appliers = QuietAppliers(
            self.machine,
            self.channel,
            queue,
            options.workers,
            costs.schedule_us * _US,
            costs.switch_us * _US,
            costs.apply_us * _US,
            costs.apply_row_us * _US,
            spins=options.parallel_type == "LOGICAL_CLOCK",
        )
        queue.committed = self.appliers.committed
        self._module = _ApplierModule(self, verdicts, self._certification.seconds, self._item_s)

    def _total_order(
        self, parts: Parts, options: GroupReplicationOptions, costs: GroupReplicationCosts
    ) -> tuple[Any, Any, Any]:
        clock, inboxes, work = self.clock, self._inboxes, costs.message_work(self.host)
        assert inboxes is not None
        thread = MemberThread(self.host, self.machine)
        inbox = self._inbox = Inbox(clock, self.machine, thread, work)
        inboxes[self.index] = inbox
        mesh = DirectMesh(clock, parts.cluster.network, self.index, thread, work, inboxes)
        proposal = self.host.routine(costs.propose_us * _US)
        how = XcomOptions(event_horizon=options.write_concurrency)
        xcom = QuietXcom(clock, mesh, len(inboxes), how, proposal, inbox)
        return mesh, xcom, xcom

    # -- from the total order to the relay log ---------------------------------------------------

    def _deliver(self, _: int, message: Any) -> None:
        self._delivery_thread.join(message)

    def with_decompression(self, seconds: float, messages: list[Any]) -> float:
        """So many seconds, and those that it takes to decompress messages."""
        least = self._compressed
        for message in messages:
            if least <= message.size_bytes and message.kind == _TRANSACTION:
                seconds += self._decompress_s * message.size_bytes
        return seconds

    def handed_over(self, messages: list[Any]) -> None:
        """Messages are with the applier module."""
        for message in messages:
            if message.kind != _TRANSACTION:
                messages = [other for other in messages if self._is_handled(other)]
                if not messages:
                    return
                break
        else:
            self._passed_on += len(messages)
        self._module.join_all(messages)

    def _is_handled(self, message: Any) -> bool:
        kind = message.kind
        if kind == _TRANSACTION:
            self._passed_on += 1
            return True
        if kind == Kind.STATISTICS:
            self.flow_control.hear(message)
        tells: bool = kind == Kind.GTID_EXECUTED
        return tells

    def tells_all(self, message: Any) -> bool:
        """Whether all members have told now what they have committed."""
        self._stable[message.member] = message.committed
        members: int = self.mesh.size
        return len(self._stable) == members

    def garbage_s(self, rows: int) -> float:
        """What it takes to look through the certification information, in seconds."""
        return self._garbage_s(rows, min(self._stable.values()))

    def collect_garbage(self, place: int) -> int:
        """What all members have committed can conflict no more: gives the rows that are left."""
        self._forgotten = stable = min(self._stable.values())
        self._stable.clear()
        self._collections += 1
        collected, rows = self._verdicts.collect(place, stable)
        self.certifier.collected += collected
        return rows

    # -- figures ---------------------------------------------------------------------------------

    def _loop(self, none: None) -> None:
        self.machine.advance(self.clock._now)
        self._count()
        self.executed.low = self.channel.applied  # which commits in the order
        super()._loop(none)

    def _count(self) -> None:
        """Tell what has been counted elsewhere."""
        module, channel = self._module, self.channel
        self.checked = module.place - self._collections
        self.waiting_certification = self._passed_on - self.checked
        self.certifier.conflicts = module.conflicts
        channel.received = module.received
        channel.relay_log_bytes = module.received_bytes - self.appliers.applied_bytes

    def settle(self) -> None:
        """See ``Model.settle``."""
        self.machine.advance(nextafter(self.clock._now, -inf))
        self.machine.settle()
        self._count()
        self.module_figures.groups = self.module_figures.visits = self._module.begun

    @property
    def info_rows(self) -> int:
        """See ``Member.info_rows``."""
        return self._module.rows
