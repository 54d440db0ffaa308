"""Large writesets: whom they hold up, for how long, and what is refused or split."""

from __future__ import annotations

from math import ceil

import pytest

import simrep
from simrep.kernel.streams import Streams
from simrep.models.galera.options import GaleraSession
from simrep.testing import check_stages
from simrep.workload.classes import TransactionClass
from simrep.workload.mix import Mix
from tests.clusters import GaleraCluster, updates
from tests.large_scenario import ROW_BYTES, ROWS, large_scenario, outcome
from tests.streams import HOP_S, large, quiet_cluster

COMMIT_S = 3 * HOP_S
EXACT = 1e-9
MTU = 32600  # bytes of a message
QUEUE = 1 << 20  # bytes of the output queue
RETRY_S = 0.010  # after which a send that it refused is tried again
# All messages of a writeset may be in flight, so that it takes no longer than a small one.
OPEN = {"evs.send_window": 10_000, "evs.user_send_window": 10_000}


def ended_s(cluster: GaleraCluster) -> dict[int, float]:
    return {one.transaction.client: one.ended_s for one in cluster.attempts}


# -- the send monitor ------------------------------------------------------------------------------


@pytest.mark.parametrize("megabytes", [2, 5, 20])
def test_the_send_monitor_is_held_for_all_messages_of_a_writeset(megabytes: int) -> None:
    # The network takes no time here: the window is open, and only the output queue limits.
    cluster = quiet_cluster(
        2, hop_s=1e-7, options={"evs.send_window": 10**6, "evs.user_send_window": 2}
    )
    cluster.client([large(10, row_bytes=megabytes * 10**5, size=0)])
    cluster.client([updates(1, 0, 0)], begin_s=1e-9)
    cluster.run()
    size_bytes = megabytes * 10**6 + 150 + 16 + 80
    messages = ceil(size_bytes / MTU)
    # Two go out past the empty queue, then it takes messages until it is full.
    at_a_time = 2 + QUEUE // MTU + 1
    waits = ceil(messages / at_a_time) - 1
    assert waits >= 1
    assert ended_s(cluster)[1] == pytest.approx(waits * RETRY_S, abs=1e-5)


def test_another_nodes_writesets_do_not_wait_for_it() -> None:
    cluster = quiet_cluster(3, hop_s=1e-6)
    cluster.client([large(10, row_bytes=2 * 10**6, size=0)])
    for client in range(1, 5):
        cluster.client([updates(client, 1, 0)], begin_s=0.01 * client)
    cluster.run()
    ends = ended_s(cluster)
    assert ends[0] > 0.1
    assert max(ends[client] - 0.01 * client for client in range(1, 5)) < 1e-3


# -- certification, apply and commit order ---------------------------------------------------------


@pytest.mark.parametrize("rows", [100, 1000, 20_000])
def test_all_keys_are_certified_before_what_is_ordered_after_it(rows: int) -> None:
    key_us = 5.0
    cluster = quiet_cluster(options=OPEN, costs={"certify_key_us": key_us})
    cluster.client([large(rows, size=0)])
    cluster.client([updates(1, 0, 0)], begin_s=HOP_S * 1.5)
    cluster.run()
    certified_s = rows * key_us * 1e-6
    ends = ended_s(cluster)
    assert ends[0] == pytest.approx(COMMIT_S + certified_s, abs=EXACT)
    follower_s = max(1.5 * HOP_S + COMMIT_S, COMMIT_S + certified_s)
    assert ends[1] == pytest.approx(follower_s + key_us * 1e-6, abs=2e-5)


def test_many_keys_cost_more_than_the_caches_hold() -> None:
    def seconds(rows: int) -> float:
        cluster = quiet_cluster(2, hop_s=1e-9, costs={"certify_key_us": 1.0, "key_miss_us": 2.0})
        cluster.client([large(rows, size=0, row_bytes=1)])
        cluster.run()
        return ended_s(cluster)[0]

    assert seconds(10_000) == pytest.approx(0.010, abs=1e-6)
    # Beyond 10,000: once more to build it, and once more to certify it.
    assert seconds(15_000) == pytest.approx(0.015 + 2 * 5_000 * 2e-6, abs=1e-6)


@pytest.mark.parametrize("threads", [1, 8])
def test_everything_behind_it_waits_on_a_replica_until_it_is_applied(threads: int) -> None:
    rows, row_us = 2000, 100.0
    apply_s = rows * row_us * 1e-6
    cluster = quiet_cluster(
        options={"wsrep_slave_threads": threads, "gcs.fc_limit": 1000} | OPEN,
        costs={"apply_row_us": row_us},
    )
    cluster.client([large(rows, size=0)])
    # A client of the other node, whose commits come after it in the order.
    cluster.client([updates(1, 1, 0)], begin_s=COMMIT_S / 2)
    cluster.client([updates(2, 0, 0)], begin_s=COMMIT_S / 2)
    cluster.run()
    ends = ended_s(cluster)
    assert ends[0] == pytest.approx(COMMIT_S, abs=EXACT)
    assert ends[2] == pytest.approx(1.5 * COMMIT_S, abs=EXACT)  # the origin does not wait
    assert ends[1] == pytest.approx(COMMIT_S + apply_s, abs=1e-3)
    for node in (1, 2):
        commits = [
            one.time_s for one in cluster.trace.events if (one.node, one.what) == (node, "commit")
        ]
        assert commits[0] == pytest.approx(COMMIT_S + apply_s, abs=EXACT)
        assert commits == sorted(commits)


