"""How waits for row locks end by themselves."""

from __future__ import annotations

from math import inf

import pytest

from simrep.kernel.clock import Clock, Event
from simrep.server.locks import LockTable
from simrep.workload.open_transaction import LOCK_WAIT_TIMEOUT, LockWaits, OpenTransaction
from simrep.workload.transaction import Statement, Transaction
from tests.streams import quiet_cluster

TIMEOUT_S = 5.0
MS = 1e3


class Waiting:
    """Owners that wait for the row of a holder, each from a time of its own."""

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self.clock = Clock()
        self.table = LockTable(self.clock)
        self.waits = LockWaits(self.clock, timeout_s, self.table)
        self.holder = self.owner()
        self.table.take(self.holder, "row")
        self.ended: list[tuple[float, OpenTransaction, str]] = []

    def owner(self) -> OpenTransaction:
        return OpenTransaction(self.clock)

    def wait(self, row: str = "row") -> OpenTransaction:
        owner = self.owner()
        granted = owner.lock_granted = Event(self.clock)
        granted.callbacks.append(  # type: ignore[union-attr]
            lambda _: self.ended.append((self.clock.now, owner, owner.error))
        )
        assert self.table.acquire(owner, row, self.clock.fire, granted)
        self.waits.watch(owner)
        return owner


def test_a_wait_ends_exactly_after_the_time() -> None:
    scene = Waiting()
    scene.clock.run(1.25)
    owner = scene.wait()
    scene.clock.run(100.0)
    assert scene.ended == [(1.25 + TIMEOUT_S, owner, LOCK_WAIT_TIMEOUT)]
    assert scene.table.waiting("row") == ()
    assert scene.table.holder("row") is scene.holder


def test_each_wait_has_its_own_time() -> None:
    scene = Waiting()
    owners = []
    for began_s in (0.5, 0.75, 2.0, 4.0):
        scene.clock.run(began_s)
        owners.append(scene.wait())
    scene.clock.run(100.0)
    ends = [0.5, 0.75, 2.0, 4.0]
    assert [(at, owner) for at, owner, _ in scene.ended] == [
        (began_s + TIMEOUT_S, owner) for began_s, owner in zip(ends, owners, strict=True)
    ]


def test_who_gives_up_leaves_the_others_in_their_order() -> None:
    scene = Waiting()
    first = scene.wait()
    scene.clock.run(1.0)
    second, third = scene.wait(), scene.wait()
    scene.clock.run(5.5)
    assert scene.table.waiting("row") == (second, third)
    scene.table.release_all(scene.holder)
    scene.clock.run(5.75)
    assert scene.table.holder("row") is second
    assert scene.table.waiting("row") == (third,)
    assert [(owner, error) for _, owner, error in scene.ended] == [
        (first, LOCK_WAIT_TIMEOUT), (second, ""),
    ]  # fmt: skip


def test_who_gives_up_keeps_what_it_holds() -> None:
    scene = Waiting()
    owner = scene.owner()
    scene.table.take(owner, "own")
    granted = owner.lock_granted = Event(scene.clock)
    assert scene.table.acquire(owner, "row", scene.clock.fire, granted)
    scene.waits.watch(owner)
    scene.clock.run(100.0)
    assert owner.error == LOCK_WAIT_TIMEOUT
    assert scene.table.holder("own") is owner


def test_a_lock_that_was_granted_in_time_is_kept() -> None:
    scene = Waiting()
    owner = scene.wait()
    scene.clock.run(TIMEOUT_S - 0.001)
    scene.table.release_all(scene.holder)
    scene.clock.run(100.0)
    assert [(at, error) for at, _, error in scene.ended] == [(TIMEOUT_S - 0.001, "")]
    assert scene.table.holder("row") is owner
    assert owner.error == ""


def test_without_a_timeout_nothing_is_watched() -> None:
    scene = Waiting(inf)
    scene.wait()
    scene.clock.run()  # nothing is on the clock
    assert scene.ended == []


def test_the_line_holds_hardly_more_than_those_who_wait() -> None:
    # Thousands get their locks long before their time.
    scene = Waiting(1e6)
    longest = 0
    for number in range(5000):
        row = f"row{number}"
        holder = scene.owner()
        scene.table.take(holder, row)
        scene.wait(row)
        scene.table.release_all(holder)
        longest = max(longest, len(scene.waits._line))
    assert longest <= 2
    assert scene.clock.now == 0.0


# -- on a server -----------------------------------------------------------------------------------


def update(client: int, row: str, reads: int = 0) -> Transaction:
    """It locks the row, and reads for a second for each of ``reads`` before it commits."""
    statements = (Statement(locks=(row,)), Statement(reads, 0))
    keys = (("client", client), row)
    return Transaction(client, 0, "long", statements, keys, 1, 100, autocommit=False)


@pytest.mark.parametrize("hold_s", [1, 4])
def test_a_transaction_that_waits_too_long_fails_with_its_error(hold_s: int) -> None:
    cluster = quiet_cluster(
        2, options={"innodb_lock_wait_timeout": 2}, costs={"row_read_us": 1000 * MS}
    )
    cluster.client([update(0, "row", hold_s)])
    cluster.client([update(1, "row")], begin_s=0.5)
    cluster.run()
    in_time = hold_s < 2.5
    assert cluster.outcomes == [True, in_time]
    assert cluster.status(0, "errors.1205") == (0 if in_time else 1)
    ended_s = {one.transaction.client: one.ended_s for one in cluster.attempts}
    if not in_time:
        assert ended_s[1] == pytest.approx(2.5)
    assert cluster.status(0, "rows_locked") == 0


@pytest.mark.parametrize(("rows", "written"), [(("row", "b"), 0), (("c", "d", "row", "e"), 6)])
def test_only_statements_that_were_executed_have_been_rolled_back(
    rows: tuple[str, ...], written: int
) -> None:
    cluster = quiet_cluster(
        2, options={"innodb_lock_wait_timeout": 2}, costs={"row_read_us": 1000 * MS}
    )
    cluster.client([update(0, "row", 4)])
    statements = tuple(Statement(0, 3, (row,)) for row in rows)
    failing = Transaction(1, 0, "w", statements, rows, 3 * len(rows), 100, autocommit=False)
    cluster.client([failing], begin_s=0.5)
    cluster.run()
    assert cluster.outcomes == [True, False]
    assert cluster.status(0, "rolled_back_rows") == written
