"""Appliers that are given one event after the other, on cores with a queue each."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.models.mysql.event_appliers import EventAppliers
from simrep.server.core_host import CoreHost

US = 1e-6


class Change(NamedTuple):
    seqno: int
    parent: int = 0


class Replica:
    """Applies and commits in a fixed time on a machine with a queue for each core."""

    def __init__(self, *, cores: int, workers: int, spins: bool = True) -> None:
        self.clock = Clock()
        self.machine = CoreHost(
            self.clock, cores, streams=Streams(1), name="m", slice_s=1.4e-3, newidle_s=0.0
        )
        self.host = self.machine.program()
        self.host.tell_threads()
        self.committed: dict[int, float] = {}
        self.checkpoints: list[tuple[float, int]] = []
        self.appliers = EventAppliers(
            self.host, self, workers=workers, ordered=True, spins=spins, schedule_s=20 * US,
            switch_s=10 * US, checkpoints=True,
        )  # fmt: skip

    def follow(self, first: int, last: int) -> None:
        """All changes from the first to the last are in the relay log at once."""
        for seqno in range(first, last + 1):
            self.appliers.submit(Change(seqno))
        self.clock.run()

    def apply(self, change: Any, applied: Any) -> None:
        self.host.go_on(30 * US, applied, change)

    def note(self, call: Any) -> None:
        self.checkpoints.append((self.clock.now, self.appliers.low_water))
        sleeper = self.host.doze()  # until its disk has it
        self.clock.at(self.clock.now + 1e-3, lambda _: self.host.rouse(sleeper, 10 * US, call))

    def commit(self, change: Any, queued: Any, committed: Any) -> None:
        def end(change: Any) -> None:
            self.committed[change.seqno] = self.clock.now
            queued(change)
            committed(change)

        self.host.go_on(20 * US, end, change)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("spins", [False, True])
def test_all_is_committed_in_order(workers: int, cores: int, spins: bool) -> None:
    replica = Replica(cores=cores, workers=workers, spins=spins)
    for seqno in range(1, 41):
        at_s = seqno * 37 * US
        replica.clock.at(at_s, replica.appliers.submit, Change(seqno, max(0, seqno - 5)))
    replica.clock.run()
    assert list(replica.committed) == list(range(1, 41))
    assert replica.appliers.low_water == 40
    assert len(replica.appliers) == 0


def test_a_worker_on_the_core_of_its_coordinator_takes_turns_with_it() -> None:
    """It wakes for the first events, the rows and the commit, and each time for the lock."""
    replica = Replica(cores=1, workers=1)
    replica.follow(1, 10)
    assert len(replica.committed) == 10
    # All but the first are handed over by a coordinator that has waited busily. It sleeps once.
    assert replica.machine.visits >= 9 * 6


def test_who_is_handed_a_change_on_another_core_has_all_of_it_soon() -> None:
    replica = Replica(cores=2, workers=1, spins=False)
    for number in range(10):
        at_s = number * 1e-3
        replica.clock.at(at_s, replica.appliers.submit, Change(number + 1))
    replica.clock.run()
    assert len(replica.committed) == 10
    # The coordinator wakes, the worker does, and waits for further events at most three times.
    assert replica.machine.visits <= 10 * 6


def test_the_coordinator_makes_a_checkpoint_from_time_to_time() -> None:
    """Each 300 ms, and hands over nothing meanwhile."""
    replica = Replica(cores=2, workers=4)
    for seqno in range(1, 1001):
        replica.clock.at(seqno * 1e-3, replica.appliers.submit, Change(seqno))
    replica.clock.run()
    times_s = [at_s for at_s, _ in replica.checkpoints]
    assert times_s == pytest.approx([0.3, 0.602, 0.904], abs=2e-3)
    assert [noted for _, noted in replica.checkpoints] == pytest.approx([299, 601, 903], abs=2)
    for at_s in times_s:
        assert not [one_s for one_s in replica.committed.values() if at_s < one_s < at_s + 1e-3]
    assert len(replica.committed) == 1000


def test_a_checkpoint_comes_after_512_changes_at_the_latest() -> None:
    replica = Replica(cores=2, workers=4)
    replica.follow(1, 1300)
    assert max(replica.committed.values()) < 0.3
    assert [noted for _, noted in replica.checkpoints] == pytest.approx([510, 1020], abs=8)


def test_an_idle_coordinator_makes_its_checkpoint_when_it_has_the_next_change() -> None:
    replica = Replica(cores=2, workers=1)
    for number in range(4):
        replica.clock.at(number * 1.0, replica.appliers.submit, Change(number + 1))
    replica.clock.run()
    assert [noted for _, noted in replica.checkpoints] == [1, 2, 3]


def test_what_was_committed_before_needs_no_checkpoint() -> None:
    replica = Replica(cores=2, workers=1)
    replica.appliers.start_after(1000)
    replica.follow(1001, 1100)
    assert len(replica.committed) == 100
    assert replica.checkpoints == []
