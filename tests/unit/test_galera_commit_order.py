"""The modes of ``repl.commit_order``: who may pass whom, and what a reader could see of it."""

from __future__ import annotations

import pytest

import simrep
from simrep.models.galera.monitors import IN_ORDER, commit_monitor
from simrep.runs.run import simulate
from simrep.scenario import load
from tests.clusters import GaleraCluster, updates
from tests.large_scenario import large_scenario
from tests.streams import HOP_S, large, quiet_cluster

COMMIT_S = 3 * HOP_S
APPLY_S = 1.0  # of the large transaction, on the other nodes
ROWS = 1000
BYPASS, OUT_OF_ORDER, LOCAL_OUT_OF_ORDER = range(3)
UPDATES = {"preset": "sysbench-oltp-update-index", "threads": 16, "nodes": ["n1"]}


def cluster(mode: int, **options: float) -> GaleraCluster:
    chosen = {"repl.commit_order": mode, "wsrep_slave_threads": 8, "gcs.fc_limit": 10_000}
    return quiet_cluster(options=chosen | options, costs={"apply_row_us": APPLY_S / ROWS * 1e6})


def commits(cluster: GaleraCluster, node: int) -> list[int]:
    return cluster.histories()[node].commits


# -- the monitor -----------------------------------------------------------------------------------


def entered(mode: int, arrivals: list[tuple[int, bool]], leaving: list[int]) -> list[int]:
    """The positions in the order in which they enter, when these arrive, and then these leave."""
    monitor, inside = commit_monitor(mode), list[int]()
    for position, local in arrivals:
        enter = monitor.enter_local if local else monitor.enter
        enter(position, inside.append, position)
    for position in leaving:
        monitor.leave(position)
    return inside


REMOTE_AND_LOCAL = [(3, True), (2, False), (1, False), (4, True)]


@pytest.mark.parametrize(
    ("mode", "at_once", "later"),
    [
        (IN_ORDER, [1], [1, 2, 3, 4]),
        (LOCAL_OUT_OF_ORDER, [3, 1, 4], [3, 1, 4, 2]),
        (OUT_OF_ORDER, [3, 2, 1, 4], [3, 2, 1, 4]),
        (BYPASS, [3, 2, 1, 4], [3, 2, 1, 4]),
    ],
)
def test_who_may_enter(mode: int, at_once: list[int], later: list[int]) -> None:
    assert entered(mode, REMOTE_AND_LOCAL, []) == at_once
    assert entered(mode, REMOTE_AND_LOCAL, [1, 2, 3]) == later


@pytest.mark.parametrize("mode", [BYPASS, OUT_OF_ORDER, LOCAL_OUT_OF_ORDER])
def test_what_is_next_is_known_when_all_before_it_have_left(mode: int) -> None:
    monitor = commit_monitor(mode)
    seen = []
    for position in (3, 1, 5, 4, 2):
        monitor.enter_local(position, lambda _: None)
        monitor.leave(position)
        seen.append(monitor.next)
    assert seen == [1, 2, 2, 2, 6]
    assert monitor.out_of_order == 3  # type: ignore[attr-defined]


def test_thousands_that_wait_leave_one_after_the_other() -> None:
    monitor = commit_monitor(LOCAL_OUT_OF_ORDER)
    left: list[int] = []

    def pass_through(position: int) -> None:
        left.append(position)
        monitor.leave(position)

    for position in range(2, 5000):
        monitor.enter(position, pass_through, position)
    monitor.enter(1, pass_through, 1)
    assert left == list(range(1, 5000))


# -- on a cluster ----------------------------------------------------------------------------------


def behind_a_large_one(mode: int) -> GaleraCluster:
    """A large writeset (1), a small one of its node (2), and a client of node 1 (3)."""
    three = cluster(mode)
    three.client([large(ROWS, size=0, row_bytes=1)])
    three.client([updates(1, 0, 0)], begin_s=0.001)
    three.client([updates(2, 1, 0)], begin_s=0.015)
    return three.run()


@pytest.mark.parametrize(
    ("mode", "other", "third", "anomalies"),
    [
        (IN_ORDER, [1, 2, 3], [1, 2, 3], [0, 0, 0]),
        (LOCAL_OUT_OF_ORDER, [3, 1, 2], [1, 2, 3], [0, 1, 0]),
        (OUT_OF_ORDER, [2, 3, 1], [2, 3, 1], [0, 2, 2]),
        (BYPASS, [2, 3, 1], [2, 3, 1], [0, 2, 2]),
    ],
)
def test_who_commits_before_a_large_transaction(
    mode: int, other: list[int], third: list[int], anomalies: list[int]
) -> None:
    three = behind_a_large_one(mode)
    assert three.outcomes == [True, True, True]
    assert [commits(three, node) for node in range(3)] == [[1, 2, 3], other, third]
    found = [three.status(node, "commits_out_of_order") for node in range(3)]
    assert found == anomalies
    latency_s = {one.transaction.client: one.ended_s - one.began_s for one in three.attempts}
    if mode == IN_ORDER:
        assert latency_s[2] == pytest.approx(COMMIT_S + APPLY_S - 0.015, abs=1e-9)
    else:
        assert latency_s[2] < 4 * HOP_S


