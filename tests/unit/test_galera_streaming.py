"""Streaming replication: when fragments are cut, what they lock, how a stream ends."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.workload.transaction import Journal, LongTransaction, Statement
from tests.clusters import GaleraCluster, updates
from tests.streams import HOP_S, MS, large, parts, quiet_cluster

COMMIT_S = 3 * HOP_S  # three equidistant nodes on which nothing else takes time
EXACT = 1e-9
STREAMING = {"wsrep_trx_fragment_unit": "rows", "wsrep_trx_fragment_size": 3}


def ended_s(cluster: GaleraCluster) -> dict[int, float]:
    return {one.transaction.client: one.ended_s for one in cluster.attempts}


def commits_s(cluster: GaleraCluster, node: int) -> list[float]:
    return [one.time_s for one in cluster.trace.events if (one.node, one.what) == (node, "commit")]


def nothing_is_left(cluster: GaleraCluster) -> bool:
    return cluster.total("streams_open") == cluster.total("rows_locked") == 0


# -- when a fragment is due ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "size", "fragments"),
    [
        ("rows", 1, 10),
        ("rows", 3, 3),
        ("rows", 10, 1),
        ("rows", 11, 0),
        ("rows", 0, 0),
        ("bytes", 1, 10),
        ("bytes", 100, 10),
        ("bytes", 101, 5),  # a row has 100 bytes: cut when there are as many, never within a row
        ("bytes", 300, 3),
        ("bytes", 1000, 1),
        ("bytes", 1001, 0),
        ("statements", 1, 0),  # an autocommit statement is committed instead
    ],
)
def test_fragments_of_one_statement(unit: str, size: int, fragments: int) -> None:
    cluster = quiet_cluster()
    one = large(unit=unit, size=size)
    one.journal = Journal(cluster.clock, "large", 0, 3)
    cluster.client([one])
    cluster.run()
    assert cluster.status(0, "fragments_replicated") == fragments
    assert one.journal.fragments == fragments
    assert cluster.total("wsrep_replicated") == fragments + 1
    assert parts(cluster) == parts(cluster, 2) == ("f" * fragments + "C" if fragments else "")
    assert cluster.outcomes == [True]
    assert nothing_is_left(cluster)


@pytest.mark.parametrize(
    ("unit", "size", "fragments"),
    [
        ("statements", 1, 5),
        ("statements", 2, 2),
        ("statements", 5, 1),
        ("statements", 6, 0),
        ("rows", 10, 2),  # not with the end of a statement of four rows
        ("bytes", 800, 2),
        ("bytes", 1000, 2),
    ],
)
def test_fragments_of_several_statements(unit: str, size: int, fragments: int) -> None:
    cluster = quiet_cluster()
    cluster.client([large(4, statements=5, unit=unit, size=size)])
    cluster.run()
    assert cluster.status(0, "fragments_replicated") == fragments
    assert cluster.outcomes == [True]


def test_statements_that_only_read_are_not_counted() -> None:
    cluster = quiet_cluster()
    one = large(2, statements=3, unit="statements", size=2)
    one.statements = (Statement(5, 0), *one.statements[:1], Statement(5, 0), *one.statements[1:])
    cluster.client([one])
    cluster.run()
    assert cluster.status(0, "fragments_replicated") == 1


def test_large_fragments_are_cut_where_the_rows_are_counted() -> None:
    # Statements are executed in steps of a thousand rows; fragments do not care.
    cluster = quiet_cluster()
    cluster.client([large(10_000, unit="rows", size=1500)])
    cluster.run()
    rows = [
        sum(map(len, order.keys))  # type: ignore[arg-type]
        for order in cluster.histories()[1].orders
    ]
    assert rows == [1500] * 6 + [1000]


@pytest.mark.parametrize(
    ("options", "unit", "size", "fragments"),
    [
        (STREAMING, None, None, 3),
        (STREAMING, None, 5, 2),  # the unit stays that of the server
        (STREAMING, None, 0, 0),
        (STREAMING, "bytes", 100, 10),
        (STREAMING, "bytes", None, 10),
        ({}, None, None, 0),
        ({}, "rows", 2, 5),
        ({}, None, 500, 2),  # bytes, which is the default
        ({"wsrep_trx_fragment_unit": "rows"}, None, 5, 2),
    ],
)
def test_session_variables_go_above_options(
    options: dict[str, Any], unit: str | None, size: int | None, fragments: int
) -> None:
    cluster = quiet_cluster(options=options)
    cluster.client([large(unit=unit, size=size)])
    cluster.run()
    assert cluster.status(0, "fragments_replicated") == fragments


def test_transactions_that_only_read_are_not_streamed() -> None:
    cluster = quiet_cluster(options=STREAMING)
    reads = LongTransaction(0, 0, "reads", (Statement(100, 0),), (), 0, 0)
    cluster.client([reads])
    cluster.run()
    assert cluster.outcomes == [True]
    assert cluster.total("wsrep_replicated") == 0


def test_a_transaction_below_the_size_replicates_as_usual() -> None:
    usual, streamed = quiet_cluster(), quiet_cluster()
    for cluster, size in ((usual, 0), (streamed, 11)):
        cluster.client([large(unit="rows", size=size)])
        cluster.client([updates(1, 1, 0)], begin_s=0.02)
        cluster.run()
    assert usual.trace.digest() == streamed.trace.digest()


def test_the_send_monitor_is_held_once_for_every_fragment() -> None:
    # 200 fragments of 40 messages: every one needs the output queue (1 MiB) more than once.
    hop_s = 1e-6
    whole, streamed = quiet_cluster(hop_s=hop_s), quiet_cluster(hop_s=hop_s)
    waited_s = []
    for cluster, size in ((whole, 0), (streamed, 100)):
        cluster.client([large(1000, row_bytes=100_000, unit="rows", size=size)])
        for client in range(1, 20):
            cluster.client([updates(client, 0, client)], begin_s=client * 0.1)
        cluster.run()
        small = [one for one in cluster.attempts if one.transaction.client]
        waited_s.append(max(one.ended_s - one.began_s for one in small))
    messages = 1000 * 100_000 / 32600
    assert waited_s[0] > 0.8 * messages / 32 * 0.01
    assert waited_s[1] < 0.15 * waited_s[0]


# -- locks -----------------------------------------------------------------------------------------

ROW_S = 0.05  # of the stream's rows: three of them, and then a fragment
FRAGMENT_AT_S = 3 * ROW_S + COMMIT_S  # the first one is on all nodes
STREAM_S = 10 * ROW_S + 4 * COMMIT_S


def stream(retries: int = 0, **costs: float) -> GaleraCluster:
    """Rows 0 to 9 are updated, three at a time."""
    cluster = quiet_cluster(
        options={"wsrep_retry_autocommit": retries, "wsrep_slave_threads": 4},
        costs={"row_us": ROW_S * 1e6} | costs,
    )
    cluster.client([large(unit="rows", size=3)])
    return cluster


def rival(row: int, node: int = 1, client: int = 1) -> LongTransaction:
    """Update a row; what a row costs is charged to its statement."""
    return large(1, first=row, node=node, client=client, size=0)


@pytest.mark.parametrize("node", [1, 2])
@pytest.mark.parametrize("row", [0, 2])
def test_rows_of_a_fragment_are_locked_on_all_nodes(node: int, row: int) -> None:
    cluster = stream()
    cluster.client([rival(row, node)], begin_s=FRAGMENT_AT_S + 0.001)
    cluster.run()
    assert cluster.outcomes == [True, True]
    ends = ended_s(cluster)
    assert ends[0] == pytest.approx(STREAM_S, abs=EXACT)
    # It has the lock when the stream has committed on its node, then executes and commits.
    assert ends[1] == pytest.approx(STREAM_S + ROW_S + COMMIT_S, abs=EXACT)
    assert cluster.total("wsrep_local_cert_failures") == 0
    assert cluster.total("wsrep_local_bf_aborts") == 0


@pytest.mark.parametrize("row", [3, 9, 10])
def test_rows_that_are_not_replicated_yet_are_not(row: int) -> None:
    cluster = stream()
    begin_s = FRAGMENT_AT_S + 0.001
    cluster.client([rival(row)], begin_s=begin_s)
    cluster.run()
    assert ended_s(cluster)[1] == pytest.approx(begin_s + ROW_S + COMMIT_S, abs=EXACT)
    assert cluster.outcomes[1]


def test_a_local_transaction_that_has_a_row_of_a_fragment_is_aborted() -> None:
    # It has begun before the fragment comes, and is not replicated yet.
    cluster = stream()
    cluster.client([large(1, first=0, node=1, client=1, size=0)], begin_s=FRAGMENT_AT_S - 0.04)
    cluster.run()
    assert cluster.outcomes == [True, False]
    assert cluster.status(1, "wsrep_local_bf_aborts") == 1
    assert cluster.status(1, "errors.1213") == 1


# -- conflicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("retries", [0, 5])
def test_an_earlier_writeset_on_a_row_not_yet_replicated_aborts_the_stream(retries: int) -> None:
    # It wants row 4, which the stream has locked when the writeset comes, and not yet sent.
    cluster = stream(retries)
    cluster.client([rival(4)], begin_s=FRAGMENT_AT_S)
    cluster.run()
    assert cluster.outcomes == [False, True]
    assert cluster.status(0, "fragments_replicated") == 1
    assert [parts(cluster, node) for node in range(3)] == ["fR"] * 3
    assert cluster.status(0, "streams_rolled_back") == 1
    assert cluster.status(0, "wsrep_local_bf_aborts") == 1
    assert cluster.status(0, "errors.1213") == 1  # the server does not repeat it
    assert cluster.total("wsrep_local_cert_failures") == 0
    assert nothing_is_left(cluster)


@pytest.mark.parametrize("retries", [0, 5])
def test_a_fragment_fails_certification(retries: int) -> None:
    # The rival's writeset on row 4 has come, but is not safe, when the second fragment is sent.
    cluster = stream(retries)
    sent_s = 6 * ROW_S + COMMIT_S
    cluster.client([rival(4)], begin_s=sent_s - ROW_S - 1.5 * HOP_S)
    cluster.run()
    assert cluster.outcomes == [False, True]
    assert cluster.status(0, "wsrep_local_cert_failures") == 1
    assert cluster.status(0, "fragments_replicated") == 2
    assert [parts(cluster, node) for node in range(3)] == ["fR"] * 3
    assert cluster.status(0, "errors.1213") == 1
    assert nothing_is_left(cluster)
    passed = [order.passed for order in cluster.histories()[2].orders]
    assert passed == [True, True, False, True]  # fragment, rival, fragment, rollback


def test_the_rows_of_a_stream_that_was_rolled_back_are_free() -> None:
    cluster = stream()
    cluster.client([rival(4)], begin_s=FRAGMENT_AT_S)
    for row in range(10):
        cluster.client([rival(row, 2, 10 + row)], begin_s=2.0)
    cluster.run()
    assert cluster.outcomes == [False] + [True] * 11
    assert [ended_s(cluster)[10 + row] for row in range(2)] == pytest.approx(
        [2.0 + ROW_S + COMMIT_S] * 2, abs=0.3
    )


@pytest.mark.parametrize("node", [1, 2])
def test_a_rollback_costs_the_rows_and_fragments_that_were_applied(node: int) -> None:
    apply_row_us, log_row_us = 300.0, 700.0
    cluster = stream(apply_row_us=apply_row_us, log_row_us=log_row_us, log_removal_us=log_row_us)
    # After two fragments.
    cluster.client([rival(7)], begin_s=6 * ROW_S + 2 * COMMIT_S + 4 * log_row_us * 1e-6)
    cluster.run()
    assert parts(cluster, node) == "ffR"
    of_node = [one for one in cluster.trace.events if one.node == node]
    last = max(one.seqno for one in of_node if one.what == "order")
    at_s = {one.what: one.time_s for one in of_node if one.seqno == last}
    expected_s = (6 * apply_row_us + 2 * log_row_us) * 1e-6
    assert at_s["commit"] - at_s["order"] == pytest.approx(expected_s, abs=EXACT)


def test_the_origin_undoes_all_rows_that_it_has_written() -> None:
    cluster = stream(rollback_us=2 * MS)
    cluster.client([rival(4)], begin_s=FRAGMENT_AT_S)
    cluster.run()
    # It learns of the rival when the next three rows are written.
    written_s = 6 * ROW_S + COMMIT_S
    assert cluster.status(0, "rolled_back_rows") == 6
    assert ended_s(cluster)[0] == pytest.approx(written_s + 6 * ROW_S + 0.002, abs=EXACT)
    assert cluster.status(0, "rolled_back_s") == pytest.approx(ended_s(cluster)[0], abs=EXACT)


# -- the commit ------------------------------------------------------------------------------------


def test_the_commit_of_a_stream_is_a_barrier() -> None:
    # Removing the stored rows takes 0.2 s on the others. What comes after it waits, though there
    # are appliers and it is about other rows; the same behind a fragment does not.
    log_row_us, fragments = 50 * MS, 4
    costs = {"log_row_us": log_row_us, "log_removal_us": log_row_us}
    cluster = quiet_cluster(options={"wsrep_slave_threads": 8}, costs=costs)
    cluster.client([large(4, unit="rows", size=1)])
    cluster.run()
    end_s = cluster.attempts[0].ended_s
    again = quiet_cluster(options={"wsrep_slave_threads": 8}, costs=costs)
    again.client([large(4, unit="rows", size=1)])
    again.client([updates(1, 2, 0)], begin_s=end_s - COMMIT_S + 0.001)
    again.run()
    (commit,) = [
        one.seqno
        for one in again.trace.events
        if one.what == "part" and one.node == 1 and one.detail[1] == 2
    ]
    of_node = [one for one in again.trace.events if one.node == 1]
    ordered_s = {one.seqno: one.time_s for one in of_node if one.what == "order"}
    commit_s = {one.seqno: one.time_s for one in of_node if one.what == "commit"}
    assert max(commit_s) == commit + 1
    removal_s = fragments * log_row_us * 1e-6
    assert commit_s[commit] - ordered_s[commit] == pytest.approx(removal_s, abs=EXACT)
    assert commit_s[commit + 1] == pytest.approx(commit_s[commit], abs=EXACT)


def test_the_commit_of_a_stream_waits_for_all_before_it() -> None:
    # What is ordered before it is about other rows, and takes half a second to apply.
    log_row_us, fragments, apply_row_us = 50 * MS, 2, 10 * MS
    cluster = quiet_cluster(
        options={"wsrep_slave_threads": 8},
        costs={"log_row_us": log_row_us, "apply_row_us": apply_row_us}
        | {"log_removal_us": log_row_us},
    )
    cluster.client([large(fragments, unit="rows", size=1)])
    storing_s = fragments * (2 * log_row_us * 1e-6 + COMMIT_S) + fragments * log_row_us * 1e-6
    before = large(50, client=1, node=0, first=100, size=0)
    cluster.client([before], begin_s=storing_s - 0.001)
    cluster.run()
    earlier_s, commit_s = commits_s(cluster, 1)[-2:]
    assert parts(cluster, 1) == "ffC"
    assert earlier_s == pytest.approx(storing_s - 0.001 + COMMIT_S + 0.5, abs=EXACT)
    assert commit_s == pytest.approx(earlier_s + fragments * log_row_us * 1e-6, abs=EXACT)


def test_nothing_after_the_commit_of_a_stream_is_applied_before_it() -> None:
    # What follows takes 0.1 s to apply: in parallel with a writeset, but after a stream.
    def last_commit_s(size: int) -> float:
        cluster = quiet_cluster(
            options={"wsrep_slave_threads": 8},
            costs={"apply_us": 100 * MS},
        )
        cluster.client([large(2, unit="rows", size=size)])
        cluster.client([updates(1, 0, 0)], begin_s=0.001 if not size else 0.001 + COMMIT_S)
        cluster.run()
        *_, before, last = commits_s(cluster, 1)
        return last - before

    assert last_commit_s(0) == pytest.approx(0.001, abs=EXACT)
    assert last_commit_s(2) == pytest.approx(0.1, abs=EXACT)


# -- XA --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "expected"), [(0, "PC"), (3, "fffPC"), (5, "ffPC")])
def test_an_xa_transaction_is_prepared_and_committed_later(size: int, expected: str) -> None:
    hold_s = 1.5
    cluster = quiet_cluster()
    cluster.client([large(unit="rows", size=size, hold_s=hold_s)])
    cluster.run()
    assert [parts(cluster, node) for node in range(3)] == [expected] * 3
    assert ended_s(cluster)[0] == pytest.approx(len(expected) * COMMIT_S + hold_s, abs=EXACT)
    assert nothing_is_left(cluster)


def test_what_is_prepared_keeps_its_rows_locked_everywhere() -> None:
    cluster = quiet_cluster()
    cluster.client([large(size=0, hold_s=1.0)])
    cluster.client([rival(0, 0, 1)], begin_s=0.5)
    cluster.client([rival(9, 2, 2)], begin_s=0.5)
    cluster.clock.run(0.5)
    assert [cluster.status(node, "streams_open") for node in range(3)] == [0, 1, 1]
    assert [cluster.status(node, "rows_locked") for node in range(3)] == [10, 10, 10]
    cluster.run()
    assert cluster.outcomes == [True] * 3
    end_s = 2 * COMMIT_S + 1.0
    ends = ended_s(cluster)
    assert (ends[1], ends[2]) == pytest.approx((end_s + COMMIT_S, end_s + COMMIT_S), abs=EXACT)
