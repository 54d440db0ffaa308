"""Appliers where the order of threads on the cores matters: changes are handed over by event."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, Final

from simrep.models.mysql.appliers import Appliers, RelayEntry

__all__ = ["EventAppliers"]

_EVENTS: Final = 5  # GTID, BEGIN, the table, its rows, and the commit
_TOGETHER: Final = 3  # the first ones wait for each other (curr_group_da)
_GIFTS: Final = _EVENTS - _TOGETHER + 1
_LOCKED: Final = 0.25  # of what the coordinator does for an event, the part under the lock
_CHECKPOINT_S: Final = 0.3  # replica_checkpoint_period
_CHECKPOINT_CHANGES: Final = 512  # replica_checkpoint_group


class _Worker:
    """A worker, its queue, and what it waits for."""

    __slots__ = ("change", "number", "queued", "sleeper", "taken", "waits")

    def __init__(self, number: int) -> None:
        self.number = number
        self.change: Any = None
        self.queued = 0  # events of its change that it has been given
        self.taken = 0  # and that it has begun with
        self.waits = True  # for an event, or for the lock of its queue
        self.sleeper: Any = None

    def __lt__(self, other: _Worker) -> bool:
        return self.number < other.number


class EventAppliers(Appliers):
    """The coordinator puts one event after the other into a worker's queue, and wakes the worker.

    Of the workers that are free the first gets a change. It is woken by the first event, and again
    whenever it has done all that is in its queue. On the core of the coordinator it preempts it,
    finds the lock of its queue taken, and sleeps until it is released. So worker and coordinator
    take turns several times for one change: each time the program is weighed anew. Each of them
    wakes where it fell asleep.

    The first events (GTID, BEGIN, the table) wait for each other, so that a change is handed over
    in three parts. Simplified: however many events it has; the first three cost a worker as much as
    they cost the coordinator.

    With ``checkpoints`` the coordinator writes down from time to time how far all is committed, and
    waits until that is on the disk (not in a group: its channels have ``GTID_ONLY``). So it sleeps,
    and its core looks for other threads. Without that a coordinator that waits busily could keep a
    core for seconds. Simplified: an idle coordinator makes its checkpoint when it has read the next
    change; the two options (``replica_checkpoint_period``, ``replica_checkpoint_group``) have their
    defaults; where threads are not told apart there are no checkpoints, which would take less than
    a thousandth of the coordinator's time.

    Notes
    -----
    With MySQL 9.7, four clients and semi-synchronous replication on two cores, workers slept 2.2
    times per change for want of an event and 1.7 times for the lock (a trace of futex calls); with
    an fsync in every commit 1.3 and 0.7 times; in a group with eight clients 1.8 and 1.1 times.

    References
    ----------
    sql/rpl_rli_pdb.cc of MySQL 9, append_item_to_jobs (which signals under ``jobs_lock``) and
    pop_jobs_item; sql/rpl_replica.cc, apply_event_and_update_pos (``curr_group_da``),
    mta_checkpoint_routine; sql/rpl_mta_submode.cc, get_free_worker.
    """

    def __init__(self, *args: Any, checkpoints: bool, **how: Any) -> None:
        super().__init__(*args, **how)
        self._checkpoints = checkpoints
        self._free = [_Worker(number) for number in range(self.servers)]  # a heap
        self._given: dict[int, _Worker] = {}  # by the position of the change
        self._locked: _Worker | None = None
        self._event_s = 0.0  # what the coordinator does for an event of the change at hand
        self._sleeper: Any = None
        self._noted = 0  # how far all was committed at the last checkpoint
        self._noted_s = 0.0  # when that was

    def start_after(self, position: int) -> None:
        """See ``Appliers.start_after``."""
        super().start_after(position)
        self._noted = position

    # -- the coordinator -------------------------------------------------------------------------

    def _read(self) -> float:
        """It takes the next change from the relay log; what its first event costs."""
        self._arrived_s, self._held = self._relay_s.popleft(), self._relay.popleft()
        self._event_s = self._coordination.cost() / _EVENTS
        return self._event_s * (_TOGETHER - _LOCKED)

    def submit(self, change: RelayEntry) -> None:
        """See ``Appliers.submit``."""
        self._relay.append(change)
        self._relay_s.append(self._clock._now)
        if not self._reading:
            self._reading = True
            self._host.rouse(self._sleeper, self._read(), self._schedule)

    def _schedule(self, _: None = None) -> None:
        """Begin to hand over the change at hand if it may go."""
        held = self._held
        if held is None:
            return
        if self._checkpoints and self.low_water > self._noted and self._is_time(held):
            self._noted = self.low_water
            self._engine.note(self._checkpoint_ended)
        elif self._may_go(held):
            self._held = None
            self._hand_over(held)
        else:
            self._waits = True
            self._wait_busily(held)
            if self._spin is None:
                self._sleeper = self._host.doze()

    def _is_time(self, held: RelayEntry) -> bool:
        """Whether the coordinator makes a checkpoint first (``mta_checkpoint_routine``)."""
        return (
            self._clock._now - self._noted_s >= _CHECKPOINT_S
            or held.seqno - 1 - self._noted >= _CHECKPOINT_CHANGES
        )

    def _checkpoint_ended(self, _: None) -> None:
        self._noted_s = self._clock._now
        self._schedule()

    def _hand_over(self, change: RelayEntry) -> None:
        self._count_begun(change)
        worker = heappop(self._free)
        worker.change = change
        worker.queued = worker.taken = 0
        self._given[change.seqno] = worker
        self._enqueue(worker)

    def _enqueue(self, worker: _Worker) -> None:
        """An event is in the queue of a worker, whose lock the coordinator still has."""
        worker.queued += 1
        self._locked = worker
        if worker.waits:
            self._wake(worker)
        self._host.go_on(self._event_s * _LOCKED, self._unlock, worker)

    def _unlock(self, worker: _Worker) -> None:
        self._locked = None
        if worker.waits and worker.queued > worker.taken:
            self._wake(worker)
        if worker.queued < _GIFTS:
            self._host.go_on(self._event_s * (1.0 - _LOCKED), self._enqueue, worker)
        elif self._relay:
            self._host.go_on(self._read(), self._schedule)
        else:
            self._reading = False
            self._sleeper = self._host.doze()

    # -- the workers -----------------------------------------------------------------------------

    def _wake(self, worker: _Worker) -> None:
        worker.waits = False
        first = worker.taken == 0
        self._host.rouse(
            worker.sleeper, self._switch_s if first else self._event_s, self._take, worker
        )

    def _take(self, worker: _Worker) -> None:
        """It looks for the next event in its queue."""
        if self._locked is worker or worker.taken == worker.queued:
            worker.waits = True
            worker.sleeper = self._host.doze()
            return
        worker.taken += 1
        if worker.taken == _GIFTS:
            super()._applied(worker.change)
        elif worker.taken == _GIFTS - 1:
            self._start(worker.change)
        else:
            self._host.go_on(self._event_s * _TOGETHER, self._take, worker)

    def _applied(self, change: RelayEntry) -> None:
        self._take(self._given[change.seqno])

    def _waits_to_commit(self, change: RelayEntry) -> None:
        self._given[change.seqno].sleeper = self._host.doze()
        super()._waits_to_commit(change)

    def _wake_to_commit(self, change: RelayEntry) -> None:
        sleeper = self._given[change.seqno].sleeper
        self._host.rouse(sleeper, self._switch_s, self._commit, change)

    def _committed(self, change: RelayEntry) -> None:
        worker = self._given.pop(change.seqno)
        worker.change = None
        worker.waits = True
        worker.sleeper = self._host.doze()
        heappush(self._free, worker)
        super()._committed(change)

    def _free_for_more(self, seqno: int) -> None:
        """See ``Appliers._free_for_more``."""
        self._idle += 1
        if seqno == self.low_water + 1 and not self._done:
            self.low_water = seqno
        else:
            self._advance(seqno)
        if self._waits and self._held is not None and self._may_go(self._held):
            self._waits = False
            spin, self._spin = self._spin, None
            if spin is None:
                self._host.rouse(self._sleeper, self._switch_s, self._schedule)
            else:
                self._host.stop(spin, self._schedule)
