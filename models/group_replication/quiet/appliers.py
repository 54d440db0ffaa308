"""The coordinator of a quiet member and its workers: see ``Appliers`` and ``Channel``."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from simrep.models.mysql.channel import Channel

from .change import Change
from .commit import CommitQueue
from .machine import Job, Machine, Spin

__all__ = ["Applied", "QuietAppliers"]

_STARTS: Final = 0
_APPLIES: Final = 1
_COMMITS: Final = 2


class Applied(Change):
    """A transaction, and the worker that has it."""

    __slots__ = ("appliers", "step")

    def __init__(
        self,
        appliers: QuietAppliers,
        seqno: int,
        parent: int,
        size_bytes: int,
        rows: int,
        ordered_s: float,
    ) -> None:
        super().__init__(seqno, parent, size_bytes, rows, ordered_s)
        self.appliers = appliers
        self.step = _STARTS

    def done(self) -> None:
        """See ``Job.done``."""
        appliers = self.appliers
        if self.step == _STARTS:
            self.step = _APPLIES
            appliers.machine.go_on(self, appliers.apply_s + appliers.row_s * self.rows)
        elif self.step == _APPLIES:
            self.step = _COMMITS
            if appliers.turn == self.seqno:
                appliers.commit(self)
            else:  # it sleeps until the worker before it wakes it
                appliers.ready[self.seqno] = self
        else:
            appliers.commit(self)


class QuietAppliers(Job):
    """The coordinator. Commits keep the order; what the workers change are different rows.

    Parameters
    ----------
    machine : Machine
    channel : Channel
        Whose figures are kept.
    workers : int
    schedule_s, switch_s, apply_s, row_s : float
        Seconds on the processor: see ``ApplierCosts``.
    spins : bool
        Whether it waits busily for a free worker.
    """

    def __init__(
        self,
        machine: Machine,
        channel: Channel,
        queue: CommitQueue,
        workers: int,
        schedule_s: float,
        switch_s: float,
        apply_s: float,
        row_s: float,
        *,
        spins: bool,
    ) -> None:
        super().__init__()
        self.machine = machine
        self.channel = channel
        self.apply_s = apply_s
        self.row_s = row_s
        self.applied_bytes = 0
        self.turn = 1  # who may commit next
        self.ready: dict[int, Applied] = {}
        self._figures: Any = next(iter(channel.stations()))
        self._queue = queue
        self._schedule_s = schedule_s
        self._switch_s = switch_s
        self._single = workers == 0
        self._spins = spins and workers > 0
        self._spin: Spin | None = None
        self._idle = max(1, workers)
        self._relay: deque[Applied] = deque()
        self._reading = False
        self._waits = False
        self._held: Applied | None = None
        self._committed: set[int] = set()  # above the low-water mark
        self._low_water = 0

    def __len__(self) -> int:
        """How many transactions wait in the relay log."""
        return len(self._relay) + (self._held is not None)

    def submit(self, change: Applied) -> None:
        """The relay log has one more transaction."""
        change.received_s = self.machine.now
        if self._reading:
            self._relay.append(change)
        else:
            self._reading = True
            self._held = change
            self.machine.run(self, self._schedule_s)

    def done(self) -> None:
        """The coordinator has read a transaction, or was woken: hand it over if it may go."""
        held = self._held
        if held is not None and self._idle > 0 and held.parent <= self._low_water:
            self._held = None
            self._hand_over(held)
            if self._relay and not (self._single and not self._idle):
                self._held = self._relay.popleft()
                self.machine.go_on(self, self._schedule_s)
                return
        self._waits = self._held is not None
        self._reading = self._waits or (self._single and not self._idle)
        # Of its two waits the second, that for a worker, is busy.
        if (
            self._spins
            and self._spin is None
            and held is not None
            and self._held is held
            and held.parent <= self._low_water
        ):
            self._spin = self.machine.spin()

    def _hand_over(self, change: Applied) -> None:
        machine, figures = self.machine, self._figures
        now = machine.now
        wait = now - change.received_s
        figures.visits += 1
        figures.wait_s += wait
        if wait > figures.wait_max_s:
            figures.wait_max_s = wait
        change.started_s = now
        self._idle -= 1
        if self._single:
            change.done()
        elif machine.run_both(change, self._switch_s, self.apply_s + self.row_s * change.rows):
            change.step = _APPLIES
        else:
            machine.run(change, self._switch_s)

    def commit(self, change: Applied) -> None:
        """It is in the queue of the binary log: the next one may follow."""
        self._queue.join(change)
        self.turn = turn = self.turn + 1
        following = self.ready.pop(turn, None)
        if following is not None:
            self.machine.run(following, self._switch_s)

    def committed(self, change: Change) -> None:
        """Its worker has committed it, and looks for more."""
        seqno = change.seqno
        self._figures.busy_s += self.machine.now - change.started_s
        self._idle += 1
        if seqno == self._low_water + 1 and not self._committed:
            self._low_water = seqno
        else:
            committed = self._committed
            committed.add(seqno)
            while (following := self._low_water + 1) in committed:
                committed.discard(following)
                self._low_water = following
        if self._single:
            self._reading = False
            if self._relay:
                self._reading = True
                self._held = self._relay.popleft()
                self.machine.go_on(self, self._schedule_s)
        elif self._waits:
            held = self._held
            if held is not None and held.parent <= self._low_water:
                self._waits = False
                spin, self._spin = self._spin, None
                if spin is None:
                    self.machine.run(self, self._switch_s)
                else:
                    self.machine.stop(spin, self)
        self.applied_bytes += change.size_bytes
