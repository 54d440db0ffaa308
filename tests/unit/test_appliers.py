"""Appliers: who waits for whom, and what a change that waits holds up."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from simrep.kernel.clock import Clock
from simrep.models.mysql.appliers import Appliers
from simrep.models.mysql.optimistic_appliers import OptimisticAppliers
from simrep.server.host import Host


class Change(NamedTuple):
    seqno: int
    parent: int = 0
    seconds: float = 1.0


class Replica:
    """Applies for as long as a change says, and commits in a fixed time."""

    def __init__(self, *, commit_s: float = 0.0, cores: int = 64, **how: Any) -> None:
        self.clock = Clock()
        self.commit_s = commit_s
        self.started: dict[int, float] = {}
        self.committed: dict[int, float] = {}
        how.setdefault("ordered", False)
        self.host = Host(self.clock, cores)
        self.appliers = Appliers(self.host, self, **how)

    def apply(self, change, applied):
        self.started[change.seqno] = self.clock.now
        self.clock.at(self.clock.now + change.seconds, applied, change)

    def commit(self, change, queued, committed):
        def end(change):
            self.committed[change.seqno] = self.clock.now
            committed(change)

        self.clock.at(self.clock.now + self.commit_s, end, change)
        queued(change)

    def run(self, *changes: Change) -> Replica:
        for change in changes:
            self.appliers.submit(change)
        self.clock.run()
        return self


def independent(number: int) -> list[Change]:
    return [Change(seqno) for seqno in range(1, number + 1)]


@pytest.mark.parametrize(("workers", "rounds"), [(0, 6), (1, 6), (2, 3), (3, 2), (6, 1), (9, 1)])
def test_as_many_at_a_time_as_there_are_workers(workers, rounds):
    replica = Replica(workers=workers).run(*independent(6))
    assert replica.clock.now == rounds
    assert len(replica.committed) == replica.appliers.low_water == 6


@pytest.mark.parametrize("spins", [False, True])
@pytest.mark.parametrize("seconds", [0.5, 2.5])
def test_the_coordinator_reads_one_change_after_the_other(spins, seconds):
    # What is committed while it reads does not make it faster.
    changes = [Change(number, 0, seconds) for number in range(1, 5)]
    replica = Replica(workers=4, schedule_s=1.0, spins=spins).run(*changes)
    assert replica.started == pytest.approx({1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0})


def test_a_coordinator_that_waits_is_woken_once():
    # At 4.0 both workers become free while it waits; it reads 4 only when it has handed over 3.
    replica = Replica(workers=2, schedule_s=1.0).run(
        Change(1, 0, 3.0), Change(2, 0, 2.0), Change(3), Change(4)
    )
    assert replica.started == pytest.approx({1: 1.0, 2: 2.0, 3: 4.0, 4: 5.0})


def test_a_change_starts_when_all_up_to_its_parent_are_committed():
    replica = Replica(workers=8).run(
        Change(1, 0, 3.0), Change(2, 0, 1.0), Change(3, 2, 1.0), Change(4, 3, 1.0)
    )
    assert replica.started == {1: 0.0, 2: 0.0, 3: 3.0, 4: 4.0}


def test_a_change_that_waits_holds_up_those_behind_it_unless_workers_wait():
    changes = [Change(1), Change(2, 1), Change(3, 0)]
    assert Replica(workers=8).run(*changes).started[3] == 1.0
    waiting = Replica(workers=8, workers_wait=True).run(*changes)
    assert waiting.started == {1: 0.0, 2: 1.0, 3: 0.0}


def test_a_worker_that_waits_is_occupied():
    changes = [Change(1), Change(2, 1), Change(3, 0)]
    assert Replica(workers=2, workers_wait=True).run(*changes).started[3] == 1.0


def test_commits_keep_the_order_only_if_asked_to():
    changes = [Change(1, 0, 3.0), Change(2, 0, 1.0), Change(3, 0, 2.0)]
    assert list(Replica(workers=3).run(*changes).committed) == [2, 3, 1]
    ordered = Replica(workers=3, ordered=True).run(*changes)
    assert list(ordered.committed) == [1, 2, 3]
    assert ordered.clock.now == 3.0


def test_waiting_for_the_commit_order_occupies_a_worker():
    replica = Replica(workers=2, ordered=True).run(
        Change(1, 0, 3.0), Change(2, 0, 1.0), Change(3, 0, 1.0)
    )
    assert replica.started[3] == 3.0


def test_commits_in_order_overlap_once_they_are_queued():
    replica = Replica(workers=4, ordered=True, commit_s=5.0).run(*independent(4))
    assert set(replica.committed.values()) == {6.0}


def test_the_coordinator_takes_its_time_for_every_change():
    replica = Replica(workers=4, schedule_s=0.5, switch_s=0.25).run(*independent(3))
    assert replica.started == pytest.approx({1: 0.75, 2: 1.25, 3: 1.75})
    # Alone, it wakes nobody, and reads on when it has committed.
    alone = Replica(workers=0, schedule_s=0.5, switch_s=0.25).run(*independent(2))
    assert alone.started == pytest.approx({1: 0.5, 2: 2.0})


def test_a_long_relay_log_of_changes_without_cost_is_applied():
    changes = [Change(1, 0, 1.0), *(Change(seqno, 1, 0.0) for seqno in range(2, 3000))]
    replica = Replica(workers=2000).run(*changes)
    assert replica.appliers.low_water == 2999


def test_the_workers_are_reported_as_a_station():
    replica = Replica(workers=2).run(*independent(4))
    station = replica.appliers
    assert (station.servers, station.visits, station.busy_s) == (2, 4, 4.0)
    assert (station.wait_s, station.wait_max_s, len(station)) == (2.0, 1.0, 0)


def test_a_negative_number_of_workers_is_refused():
    with pytest.raises(ValueError, match="workers must not be negative, given -1"):
        Replica(workers=-1)


@pytest.mark.parametrize(("parent", "busy_s"), [(0, 2.0), (1, 0.0)])
def test_a_coordinator_waits_busily_for_a_worker_and_quietly_for_a_change(parent, busy_s):
    # Nothing else uses the cores of this host.
    replica = Replica(workers=1 if parent == 0 else 2, spins=True).run(
        Change(1, 0, 2.0), Change(2, parent)
    )
    assert replica.started == {1: 0.0, 2: 2.0}
    assert replica.host.busy_s == pytest.approx(busy_s)


class Row(NamedTuple):
    """A change of one row, which the change ``parent`` has changed before."""

    seqno: int
    parent: int = 0
    seconds: float = 1.0
    waited: bool = False
    barrier: int = 0


class OptimisticReplica(Replica):
    """MariaDB's, which needs a quarter of a second to roll back."""

    def __init__(self, *, heeds_waits: bool = True, commit_s: float = 0.0, **how: Any) -> None:
        super().__init__(ordered=True, commit_s=commit_s, **how)
        self.rolled_back: list[int] = []
        self.appliers: OptimisticAppliers = OptimisticAppliers(
            self.host,
            self,
            ordered=True,
            workers_wait=True,
            rollback=self.roll_back,
            heeds_waits=heeds_waits,
            **how,
        )

    def roll_back(self, change):
        self.rolled_back.append(change.seqno)
        return 0.25


