"""A Galera node without clients: what it does with the ordered stream is computed ahead."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
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
_WRITESET = Kind.WRITESET
_new = tuple.__new__  # of a named tuple: its own way takes twice as long


class _Planned(NamedTuple):
    """When a writeset gets where, in simulated seconds, and what then is known of it."""

    enqueued_s: float
    fetched_s: float
    certified_s: float
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
        # Of what ends at the same instant, that goes first which began first.
        self._fetch_first = self._certification_s >= self._action_s
        self._application_s = costs.apply_us * _US
        self._row_s = costs.apply_row_us * _US
        self._fsync_s = None if self._redo is None else costs.fsync_us * _US
        # When the receiver thread and the applier are free; whether what the applier then goes on
        # with is a new visit to a core.
        self._receiver_began_s = self._receiver_free_s = self._applier_free_s = -1.0
        self._wakes = True
        self._planned: deque[_Planned] = deque()  # that have not ended, as far as was looked
        self._last: _Planned | None = None  # the last one that has
        self._long: deque[_Planned] = deque()  # those with whom the queue may stop the cluster
        self._fetches: deque[float] = deque()  # when others were fetched that are still queued
        self._armed = False  # to look after flow control
        # Of all that was planned: writesets, their bytes, lengths of the queue, and when it was
        # longer than ever; when the redo log began and ended to flush them, and how long it took.
        self._number = self._bytes = self._lengths = self._longest = 0
        self._records: list[tuple[float, int]] = []
        self._groups: list[float] = []
        self._flushed_s: list[float] = []
        self._flush_s: list[float] = []
        self._evs.deliver_to(self._deliver_all, self.settle)

    def _deliver_all(self, messages: tuple[Any, ...]) -> None:
        """The group delivers what one of its messages has brought."""
        now = self.clock._now
        planned = self._planned
        while planned and planned[0].ended_s < now:
            self._last = planned.popleft()
        thread, action_s = self._receiver_thread, self._action_s
        for message in messages:
            start_s = self._receiver_free_s
            if start_s < now or (start_s == now and self._receiver_began_s <= self._evs.began_s):
                start_s = now
                thread.visits.append(now)
            self._receiver_began_s = start_s
            if action_s <= thread.slice_s:
                thread.starts.append(start_s)
                thread.seconds.append(action_s)
                end_s = start_s + action_s
            else:
                end_s = thread.book(start_s, action_s)
            self._receiver_free_s = end_s
            kind = message.kind
            if kind == _WRITESET:
                self._plan(message, end_s)
            elif kind == Kind.LAST_COMMITTED:
                self._verdicts.hear(self._place, message)
                self._place += 1
            elif kind != Kind.FRAGMENT:
                self.clock.at(end_s, self._hear, message)

    def _plan(self, writeset: Writeset, enqueued_s: float) -> None:
        """When the writeset that is enqueued then will be fetched, certified and committed."""
        verdict = self._verdicts.of(self._place, writeset)
        self._place += 1
        seqno, passed = verdict[0], verdict[1]
        fetches, thread = self._fetches, self._applier_thread
        while fetches and (
            fetches[0] < enqueued_s or (self._fetch_first and fetches[0] == enqueued_s)
        ):
            fetches.popleft()
        length = len(fetches) + 1
        start_s = self._applier_free_s
        if start_s < enqueued_s:
            start_s = enqueued_s
            thread.visits.append(start_s)
        elif self._wakes:
            thread.visits.append(start_s)
        keys = writeset.key_count
        few = keys <= self._few_keys
        more_s = self._row_s * writeset.rows
        if few:
            more_s += self._key_s * keys
        seconds = self._application_s + more_s
        if passed and few and seconds <= thread.slice_s:
            fetched_s = certified_s = start_s + self._certification_s
            written_s = certified_s + seconds
            end_s = written_s + self._commitment_s
            thread.starts += (start_s, fetched_s, written_s)
            thread.seconds += (self._certification_s, seconds, self._commitment_s)
        else:
            fetched_s = certified_s = end_s = thread.book(start_s, self._certification_s)
            if not few:
                certified_s = end_s = thread.book(fetched_s, self._keys_s(keys))
            if passed:
                written_s = thread.book(certified_s, seconds)
                end_s = thread.book(written_s, self._commitment_s)
        self._wakes = False
        if passed and self._fsync_s is not None:
            self._wakes = True
            self._groups.append(end_s)
            flushed_s = end_s + self._fsync_s
            self._flush_s.append(flushed_s - end_s)
            self._flushed_s.append(flushed_s)
            end_s = flushed_s
        self._applier_free_s = end_s
        fetches.append(fetched_s)
        one = _new(_Planned, (enqueued_s, fetched_s, certified_s, end_s, writeset, verdict, length))
        self._planned.append(one)
        self._number += 1
        self._bytes += writeset.size_bytes
        self._lengths += length
        if length > self._longest:
            self._longest = length
            self._records.append((enqueued_s, length))
        if self.apply_monitor.report_due(seqno, writeset):
            self.clock.at(end_s, self._report, (seqno, not self._wakes))
        control = self.flow_control
        if length > control.upper:
            self._long.append(one)
            if not self._armed and not control.stopped:
                self._armed = True
                self.clock.at(enqueued_s, self._grown, one)

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
        while planned and planned[0].ended_s < now:
            self._last = planned.popleft()
        self.received = self._number
        self.received_bytes = self._bytes
        self.recv_queue_sum = self._lengths
        for one in reversed(planned):
            if one.enqueued_s < now:
                break
            self.received -= 1
            self.received_bytes -= one.writeset.size_bytes
            self.recv_queue_sum -= one.length
        for record_s, length in self._records:
            if record_s < now:
                self.recv_queue_max = length
        if self._last is not None:
            self.apply_monitor.last_left = self._last.verdict.seqno
        verdict = self._verdict()
        self.certifier.passed = verdict.passed_sum
        self.certifier.distance_sum = verdict.distance_sum
        if self._redo is not None:
            stage = self._redo.stage
            begun = bisect_left(self._groups, now)
            stage.groups += begun
            stage.visits += begun
            del self._groups[:begun]
            ended = bisect_left(self._flushed_s, now)
            for seconds in self._flush_s[:ended]:
                stage.busy_s += seconds
            del self._flushed_s[:ended], self._flush_s[:ended]
        self._evs.settle()

    def _verdict(self) -> Verdict:
        """What was certified last."""
        now = self.clock.now
        for one in reversed(self._planned):
            if one.certified_s < now:
                return one.verdict
        return Verdict(0, True, 0, 0, 0) if self._last is None else self._last.verdict

    @property
    def index_size(self) -> int:
        """See ``GaleraNode.index_size``."""
        return self._verdict().keys

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
