"""A replication channel by itself: relay log, appliers and commits, fed by hand."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping
from typing import Any

import pytest

from simrep.contract.cluster import Cluster
from simrep.contract.watching import Parts
from simrep.kernel.clock import Event
from simrep.models.mysql.channel import Channel
from simrep.models.mysql.options import ApplierCosts, ApplierOptions
from simrep.models.mysql.server import MysqlServer
from simrep.testing import WiredCluster, updates
from simrep.workload.transaction import Statement, Transaction

APPLY_S, FSYNC_S = 0.010, 0.002
EVENTS, BYTES = 5, 300
ROW = ("hot", 0)


class Change:
    """A transaction from elsewhere."""

    events, size_bytes, protected = EVENTS, BYTES, True

    def __init__(
        self, seqno: int, parent: int, written_s: float, locks: tuple[Hashable, ...]
    ) -> None:
        self.seqno = seqno
        self.parent = parent
        self.written_s = written_s
        self.locks = locks
        self.scans: tuple[range, ...] = ()
        self.transaction = Transaction(99, 0, "remote", (Statement(),), (seqno,), 1, 100)

    def abort(self) -> None:
        raise AssertionError


class Server:
    """A server that knows clients, and a channel that is put to it."""

    Options, Costs = ApplierOptions, ApplierCosts

    def __init__(self, cluster: Cluster, options: ApplierOptions, costs: ApplierCosts) -> None:
        self.options, self.costs = options, costs
        self.server = MysqlServer(Parts(cluster, 0), options, costs, log_bin=True)

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        return self.server.sessions.transact(transaction)


class Replica(WiredCluster):
    """One server that applies, and what it has done when.

    Attributes
    ----------
    written, applied : dict
        When each change was in the relay log, and when it was visible, in order.
    """

    def __init__(
        self,
        *,
        costs: Mapping[str, float] | None = None,
        after_apply: Callable[[Any, Any], object] | None = None,
        **options: Any,
    ) -> None:
        # Without a binary log's fsync of its own, unless a test wants it.
        how = {"sync_binlog": 0, "innodb_flush_log_at_trx_commit": 0, **options}
        applying = {"apply_us": APPLY_S * 1e6} | dict(costs or {})
        super().__init__(Server, [[0.0]], options=how, costs=applying, cores=64)
        self.written: dict[int, float] = {}
        self.server: MysqlServer = self.model.server
        self.channel = Channel(
            self.server, self.model.options, self.model.costs, after_apply=after_apply
        )

    @property
    def quiet(self) -> bool:
        return self.channel.backlog == 0

    def feed(
        self,
        count: int,
        parents: Mapping[int, int] | None = None,
        locks: tuple[Hashable, ...] = (),
        written_s: float = 0.0,
    ) -> Replica:
        """So many changes arrive now, one after the other."""

        def written(change: Change) -> None:
            self.written[change.seqno] = self.clock.now
            if change.seqno < count:
                write(change.seqno + 1)

        def write(seqno: int) -> None:
            parent = (parents or {}).get(seqno, 0)
            self.channel.write(Change(seqno, parent, written_s, locks), written)

        self.clock.at(self.clock.now, write, 1)
        self.clock.run()
        return self

    @property
    def applied(self) -> dict[int, float]:
        return {
            event.seqno: event.time_s
            for event in self.trace.events
            if event.what == "commit" and event.detail == (99,)
        }


# -- the relay log ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("period", "syncs"), [(0, []), (10_000, []), (1, [5, 5, 5]), (5, [1, 1, 1]), (8, [0, 1, 0])]
)
def test_the_relay_log_is_synchronised_every_so_many_events(period: int, syncs: list[int]) -> None:
    replica = Replica(costs={"fsync_us": FSYNC_S * 1e6}, sync_relay_log=period).feed(3)
    fsyncs = [sum(syncs[: i + 1]) for i in range(3)] if syncs else [0, 0, 0]
    assert list(replica.written.values()) == pytest.approx([FSYNC_S * n for n in fsyncs])
    assert replica.channel.relay_syncs == fsyncs[-1]


def test_what_is_committed_leaves_the_relay_log() -> None:
    replica = Replica(replica_parallel_workers=0)
    replica.clock.at(2.5 * APPLY_S, lambda _: seen.append(figures(replica)))
    seen: list[tuple[float, ...]] = []
    replica.feed(4)
    assert seen == [(4, 2, 2, 2 * BYTES, pytest.approx(2.5 * APPLY_S))]
    assert figures(replica) == (4, 4, 0, 0, 0.0)
    assert replica.channel.lag.mean == pytest.approx(APPLY_S * (1 + 2 + 3 + 4) / 4)


def figures(replica: Replica) -> tuple[float, ...]:
    channel = replica.channel
    return (
        channel.received, channel.applied, channel.backlog, channel.relay_log_bytes,
        channel.behind_s,
    )  # fmt: skip


# -- the appliers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("workers", "rounds"), [(0, 4), (1, 4), (2, 2), (4, 1), (16, 1)])
def test_workers_apply_side_by_side(workers: int, rounds: int) -> None:
    replica = Replica(replica_parallel_workers=workers).feed(4)
    assert max(replica.applied.values()) == pytest.approx(rounds * APPLY_S)
    assert list(replica.applied) == [1, 2, 3, 4]


def test_a_change_waits_for_what_it_depends_on() -> None:
    replica = Replica(replica_parallel_workers=4).feed(4, parents={2: 1, 4: 2})
    assert replica.applied == pytest.approx(
        {1: APPLY_S, 2: 2 * APPLY_S, 3: 2 * APPLY_S, 4: 3 * APPLY_S}
    )


def test_one_schema_keeps_one_worker_busy() -> None:
    options = {"replica_parallel_workers": 8, "replica_parallel_type": "DATABASE"}
    assert max(Replica(**options).feed(4).applied.values()) == pytest.approx(4 * APPLY_S)


def test_changes_commit_like_clients_do_and_share_their_fsyncs() -> None:
    replica = Replica(
        costs={"fsync_us": FSYNC_S * 1e6},
        replica_parallel_workers=8,
        sync_binlog=1,
        innodb_flush_log_at_trx_commit=1,
    ).feed(8)
    counters = replica.server.counters()
    assert counters["Binlog_commits"] == counters["Handler_commit"] == 8
    # The first goes alone, the others together after it, each group with two fsyncs.
    assert counters["Binlog_group_commits"] == 2
    assert replica.applied[1] == pytest.approx(APPLY_S + 2 * FSYNC_S)
    assert replica.applied[8] == pytest.approx(APPLY_S + 3 * FSYNC_S, abs=FSYNC_S + 1e-9)


def test_a_local_transaction_gives_its_row_up_to_a_change() -> None:
    replica = Replica(costs={"statement_us": 4e3})
    replica.client([updates(0, 0, 0, [ROW])])
    change = Change(1, 0, 0.0, (ROW,))
    replica.clock.at(0.001, lambda _: replica.channel.write(change, lambda _: None))
    replica.run()
    assert replica.outcomes == [False]
    assert list(replica.applied) == [1]


# -- what others wait for --------------------------------------------------------------------------


def test_caught_up_means_all_that_had_been_received() -> None:
    replica = Replica(replica_parallel_workers=0)
    calls: list[tuple[str, float]] = []

    def when_caught_up(name: str) -> None:
        replica.channel.when_caught_up(lambda name: calls.append((name, replica.clock.now)), name)

    when_caught_up("empty")
    replica.clock.at(1.5 * APPLY_S, when_caught_up, "three")
    replica.feed(3)
    when_caught_up("done")
    assert calls == [
        ("empty", 0.0), ("three", pytest.approx(3 * APPLY_S)), ("done", replica.clock.now),
    ]  # fmt: skip


@pytest.mark.parametrize("ordered", [True, False])
def test_a_change_can_be_held_up_between_apply_and_commit(ordered: bool) -> None:
    held_s = 0.1

    def hold(change: Change, applied: Callable[[Change], object]) -> None:
        if change.seqno == 1:
            replica.clock.at(replica.clock.now + held_s, applied, change)
        else:
            applied(change)

    replica = Replica(
        after_apply=hold, replica_parallel_workers=4, replica_preserve_commit_order=ordered
    )
    replica.feed(2)
    assert replica.applied[1] == pytest.approx(APPLY_S + held_s)
    assert replica.applied[2] == pytest.approx(APPLY_S + held_s if ordered else APPLY_S)
