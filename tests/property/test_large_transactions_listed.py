"""A cluster does with ranges of rows what it would do with every row listed, event by event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from simrep.testing import WiredCluster, updates
from simrep.workload.transaction import LongTransaction, Statement, Transaction
from tests.clusters import GaleraCluster
from tests.group_clusters import GroupReplicationCluster, multi_primary

EXAMPLES = settings(max_examples=20)

TABLE = 3000
DELAYS_S = [[0.0, 0.004, 0.011], [0.006, 0.0, 0.02], [0.009, 0.02, 0.0]]
COSTS = {
    "statement_us": 90.0,
    "row_us": 5.0,
    "apply_us": 40.0,
    "apply_row_us": 5.0,
    "commit_us": 20.0,
    "rollback_us": 20.0,
    "fsync_us": 150.0,
    "switch_us": 3.0,
    "byte_ns": 2.0,
}


@dataclass(frozen=True)
class Load:
    """What a client does: ranges that it updates, or single rows."""

    node: int
    begin_s: float
    work: tuple[range | int, ...]

    def transactions(self, client: int, *, listed: bool) -> list[Transaction]:
        return [
            updates(client, self.node, number, (one,))
            if isinstance(one, int)
            else _sweep(client, self.node, one, listed=listed)
            for number, one in enumerate(self.work)
        ]


def _sweep(client: int, node: int, rows: range, *, listed: bool) -> LongTransaction:
    keys = tuple(rows) if listed else ()
    statement = Statement(0, len(rows), keys, None if listed else rows)
    large = LongTransaction(client, node, "sweep", (statement,), keys, len(rows), 100 * len(rows))
    if not listed:
        large.ranges = (rows,)
    return large


@st.composite
def pieces(draw: st.DrawFn) -> range | int:
    if draw(st.booleans()):
        return draw(st.integers(0, TABLE - 1))
    low = draw(st.integers(0, TABLE - 1001))
    return range(low, low + draw(st.integers(1001, min(2500, TABLE - low))))


loads = st.builds(
    Load,
    st.integers(0, 2),
    st.sampled_from([0.0, 0.003, 0.01, 0.02]),
    st.lists(pieces(), min_size=1, max_size=4).map(tuple),
)


def galera() -> WiredCluster:
    options = {"wsrep_slave_threads": 4, "innodb_lock_wait_timeout": 1}
    return GaleraCluster(DELAYS_S, options=options, costs={**COSTS, "certify_key_us": 1.0})


def group() -> WiredCluster:
    options = multi_primary(innodb_lock_wait_timeout=1)
    return GroupReplicationCluster(
        DELAYS_S, options=options, costs={**COSTS, "certify_row_us": 1.0}
    )


def ran(make: Callable[[], WiredCluster], clients: list[Load], *, listed: bool) -> WiredCluster:
    cluster = make()
    for number, load in enumerate(clients):
        cluster.client(load.transactions(number, listed=listed), begin_s=load.begin_s)
    return cluster.run()


def told(cluster: WiredCluster) -> list[Any]:
    return [
        (one.transaction.client, one.began_s, one.ended_s, one.committed)
        for one in cluster.attempts
    ]


def happened(cluster: WiredCluster) -> list[Any]:
    return [(one.time_s, one.node, one.what, one.seqno) for one in cluster.trace.events]


@pytest.mark.parametrize("make", [galera, group])
@EXAMPLES
@given(st.lists(loads, min_size=2, max_size=5))
def test_every_event_is_the_same(make: Callable[[], WiredCluster], clients: list[Load]) -> None:
    by_range = ran(make, clients, listed=False)
    listed = ran(make, clients, listed=True)
    assert told(by_range) == told(listed)
    assert happened(by_range) == happened(listed)
    aborted = len(by_range.attempts) - len(by_range.committed)
    event(f"aborted: {min(aborted, 3)}")
