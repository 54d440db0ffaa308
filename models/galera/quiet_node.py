"""A Galera node without clients: what it does with the ordered stream is computed ahead."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from itertools import accumulate, repeat
from math import inf
from operator import itemgetter
from typing import Any, Final

import numpy as np

from simrep.modelling import LockTable, Parts, Stage

from .group import GroupMember
from .options import GaleraCosts, GaleraOptions
from .sharing_node import SharingNode
from .verdicts import Run, Verdicts
from .writeset import UNDECIDED, Control, Kind, Ordered, Writeset

__all__ = ["QuietNode"]

_APPLIER: Final = 1  # threads on its cores; see ``GroupMember``
_RECEIVER: Final = 2
_US: Final = 1e-6
_WRITESET: Final = Kind.WRITESET
_UNANSWERED: Final = (Kind.FRAGMENT, Kind.LAST_COMMITTED)

# When messages were delivered, when the thread had begun to do that, and the messages.
_Delivery = tuple[float, float, Run]
# When a writeset is enqueued, fetched, certified, and has ended, in simulated seconds; the length
# of the receive queue, itself included; the writeset.
_Planned = tuple[float, float, float, float, int, Writeset]
_ENQUEUED: Final = 0
_FETCHED: Final = 1
_CERTIFIED: Final = 2
_ENDS: Final = itemgetter(3)
_LENGTH: Final = 4
_WRITTEN: Final = 5


class QuietNode(SharingNode):
    """A node to which no client ever connects, with one applier thread.

    Nobody takes its row locks but the applier, and nobody uses its cores but its own few threads,
    so that every writeset gets where it goes at times that follow from when it is delivered: no
    event is needed. What others can see is played at its time: flow control, and the reports of
    what it has committed. All else is put off, and then computed at once for all that was
    delivered meanwhile. What it counts is right when ``settle`` was called.
    """

    def __init__(
        self,
        parts: Parts,
        options: GaleraOptions,
        costs: GaleraCosts,
        member: GroupMember,
        verdicts: Verdicts,
    ) -> None:
        super().__init__(parts, options, costs, member, verdicts)
        assert member.quiet is not None
        self._evs = member.quiet
        self.sender.use(member.quiet)
        self._receiver_thread = member.quiet.cores.threads[_RECEIVER]
        self._applier_thread = member.quiet.cores.threads[_APPLIER]
        self._run = Run(())  # that was delivered last
        # What is not yet planned: when it was delivered, and when the thread had begun to do that.
        self._delivered: list[_Delivery] = []
        self._room = 0  # more writesets may be put off, but not certainly another
        self._action_s = self._action.seconds
        self._short_actions = self._action_s <= self._receiver_thread.slice_s
        self._certification_s = self._certification.seconds
        self._commitment_s = self._commitment.seconds
        # Of what ends at the same instant, that goes first which began first.
        self._fetch_first = self._certification_s >= self._action_s
        self._application_s = costs.apply_us * _US
        self._row_s = costs.apply_row_us * _US
        self._fsync_s = costs.fsync_us * _US
        # What needs no longer than that is done in pieces that are no longer than a slice.
        slice_s = self._applier_thread.slice_s
        short = max(self._certification_s, self._commitment_s) <= slice_s
        self._longest_s = slice_s if short else -1.0
        # When the receiver thread and the applier are free; whether what the applier then goes on
        # with is a new visit to a core.
        self._receiver_began_s = self._receiver_free_s = self._applier_free_s = -1.0
        self._wakes = True
        self._planned: list[_Planned] = []  # that have not ended, as far as was looked
        self._last = UNDECIDED  # of the last one that has
        self._long: deque[_Planned] = deque()  # those with whom the queue may stop the cluster
        self._fetches: deque[float] = deque()  # when others were fetched that are still queued
        self._armed = False  # to look after flow control
        # Of all that was planned: lengths of the queue, and when it was longer than ever; when the
        # redo log begins to flush them.
        self._lengths = 0
        self._longest = 1
        self._records: list[tuple[float, int]] = []
        self._groups: list[float] = []
        self._flushing: list[float] = []
        self._evs.deliver_to(self._deliver_all, self.settle)

    def _deliver_all(self, payloads: tuple[Any, ...]) -> None:
        """The group delivers what one of its messages has brought."""
        run = self._run.next
        if run is None:
            run = self._verdicts.run(self._run, payloads)
        self._run = run
        self._delivered.append((self.clock._now, self._evs.began_s, run))
        self._room -= run.writesets
        if run.urgent or self._room < 0:
            self._plan()

    def _plan(self) -> None:
        """When all that was delivered gets where it goes."""
        self._forget()
        planned, fetches, groups = self._planned, self._fetches, self._groups
        applier = self._applier_thread
        visits, starts, seconds = applier.visits, applier.starts, applier.seconds
        certification_s, commitment_s = self._certification_s, self._commitment_s
        application_s, row_s, key_s = self._application_s, self._row_s, self._key_s
        few_keys, longest_s, upper = self._few_keys, self._longest_s, self.flow_control.upper
        flushes, fsync_s, fetch_first = self._redo is not None, self._fsync_s, self._fetch_first
        free_s, wakes, lengths = self._applier_free_s, self._wakes, self._lengths
        next_s = fetches.popleft() if fetches else inf
        for delivery in self._delivered:
            for message, enqueued_s in zip(
                delivery[2].payloads, self._receives(delivery), strict=True
            ):
                if message.kind != _WRITESET:
                    if message.kind not in _UNANSWERED:
                        self.clock.at(enqueued_s, self._hear, message)
                    continue
                writeset: Writeset = message
                verdict = writeset.verdict
                while next_s < enqueued_s or (next_s == enqueued_s and fetch_first):
                    next_s = fetches.popleft() if fetches else inf
                if free_s < enqueued_s:  # the applier waits for it
                    start_s = enqueued_s
                    visits.append(start_s)
                else:
                    start_s = free_s
                    if wakes:
                        visits.append(start_s)
                keys = writeset.key_count
                work_s = row_s * writeset.rows
                if keys <= few_keys:
                    work_s += key_s * keys
                work_s += application_s
                wakes = flushes
                if work_s <= longest_s and keys <= few_keys and verdict.passed:
                    fetched_s = certified_s = start_s + certification_s
                    written_s = certified_s + work_s
                    free_s = written_s + commitment_s
                    starts += (start_s, fetched_s, written_s)
                    seconds += (certification_s, work_s, commitment_s)
                else:
                    fetched_s, certified_s, free_s = self._book(writeset, start_s, work_s)
                    wakes = flushes and verdict.passed
                if wakes:
                    groups.append(free_s)
                    free_s += fsync_s
                if next_s == inf:
                    next_s = fetched_s
                    length = 1
                else:
                    fetches.append(fetched_s)
                    length = len(fetches) + 1
                    if length > self._longest:
                        self._longest = length
                        self._records.append((enqueued_s, length))
                lengths += length
                planned.append((enqueued_s, fetched_s, certified_s, free_s, length, writeset))
                if verdict.reported:
                    self.clock.at(free_s, self._report, (verdict.seqno, not wakes))
                if length > upper:
                    self._look_after(planned[-1])
        self._delivered.clear()
        if next_s < inf:
            fetches.appendleft(next_s)
        self._applier_free_s, self._wakes, self._lengths = free_s, wakes, lengths
        self._room = -1 if self.flow_control.stopping else upper - len(fetches)

    def _receives(self, delivery: _Delivery) -> list[float]:
        """When the receiver thread has enqueued each of the messages."""
        now, delivers_s, run = delivery
        thread, action_s, end_s = self._receiver_thread, self._action_s, self._receiver_free_s
        if end_s < now or (end_s == now and self._receiver_began_s <= delivers_s):
            end_s = now
            thread.visits.append(now)
        if self._short_actions:
            times = list(accumulate(repeat(action_s, len(run.payloads)), initial=end_s))
            thread.starts += times[:-1]
            self._receiver_began_s, self._receiver_free_s = times[-2:]
            return times[1:]
        ends_s = []
        for _ in run.payloads:
            self._receiver_began_s = end_s
            end_s = thread.book(end_s, action_s)
            ends_s.append(end_s)
        self._receiver_free_s = end_s
        return ends_s

    def _book(self, writeset: Writeset, start_s: float, work_s: float) -> tuple[float, ...]:
        """When a writeset is fetched, certified and committed that takes long, or fails."""
        thread = self._applier_thread
        fetched_s = certified_s = end_s = thread.book(start_s, self._certification_s)
        if writeset.key_count > self._few_keys:
            certified_s = end_s = thread.book(fetched_s, self._keys_s(writeset.key_count))
        if writeset.verdict.passed:
            written_s = thread.book(certified_s, work_s)
            end_s = thread.book(written_s, self._commitment_s)
        return fetched_s, certified_s, end_s

    def _forget(self) -> None:
        """Of what has ended only the last is remembered."""
        planned = self._planned
        ended = bisect_left(planned, self.clock._now, key=_ENDS)
        if ended:
            self._last = planned[ended - 1][_WRITTEN].verdict
            del planned[:ended]

    def _report(self, report: tuple[int, bool]) -> None:
        seqno, on_core = report
        if on_core:  # the applier has one, and keeps it if there is more to do
            self._evs.goes_on = self._queued() > 0
        self.sender.report_committed(self.index, seqno)
        self._evs.goes_on = None

    # -- flow control --------------------------------------------------------------------------

    def _queued(self) -> int:
        """The length of the receive queue, without what is fetched or enqueued now."""
        self._plan()
        now = self.clock._now
        planned = self._planned
        fetched = 0
        for one in planned:
            if one[_FETCHED] > now:
                break
            fetched += 1
        enqueued = len(planned)
        for one in reversed(planned):
            if one[_ENQUEUED] < now:
                break
            enqueued -= 1
        return max(0, enqueued - fetched)

    def _look_after(self, one: _Planned) -> None:
        """A queue as long as that with this writeset may stop the cluster."""
        self._long.append(one)
        if not self._armed and not self.flow_control.stopped:
            self._armed = True
            self.clock.at(one[_ENQUEUED], self._grown, one)

    def _hear(self, message: Control) -> None:
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
            self.clock.at(one[_FETCHED], self._shrunk, one)
        elif not control.stopped:
            long = self._long
            while long and long[0][_ENQUEUED] <= now:
                long.popleft()
            if long:
                self._armed = True
                self.clock.at(long[0][_ENQUEUED], self._grown, long[0])

    def _short_again(self, now: float) -> _Planned:
        """With whom the queue becomes short enough to let the cluster go on."""
        self._plan()
        planned, lower = self._planned, self.flow_control.lower
        enqueued = fetched = 0
        for one in planned:
            fetched += 1
            if one[_FETCHED] <= now:
                continue
            # Perhaps no more comes to it, as far as is known.
            if planned[-1][_ENQUEUED] < one[_FETCHED]:
                return planned[max(fetched, len(planned) - lower) - 1]
            while planned[enqueued][_ENQUEUED] < one[_FETCHED]:
                enqueued += 1
            if enqueued - fetched <= lower:
                return one
        raise AssertionError("a queue with nothing in it has stopped the cluster")

    def _grown(self, one: _Planned) -> None:
        self._plan()
        self._armed = False
        self._evs.goes_on = self._receiver_free_s > self.clock._now
        self.flow_control.grown(one[_LENGTH])
        self._evs.goes_on = None
        self._look_out()

    def _shrunk(self, one: _Planned) -> None:
        self._armed = False
        queue = self._queued()
        self._evs.goes_on = one[_WRITTEN].verdict.passed or queue > 0
        self.flow_control.shrunk(queue)
        self._evs.goes_on = None
        self._look_out()

    # -- counts --------------------------------------------------------------------------------

    def settle(self) -> None:
        """See ``GaleraNode.settle``."""
        self._plan()
        self._forget()
        now = self.clock.now
        self.recv_queue_sum = self._lengths
        enqueued = certified = self._last
        for one in reversed(self._planned):
            if one[_ENQUEUED] < now:
                enqueued = one[_WRITTEN].verdict
                break
            self.recv_queue_sum -= one[_LENGTH]
        for one in reversed(self._planned):
            if one[_CERTIFIED] < now:
                certified = one[_WRITTEN].verdict
                break
        self.received, self.received_bytes = enqueued.seqno, enqueued.bytes_sum
        self.certifier.last = certified
        self.apply_monitor.last_left = self._last.seqno
        self.recv_queue_max = min(1, self.received)
        for record_s, length in self._records:
            if record_s < now:
                self.recv_queue_max = length
        if self._redo is not None:
            self._settle_flushes(self._redo.stage, now)
        if self._short_actions:
            thread = self._receiver_thread
            thread.seconds += [self._action_s] * (len(thread.starts) - len(thread.seconds))
        self._evs.settle()

    def _settle_flushes(self, stage: Stage[Any], now: float) -> None:
        begun = bisect_left(self._groups, now)
        stage.groups += begun
        stage.visits += begun
        self._flushing += self._groups[:begun]
        del self._groups[:begun]
        groups_s = np.array(self._flushing)
        flushed_s = groups_s + self._fsync_s
        ended = int(flushed_s.searchsorted(now))
        # One after the other, as they would have been added.
        seconds = np.append(stage.busy_s, flushed_s[:ended] - groups_s[:ended])
        stage.busy_s = float(np.add.accumulate(seconds)[-1])
        del self._flushing[:ended]

    @property
    def rows_locked(self) -> int:
        """See ``GaleraNode.rows_locked``."""
        now = self.clock.now
        locks = LockTable(self.clock)
        for _, _, certified_s, ended_s, _, writeset in self._planned:
            if certified_s < now <= ended_s and writeset.verdict.passed:
                owner = Ordered(writeset, writeset.verdict.seqno)
                for scan in writeset.scans:
                    locks.take_range(owner, scan)
                for row in writeset.locks:
                    locks.take(owner, row)
        return len(locks)
