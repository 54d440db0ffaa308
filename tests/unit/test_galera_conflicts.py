"""Conflicts between writers: certification, brute force, retries, deadlocks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simrep.workload.transaction import LongTransaction, Statement, Transaction
from tests.clusters import GaleraCluster, updates

HOP_S = 0.01
COMMIT_S = 3 * HOP_S  # three equidistant nodes on which nothing else takes time
MS = 1e3  # microseconds
ROW, OTHER = ("hot", 0), ("hot", 1)
EQUIDISTANT = [[0.0 if i == j else HOP_S for j in range(3)] for i in range(3)]


def cluster(retries: int = 0, **costs: float) -> GaleraCluster:
    options = {"wsrep_retry_autocommit": retries}
    return GaleraCluster(EQUIDISTANT, options=options, costs=costs)


def outcomes(cluster: GaleraCluster) -> list[bool]:
    """What became of each transaction, client by client."""
    return [
        attempt.committed
        for attempt in sorted(cluster.attempts, key=lambda attempt: attempt.transaction.client)
    ]


def counts(cluster: GaleraCluster) -> tuple[float, float]:
    """Certification failures and brute-force aborts on all nodes."""
    return cluster.total("wsrep_local_cert_failures"), cluster.total("wsrep_local_bf_aborts")


# -- certification ---------------------------------------------------------------------------------


def test_the_second_of_two_concurrent_updates_fails_certification() -> None:
    two = cluster()
    for node in (0, 1):
        two.client([updates(node, node, 0, [ROW])])
    two.run()
    assert outcomes(two) == [True, False]
    assert two.status(1, "wsrep_local_cert_failures") == 1
    assert two.status(0, "wsrep_local_cert_failures") == 0
    # The loser knows when its writeset has been ordered.
    assert [attempt.ended_s for attempt in two.attempts] == pytest.approx([COMMIT_S] * 2)


def test_an_update_after_the_other_has_been_applied_passes() -> None:
    two = cluster()
    for node in (0, 1):
        two.client([updates(node, node, 0, [ROW])], begin_s=node * 1.01 * COMMIT_S)
    two.run()
    assert outcomes(two) == [True, True]
    assert counts(two) == (0, 0)


def test_different_rows_do_not_conflict() -> None:
    two = cluster()
    for node, row in ((0, ROW), (1, OTHER)):
        two.client([updates(node, node, 0, [row])])
    assert outcomes(two.run()) == [True, True]


def test_writers_of_one_node_wait_for_each_other_instead() -> None:
    one = cluster()
    for client in range(3):
        one.client([updates(client, 1, 0, [ROW])])
    one.run()
    assert outcomes(one) == [True, True, True]
    assert counts(one) == (0, 0)
    ends = [attempt.ended_s for attempt in one.attempts]
    assert ends == pytest.approx([COMMIT_S, 2 * COMMIT_S, 3 * COMMIT_S])


def test_references_to_a_row_conflict_with_its_update_only() -> None:
    def refers(client: int) -> Transaction:
        return Transaction(
            client, client, "child", (Statement(),), (("child", client),), 1, 100,
            shared_keys=(ROW,),
        )  # fmt: skip

    both_refer = cluster()
    both_refer.client([refers(1)])
    both_refer.client([refers(2)])
    assert outcomes(both_refer.run()) == [True, True]
    update_first = cluster()
    update_first.client([updates(0, 0, 0, [ROW])])
    update_first.client([refers(1)])
    assert outcomes(update_first.run()) == [True, False]


def test_replicas_commit_nothing_of_what_failed() -> None:
    two = cluster()
    for node in (0, 1):
        two.client([updates(node, node, 0, [ROW])])
    two.run()
    for history in two.histories():
        assert len(history.orders) == 2
        assert history.commits == [1]


# -- brute force -----------------------------------------------------------------------------------


def long_transaction(client: int, node: int, rows: Sequence[tuple[str, int]]) -> Transaction:
    """It locks the rows at once, and reads for 50 ms before it commits."""
    statements = (Statement(locks=tuple(rows)), Statement(rows_read=50, rows_written=0))
    return Transaction(
        client, node, "long", statements, (("client", client), *rows), len(rows), 100,
        autocommit=False,
    )  # fmt: skip


def test_a_transaction_that_still_executes_is_aborted_by_an_applier() -> None:
    two = cluster(row_read_us=1 * MS)
    two.client([updates(0, 0, 0, [ROW])])
    two.client([long_transaction(1, 1, [ROW])])
    two.run()
    assert outcomes(two) == [True, False]
    assert two.status(1, "wsrep_local_bf_aborts") == 1
    # It was never replicated; the applier did not wait for it, but it learns at its next step.
    assert counts(two)[0] == 0
    assert len(two.histories()[0].orders) == 1
    applied_s, refused_s = (attempt.ended_s for attempt in two.attempts)
    assert applied_s == pytest.approx(COMMIT_S)
    assert refused_s == pytest.approx(0.050)


def test_a_transaction_that_waits_for_a_lock_is_aborted_at_once() -> None:
    # Client 2 holds the other row for long; client 1 has the hot row and waits for the other.
    three = cluster(row_read_us=1 * MS)
    three.client([updates(0, 0, 0, [ROW])], begin_s=0.001)
    three.client([updates(1, 1, 0, [ROW, OTHER])], begin_s=0.0005)
    three.client([long_transaction(2, 1, [OTHER])])
    three.run()
    assert outcomes(three) == [True, False, True]
    ended = {attempt.transaction.client: attempt.ended_s for attempt in three.attempts}
    assert ended[1] == pytest.approx(0.001 + COMMIT_S)
    assert ended[1] < ended[2]


def test_an_applier_waits_until_a_victim_on_its_way_through_the_group_has_rolled_back() -> None:
    # Client 1 has sent its writeset when that of client 0 is applied on its node. Its thread
    # waits in the group communication until its own comes back, and rolls back then; what is
    # ordered in between commits after the applier.
    sent_s, late_s = 2 * HOP_S, HOP_S
    three = cluster()
    three.client([updates(0, 0, 0, [ROW])])
    three.client([updates(1, 1, 0, [ROW])], begin_s=sent_s)
    three.client([updates(2, 1, 0, [OTHER])], begin_s=late_s)
    three.run()
    assert outcomes(three) == [True, False, True]
    assert three.status(1, "wsrep_local_bf_aborts") == three.status(1, "wsrep_local_cert_failures")
    assert three.status(1, "wsrep_local_bf_aborts") == 1
    commits = [
        [event.time_s for event in three.trace.events if (event.node, event.what) == (n, "commit")]
        for n in range(3)
    ]
    assert commits[0] == commits[2] == pytest.approx([COMMIT_S] * 2)
    refused_s = three.attempts[-1].ended_s
    assert refused_s >= sent_s + 2 * HOP_S
    assert commits[1] == pytest.approx([refused_s] * 2)


def test_an_applier_does_not_wait_for_the_client_of_a_victim() -> None:
    # Its client thinks for a second between its statements: another thread rolls it back.
    two = cluster()
    two.client([updates(0, 0, 0, [ROW])])
    statements = (Statement(locks=(ROW,)), Statement(locks=(OTHER,)))
    thoughtful = LongTransaction(1, 1, "long", statements, (ROW, OTHER), 2, 100, autocommit=False)
    thoughtful.pause_s = 1.0
    two.client([thoughtful])
    two.client([updates(2, 1, 0, [OTHER])])
    two.run()
    assert outcomes(two) == [True, False, True]
    assert two.status(1, "wsrep_local_bf_aborts") == 1
    assert two.status(1, "rolled_back_rows") == 1
    ended = {attempt.transaction.client: attempt.ended_s for attempt in two.attempts}
    assert ended[2] == pytest.approx(COMMIT_S)
    assert ended[1] == pytest.approx(1.0)


def test_the_rows_of_a_victim_are_undone_before_they_are_written_anew() -> None:
    row_s = 0.002
    two = cluster(row_us=row_s * 1e6)
    two.client([updates(0, 0, 0, [ROW])])
    two.client([long_transaction(1, 1, [ROW])])
    two.client([updates(2, 1, 0, [OTHER])], begin_s=0.001)
    two.run()
    assert outcomes(two) == [True, False, True]
    applied_s = next(e.time_s for e in two.trace.events if (e.node, e.what) == (1, "commit"))
    assert applied_s == pytest.approx(row_s + COMMIT_S + row_s)  # written, ordered, undone


def test_a_certified_transaction_is_not_aborted() -> None:
    # Commits are slow: the first one waits for them, certified, when the second is applied.
    two = cluster(commit_us=20 * MS)
    for client in range(5):
        two.client([updates(client, 0, 0)])
    two.client([updates(5, 0, 0, [ROW])])
    two.client([updates(6, 1, 0, [ROW])], begin_s=2 * COMMIT_S)
    two.run()
    assert outcomes(two)[5]
    assert two.status(0, "wsrep_local_bf_aborts") == 0


# -- what the server and the client do about it ----------------------------------------------------


def test_an_autocommit_statement_is_retried() -> None:
    two = cluster(retries=1)
    for node in (0, 1):
        two.client([updates(node, node, 0, [ROW])])
    two.run()
    assert outcomes(two) == [True, True]
    assert two.status(1, "wsrep_local_cert_failures") == 1
    assert two.status(1, "wsrep_replicated") == 2
    assert two.attempts[-1].ended_s == pytest.approx(2 * COMMIT_S, rel=0.01)


def test_retries_are_limited() -> None:
    # A stream of updates on node 0, so close to each other that node 1 never gets in between.
    for retries in (0, 2):
        two = cluster(retries=retries)
        two.client([updates(0, 0, number, [ROW]) for number in range(12)])
        two.client([updates(1, 1, 0, [ROW])], begin_s=0.001)
        two.run()
        refused = [attempt for attempt in two.attempts if not attempt.committed]
        assert [attempt.transaction.client for attempt in refused] == [1]
        assert two.status(1, "wsrep_replicated") == 1 + retries


def test_a_transaction_of_several_statements_is_not_retried() -> None:
    two = cluster(retries=5)
    for node in (0, 1):
        two.client([updates(node, node, 0, [ROW], autocommit=False)])
    assert outcomes(two.run()) == [True, False]


def test_a_rolled_back_transaction_frees_its_rows() -> None:
    two = cluster()
    two.client([updates(0, 0, 0, [ROW])])
    two.client([updates(1, 1, number, rows) for number, rows in enumerate([[ROW, OTHER], [OTHER]])])
    two.run()
    assert outcomes(two) == [True, False, True]


# -- deadlocks -------------------------------------------------------------------------------------


def test_of_two_transactions_in_a_deadlock_one_fails() -> None:
    one = cluster(statement_us=1 * MS)
    one.client([updates(0, 0, 0, [ROW, OTHER], autocommit=False)])
    one.client([updates(1, 0, 0, [OTHER, ROW], autocommit=False)])
    one.run()
    assert sorted(outcomes(one)) == [False, True]
    # It is between clients of one node: nothing was replicated for it, nobody used brute force.
    assert one.total("wsrep_replicated") == 1
    assert counts(one) == (0, 0)


def test_rows_locked_in_one_order_do_not_deadlock() -> None:
    one = cluster(statement_us=1 * MS)
    for client in range(4):
        one.client([updates(client, 0, 0, [ROW, OTHER], autocommit=False)])
    assert outcomes(one.run()) == [True] * 4


# -- dependencies ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "waits"), [(("a", "a"), True), (("a", "b"), False)])
def test_what_depends_on_another_is_applied_after_it(rows: tuple[str, str], waits: bool) -> None:
    # Two at once from one node, whose keys alone tell that they touch one row.
    apply_s = 0.05
    parallel = GaleraCluster(
        EQUIDISTANT, options={"wsrep_slave_threads": 2}, costs={"apply_us": apply_s * 1e6}
    )
    for client, row in enumerate(rows):
        keys = (("client", client), row)
        parallel.client([Transaction(client, 0, "insert", (Statement(),), keys, 1, 100)])
    parallel.run()
    assert outcomes(parallel) == [True, True]
    first, second = (
        event.time_s for event in parallel.trace.events if (event.node, event.what) == (1, "commit")
    )
    assert second - first == pytest.approx(apply_s if waits else 0.0, abs=1e-6)
    assert parallel.status(1, "wsrep_cert_deps_distance") == pytest.approx(1.0 if waits else 1.5)


# -- what certification may forget -----------------------------------------------------------------


def test_a_node_that_lags_behind_certifies_like_the_others() -> None:
    # 127 writesets, one on the row, and one that takes a second to apply are ordered; then one of
    # the far node that had not seen the row. Node 1 is still applying the long one when it learns
    # that all nodes have committed the first 128, and certifies the last one only afterwards.
    near_s, far_s = 0.001, 0.05
    lagging = GaleraCluster(
        [[0.0, near_s, far_s], [near_s, 0.0, far_s], [far_s, far_s, 0.0]],
        options={
            "evs.send_window": 10,
            "evs.user_send_window": 10,
            "gcs.fc_limit": 1000,
            "wsrep_retry_autocommit": 0,
        },
        costs={"apply_row_us": 1 * MS},
    )
    for client in range(127):
        lagging.client([updates(client, 0, 0, size_bytes=0)])
    lagging.client([updates(127, 0, 0, [ROW], size_bytes=0)])
    keys = (("client", 128, 0),)
    lagging.client([Transaction(128, 0, "long", (Statement(),), keys, 1000, 0)])
    lagging.client([updates(129, 2, 0, [ROW])], begin_s=far_s + near_s)
    lagging.run()
    first, *others = lagging.histories()
    assert [order.passed for order in first.orders] == [True] * 129 + [False]
    assert all(other.orders == first.orders for other in others)
    assert outcomes(lagging)[-1] is False


def test_a_writeset_held_up_by_flow_control_meets_what_it_had_not_seen() -> None:
    # Flow control holds a transaction of node 2 at its send monitor for two seconds. Meanwhile
    # all nodes commit the update of the row it refers to, and would report so.
    stopped = GaleraCluster(
        EQUIDISTANT,
        options={"gcs.fc_limit": 10, "wsrep_retry_autocommit": 0},
        costs={"apply_us": 10 * MS},
    )
    for client in range(300):
        stopped.client([updates(client, 0, 0, [ROW] if client == 127 else [], size_bytes=0)])
    child = Transaction(
        300, 2, "child", (Statement(),), (("child", 0),), 1, 100, shared_keys=(ROW,)
    )  # fmt: skip
    stopped.client([child], begin_s=0.5)
    stopped.run()
    last = stopped.histories()[0].orders[-1]
    assert last.origin == 2
    assert last.last_seen < 128
    assert outcomes(stopped)[300] is False
