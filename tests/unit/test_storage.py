"""Disk, group commit of the redo log, and the batch stage under both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from simrep.kernel.clock import Clock
from simrep.kernel.queues import Fifo
from simrep.kernel.streams import Streams
from simrep.server.host import Host
from simrep.server.stage import Stage
from simrep.server.storage import Binlog, Disk, RedoLog, WorkedDisk

MS = 1e-3


class Finished:
    """Notes when what was finished."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.at: dict[Any, float] = {}

    def __call__(self, what: Any) -> None:
        assert what not in self.at, "finished twice"
        self.at[what] = self.clock.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def finished(clock: Clock) -> Finished:
    return Finished(clock)


def flush_at(clock: Clock, redo: RedoLog, done: Callable[[Any], object], *times: float) -> None:
    for time in times:
        clock.at(time, lambda time: redo.flush(100, done, time), time)


def test_disk_transfers_then_syncs(clock: Clock, finished: Finished) -> None:
    disk = Disk(clock, 2 * MS, 1e6)
    disk.sync(3000, finished, "a")
    disk.sync(1000, finished, "b")
    disk.sync(0, finished, "empty")
    clock.run()
    # The transfers share the bandwidth, the latencies overlap.
    assert finished.at == pytest.approx({"a": 5 * MS, "b": 6 * MS, "empty": 2 * MS})
    assert disk.syncs == 3
    assert disk.transfer.busy_s == pytest.approx(4 * MS)


def test_disk_limits_parallel_syncs(clock: Clock, finished: Finished) -> None:
    disk = Disk(clock, 1 * MS, flusher=Fifo(clock, 2))
    for name in "abc":
        disk.sync(0, finished, name)
    clock.run()
    assert finished.at == pytest.approx({"a": 1 * MS, "b": 1 * MS, "c": 2 * MS})


def test_disk_draws_every_latency(clock: Clock, finished: Finished) -> None:
    draws: Iterator[float] = iter([1 * MS, 7 * MS])
    disk = Disk(clock, lambda: next(draws))
    disk.sync(0, finished, "a")
    disk.sync(0, finished, "b")
    clock.run()
    assert finished.at == pytest.approx({"a": 1 * MS, "b": 7 * MS})


def test_an_fsync_covers_what_was_written_before_its_start(
    clock: Clock, finished: Finished
) -> None:
    redo = RedoLog(clock, Disk(clock, 1 * MS))
    flush_at(clock, redo, finished, 0.0, 0.2 * MS, 0.9 * MS, 1.5 * MS)
    clock.run()
    # 0 alone; 0.2 and 0.9 arrive during its fsync and share the next; 1.5 has the third.
    assert finished.at == pytest.approx(
        {0.0: 1 * MS, 0.2 * MS: 2 * MS, 0.9 * MS: 2 * MS, 1.5 * MS: 3 * MS}
    )
    assert redo.syncs == 3
    assert redo.stage.mean_group == pytest.approx(4 / 3)
    assert redo.stage.busy_s == pytest.approx(3 * MS)
    assert redo.stage.wait_s == pytest.approx((0.8 + 0.1 + 0.5) * MS)
    assert redo.stage.wait_max_s == pytest.approx(0.8 * MS)


def test_what_a_flush_has_covered_is_not_flushed_again(clock: Clock, finished: Finished) -> None:
    redo = RedoLog(clock, Disk(clock, 1 * MS))

    def prepared(name: str) -> None:
        redo.flush(100, finished, name, appended=True)

    redo.append()
    redo.append()
    prepared("first")
    prepared("covered")  # it waits for that flush, and finds its redo durable
    clock.at(2 * MS, lambda _: redo.append())
    clock.at(3 * MS, prepared, "after another")
    clock.run()
    assert finished.at == pytest.approx(
        {"first": 1 * MS, "covered": 1 * MS, "after another": 4 * MS}
    )
    assert redo.syncs == 2


def test_who_is_covered_by_the_flush_of_another_sleeps_until_it_is_woken(
    clock: Clock, finished: Finished
) -> None:
    woken = []

    def wake(call: Callable[[Any], object], argument: Any) -> None:
        woken.append(argument)
        clock.at(clock.now + 0.1 * MS, call, argument)

    redo = RedoLog(clock, Disk(clock, 1 * MS), wake=wake)
    flush_at(clock, redo, finished, 0.0, 0.2 * MS, 0.9 * MS)
    clock.run()
    # 0 leads and has nobody to wake; 0.2 is woken to lead the next flush, and wakes 0.9 then.
    assert finished.at == pytest.approx({0.0: 1 * MS, 0.2 * MS: 2.1 * MS, 0.9 * MS: 2.2 * MS})
    assert len(woken) == 2


