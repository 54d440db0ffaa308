"""The threads of a replica that apply what its source has committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from simrep.modelling import Host, OrderedGate, Spin, deque

__all__ = ["Appliers", "RelayEntry", "ReplicaEngine"]

Call = Callable[[Any], object]


class RelayEntry(Protocol):
    """A transaction in the relay log, to be applied."""

    @property
    def seqno(self) -> int:
        """Its position in the order of the source: 1, 2, 3, ..."""

    @property
    def parent(self) -> int:
        """It may start when all changes up to this one, which is before it, are committed."""


class ReplicaEngine(Protocol):
    """What applies and commits a change; every callable must be called once, now or later."""

    def apply(self, change: Any, applied: Call) -> object:
        """RelayEntry the rows, then ``applied(change)``."""

    def commit(self, change: Any, queued: Call, committed: Call) -> object:
        """Commit, then ``committed(change)``; ``queued(change)`` when the next in order may."""

    def note(self, call: Call) -> object:
        """Write down how far all is committed, then ``call(None)``."""


class Appliers:
    """A coordinator that hands changes out in order, and workers that apply them side by side.

    The coordinator takes one change after the other from the relay log. It waits until what the
    change depends on is committed and a worker is free, so a change that must wait holds up those
    behind it. A worker is occupied until its change is committed, its wait for its place in the
    commit order included. With no workers, the coordinator applies everything itself.

    ``ordered``: commits keep the order of the source. ``workers_wait``: workers wait for what a
    change depends on, and not the coordinator (MariaDB's optimistic mode). ``spins``: the
    coordinator waits busily for a free worker, on a core of the host (``LOGICAL_CLOCK``).
    As a station, a visit to a worker lasts from the hand-over to the commit, its wait from the
    arrival in the relay log to the hand-over.

    References
    ----------
    sql/rpl_mta_submode.cc, Mts_submode_logical_clock::schedule_next_event and
    get_least_occupied_worker, "busy wait with yield thread control" (MySQL 8.4).
    """

    def __init__(
        self,
        host: Host,
        engine: ReplicaEngine,
        *,
        workers: int,
        ordered: bool,
        workers_wait: bool = False,
        spins: bool = False,
        schedule_s: float = 0.0,
        switch_s: float = 0.0,
        name: str = "",
    ) -> None:
        if workers < 0:
            raise ValueError(f"workers must not be negative, given {workers}")
        self._clock = host.clock
        self._host = host
        self._engine = engine
        self._coordination = host.routine(schedule_s)
        self._switch_s = switch_s
        self._single = workers == 0
        self._idle = self.servers = max(1, workers)
        self._workers_wait = workers_wait
        self._spins = spins and not self._single
        self._spin: Spin | None = None
        self._gate = self._commit_order() if ordered else None
        self._relay: deque[RelayEntry] = deque()
        self._relay_s: deque[float] = deque()  # since when they are in the relay log
        self._reading = False
        self._looks = False  # when the first in the relay log is there
        self._scheduling = False
        self._held: RelayEntry | None = None  # what the coordinator has in hand
        self._waits = False  # it has read that, and waits until it may go
        self._arrived_s = 0.0
        self._dependent: dict[int, list[RelayEntry]] = {}
        self._started_s: dict[int, float] = {}
        self._done: set[int] = set()
        self.low_water = 0  # all changes up to this one are committed
        self.name = name
        self.visits = 0
        self.busy_s = self.wait_s = self.wait_max_s = 0.0

    def _commit_order(self) -> OrderedGate:
        return OrderedGate()

    def start_after(self, position: int) -> None:
        """Begin where all changes up to a position are committed."""
        self.low_water = position
        if self._gate is not None:
            self._gate.next = position + 1

    def submit(self, change: RelayEntry) -> None:
        """The relay log has one more change."""
        self._relay.append(change)
        self._relay_s.append(self._clock._now)
        if not self._reading:
            self._reading = True
            self._arrived_s, self._held = self._relay_s.popleft(), self._relay.popleft()
            self._coordination.run(self._schedule)

    def submit_at(self, changes: list[Any], times_s: list[float]) -> None:
        """The relay log has more changes, each from its time on."""
        self._relay += changes
        self._relay_s += times_s
        if not self._reading and not self._looks:
            self._look_later()

    def _look_later(self) -> None:
        """Look again when the first in the relay log is there."""
        if not self._looks:
            self._looks = True
            self._clock.at(self._relay_s[0], self._look)

    def _look(self, _: None) -> None:
        self._looks = False
        self.look()
        if self._relay and not self._reading:
            self._look_later()

    def look(self) -> None:
        """Begin with what is in the relay log by now."""
        if not self._reading and self._relay and self._relay_s[0] <= self._clock._now:
            self._reading = True
            self._arrived_s, self._held = self._relay_s.popleft(), self._relay.popleft()
            self._coordination.run(self._schedule)

    def __len__(self) -> int:
        """How many changes wait in the relay log."""
        return len(self._relay) + (self._held is not None)

    # -- the coordinator -------------------------------------------------------------------------

    def _schedule(self, _: None = None) -> None:
        """Hand over the change at hand if it may go, and go on with the next ones."""
        if self._scheduling:  # what it handed over has ended at once: the loop below goes on
            return
        self._scheduling = True
        while (
            (held := self._held) is not None
            and self._idle > 0
            and (self._workers_wait or held.parent <= self.low_water)
        ):
            self._held = None
            self._hand_over(held)
            if (
                not self._relay
                or self._relay_s[0] > self._clock._now
                or (self._single and not self._idle)
            ):
                break
            self._arrived_s, self._held = self._relay_s.popleft(), self._relay.popleft()
            if self._coordination.seconds:
                self._scheduling = False
                self._coordination.go_on(self._schedule)
                return
            self._coordination.cost()
        self._scheduling = False
        self._waits = self._held is not None
        self._reading = self._waits or (self._single and not self._idle)
        if self._held is not None:
            self._wait_busily(self._held)
        elif self._relay and not self._reading:
            self._look_later()

    def _may_go(self, change: RelayEntry) -> bool:
        return self._idle > 0 and (self._workers_wait or change.parent <= self.low_water)

    def _wait_busily(self, change: RelayEntry) -> None:
        """Of the two waits of the coordinator, the second, that for a worker, is busy."""
        if self._spins and self._spin is None and change.parent <= self.low_water:
            self._spin = self._host.spin()

    def _count_begun(self, change: RelayEntry) -> None:
        """A worker takes it up now."""
        now = self._clock._now
        wait = now - self._arrived_s
        self.visits += 1
        self.wait_s += wait
        if wait > self.wait_max_s:
            self.wait_max_s = wait
        self._started_s[change.seqno] = now
        self._idle -= 1

    def _hand_over(self, change: RelayEntry) -> None:
        self._count_begun(change)
        if self._single:
            self._start(change)
        else:
            self._host.run(self._switch_s, self._start, change)

    # -- the workers -----------------------------------------------------------------------------

    def _start(self, change: RelayEntry) -> None:
        if change.parent <= self.low_water:
            self._engine.apply(change, self._applied)
        else:
            self._dependent.setdefault(change.parent, []).append(change)

    def _applied(self, change: RelayEntry) -> None:
        gate = self._gate
        if gate is None:
            self._commit(change)
        elif gate.next == change.seqno:
            gate.enter(change.seqno, self._commit, change)
        else:  # it sleeps until the worker before it wakes it
            self._waits_to_commit(change)

    def _waits_to_commit(self, change: RelayEntry) -> None:
        assert self._gate is not None
        self._gate.enter(change.seqno, self._wake_to_commit, change)

    def _wake_to_commit(self, change: RelayEntry) -> None:
        self._host.run(self._switch_s, self._commit, change)

    def _commit(self, change: RelayEntry) -> None:
        self._engine.commit(change, self._queued, self._committed)

    def _queued(self, _: RelayEntry) -> None:
        if self._gate is not None:
            self._gate.leave()

    def _committed(self, change: RelayEntry) -> None:
        seqno = change.seqno
        self.busy_s += self._clock._now - self._started_s.pop(seqno)
        self._free_for_more(seqno)

    def _free_for_more(self, seqno: int) -> None:
        """A worker has committed a change, and may take the next."""
        self._idle += 1
        if seqno == self.low_water + 1 and not self._done and not self._dependent:
            self.low_water = seqno
        else:
            self._advance(seqno)
        if self._single:
            self._go_on_reading()
        elif self._waits and self._held is not None and self._may_go(self._held):
            self._waits = False  # woken once, however many commit before it runs
            spin, self._spin = self._spin, None
            if spin is None:
                self._host.run(self._switch_s, self._schedule)
            else:
                self._host.stop(spin, self._schedule)

    def _go_on_reading(self) -> None:
        """The single thread has committed a change, and takes the next."""
        if self._scheduling:
            return
        self._reading = False
        if self._relay and self._relay_s[0] > self._clock._now:
            self._look_later()
        elif self._relay:
            self._reading = True
            self._arrived_s, self._held = self._relay_s.popleft(), self._relay.popleft()
            self._coordination.go_on(self._schedule)

    def _advance(self, seqno: int) -> None:
        """Move the low-water mark; start what has waited for it."""
        done = self._done
        done.add(seqno)
        while (following := self.low_water + 1) in done:
            done.discard(following)
            self.low_water = following
            for change in self._dependent.pop(following, ()):
                self._host.run(self._switch_s, self._work_on, change)

    def _work_on(self, change: RelayEntry) -> None:
        self._engine.apply(change, self._applied)
