"""One node of a Galera cluster: from the send monitor to the commit monitor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final

from simrep.modelling import Event, Lap, Moments, OrderedGate, Parts, Stage, Thread, Trace

from .certifier import Certifier
from .flow_control import FlowControl
from .group import GroupMember, Sender
from .member_states import MemberState
from .monitors import IN_ORDER, ApplyMonitor, LooseCommitMonitor, Reports, commit_monitor
from .options import GaleraCosts, GaleraOptions
from .row_writer import RowWriter
from .stored_fragments import StoredFragments
from .stream_appliers import StreamAppliers
from .writeset import Kind, LocalTransaction, Ordered, Writeset, is_whole

__all__ = ["TOO_LARGE", "GaleraNode"]

TOO_LARGE: Final = "1180 writeset too large (wsrep_max_ws_size)"

_SHORT_CERTIFICATION_S: Final = 50e-6
# Their table takes about a megabyte, as the second-level cache of a core.
_CACHED_KEYS: Final = 10_000

_US: Final = 1e-6
# Of every mark on the way of a transaction: a global name is cheaper than an attribute.
_ORDER: Final = Lap.ORDER
_CERTIFICATION: Final = Lap.CERTIFICATION
_COMMIT_ORDER: Final = Lap.COMMIT_ORDER
_COMMIT: Final = Lap.COMMIT


class GaleraNode:
    """What one node does with local transactions and with the ordered stream of writesets.

    Where it takes processor time to sleep (``sleep_us``), the thread of a session sleeps until its
    writeset is in the order, and like an applier until it is its turn in the local monitor and in
    the commit monitor; elsewhere the thread that has made it wait goes on with its work.

    Simplified: from the first fragment on, an applier takes rows of its victims at once.
    """

    certifier_kind: ClassVar[type[Certifier]] = Certifier
    flow_control_kind: ClassVar[type[FlowControl]] = FlowControl

    def __init__(
        self,
        parts: Parts,
        options: GaleraOptions,
        costs: GaleraCosts,
        member: GroupMember,
    ) -> None:
        cluster, index = parts.cluster, parts.index
        clock, host = parts.clock, cluster.hosts[index]
        self.index = index
        self.name = parts.name
        self.clock = clock
        self.host = host
        self.trace = cluster.trace
        self.locks = parts.locks(waits_for_victims=True)

        routine = host.routine
        self._replication = routine(costs.replicate_us * _US)
        self._action = routine(costs.action_us * _US)
        self._certification = routine(costs.certify_us * _US)
        log_write_us = costs.log_write_us if options.flush_log_at_trx_commit else 0.0
        self._commitment = routine((costs.commit_us + log_write_us) * _US)
        self.switch_s = costs.switch_us * _US
        self._sleeps = host.sleep_s > 0.0
        self._sleeps_in_turn = self._sleeps and options.commit_order == IN_ORDER
        self._key_s = costs.certify_key_us * _US
        self._miss_s = costs.key_miss_us * _US
        # So many keys are certified in a time that is charged to the thread outside the monitor.
        self._few_keys = _SHORT_CERTIFICATION_S / self._key_s if self._key_s else float("inf")
        self.byte_s = costs.byte_ns * 1e-9

        self._receiver = Thread(host)
        self.mesh = member.mesh
        self.group = member.group
        self.group.on_deliver(self._deliver)
        self.sender = sender = parts.make(Sender, clock, host, self.switch_s, member.options)
        sender.connect(self.group)
        self.flow_control = parts.make(
            self.flow_control_kind, options, cluster.size, sender.monitor, sender.control
        )

        self.streams = StreamAppliers()
        self.writer = parts.make(
            RowWriter,
            host,
            self.locks,
            self.streams,
            costs,
            StoredFragments(options.innodb_buffer_pool_size, costs),
            self._few_keys,
            self._applied,
            self._rolled_back,
        )
        self.certifier = self._make_certifier(parts)
        if cluster.arbitrators:
            self.certifier.leave_out(cluster.arbitrators)
        self._local_monitor = parts.make(OrderedGate)
        self._commit_monitor = parts.make(commit_monitor, options.commit_order)
        self._early_release = not options.commit_monitor_through_flush
        self._redo = None
        flush_at_commit = options.flush_log_at_trx_commit
        if flush_at_commit == 1 or "set" in cluster.operations:
            disk = parts.disk(
                costs.fsync_us * _US, work_s=costs.fsync_work_us * _US, name=f"{self.name}/disk"
            )
            wake = partial(host.run, 0.0) if host.sleep_s else None
            self._redo = parts.redo_log(disk, flush_at_commit=flush_at_commit, wake=wake)

        self._recv_q: deque[Ordered] = parts.make(deque)
        self._appliers = self._idle_appliers = options.applier_threads
        report = partial(sender.report_committed, index)
        self.apply_monitor = self._make_apply_monitor(parts, report)
        self.undo: Callable[[LocalTransaction], object] = self.locks.release_all
        self.alive = True
        self.started_s = clock.now
        self.died_s: float | None = None

        self.received = self.received_bytes = 0
        self.local_commits = self.cert_failures = self.too_large = 0
        self.repl_latency = Moments()
        self.recv_queue_sum = self.recv_queue_max = 0

    def _make_certifier(self, parts: Parts) -> Certifier:
        size = parts.cluster.size
        return parts.make(self.certifier_kind, self.index, size, self.streams, self.trace)

    def _make_apply_monitor(self, parts: Parts, report: Callable[[int], object]) -> ApplyMonitor:
        return parts.make(ApplyMonitor, self._wake_dependent, report, Reports())

    @property
    def last_committed(self) -> int:
        """Every writeset up to here has been committed or refused, and left the apply monitor."""
        return self.apply_monitor.last_left

    @property
    def commits_out_of_order(self) -> int:
        """Transactions that were committed before an earlier one (see ``repl.commit_order``)."""
        monitor = self._commit_monitor
        return monitor.out_of_order if isinstance(monitor, LooseCommitMonitor) else 0

    @property
    def rows_locked(self) -> int:
        """Rows that somebody has locked."""
        return len(self.locks)

    def settle(self) -> None:
        """Count all that has happened until now: nothing to do for a node that is played."""

    # -- origin: from the client's commit to the ordered stream ------------------------------

    def preparation(self, size_bytes: int, keys: int) -> float:
        """CPU of the client's thread to build a writeset, which copies its rows, in seconds."""
        seconds = self._replication.cost(self.byte_s * size_bytes)
        return seconds if keys <= _CACHED_KEYS else seconds + self._miss_s * (keys - _CACHED_KEYS)

    def refuse_size(self) -> str:
        """Count a writeset that is too large; the error that its client gets."""
        self.too_large += 1
        return TOO_LARGE

    @property
    def member_state(self) -> MemberState:
        """How far it is as a member of the group: in one in which nothing happens, all the way."""
        return MemberState.SYNCED

    @property
    def recv_queue(self) -> int:
        """Writesets that wait to be applied (``wsrep_local_recv_queue``)."""
        return len(self._recv_q)

    def replicate(self, writeset: Writeset) -> None:
        """Send a writeset to the group; its local transaction is ``done`` when it has ended."""
        writeset.last_seen = self._commit_monitor.next - 1
        self.sender.replicate(writeset)

    def rollback(self, writeset: Writeset) -> None:
        """Send the rollback of a streaming transaction; nobody waits for it."""
        writeset.last_seen = self._commit_monitor.next - 1
        self.sender.rollback(writeset)

    def send_again(self, writeset: Writeset) -> None:
        """Send a writeset of this node that the group has dropped, if somebody still wants it."""
        writeset.sent_s = -1.0
        if not writeset.awaited:
            self.rollback(writeset)
        elif not writeset.local.done.triggered:
            self.replicate(writeset)

    @property
    def redo_stage(self) -> Stage[Any] | None:
        """The group commit of the redo log, if commits are flushed."""
        return None if self._redo is None else self._redo.stage

    # -- every node: the ordered stream -------------------------------------------------------

    def _deliver(self, sender: int, message: Any) -> None:
        self._receiver.do(self._action.cost(), self._receive, message)

    def in_order(self, call: Callable[[Any], object], argument: Any) -> None:
        """``call(argument)`` when all that the group has delivered until now is numbered.

        It is an answer of the group to this node alone, which its receive thread is woken for.
        """
        self._receiver.do(self._action.cost(), call, argument)

    def _receive(self, message: Any) -> None:
        kind: int = message.kind
        if kind == Kind.WRITESET:
            writeset: Writeset = message
            ordered = self.certifier.number(writeset)
            if writeset.origin == self.index and writeset.awaited:
                self.repl_latency.add(self.clock._now - writeset.sent_s)
                writeset.local.mark(_ORDER)
                self._wake(ordered)
            else:
                self._enqueue(ordered)
        elif kind == Kind.LAST_COMMITTED:
            self.certifier.hear(message.node, message.seqno)
        elif kind != Kind.FRAGMENT:
            self.flow_control.deliver(message)

    def _wake(self, ordered: Ordered) -> None:
        """Its thread goes on, which has slept until its writeset was in the order."""
        if self._sleeps:
            self.host.run(0.0, self._certify_own, ordered)
        else:
            self._certify_own(ordered)

    def _certify_own(self, ordered: Ordered) -> None:
        self._await_certification(ordered.writeset.local)
        monitor = self._local_monitor
        call: Callable[[Any], object] = self._certify_local
        if self._sleeps and monitor.next != ordered.seqno:
            call = partial(self.host.run, 0.0, call)
        monitor.enter(ordered.seqno, call, ordered)

    def _await_certification(self, local: LocalTransaction) -> None:
        """Its thread wakes up: a victim rolls back, without waiting for its turn.

        Whoever has aborted it comes before it in the order, and waits for its rows.
        """
        if local.aborted:
            self.undo(local)
        else:
            local.undo = self.undo

    def _certify_local(self, ordered: Ordered) -> None:
        keys = ordered.writeset.key_count
        if keys > self._few_keys:
            self.host.run(self._keys_s(keys), self._certified_local, ordered)
        else:
            self._certified_local(ordered)

    def _keys_s(self, keys: int) -> float:
        """Time to certify many keys, in seconds."""
        return self._key_s * keys + self._miss_s * max(0, keys - _CACHED_KEYS)

    def _certified_local(self, ordered: Ordered) -> None:
        passed = self.certifier.certify(ordered)
        local = ordered.writeset.local
        local.mark(_CERTIFICATION)
        local.protected = passed
        local.undo = None
        self._local_monitor.leave()
        if not passed:
            self.cert_failures += 1
            local.passed = Event(self.clock)
            self.host.run(self.switch_s, self.sender.fail, local)
            self._commit_monitor.enter(ordered.seqno, self._cancel, ordered)
        elif ordered.writeset.part is None or ordered.writeset.part.last:
            self._commit_monitor.enter_local(
                ordered.seqno, self._in_turn(ordered, self._commit), ordered
            )
        else:  # its stored row gets the sequence number
            self.host.run(self.writer.log_row_s, self._stored_local, ordered)

    def _stored_local(self, ordered: Ordered) -> None:
        call = self._in_turn(ordered, self._commit)
        self._commit_monitor.enter_local(ordered.seqno, call, ordered)

    # -- replicas: the appliers ----------------------------------------------------------------

    def _enqueue(self, ordered: Ordered) -> None:
        queue = self._recv_q
        queue.append(ordered)
        self.received += 1
        self.received_bytes += ordered.writeset.size_bytes
        length = len(queue)
        self.recv_queue_sum += length
        if length > self.recv_queue_max:
            self.recv_queue_max = length
        if length > self.flow_control.upper:
            self.flow_control.grown(length)
        if self._idle_appliers:
            self._idle_appliers -= 1
            self.host.run(self._certification.cost(), self._fetch)

    def _next_writeset(self) -> None:
        if self._recv_q:
            self.host.go_on(self._certification.cost(), self._fetch)
        else:
            self._idle_appliers += 1

    def _fetch(self, _: None) -> None:
        if not self._recv_q:  # another applier was faster
            self._idle_appliers += 1
            return
        ordered = self._recv_q.popleft()
        self.flow_control.shrunk(len(self._recv_q))
        self._local_monitor.enter(ordered.seqno, self._certify_remote, ordered)

    def _certify_remote(self, ordered: Ordered) -> None:
        keys = ordered.writeset.key_count
        if keys > self._few_keys:
            self.host.go_on(self._keys_s(keys), self._certified_remote, ordered)
        else:
            self._certified_remote(ordered)

    def _certified_remote(self, ordered: Ordered) -> None:
        passed = self.certifier.certify(ordered)
        self._local_monitor.leave()
        if not passed:
            self._commit_monitor.enter(ordered.seqno, self._cancel, ordered)
            self._next_writeset()
        elif self.apply_monitor.may_enter(ordered):
            self.writer.begin(ordered)

    def _wake_dependent(self, ordered: Ordered) -> None:
        self.host.run(self.switch_s, self.writer.begin, ordered)

    def _applied(self, ordered: Ordered) -> None:
        call = self._in_turn(ordered, self._commit)
        self._commit_monitor.enter(ordered.seqno, call, ordered)

    def _rolled_back(self, stream: tuple[int, int]) -> None:
        if self.trace is not None:
            self.trace.record(self.index, "orphan", 0, stream)

    # -- commit, in order ----------------------------------------------------------------------

    def _in_turn(
        self, ordered: Ordered, commit: Callable[[Ordered], object]
    ) -> Callable[[Any], object]:
        """What follows when its turn comes: a thread that has to wait sleeps, and is woken.

        Only where all commit in order: else nobody can tell before who will have to wait.
        """
        if self._sleeps_in_turn and self._commit_monitor.next != ordered.seqno:
            return partial(self.host.run, 0.0, commit)
        return commit

    def _commit(self, ordered: Ordered) -> None:
        seconds = self._commitment.cost()
        writeset = ordered.writeset
        if writeset.origin == self.index:
            writeset.local.mark(_COMMIT_ORDER)
            few = writeset.key_count <= self._few_keys
            seconds += self._certification.cost(self._key_s * writeset.key_count if few else 0.0)
        self.host.go_on(seconds, self._committed, ordered)

    def _committed(self, ordered: Ordered) -> None:
        redo = self._redo
        writeset = ordered.writeset
        if writeset.origin == self.index:
            writeset.local.mark(_COMMIT)
        if writeset.journal is not None and is_whole(writeset):
            writeset.journal.shown(self.index)  # InnoDB shows a commit before it flushes its log
        if redo is None:
            self._leave_commit_monitor(ordered)
        elif self._early_release:
            redo.flush(writeset.size_bytes, self._flushed, ordered)
            self._commit_monitor.leave(ordered.seqno)
        else:
            redo.flush(writeset.size_bytes, self._leave_commit_monitor, ordered)

    def _flushed(self, ordered: Ordered) -> None:
        if self.trace is not None:
            self._record_commit(ordered, self.trace)
        self._finish(ordered)

    def _leave_commit_monitor(self, ordered: Ordered) -> None:
        if self.trace is not None:
            self._record_commit(ordered, self.trace)
        self._commit_monitor.leave(ordered.seqno)
        self._finish(ordered)

    def _record_commit(self, ordered: Ordered, trace: Trace) -> None:
        trace.record(self.index, "commit", ordered.seqno)
        part = ordered.writeset.part
        if part is not None:
            trace.record(self.index, "part", ordered.seqno, part.stream, part.what)

    def _finish(self, ordered: Ordered) -> None:
        self.apply_monitor.leave(ordered)
        writeset = ordered.writeset
        local = writeset.local
        if not self.alive:
            return
        if writeset.journal is not None and is_whole(writeset):
            writeset.journal.committed(self.index)
        if writeset.origin == self.index and writeset.awaited:
            self.local_commits += 1
            if self._redo is not None:
                local.mark(Lap.FLUSH)
            if local.done.callbacks is not None:  # else its client was told that nobody knows
                self.clock.fire(local.done, True)
        else:
            if writeset.part is not None:
                self.locks.waits_for_victims = False
                if writeset.part.last:
                    self.streams.close(writeset.part.stream)
                    self.locks.release_all(ordered.stream)
            elif writeset.locks or writeset.scans:
                self.locks.release_all(ordered)
            self._next_writeset()

    def _cancel(self, ordered: Ordered) -> None:
        """A writeset that failed certification only passes through the monitors."""
        self._commit_monitor.skip(ordered.seqno)
        self.apply_monitor.leave(ordered)
        passed = ordered.writeset.local.passed
        if ordered.writeset.origin == self.index and passed is not None and not passed.triggered:
            self.clock.fire(passed)

    # -- the end of the process ----------------------------------------------------------------

    def die(self) -> None:
        """The server's process is gone: what it still has under way has no effect any more."""
        self.alive = False
        self.died_s = self.clock.now
        self.trace = None
        self.sender.disconnect()