def test_a_change_that_was_too_early_is_rolled_back_and_applied_again():
    # 2 has the row at 1.0, 1 asks for it at 2.0: rolled back until 2.25, applied from then to 3.25.
    replica = OptimisticReplica(workers=4).run(Row(1, 0, 2.0), Row(2, 1, 1.0), Row(3, 0, 1.0))
    assert replica.rolled_back == [2]
    assert replica.appliers.retried == 1
    assert replica.committed == pytest.approx({1: 2.0, 2: 3.25, 3: 3.25})


def test_a_retry_waits_for_everything_before_it_not_only_for_its_row():
    replica = OptimisticReplica(workers=4, commit_s=2.0).run(
        Row(1, 0, 2.0), Row(2, 0, 3.5), Row(3, 1, 1.0)
    )
    # 3 is rolled back at 2.25; 1 is committed at 4.0, 2 at 5.5, and only then it begins again.
    assert replica.started[3] == pytest.approx(5.5)
    assert replica.committed[3] == pytest.approx(5.5 + 1.0 + 2.0)


def test_a_change_that_finds_its_row_locked_goes_on_after_the_commit():
    # 2 meets the row at 2.0, which 1 has since 1.0 and until its commit at 4.0.
    replica = OptimisticReplica(workers=4, commit_s=3.0).run(Row(1, 0, 1.0), Row(2, 1, 2.0))
    assert replica.committed == pytest.approx({1: 4.0, 2: 7.0})
    assert replica.appliers.retried == 0


@pytest.mark.parametrize(("heeds_waits", "retried", "end_s"), [(True, 0, 3.0), (False, 1, 3.25)])
def test_what_waited_for_a_row_at_the_source_waits_for_everything_but_if_aggressive(
    heeds_waits, retried, end_s
):
    replica = OptimisticReplica(workers=4, heeds_waits=heeds_waits).run(
        Row(1, 0, 2.0), Row(2, 1, 1.0, waited=True)
    )
    assert replica.appliers.retried == retried
    assert replica.clock.now == pytest.approx(end_s)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_chain_of_conflicts_ends_in_order_with_any_number_of_workers(workers):
    # Each faster than the one before, all of one row: a late one may be rolled back by any of them.
    changes = [Row(number, number - 1, 3.0 / number) for number in range(1, 7)]
    replica = OptimisticReplica(workers=workers).run(*changes)
    assert list(replica.committed) == [1, 2, 3, 4, 5, 6]
    assert replica.appliers.low_water == 6
    assert replica.appliers.retried == len(replica.rolled_back) <= 5
    assert (workers > 1) == (replica.appliers.retried > 0)
