"""Commit pipelines: which fsyncs a commit waits for, and with whom it shares them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import simrep
from simrep.contract.watching import Parts
from simrep.kernel.clock import Clock
from simrep.models.mysql.binlog import GroupCommit, MariadbCommit, RedoCommit, SerialCommit
from simrep.models.mysql.commit import Commit, CommitHooks, CommitPipeline, Engine, GoOn, Group
from simrep.server.host import Host
from simrep.server.storage import Binlog, Disk, RedoLog

MS = 1e-3
REDO, BINLOG = 1 * MS, 2 * MS  # fsync latencies that tell the two logs apart


class Named(Commit):
    """A transaction with a name."""

    __slots__ = ("name",)

    def __init__(self, size_bytes: int, committed: Any, done: Any, name: Any) -> None:
        super().__init__(size_bytes, committed, done)
        self.name = name


def names(group: Group) -> list[Any]:
    found = []
    for entry in group:
        assert isinstance(entry, Named)
        found.append(entry.name)
    return found


class Server:
    """A server with separate disks for its logs; notes when each transaction got how far."""

    def __init__(
        self, *, cores: int = 64, redo_s: float = REDO, engine_commit_s: float = 0.0, **binlog: Any
    ) -> None:
        self.clock = Clock()
        cluster: Any = SimpleNamespace(clock_of=lambda _: self.clock, names=["n1"])
        self.parts = Parts(cluster, 0)
        self.host = Host(self.clock, cores)
        self.redo = RedoLog(self.clock, Disk(self.clock, redo_s))
        self.engine = Engine(self.host, self.redo, commit_s=engine_commit_s)
        self.binlog = Binlog(self.host, Disk(self.clock, BINLOG), **binlog)
        self.committed: dict[Any, float] = {}
        self.done: dict[Any, float] = {}

    def commit(self, pipeline: CommitPipeline, *names: Any, at: float = 0.0) -> Server:
        for name in names:
            self.clock.at(at, pipeline.commit, self.entry(name))
        return self

    def entry(self, name: Any, size_bytes: int = 1000) -> Named:
        return Named(size_bytes, self._note_commit, self._note_done, name)

    def _note_commit(self, entry: Named) -> None:
        assert entry.name not in self.committed
        self.committed[entry.name] = self.clock.now

    def _note_done(self, entry: Named) -> None:
        assert entry.name not in self.done
        self.done[entry.name] = self.clock.now


Make = Callable[[Server], CommitPipeline]


def redo_only(server: Server) -> CommitPipeline:
    return RedoCommit(server.engine)


def mysql_50(server: Server, **how: Any) -> CommitPipeline:
    return SerialCommit(server.parts, server.engine, server.binlog, whole=True, **how)


def mysql_55(server: Server, **how: Any) -> CommitPipeline:
    return SerialCommit(server.parts, server.engine, server.binlog, **how)


def mysql_56(server: Server, **how: Any) -> CommitPipeline:
    return GroupCommit(server.parts, server.engine, server.binlog, redo_at_prepare=True, **how)


def mysql_57(server: Server, **how: Any) -> CommitPipeline:
    return GroupCommit(server.parts, server.engine, server.binlog, **how)


def mariadb(server: Server, **how: Any) -> CommitPipeline:
    return MariadbCommit(server.parts, server.engine, server.binlog, **how)


ALL = [redo_only, mysql_50, mysql_55, mysql_56, mysql_57, mariadb]


@pytest.mark.parametrize(
    ("make", "committed", "done"),
    [
        (redo_only, 0.0, REDO),
        (mysql_50, REDO + BINLOG, 2 * REDO + BINLOG),
        (mysql_55, REDO + BINLOG, 2 * REDO + BINLOG),
        (mysql_56, REDO + BINLOG, REDO + BINLOG),
        (mysql_57, REDO + BINLOG, REDO + BINLOG),
        (mariadb, REDO + BINLOG, REDO + BINLOG),
    ],
)
def test_a_lone_commit_waits_for_its_fsyncs(make: Make, committed: float, done: float) -> None:
    server = Server()
    server.commit(make(server), "a").clock.run()
    assert server.committed == pytest.approx({"a": committed})
    assert server.done == pytest.approx({"a": done})


@pytest.mark.parametrize(
    ("make", "redo_syncs", "binlog_syncs", "last"),
    [
        # The leader's fsync runs alone, the nine who came while it ran share the next one.
        (redo_only, 2, 0, 2 * REDO),
        # Everybody has all three fsyncs to himself.
        (mysql_50, 20, 10, 10 * (2 * REDO + BINLOG)),
        # Prepare is shared; the binlog fsyncs follow each other; the last redo fsync is short
        # enough to be over before the next transaction needs one.
        (mysql_55, 2 + 10, 10, REDO + 10 * BINLOG + REDO),
        # a: redo 0-1, binlog 1-3; the others: redo 1-2, binlog 3-5.
        (mysql_56, 2, 2, REDO + 2 * BINLOG),
        (mysql_57, 2, 2, REDO + 2 * BINLOG),
        (mariadb, 2, 2, REDO + 2 * BINLOG),
    ],
)
def test_a_burst_of_ten_shares_what_the_generation_shares(
    make: Make, redo_syncs: int, binlog_syncs: int, last: float
) -> None:
    server = Server()
    server.commit(make(server), *range(10)).clock.run()
    assert len(server.done) == 10
    assert max(server.done.values()) == pytest.approx(last)
    assert server.redo.syncs == redo_syncs
    assert server.binlog.syncs == binlog_syncs


@pytest.mark.parametrize("make", ALL)
def test_commit_order_is_arrival_order(make: Make) -> None:
    server = Server(write_s=0.01 * MS, engine_commit_s=0.02 * MS)
    pipeline = make(server)
    for i in range(40):
        server.commit(pipeline, i, at=0.3 * MS * i)
    server.clock.run()
    assert list(server.committed) == list(server.done) == list(range(40))
    assert all(server.committed[i] <= server.done[i] for i in range(40))


@pytest.mark.parametrize("make", [mysql_56, mysql_57, mariadb])
def test_groups_grow_with_the_load(make: Make) -> None:
    syncs = {}
    for every in (5 * MS, 0.1 * MS):
        server = Server()
        pipeline = make(server)
        for i in range(200):
            server.commit(pipeline, i, at=i * every)
        server.clock.run()
        assert len(server.done) == 200
        syncs[every] = server.binlog.syncs
    assert syncs[5 * MS] == 200  # slower than a commit: nobody to share with
    assert syncs[0.1 * MS] <= 20 * MS / BINLOG + 2  # one after the other, all the time


def test_the_stages_of_57_work_on_different_groups_at_the_same_time() -> None:
    server = Server(redo_s=0.9 * MS)
    pipeline = mysql_57(server)
    server.commit(pipeline, "a").commit(pipeline, "b", at=0.5 * MS)
    server.commit(pipeline, "c", at=1.5 * MS).clock.run()
    # a: redo 0-0.9, binlog 0.9-2.9. b: redo 0.9-1.8. c: redo 1.8-2.7. b and c: binlog 2.9-4.9.
    assert server.done == pytest.approx({"a": 2.9 * MS, "b": 4.9 * MS, "c": 4.9 * MS})
    assert server.redo.syncs == 3
    assert server.binlog.syncs == 2


def test_56_shares_the_redo_of_prepare_where_57_closes_the_group_first() -> None:
    # b arrives while a's group is in its redo fsync: in 5.7 b is led through FLUSH afterwards,
    # in 5.6 it is past its own redo fsync when FLUSH has work that takes long.
    for make, b_done in ((mysql_56, 7 * MS), (mysql_57, 8 * MS)):
        server = Server(write_s=3 * MS, sync_period=0)
        pipeline = make(server)
        server.commit(pipeline, "a").commit(pipeline, "b", at=0.5 * MS).clock.run()
        assert server.done == pytest.approx({"a": 4 * MS, "b": b_done})


@pytest.mark.parametrize("make", ALL[1:])
def test_sync_binlog_counts_groups(make: Make) -> None:
    syncs = {}
    for period in (0, 1, 3):
        server = Server(sync_period=period)
        pipeline = make(server)
        for i in range(9):
            server.commit(pipeline, i, at=i * 10 * MS)
        server.clock.run()
        syncs[period] = server.binlog.syncs
        slow = [i for i in range(9) if server.done[i] - i * 10 * MS > 2.5 * MS]
        assert slow == {0: [], 1: list(range(9)), 3: [2, 5, 8]}[period]
    assert syncs == {0: 0, 1: 9, 3: 3}


def test_a_large_transaction_holds_up_everybody() -> None:
    server = Server(bytes_per_s=1e6)
    pipeline = mysql_57(server)
    pipeline.commit(server.entry("large", 1_000_000))
    server.commit(pipeline, "small", at=1.5 * MS).clock.run()
    assert server.done["large"] == pytest.approx(1.0 + REDO + BINLOG)
    # Its redo fsync, 1 ms of copying, and a binlog fsync that follows the large one's.
    assert server.done["small"] == pytest.approx(1.0 + REDO + 2 * BINLOG)


def test_the_leader_works_on_the_cores_of_the_host() -> None:
    server = Server(cores=1, write_s=0.5 * MS, engine_commit_s=0.25 * MS)
    server.host.run(1 * MS, lambda _: None)
    clock = server.clock
    clock.at(2 * MS, lambda _: server.host.run(0.9 * MS, lambda _: None))
    server.commit(mysql_57(server), "a", at=1.5 * MS).clock.run()
    # Redo until 2.5; the core is taken until 2.9; write until 3.4; binlog until 5.4; commit.
    assert server.done == pytest.approx({"a": 5.65 * MS})


@pytest.mark.parametrize(
    ("period", "took"),
    [(0, [6.5, 6.5, 6.5, 6.5]), (1, [8.5, 8.5, 8.5, 8.5]), (2, [1, 8.5, 1, 8.5])],
)
def test_sync_delay_is_waited_before_a_sync_that_is_due(period: int, took: list[float]) -> None:
    # Without syncs it is waited all the same, as in the server: in ten parts, each 50 us late.
    server = Server(sync_period=period)
    pipeline = mysql_57(server, sync_delay_s=5 * MS)
    for i in range(4):
        server.commit(pipeline, i, at=i * 20 * MS)
    server.clock.run()
    assert [server.done[i] / MS - i * 20 for i in range(4)] == pytest.approx(took)


def test_sync_delay_ends_early_when_enough_are_there() -> None:
    server = Server()
    pipeline = mysql_57(server, sync_delay_s=50 * MS, sync_no_delay_count=3)
    for i in range(3):
        server.commit(pipeline, i, at=i * 2 * MS)
    server.clock.run()
    # The third has its redo at 5 ms. The leader wakes every 5.05 ms from 1 ms on, and looks.
    assert list(server.done.values()) == pytest.approx([8.05 * MS] * 3)
    assert server.binlog.syncs == 1


def test_mariadb_waits_for_company_only_with_a_count() -> None:
    for count, done in ((0, 3 * MS), (2, 13 * MS)):
        server = Server()
        server.commit(mariadb(server, wait_s=10 * MS, wait_count=count), "a").clock.run()
        assert server.done == pytest.approx({"a": done})


def test_unordered_commits_work_side_by_side() -> None:
    last = {}
    for ordered in (True, False):
        server = Server(engine_commit_s=0.5 * MS)
        pipeline = mysql_57(server, order_commits=ordered)
        server.commit(pipeline, *range(9)).clock.run()
        last[ordered] = max(server.done.values())
    assert last[True] == pytest.approx(REDO + 2 * BINLOG + 8 * 0.5 * MS)
    assert last[False] == pytest.approx(REDO + 2 * BINLOG + 0.5 * MS)


class Acknowledged(CommitHooks):
    """Waits a round trip from the moment replicas can read; acknowledgements in order."""

    def __init__(self, clock: Clock, round_trip_s: float, *, wait_after_commit: bool) -> None:
        self.clock = clock
        self.round_trip_s = round_trip_s
        self.wait_after_commit = wait_after_commit
        self.seen: list[tuple[str, list[Any]]] = []
        self.ack: dict[Any, float] = {}

    def after_flush(self, group: Group) -> None:
        self.note("after_flush", group)

    def readable(self, group: Group) -> None:
        self.note("readable", group)
        for name in names(group):
            self.ack[name] = self.clock.now + self.round_trip_s

    def after_sync(self, group: Group, go_on: GoOn) -> None:
        self.note("after_sync", group)
        self.go_on(group, go_on, wait=not self.wait_after_commit)

    def after_commit(self, group: Group, go_on: GoOn) -> None:
        self.note("after_commit", group)
        self.go_on(group, go_on, wait=self.wait_after_commit)

    def note(self, point: str, group: Group) -> None:
        self.seen.append((point, names(group)))

    def go_on(self, group: Group, go_on: GoOn, *, wait: bool) -> None:
        ack = max(self.ack[name] for name in names(group)) if wait else 0.0
        self.clock.at(max(ack, self.clock.now), go_on, group)


RTT = 50 * MS


@pytest.mark.parametrize(
    ("make", "sync_binlog", "points"),
    [
        (mysql_55, 1, "after_flush readable after_commit"),
        (mysql_57, 1, "after_flush readable after_sync after_commit"),
        (mysql_57, 0, "after_flush readable after_sync after_commit"),
        (mariadb, 1, "after_flush readable after_sync after_commit"),
    ],
)
def test_hooks_are_passed_in_order(make: Callable[..., Any], sync_binlog: int, points: str) -> None:
    server = Server(sync_period=sync_binlog)
    hooks = Acknowledged(server.clock, RTT, wait_after_commit=True)
    server.commit(make(server, hooks=hooks), "a").clock.run()
    assert hooks.seen == [(point, ["a"]) for point in points.split()]


@pytest.mark.parametrize(("sync_binlog", "readable"), [(1, REDO + BINLOG), (2, REDO)])
def test_replicas_read_before_the_fsync_unless_every_group_is_synced(
    sync_binlog: int, readable: float
) -> None:
    server = Server(sync_period=sync_binlog)
    hooks = Acknowledged(server.clock, RTT, wait_after_commit=False)
    server.commit(mysql_57(server, hooks=hooks), "a").clock.run()
    assert hooks.ack["a"] - RTT == pytest.approx(readable)


@pytest.mark.parametrize("make", [mysql_57, mariadb])
def test_locks_are_held_through_a_wait_after_sync_but_not_after_commit(
    make: Callable[..., Any],
) -> None:
    for after_commit, committed in ((False, REDO + BINLOG + RTT), (True, REDO + BINLOG)):
        server = Server()
        hooks = Acknowledged(server.clock, RTT, wait_after_commit=after_commit)
        server.commit(make(server, hooks=hooks), "a").clock.run()
        assert server.committed == pytest.approx({"a": committed})
        assert server.done == pytest.approx({"a": REDO + BINLOG + RTT})


def test_waits_after_sync_overlap_in_57() -> None:
    # Groups that are synced while the first waits are on their way to the replicas already: the
    # second group waits for the rest of its own round trip, not for a whole one more.
    server = Server()
    hooks = Acknowledged(server.clock, RTT, wait_after_commit=False)
    pipeline = mysql_57(server, hooks=hooks)
    for i in range(5):
        server.commit(pipeline, i, at=i * 5 * MS)
    server.clock.run()
    assert server.done[0] == pytest.approx(53 * MS)
    assert [server.done[i] for i in range(1, 5)] == pytest.approx([73 * MS] * 4)  # merged
    assert [names for point, names in hooks.seen if point == "after_sync"] == [[0], [1, 2, 3, 4]]


def test_mariadb_never_merges_groups_and_writes_one_ahead() -> None:
    server = Server()
    hooks = Acknowledged(server.clock, RTT, wait_after_commit=False)
    pipeline = mariadb(server, hooks=hooks)
    for i in range(5):
        server.commit(pipeline, i, at=i * 5 * MS)
    server.clock.run()
    # 0 waits for its acknowledgement until 53. 1 is synced at 8, then holds LOCK_log until 53;
    # its acknowledgement came at 58. 2, 3 and 4 are written together at 53 and synced at 55, but
    # LOCK_after_binlog_sync is free at 58 only; acknowledged at 105.
    assert server.done == pytest.approx(
        {0: 53 * MS, 1: 58 * MS, 2: 105 * MS, 3: 105 * MS, 4: 105 * MS}
    )
    assert [names for point, names in hooks.seen if point == "after_sync"] == [[0], [1], [2, 3, 4]]


# Updates by key per second by threads, on a server with prepare_commit_mutex (Percona's figures,
# quoted by rj03hou).
NO_BINLOG = {1: 1219, 4: 2686, 16: 3994, 64: 3631}
BINLOG_ON = {1: 615, 4: 668, 16: 666, 64: 665}


def test_prepare_commit_mutex_makes_throughput_flat_as_published() -> None:
    # Two numbers are taken from the table: the flat 665/s is two redo fsyncs in a row, the single
    # thread without binary log is one fsync and the execution. What is tested is the shape.
    fsync_s = 1 / 665 / 2
    execute_s = 1 / 1219 - fsync_s

    def rate(make: Make, threads: int) -> float:
        server = Server(redo_s=fsync_s, sync_period=0)
        pipeline = make(server)
        commits = 0

        def execute(_: None) -> None:
            server.clock.at(server.clock.now + execute_s, start)

        def start(_: None) -> None:
            pipeline.commit(Commit(500, lambda _: None, done))

        def done(_: None) -> None:
            nonlocal commits
            commits += 1
            execute(None)

        for _ in range(threads):
            execute(None)
        server.clock.run(until=1.0)
        return commits

    for threads, published in BINLOG_ON.items():
        assert rate(mysql_50, threads) == pytest.approx(published, rel=0.05)
    # Without the binary log InnoDB shares its fsyncs, until something else is the bottleneck.
    assert rate(redo_only, 1) == pytest.approx(NO_BINLOG[1], rel=0.01)
    assert rate(redo_only, 4) == pytest.approx(NO_BINLOG[4], rel=0.1)
    assert rate(redo_only, 64) > NO_BINLOG[64]


def test_two_clients_of_a_group_share_fsyncs() -> None:
    # Certified together they commit together, and the second finds its redo flushed. Of a real
    # primary: 1.52 fsyncs for a transaction; 2 if nothing were shared.
    result = simrep.run(
        {
            "cluster": {
                "model": "group_replication",
                "pack": "rig-mysql-9.7",
                "shared_host": True,
            },
            "network": {"rtt_ms": 0.0455},
            "workload": {"preset": "mysqlslap-insert", "threads": 2, "nodes": ["n1"]},
        },
        seed=1,
    )
    fsyncs = next(one.visits for one in result.stations if one.name == "n1/transfer")
    assert 1.2 < fsyncs / result.committed < 1.8