def test_a_group_is_transferred_as_a_whole(clock: Clock, finished: Finished) -> None:
    redo = RedoLog(clock, Disk(clock, 1 * MS, 1e5))  # 100 bytes: 1 ms
    flush_at(clock, redo, finished, 0.0, 0.1 * MS, 0.2 * MS)
    clock.run()
    assert finished.at[0.0] == pytest.approx(2 * MS)
    assert finished.at[0.1 * MS] == finished.at[0.2 * MS] == pytest.approx(5 * MS)


@pytest.mark.parametrize(("level", "takes", "syncs"), [(0, 0.0, 0), (1, 1.25, 1), (2, 0.25, 0)])
def test_durability_levels(
    clock: Clock, finished: Finished, level: int, takes: float, syncs: int
) -> None:
    disk = Disk(clock, 1 * MS)
    redo = RedoLog(clock, disk, flush_at_commit=level, write_s=0.25 * MS)
    redo.flush(100, finished, "a")
    clock.run()
    assert finished.at["a"] == pytest.approx(takes * MS)
    assert redo.syncs == disk.syncs == syncs


def test_a_waiter_that_flushes_again_does_not_join_the_running_fsync(clock: Clock) -> None:
    redo = RedoLog(clock, Disk(clock, 1 * MS))
    ends = []

    def again(left: int) -> None:
        ends.append(clock.now)
        if left:
            redo.flush(1, again, left - 1)

    redo.flush(1, again, 2)
    clock.run()
    assert ends == pytest.approx([1 * MS, 2 * MS, 3 * MS])


def test_redo_throughput_is_waiting_clients_per_fsync(clock: Clock) -> None:
    redo = RedoLog(clock, Disk(clock, 1 * MS))
    commits = 0

    def client(_: None) -> None:
        nonlocal commits
        commits += 1
        redo.flush(1, client)

    for _ in range(10):
        redo.flush(1, client)
    clock.run(until=1.0005)
    # Whoever leads restarts at the end of its own fsync, so the ten settle in two groups.
    assert redo.syncs == 1001
    assert commits == 1 + 9 * 500 + 1 * 499
    assert redo.stage.mean_group == pytest.approx(5.0, rel=0.01)