@pytest.mark.parametrize("mode", [BYPASS, OUT_OF_ORDER, LOCAL_OUT_OF_ORDER, IN_ORDER])
def test_what_writes_the_same_row_keeps_its_order(mode: int) -> None:
    three = cluster(mode)
    three.client([large(ROWS, size=0, row_bytes=1)])
    three.client([updates(1, 0, 0, [5])], begin_s=0.001)  # waits for the row, then is ordered
    three.client([updates(2, 0, 0, [6])], begin_s=0.001)
    three.run()
    assert three.outcomes == [True] * 3
    for node in range(3):
        order = commits(three, node)
        assert order.index(1) == 0
    assert three.total("commits_out_of_order") == 0


@pytest.mark.parametrize("mode", [BYPASS, OUT_OF_ORDER, LOCAL_OUT_OF_ORDER, IN_ORDER])
def test_a_writeset_that_loses_still_loses(mode: int) -> None:
    three = cluster(mode)
    three.client([large(ROWS, size=0, row_bytes=1)])
    three.client([updates(1, 1, 0, [5])], begin_s=0.005)
    three.client([updates(2, 1, 0)], begin_s=0.006)
    three.run()
    assert three.outcomes == [True, False, True]
    assert three.status(1, "wsrep_local_cert_failures") == 1
    assert all(sorted(commits(three, node)) == [1, 3] for node in range(3))


def busy(**options: int) -> GaleraCluster:
    hot = [("hot", 0), ("hot", 1)]
    three = quiet_cluster(
        options={"wsrep_slave_threads": 4, "wsrep_retry_autocommit": 1} | options,
        costs={"apply_us": 900.0, "commit_us": 200.0, "statement_us": 300.0, "fsync_us": 500.0},
    )
    for client in range(9):
        three.client(
            [updates(client, client % 3, number, hot[: number % 3]) for number in range(10)],
            begin_s=0.003 * client,
        )
    return three.run()


def test_the_safe_mode_is_the_default() -> None:
    default, safe = busy(), busy(**{"repl.commit_order": IN_ORDER})
    assert default.trace.digest() == safe.trace.digest()
    assert default.total("commits_out_of_order") == 0
    assert default.trace.digest() != busy(**{"repl.commit_order": BYPASS}).trace.digest()


@pytest.mark.parametrize("mode", [BYPASS, OUT_OF_ORDER, LOCAL_OUT_OF_ORDER])
def test_anomalies_are_the_commits_before_earlier_ones(mode: int) -> None:
    three = busy(**{"repl.commit_order": mode})
    for node, history in enumerate(three.histories()):
        # Nobody can see a writeset that was refused, whenever that is.
        done = {order.seqno for order in history.orders if not order.passed}
        assert done
        early = 0
        for seqno in history.commits:
            early += any(before not in done for before in range(1, seqno))
            done.add(seqno)
        assert three.status(node, "commits_out_of_order") == early
    assert three.total("commits_out_of_order") > 0


@pytest.mark.parametrize("mode", [BYPASS, OUT_OF_ORDER, LOCAL_OUT_OF_ORDER, IN_ORDER])
def test_to_watch_it_changes_nothing(mode: int) -> None:
    content = large_scenario(
        "galera",
        options={"repl.commit_order": mode},
        costs={"apply_row_us": 20.0},
        workload={"nodes": ["n1", "n2"], "threads": 2},
    )
    scenario = load(content)
    watched = simulate(scenario, 1, trace=True, watch_s=0.01)
    assert watched.trace_digest == simulate(scenario, 1, trace=True).trace_digest
    early = [watched.counters[node]["commits_out_of_order"] for node in ("n1", "n2")]
    assert (early[1] > 0) == (mode != IN_ORDER)


def test_what_an_fsync_takes_of_a_core_counts_on_every_node() -> None:
    def tps(work_us: float) -> float:
        return simrep.run(
            {
                "cluster": {
                    "model": "galera",
                    "nodes": 3,
                    "options": {"wsrep_slave_threads": 1},
                    "costs": {"fsync_us": 1000.0, "fsync_work_us": work_us},
                },
                "network": {"rtt_ms": 0.5},
                "workload": {
                    "preset": "sysbench-oltp-update-index",
                    "threads": 16,
                    "nodes": ["n1"],
                },
                "run": {"duration_s": 0.5},
            }
        ).throughput_tps

    # Flow control holds the writer to what the one applier does: an fsync of 1.1 instead of 1 ms.
    assert 0.88 < tps(100.0) / tps(0.0) < 0.96