@pytest.mark.parametrize(("limit", "nodes"), [(4, 2), (16, 3), (30, 2)])
def test_flow_control_stops_the_writers_behind_it(limit: int, nodes: int) -> None:
    rows, row_us = 2000, 1000.0
    cluster = quiet_cluster(
        nodes,
        hop_s=1e-3,
        options={"gcs.fc_limit": limit},
        costs={"apply_row_us": row_us},
    )
    cluster.client([large(rows, size=0)])
    for client in range(1, 4):
        cluster.client([updates(client, 0, number) for number in range(100)], begin_s=0.1)
    cluster.run()
    upper = round(limit * nodes**0.5)
    apply_s = rows * row_us * 1e-6
    # The writers stop when the queue is longer than the limit; what is on its way comes, too.
    committed = sum(one.ended_s < apply_s for one in cluster.attempts if one.transaction.client)
    assert upper < committed <= upper + 1 + 2 * 3
    paused_s = cluster.status(0, "wsrep_flow_control_paused") * cluster.clock.now
    first_s = min(one.ended_s for one in cluster.attempts if one.ended_s > apply_s)
    assert paused_s == pytest.approx(first_s - 0.1, abs=0.1)
    assert cluster.status(1, "wsrep_local_recv_queue_max") > upper


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "fits"), [(1000, True), (1001, False), (3000, False)])
def test_a_transaction_may_write_so_many_rows(rows: int, fits: bool) -> None:
    row_us = 100.0
    cluster = quiet_cluster(
        options={"wsrep_max_ws_rows": 1000, "wsrep_retry_autocommit": 3}, costs={"row_us": row_us}
    )
    cluster.client([large(rows, size=0)])
    cluster.run()
    assert cluster.outcomes == [fits]
    assert cluster.status(0, "errors.1180") == (0 if fits else 1)
    written = cluster.status(0, "rolled_back_rows")
    if fits:
        assert written == 0
        return
    assert 1000 < written <= 2000  # it is seen when the step of a thousand rows has ended
    assert cluster.status(0, "rolled_back_s") == pytest.approx(2 * written * row_us * 1e-6)
    assert cluster.total("wsrep_replicated") == 0


@pytest.mark.parametrize(("size", "fits"), [(0, False), (100, True), (600, False)])
def test_the_largest_writeset_is_the_largest_fragment(size: int, fits: bool) -> None:
    # 1000 rows of 100 bytes; 50,000 bytes are allowed.
    cluster = quiet_cluster(options={"wsrep_max_ws_size": 50_000})
    cluster.client([large(1000, unit="rows", size=size)])
    cluster.run()
    assert cluster.outcomes == [fits]
    assert cluster.status(0, "errors.1180") == (0 if fits else 1)
    assert cluster.status(0, "wsrep_max_ws_size_exceeded") == (0 if fits else 1)
    assert cluster.total("streams_open") == cluster.total("rows_locked") == 0


def test_a_commit_that_is_too_large_rolls_the_stream_back() -> None:
    # Fragments are counted in statements: the last one is not due, and is the largest.
    cluster = quiet_cluster(options={"wsrep_max_ws_size": 50_000})
    one = large(200, statements=3, unit="statements", size=2)
    one.statements = (*one.statements[:2], *large(600, first=400).statements)
    one.rows, one.size_bytes = 1000, 100_000
    one.keys = tuple(range(1000))
    cluster.client([one])
    cluster.run()
    assert cluster.outcomes == [False]
    assert cluster.status(0, "fragments_replicated") == 1
    assert cluster.status(0, "streams_rolled_back") == 1
    assert cluster.status(0, "rolled_back_rows") == 1000
    assert cluster.total("streams_open") == cluster.total("rows_locked") == 0


def test_what_is_refused_has_wasted_its_rows_and_its_time() -> None:
    content = large_scenario(
        "galera", options={"wsrep_max_ws_size": ROWS * ROW_BYTES}, costs={"row_us": 10.0}
    )
    result, one = outcome(content)
    assert one.error == "1180 writeset too large (wsrep_max_ws_size)"
    counters = result.counters["n1"]
    assert counters["rolled_back_rows"] == ROWS
    assert counters["rolled_back_s"] == pytest.approx(2 * ROWS * 1e-5, abs=0.01)


