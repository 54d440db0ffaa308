"""A Galera node without clients: what it does with the ordered stream is computed ahead."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, repeat
from operator import itemgetter
from typing import Any, Final

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
# When a writeset is enqueued, fetched, certified, and has ended, in simulated seconds.
_Planned = tuple[float, float, float, float, Writeset]
_ENQUEUED: Final = itemgetter(0)
_FETCHED: Final = itemgetter(1)
_ENDED: Final = itemgetter(3)
_MOST: Final = 1024  # writesets that are remembered, if they have ended


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
        self._run = verdicts.last  # that was delivered last
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
        self._slices = verdicts.costs(
            (self._application_s, self._row_s, self._key_s, self._few_keys, self._longest_s)
        )
        # When the receiver thread and the applier are free; whether what the applier then goes on
        # with is a new visit to a core.
        self._receiver_began_s = self._receiver_free_s = self._applier_free_s = -1.0
        self._wakes = True
        self._planned: list[_Planned] = []
        self._counted = 0  # of those, whose queue is counted
        self._most = _MOST
        # Of what was enqueued last, and of what has ended last, as far as was looked.
        self._enqueued = self._last = UNDECIDED
        self._armed = False  # to look after flow control
        self._shrinks: _Planned | None = None  # with whom the queue may become short again
        self._groups: list[float] = []  # when the redo log begins to flush
        self._flushing: list[float] = []
        self._evs.on_settle(self.settle)

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
        planned, groups, applier = self._planned, self._groups, self._applier_thread
        if len(planned) > self._most:
            self._count()
            self._most = max(_MOST, 2 * len(planned))
        visits, starts, seconds = applier.visits, applier.starts, applier.seconds
        certification_s, commitment_s = self._certification_s, self._commitment_s
        flushes, fsync_s = self._redo is not None, self._fsync_s
        free_s, wakes = self._applier_free_s, self._wakes
        upper = self.flow_control.upper
        near = self._room < 0 and self._may_stop
        for delivery in self._delivered:
            run = delivery[2]
            urgent, works_s, enqueues_s = run.urgent, self._works(run), self._receives(delivery)
            # Of the same length; with a keyword, a compiled loop would ask Python for each of them.
            for message, work_s, enqueued_s in zip(run.payloads, works_s, enqueues_s):  # noqa: B905
                if work_s < 0.0:
                    self._applier_free_s, self._wakes = free_s, wakes
                    self._plan_apart(message, enqueued_s)
                    free_s, wakes = self._applier_free_s, self._wakes
                    continue
                if free_s < enqueued_s:  # the applier waits for it
                    start_s = enqueued_s
                    visits.append(start_s)
                else:
                    start_s = free_s
                    if wakes:
                        visits.append(start_s)
                fetched_s = start_s + certification_s
                written_s = fetched_s + work_s
                free_s = written_s + commitment_s
                starts += (start_s, fetched_s, written_s)
                seconds += (certification_s, work_s, commitment_s)
                if flushes:
                    groups.append(free_s)
                    free_s += fsync_s
                wakes = flushes
                planned.append((enqueued_s, fetched_s, fetched_s, free_s, message))
                if urgent:
                    self._answer(message, free_s, wakes=wakes)
                if near and len(planned) > upper and planned[~upper][1] >= enqueued_s:
                    near = not self._stop_later(len(planned) - 1)
        self._delivered.clear()
        self._applier_free_s, self._wakes = free_s, wakes
        self._make_room()

    def _plan_apart(self, message: Any, enqueued_s: float) -> None:
        """What is no writeset, and writesets that take long or fail."""
        if message.kind != _WRITESET:
            if message.kind not in _UNANSWERED:
                self.clock.at(enqueued_s, self._hear, message)
            return
        writeset: Writeset = message
        thread, start_s = self._applier_thread, self._applier_free_s
        if start_s < enqueued_s:
            start_s = enqueued_s
            thread.visits.append(start_s)
        elif self._wakes:
            thread.visits.append(start_s)
        keys, passed = writeset.key_count, writeset.verdict.passed
        more_s = self._row_s * writeset.rows
        fetched_s = certified_s = end_s = thread.book(start_s, self._certification_s)
        if keys > self._few_keys:
            certified_s = end_s = thread.book(fetched_s, self._keys_s(keys))
        else:
            more_s += self._key_s * keys
        if passed:
            written_s = thread.book(certified_s, self._application_s + more_s)
            end_s = thread.book(written_s, self._commitment_s)
        self._wakes = passed and self._redo is not None
        if self._wakes:
            self._groups.append(end_s)
            end_s += self._fsync_s
        self._applier_free_s = end_s
        self._planned.append((enqueued_s, fetched_s, certified_s, end_s, writeset))
        self._answer(writeset, end_s, wakes=self._wakes)
        if self._may_stop:
            self._stop_later(len(self._planned) - 1)

    def _answer(self, writeset: Writeset, ended_s: float, *, wakes: bool) -> None:
        """Report when the writeset has ended, if that is due."""
        if writeset.verdict.reported:
            self.clock.at(ended_s, self._report, (writeset.verdict.seqno, not wakes))

    def _works(self, run: Run) -> list[float]:
        """How long the rows of each message take that goes the usual way; else -1."""
        works = run.works.get(self._slices)
        if works is not None:
            return works
        application_s, row_s, key_s = self._application_s, self._row_s, self._key_s
        few_keys, longest_s = self._few_keys, self._longest_s
        works = []
        for message in run.payloads:
            work_s = -1.0
            if (
                isinstance(message, Writeset)
                and message.key_count <= few_keys
                and message.verdict.passed
            ):
                work_s = application_s + (row_s * message.rows + key_s * message.key_count)
                if work_s > longest_s:
                    work_s = -1.0
            works.append(work_s)
        run.works[self._slices] = works
        return works

    def _length(self, place: int) -> int:
        """The length of the receive queue with the planned writeset at ``place`` as the last."""
        planned = self._planned
        fetched = bisect_right if self._fetch_first else bisect_left
        return place + 1 - fetched(planned, planned[place][0], key=_FETCHED)

    def _make_room(self) -> None:
        """So many more writesets may be put off."""
        self._room = _MOST
        if self._may_stop:
            queue = self._length(len(self._planned) - 1) if self._planned else 0
            self._room = self.flow_control.upper - queue

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

    def _report(self, report: tuple[int, bool]) -> None:
        seqno, on_core = report
        shrinks = self._shrinks
        if shrinks is not None and shrinks[4].verdict.seqno == seqno and shrinks[1] == shrinks[3]:
            self._shrunk(shrinks)  # it has failed as soon as it was fetched, but not before
        if on_core:  # the applier has one, and keeps it if there is more to do
            self._evs.goes_on = self._queued() > 0
        self.sender.report_committed(self.index, seqno)
        self._evs.goes_on = None

    # -- flow control --------------------------------------------------------------------------

    def _queued(self) -> int:
        """The length of the receive queue, without what is fetched or enqueued now."""
        self._plan()
        now, planned = self.clock._now, self._planned
        enqueued = bisect_left(planned, now, key=_ENQUEUED)
        return max(0, enqueued - bisect_right(planned, now, key=_FETCHED))

    @property
    def _may_stop(self) -> bool:
        """Whether the next long queue stops the cluster, and nobody yet looks after that."""
        return not (self._armed or self.flow_control.stopped)

    def _stop_later(self, place: int) -> bool:
        """Be there when the planned writeset at ``place`` is enqueued, if the queue is too long."""
        length = self._length(place)
        if length <= self.flow_control.upper:
            return False
        self._armed = True
        self.clock.at(self._planned[place][0], self._grown, length)
        return True

    def _hear(self, message: Control) -> None:
        self.flow_control.deliver(message)
        self._look_out()

    def _look_out(self) -> None:
        """Be there when the receive queue may next stop the cluster, or let it go on.

        As far as that is known: more writesets may be delivered before.
        """
        self._plan()
        if self._armed:
            return
        now, planned = self.clock._now, self._planned
        if self.flow_control.stopping:
            self._armed = True
            self._shrinks = one = self._short_again(now)
            self.clock.at(one[1], self._shrunk, one)
        elif not self.flow_control.stopped:
            for place in range(bisect_right(planned, now, key=_ENQUEUED), len(planned)):
                if self._stop_later(place):
                    break
        self._make_room()

    def _short_again(self, now: float) -> _Planned:
        """With whom the queue becomes short enough to let the cluster go on."""
        planned, lower = self._planned, self.flow_control.lower
        last_s = planned[-1][0]
        enqueued = first = bisect_right(planned, now, key=_FETCHED)
        for place in range(first, len(planned)):
            fetched_s = planned[place][1]
            if last_s < fetched_s:  # no more comes to it, as far as is known
                return planned[max(place, len(planned) - lower - 1)]
            while planned[enqueued][0] < fetched_s:
                enqueued += 1
            if enqueued - place - 1 <= lower:
                return planned[place]
        raise AssertionError("a queue with nothing in it has stopped the cluster")

    def _grown(self, length: int) -> None:
        self._plan()
        self._armed = False
        self._evs.goes_on = self._receiver_free_s > self.clock._now
        self.flow_control.grown(length)
        self._evs.goes_on = None
        self._look_out()

    def _shrunk(self, one: _Planned) -> None:
        shrinks = self._shrinks
        if shrinks is None or one[4] is not shrinks[4]:
            return
        self._shrinks = None
        self._armed = False
        queue = self._queued()
        self._evs.goes_on = one[4].verdict.passed or queue > 0
        self.flow_control.shrunk(queue)
        self._evs.goes_on = None
        self._look_out()

    # -- counts --------------------------------------------------------------------------------

    def settle(self) -> None:
        """See ``GaleraNode.settle``."""
        self._plan()
        self._count()
        now = self.clock.now
        self.received, self.received_bytes = self._enqueued.seqno, self._enqueued.bytes_sum
        self.apply_monitor.last_left = self._last.seqno
        self._shared.last = self._last
        for one in reversed(self._planned):
            if one[2] < now:
                self._shared.last = one[4].verdict
                break
        if self._redo is not None:
            self._settle_flushes(self._redo.stage, now)
        if self._short_actions:
            thread = self._receiver_thread
            thread.seconds += [self._action_s] * (len(thread.starts) - len(thread.seconds))
        self._evs.settle()

    def _count(self) -> None:
        """Count the queues of what was enqueued until now, and forget what has ended."""
        planned, first = self._planned, self._counted
        # What is still to be planned may have been enqueued before others were fetched.
        now = self._delivered[0][0] if self._delivered else self.clock._now
        until = bisect_left(planned, now, key=_ENQUEUED)
        if until > first:
            self._enqueued = planned[until - 1][4].verdict
            enqueued_s = list(map(_ENQUEUED, planned))[first:until]
            fetched_s = list(map(_FETCHED, planned))
            place = bisect_right if self._fetch_first else bisect_left
            lengths = [
                position - place(fetched_s, enqueued)
                for position, enqueued in enumerate(enqueued_s, first + 1)
            ]
            self.recv_queue_sum += sum(lengths)
            self.recv_queue_max = max(self.recv_queue_max, *lengths)
        ended = bisect_left(planned, now, key=_ENDED)
        if ended:
            self._last = planned[ended - 1][4].verdict
            del planned[:ended]
        self._counted = until - ended

    def _settle_flushes(self, stage: Stage[Any], now: float) -> None:
        begun = bisect_left(self._groups, now)
        stage.groups += begun
        stage.visits += begun
        self._flushing += self._groups[:begun]
        del self._groups[:begun]
        ended = 0
        for group_s in self._flushing:
            flushed_s = group_s + self._fsync_s
            if flushed_s >= now:
                break
            stage.busy_s += flushed_s - group_s
            ended += 1
        del self._flushing[:ended]

    @property
    def rows_locked(self) -> int:
        """See ``GaleraNode.rows_locked``."""
        now = self.clock.now
        locks = LockTable(self.clock)
        for _, _, certified_s, ended_s, writeset in self._planned:
            if certified_s < now <= ended_s and writeset.verdict.passed:
                owner = Ordered(writeset, writeset.verdict.seqno)
                for scan in writeset.scans:
                    locks.take_range(owner, scan)
                for row in writeset.locks:
                    locks.take(owner, row)
        return len(locks)
