"""A Galera node without clients: what it does with the ordered stream is computed ahead."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import Any, NamedTuple

from simrep.modelling import LockTable, Parts

from .group import GroupMember
from .node import GaleraNode
from .options import GaleraCosts, GaleraOptions
from .verdicts import Verdict, Verdicts
from .writeset import Kind, Ordered, Writeset

__all__ = ["QuietNode"]

_APPLIER, _RECEIVER = 1, 2  # threads on its cores; see ``GroupMember``
_US = 1e-6
_new = tuple.__new__  # of a named tuple: its own way takes twice as long


class _Planned(NamedTuple):
    """When a writeset gets where, in simulated seconds, and what then is known of it."""

    enqueued_s: float
    fetched_s: float
    certified_s: float
    committed_s: float  # infinite if it fails
    ended_s: float
    writeset: Writeset
    verdict: Verdict
    length: int  # of the receive queue, itself included


class QuietNode(GaleraNode):
    """A node to which no client ever connects, with one applier thread.

    Nobody takes its row locks but the applier, and nobody uses its cores but its own few threads,
    so that every writeset gets where it goes at times that follow from when it is delivered: no
    event is needed. What others can see is played at its time: flow control, and the reports of
    what it has committed. What it counts is right when ``settle`` was called.
    """

    def __init__(
        self,
        parts: Parts,
        options: GaleraOptions,
        costs: GaleraCosts,
        member: GroupMember,
        verdicts: Verdicts,
    ) -> None:
        super().__init__(parts, options, costs, member)
        assert member.quiet is not None
        self._evs = member.quiet
        self.sender.use(member.quiet)
        self._receiver_thread = member.quiet.cores.threads[_RECEIVER]
        self._applier_thread = member.quiet.cores.threads[_APPLIER]
        self._verdicts = verdicts
        self._place = 0  # in the order, of the next message that verdicts are about
        self._action_s = self._action.seconds
        self._certification_s = self._certification.seconds
        self._commitment_s = self._commitment.seconds
        self._application_s = costs.apply_us * _US
        self._row_s = costs.apply_row_us * _US
        self._fsync_s = None if self._redo is None else costs.fsync_us * _US
        # When the receiver thread and the applier are free; whether what the applier then goes on
        # with is a new visit to a core.
        self._receiver_began_s = self._receiver_free_s = self._applier_free_s = -1.0
        self._wakes = True
        self._planned: deque[_Planned] = deque()  # that have not ended, as far as was looked
        self._long: deque[_Planned] = deque()  # those with whom the queue may stop the cluster
        self._fetches: deque[float] = deque()  # when others were fetched that are still queued
        self._armed = False  # to look after flow control
        self._verdict = Verdict(0, True, 0, 0, 0)  # the last one
        # How many of those planned are counted as enqueued, and as a group of the redo log.
        self._counted = [0, 0]

    def _deliver(self, sender: int, message: Any) -> None:
        del sender
        now = self.clock._now
        start_s = self._receiver_free_s
        thread = self._receiver_thread
        if start_s < now or (start_s == now and self._receiver_began_s <= self._evs.began_s):
            start_s = now
            thread.visits.append(now)
        self._receiver_began_s = start_s
        self._receiver_free_s = end_s = thread.book(start_s, self._action_s)
        kind = message.kind
        if kind == Kind.WRITESET:
            verdict = self._verdicts.of(self._place, message)
            self._place += 1
            self._plan(message, verdict, end_s)
        elif kind == Kind.LAST_COMMITTED:
            self._verdicts.hear(self._place, message)
            self._place += 1
        elif kind != Kind.FRAGMENT:
            self.clock.at(end_s, self._hear, message)

    def _plan(self, writeset: Writeset, verdict: Verdict, enqueued_s: float) -> None:
        """When the writeset that is enqueued then will be fetched, certified and committed."""
        planned, fetches, thread = self._planned, self._fetches, self._applier_thread
        if planned and planned[0].ended_s < self.clock._now:
            self._end_all()
        longer = self._certification_s >= self._action_s  # what began earlier ends before others
        while fetches and (fetches[0] < enqueued_s or (longer and fetches[0] == enqueued_s)):
            fetches.popleft()
        length = len(fetches) + 1
        start_s = self._applier_free_s
        if start_s < enqueued_s:
            start_s = enqueued_s
            thread.visits.append(start_s)
        elif self._wakes:
            thread.visits.append(start_s)
        passed, keys = verdict.passed, writeset.key_count
        few = keys <= self._few_keys
        seconds = self._application_s + self._write_s(writeset, few=few)
        committed_s = inf
        if passed and few and seconds <= thread.slice_s:
            fetched_s = certified_s = start_s + self._certification_s
            written_s = certified_s + seconds
            end_s = committed_s = written_s + self._commitment_s
            thread.starts += (start_s, fetched_s, written_s)
            thread.seconds += (self._certification_s, seconds, self._commitment_s)
        else:
            fetched_s = certified_s = end_s = thread.book(start_s, self._certification_s)
            if not few:
                certified_s = end_s = thread.book(fetched_s, self._keys_s(keys))
            if passed:
                written_s = thread.book(certified_s, seconds)
                end_s = committed_s = thread.book(written_s, self._commitment_s)
        if passed and self._fsync_s is not None:
            end_s += self._fsync_s
        fetches.append(fetched_s)
        self._applier_free_s = end_s
        self._wakes = passed and self._fsync_s is not None
        times = enqueued_s, fetched_s, certified_s, committed_s, end_s
        one = _new(_Planned, (*times, writeset, verdict, length))
        planned.append(one)
        if self.apply_monitor.report_due(verdict.seqno, writeset):
            self.clock.at(end_s, self._report, (verdict.seqno, not self._wakes))
        control = self.flow_control
        if length > control.upper:
            self._long.append(one)
            if not self._armed and not control.stopped:
                self._armed = True
                self.clock.at(enqueued_s, self._grown, one)

    def _write_s(self, writeset: Writeset, *, few: bool) -> float:
        """What it costs to write the rows, and to certify them if they are few, in seconds."""
        seconds = self._row_s * writeset.rows
        return seconds + self._key_s * writeset.key_count if few else seconds

    def _report(self, report: tuple[int, bool]) -> None:
        seqno, on_core = report
        if on_core:  # the applier has one, and keeps it if there is more to do
            self._evs.goes_on = self._queued() > 0
        self.sender.report_committed(self.index, seqno)
        self._evs.goes_on = None

    # -- flow control --------------------------------------------------------------------------

    def _queued(self) -> int:
        """The length of the receive queue, without what is fetched or enqueued now."""
        now = self.clock._now
        planned = self._planned
        fetched = 0
        for one in planned:
            if one.fetched_s > now:
                break
            fetched += 1
        enqueued = len(planned)
        for one in reversed(planned):
            if one.enqueued_s < now:
                break
            enqueued -= 1
        return max(0, enqueued - fetched)

    def _hear(self, message: Any) -> None:
        self.flow_control.deliver(message)
        self._look_out()

    def _look_out(self) -> None:
        """Be there when the receive queue may next stop the cluster, or let it go on.

        As far as that is known: more writesets may be delivered before.
        """
        control = self.flow_control
        if self._armed:
            return
        now = self.clock._now
        if control.stopping:
            self._armed = True
            one = self._short_again(now)
            self.clock.at(one.fetched_s, self._shrunk, one)
        elif not control.stopped:
            long = self._long
            while long and long[0].enqueued_s <= now:
                long.popleft()
            if long:
                self._armed = True
                self.clock.at(long[0].enqueued_s, self._grown, long[0])

    def _short_again(self, now: float) -> _Planned:
        """With whom the queue becomes short enough to let the cluster go on."""
        planned, lower = self._planned, self.flow_control.lower
        enqueued = fetched = 0
        for one in planned:
            fetched += 1
            if one.fetched_s <= now:
                continue
            if planned[-1].enqueued_s < one.fetched_s:  # no more comes to it, as far as is known
                return planned[max(fetched, len(planned) - lower) - 1]
            while planned[enqueued].enqueued_s < one.fetched_s:
                enqueued += 1
            if enqueued - fetched <= lower:
                return one
        raise AssertionError("a queue with nothing in it has stopped the cluster")

    def _grown(self, one: _Planned) -> None:
        self._armed = False
        self._evs.goes_on = self._receiver_free_s > self.clock._now
        self.flow_control.grown(one.length)
        self._evs.goes_on = None
        self._look_out()

    def _shrunk(self, one: _Planned) -> None:
        self._armed = False
        queue = self._queued()
        self._evs.goes_on = one.verdict.passed or queue > 0
        self.flow_control.shrunk(queue)
        self._evs.goes_on = None
        self._look_out()

    # -- counts --------------------------------------------------------------------------------

    def settle(self) -> None:
        """See ``GaleraNode.settle``."""
        now = self.clock.now
        planned = self._planned
        self._end_all()
        counted = self._counted
        for place, one in enumerate(planned):
            if one.enqueued_s < now and place >= counted[0]:
                self._count_queued(one)
                counted[0] += 1
            if one.certified_s < now:
                self._verdict = one.verdict
            if one.committed_s < now and place >= counted[1]:
                self._count_group()
                counted[1] += 1
        self.certifier.passed = self._verdict.passed_sum
        self.certifier.distance_sum = self._verdict.distance_sum
        self._evs.settle()

    @property
    def index_size(self) -> int:
        """See ``GaleraNode.index_size``."""
        return self._verdict.keys

    @property
    def rows_locked(self) -> int:
        """See ``GaleraNode.rows_locked``."""
        now = self.clock.now
        locks = LockTable(self.clock)
        for one in self._planned:
            if one.certified_s < now <= one.ended_s and one.verdict.passed:
                owner = Ordered(one.writeset, one.verdict.seqno)
                for scan in one.writeset.scans:
                    locks.take_range(owner, scan)
                for row in one.writeset.locks:
                    locks.take(owner, row)
        return len(locks)

    def _end_all(self) -> None:
        """Count writesets that have ended."""
        now = self.clock._now
        planned, counted = self._planned, self._counted
        stage = None if self._redo is None else self._redo.stage
        while planned and planned[0].ended_s < now:
            one = planned.popleft()
            if counted[0]:
                counted[0] -= 1
            else:
                self._count_queued(one)
            self._verdict = one.verdict
            if stage is not None and one.verdict.passed:
                if counted[1]:
                    counted[1] -= 1
                else:
                    stage.groups += 1
                    stage.visits += 1
                stage.busy_s += one.ended_s - one.committed_s
            self.apply_monitor.last_left = one.verdict.seqno

    def _count_queued(self, one: _Planned) -> None:
        self.received += 1
        self.received_bytes += one.writeset.size_bytes
        self.recv_queue_sum += one.length
        if one.length > self.recv_queue_max:
            self.recv_queue_max = one.length

    def _count_group(self) -> None:
        if self._redo is not None:
            self._redo.stage.groups += 1
            self._redo.stage.visits += 1