# -- LOAD DATA -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "splits", "pieces"),
    [
        (9_999, True, [9_999]),
        (10_000, True, [10_000]),
        (10_001, True, [10_000, 1]),
        (35_000, True, [10_000, 10_000, 10_000, 5_000]),
        (35_000, False, [35_000]),
    ],
)
def test_load_data_commits_every_ten_thousand_rows(
    rows: int, splits: bool, pieces: list[int]
) -> None:
    content = large_scenario(
        "galera",
        options={"wsrep_load_data_splitting": splits},
        rows=rows,
        load_data=True,
        keys={"distribution": "fresh"},
        payload={"name": "reads", "statements": 0, "reads": 1},
    )
    content["workload"]["think_time_ms"] = 100.0
    result = simrep.run(content, seed=1, trace=True)
    one = result.scheduled["large"]
    assert not one.error
    assert one.end_s >= one.commit_s
    trace = result.runs[0].trace
    assert trace is not None
    found = [
        sum(len(key) for key in event.detail[2])  # type: ignore[index, misc]
        for event in trace
        if event.what == "order" and event.node == 1
    ]
    assert found == pieces
    assert result.counters["n2"]["wsrep_received"] == len(pieces)


def test_only_load_data_is_split() -> None:
    content = large_scenario("galera", options={"wsrep_load_data_splitting": True})
    content["workload"]["think_time_ms"] = 1900.0
    assert outcome(content)[0].counters["n1"]["wsrep_replicated"] == 2  # one is the other client's


def test_load_data_that_is_split_is_not_atomic() -> None:
    # The third piece has a row that another node has just written.
    cluster = quiet_cluster(
        options={"wsrep_load_data_splitting": True} | OPEN, costs={"row_us": 10.0}
    )
    rows = 35_000
    one = large(rows, size=0)
    one.load_data = True
    cluster.client([one])
    piece_s = 0.1 + COMMIT_S
    cluster.client([updates(1, 1, 0, [25_000])], begin_s=3 * piece_s - COMMIT_S - 1.5 * HOP_S)
    cluster.run()
    assert cluster.outcomes == [False, True]
    assert cluster.status(0, "wsrep_local_cert_failures") == 1
    assert cluster.status(1, "wsrep_last_committed") == 4
    histories = cluster.histories()
    for history in histories:
        assert [(order.origin, order.passed) for order in history.orders] == [
            (0, True), (0, True), (1, True), (0, False),
        ]  # fmt: skip
        assert history.commits == [1, 2, 3]
    assert cluster.status(0, "rolled_back_rows") == 10_000


@pytest.mark.parametrize("retry", [False, True])
def test_the_stages_of_parts_count_when_the_whole_load_has_committed(retry: bool) -> None:
    load = {"name": "load", "rows": 25_000, "load_data": True, "primary_key": False}
    result = simrep.run({
        "cluster": {"model": "galera", "version": "galera-3"},
        "workload": {"class": [load, {"name": "log", "rows": 2}], "threads": 4, "retry": retry},
        "run": {"duration_s": 1.2, "seed": 1},
    })  # fmt: skip
    (record,) = result.runs
    check_stages(record.measurement)
    replicated = result.counters["n1"]["wsrep_replicated"]
    loads = result.classes["load"].latency.count
    assert replicated > 3 * loads + result.classes["log"].latency.count  # parts cut off by the end


@pytest.mark.parametrize(
    ("rows", "fragment_rows", "parts"), [(12, 5, [1, 1]), (5000, 1500, [1, 1, 1])]
)
def test_every_fragment_has_the_key_of_identical_rows_once(
    rows: int, fragment_rows: int, parts: list[int]
) -> None:
    cluster = quiet_cluster()
    session = GaleraSession(wsrep_trx_fragment_unit="rows", wsrep_trx_fragment_size=fragment_rows)
    logs = TransactionClass(name="logs", rows=rows, primary_key=False, session=session)
    one = Mix([], Streams(1)).single(logs, 0, 0)(0.0)
    cluster.client([one])
    cluster.run()
    assert cluster.outcomes == [True]
    content = [("content", "t1", "logs")]
    fragments = [order.keys for order in cluster.histories()[1].orders][: len(parts)]
    assert [list(keys) for keys in fragments] == [content] * len(parts)


def test_every_part_of_a_load_has_the_key_of_identical_rows() -> None:
    cluster = quiet_cluster(options={"wsrep_load_data_splitting": True})
    logs = TransactionClass(name="logs", rows=25_000, primary_key=False, load_data=True)
    cluster.client([Mix([], Streams(1)).single(logs, 0, 0)(0.0)])
    cluster.run()
    assert cluster.outcomes == [True]
    keys = [list(order.keys) for order in cluster.histories()[1].orders]
    assert keys == [[("content", "t1", "logs")]] * 3
