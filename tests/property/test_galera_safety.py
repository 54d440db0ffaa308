"""What a Galera cluster guarantees, on random clusters under random conflicting load."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.clusters import GaleraCluster, History, Order, updates
from tests.galera_cases import HOT_ROWS, Case, cases


@settings(max_examples=180)
@given(cases(), st.floats(0.001, 0.3))
def test_whatever_the_cluster_and_the_load_every_promise_is_kept(case: Case, look_s: float) -> None:
    cluster = case.run(look=(look_s, lambda running: everything_is_somewhere(case, running)))
    event(f"conflicts: {bool(conflicts(cluster))}")
    every_node_orders_and_commits_the_same(cluster)
    what_clients_were_told_is_what_every_node_has(cluster)
    of_concurrent_transactions_the_first_ordered_wins(cluster)
    no_update_is_lost(cluster)
    a_transaction_aborts_only_for_another_that_committed(cluster)
    nothing_is_lost_or_counted_twice(case, cluster)


def conflicts(cluster: GaleraCluster) -> float:
    return cluster.total("wsrep_local_cert_failures") + cluster.total("wsrep_local_bf_aborts")


# -- one order -------------------------------------------------------------------------------------


def every_node_orders_and_commits_the_same(cluster: GaleraCluster) -> None:
    first, *others = cluster.histories()
    assert [order.seqno for order in first.orders] == list(range(1, len(first.orders) + 1))
    for other in others:
        assert other.orders == first.orders
        assert other.commits == first.commits
    # Each node commits what has passed certification, in the order of the sequence numbers.
    assert first.commits == [order.seqno for order in first.orders if order.passed]


def what_clients_were_told_is_what_every_node_has(cluster: GaleraCluster) -> None:
    acknowledged = sorted(attempt.transaction.keys for attempt in cluster.committed)
    for history in cluster.histories():
        assert sorted(order.keys for order in history.orders if order.passed) == acknowledged


# -- first committer wins --------------------------------------------------------------------------


def rivals(order: Order, before: list[Order]) -> list[Order]:
    """Transactions of other nodes that won a row of this one and that it had not seen."""
    return [
        other
        for other in before
        if other.passed
        and other.origin != order.origin
        and other.seqno > order.last_seen
        and set(other.keys) & set(order.keys)
    ]


def of_concurrent_transactions_the_first_ordered_wins(cluster: GaleraCluster) -> None:
    orders = cluster.histories()[0].orders
    for position, order in enumerate(orders):
        assert order.passed != bool(rivals(order, orders[:position]))


def no_update_is_lost(cluster: GaleraCluster) -> None:
    # What commits an update of a row had all earlier ones of that row in its own node's storage
    # when it was ordered: whatever ``last_seen`` says, by the trace.
    histories = cluster.histories()
    for row in HOT_ROWS:
        winners = [order for order in histories[0].orders if order.passed and row in order.keys]
        for earlier, later in pairwise(winners):
            origin = histories[later.origin]
            assert committed_at(origin, earlier) < origin.position["order", later.seqno]


def committed_at(history: History, order: Order) -> int:
    return history.position["commit", order.seqno]


def a_transaction_aborts_only_for_another_that_committed(cluster: GaleraCluster) -> None:
    winners = [attempt.transaction for attempt in cluster.committed]
    for attempt in cluster.attempts:
        if not attempt.committed:
            loser = attempt.transaction
            assert any(
                set(winner.keys) & set(loser.keys) & set(HOT_ROWS) and winner.node != loser.node
                for winner in winners
            )


@settings(max_examples=60)
@given(cases())
def test_without_common_rows_nothing_aborts(case: Case) -> None:
    loads = tuple(
        replace(load, work=tuple(((), size, auto) for _, size, auto in load.work))
        for load in case.loads
    )
    cluster = replace(case, loads=loads).run()
    assert len(cluster.committed) == sum(len(load.work) for load in loads)
    assert conflicts(cluster) == 0


# -- conservation ----------------------------------------------------------------------------------


def nothing_is_lost_or_counted_twice(case: Case, cluster: GaleraCluster) -> None:
    assert cluster.submitted == len(cluster.attempts) == sum(len(load.work) for load in case.loads)
    total = cluster.total
    assert total("wsrep_local_commits") == len(cluster.committed)
    assert total("wsrep_replicated") == total("wsrep_local_commits") + total(
        "wsrep_local_cert_failures"
    )
    for node in range(len(case.delays_s)):
        own = cluster.status(node, "wsrep_replicated")
        assert own + cluster.status(node, "wsrep_received") == total("wsrep_replicated")
    assert total("wsrep_received_bytes") == total("wsrep_replicated_bytes") * (
        len(case.delays_s) - 1
    )


def everything_is_somewhere(case: Case, cluster: GaleraCluster) -> None:
    # At any instant of the run.
    in_flight = cluster.submitted - len(cluster.attempts)
    assert 0 <= in_flight <= len(case.loads)
    replicated, total = cluster.total("wsrep_replicated"), cluster.total
    ended = total("wsrep_local_commits") + total("wsrep_local_cert_failures")
    assert ended <= replicated <= ended + in_flight
    for history in cluster.histories():
        assert len(history.commits) <= len(history.orders) <= replicated
        assert history.commits == sorted(set(history.commits))


# -- two writers, one row --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("rows", [1, 3])
def test_exactly_one_of_two_concurrent_updates_commits(size: int, rows: int) -> None:
    hop_s = 0.01
    cluster = GaleraCluster(
        [[0.0 if i == j else hop_s for j in range(size)] for i in range(size)],
        options={"wsrep_retry_autocommit": 0},
    )
    hot = HOT_ROWS[:rows]
    transactions = [updates(node, node, 0, hot) for node in (0, 1)]
    for transaction in transactions:
        cluster.client([transaction])
    cluster.run()
    first = cluster.histories()[0].orders[0]
    assert [attempt.transaction.keys for attempt in cluster.committed] == [first.keys]
    assert len(cluster.attempts) == 2