def test_an_fsync_of_the_binlog_transfers_what_was_written_since_the_last(
    clock: Clock, finished: Finished
) -> None:
    disk = Disk(clock, 1 * MS, 1e6)
    binlog = Binlog(Host(clock, 1), disk, sync_period=2, write_s=0.1 * MS, bytes_per_s=1e7)
    binlog.write(3, 5000, finished, "written")  # 0.3 ms and 0.5 ms
    binlog.sync(finished, "not due")
    clock.run()
    assert finished.at == pytest.approx({"not due": 0.0, "written": 0.8 * MS})
    binlog.sync(finished, "due")
    binlog.sync(finished, "not due either")
    binlog.sync(finished, "due again")
    clock.run()
    assert finished.at["due"] == pytest.approx(6.8 * MS)
    assert (binlog.bytes, binlog.syncs, disk.syncs) == (5000, 2, 2)
    assert disk.transfer.busy_s == pytest.approx(5 * MS)  # once


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda clock: Disk(clock, -1.0), "fsync_s must not be negative, given -1.0"),
        (lambda clock: Disk(clock, float("nan")), "fsync_s must not be negative"),
        (lambda clock: Disk(clock, 1.0, 0.0), "bytes_per_s must be positive, given 0.0"),
        (lambda clock: RedoLog(clock, Disk(clock, 1.0), flush_at_commit=3), "0, 1 or 2, given 3"),
        (
            lambda clock: Binlog(Host(clock, 1), Disk(clock, 1.0), sync_period=-1),
            "sync_period must not be negative, given -1",
        ),
        (lambda clock: Stage(clock, print, largest=0), "largest must be at least 1, given 0"),
    ],
)
def test_impossible_parameters(clock: Clock, make: Callable[[Clock], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(clock)


class Served:
    """A stage whose groups take a fixed time; notes (start, items) of each."""

    def __init__(self, clock: Clock, seconds: float, **how: Any) -> None:
        self.clock = clock
        self.groups: list[tuple[float, list[str]]] = []
        self.seconds = seconds
        self.stage: Stage[str] = Stage(clock, self.serve, **how)

    def serve(self, group: list[str]) -> None:
        self.groups.append((self.clock.now, group))
        self.clock.at(self.clock.now + self.seconds, lambda _: self.stage.leave())


def test_a_mutex_serves_one_at_a_time_in_order(clock: Clock) -> None:
    served = Served(clock, 1.0, largest=1)
    served.stage.join_all("abc")
    assert len(served.stage) == 2
    clock.run()
    assert served.groups == [(0.0, ["a"]), (1.0, ["b"]), (2.0, ["c"])]


def test_the_leader_gathers_for_the_whole_delay(clock: Clock) -> None:
    served = Served(clock, 1.0, gather_s=lambda: 0.5)
    for time, name in ((0.0, "a"), (0.4, "b"), (0.6, "c"), (1.2, "d")):
        clock.at(time, served.stage.join, name)
    clock.run()
    assert served.groups == [(0.5, ["a", "b"]), (2.0, ["c", "d"])]
    assert served.stage.busy_s == pytest.approx(2.0)


def test_the_leader_stops_gathering_when_enough_are_there(clock: Clock) -> None:
    served = Served(clock, 1.0, gather_s=lambda: 5.0, gather_count=2)
    for time, name in ((0.0, "a"), (0.25, "b"), (0.5, "c"), (0.75, "d"), (3.0, "e")):
        clock.at(time, served.stage.join, name)
    clock.run()
    # c and d are two when the first group leaves. e has to wait for its whole delay, although the
    # alarm of the group that was closed early rings at 5.
    assert served.groups == [(0.25, ["a", "b"]), (1.25, ["c", "d"]), (8.0, ["e"])]


def test_others_join_the_group_until_its_leader_has_come(clock: Clock) -> None:
    def approach(call: Callable[[Any], object], argument: Any) -> None:
        clock.at(clock.now + 0.5, call, argument)

    served = Served(clock, 1.0, approach=approach)
    for time, name in ((0.0, "a"), (0.4, "b"), (0.6, "c"), (1.2, "d"), (4.0, "e")):
        clock.at(time, served.stage.join, name)
    clock.run()
    # c and d wait for the stage itself: their leader is there when it becomes free.
    assert served.groups == [(0.5, ["a", "b"]), (1.5, ["c", "d"]), (4.5, ["e"])]


def test_joining_with_nothing_serves_nothing(clock: Clock) -> None:
    served = Served(clock, 1.0)
    served.stage.join_all(())
    clock.run()
    assert served.groups == []
    assert served.stage.mean_group == 0.0


def test_an_fsync_may_need_a_core_first(clock: Clock, finished: Finished) -> None:
    # Two at once on one core: the second is submitted when the first is; the device works on both.
    host = Host(clock, 1)
    disk = WorkedDisk(host, 0.5 * MS, Disk(clock, 5 * MS))
    disk.sync(0, finished, "a")
    disk.sync(0, finished, "b")
    clock.run()
    assert finished.at == pytest.approx({"a": 5.5 * MS, "b": 6 * MS})
    assert disk.syncs == 2
    assert host.busy_s == pytest.approx(1 * MS)


def test_an_fsync_that_needs_a_core_waits_for_it_like_other_work(
    clock: Clock, finished: Finished
) -> None:
    host = Host(clock, 1)
    disk = WorkedDisk(host, 2 * MS, Disk(clock, 5 * MS, 1e6))
    host.run(0.5 * MS, lambda _: None)
    disk.sync(1000, finished, "after")
    clock.run()
    assert finished.at == pytest.approx({"after": (0.5 + 2 + 1 + 5) * MS})
    assert disk.transfer.busy_s == pytest.approx(1 * MS)
    with pytest.raises(ValueError, match="no time of its own"):
        disk.sync_at(0, 0.0)


def test_a_file_that_grows_has_its_journal_written_after_its_data() -> None:
    clock = Clock()
    host, done = Host(clock, 1), []
    log = Binlog(host, Disk(clock, 1 * MS), write_s=0.0, journal_s=2 * MS)
    log.write(1, 100, lambda _: log.sync(lambda _: done.append(clock.now)))
    clock.run()
    assert done == [pytest.approx(3 * MS)]


def test_what_a_disk_takes_varies_about_its_mean() -> None:
    # 4,000 draws of a lognormal of variation 0.5: five standard errors of their mean are 0.04.
    clock = Clock()
    disk = Disk(clock, 1 * MS, noise=Streams(1).lognormal("disk", 0.5))
    ends: list[float] = []
    for _ in range(4000):
        disk.sync(0, lambda _: ends.append(clock.now))
    clock.run()
    assert np.mean(ends) == pytest.approx(1 * MS, rel=0.04)
    assert np.std(ends) / np.mean(ends) == pytest.approx(0.5, rel=0.15)


def test_a_redo_log_whose_blocks_are_new_tells_so_for_each_of_them() -> None:
    clock = Clock()

    class Counting(Disk):
        grown = 0

        def sync_grown(self, size_bytes: float, call: Any, argument: Any = None) -> None:
            self.grown += 1
            super().sync_grown(size_bytes, call, argument)

    for new_bytes, grown in ((0, 0), (400, 2)):
        disk = Counting(clock, 1e-3)
        log = RedoLog(clock, disk, new_bytes=new_bytes)
        for number in range(10):  # 600 bytes or 1 kB each
            clock.at(clock.now + 0.01 * number, lambda _, log=log: log.flush(600, lambda _: None))
        clock.run()
        assert log.syncs == 10
        assert disk.grown == grown
