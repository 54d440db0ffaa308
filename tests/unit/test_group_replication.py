"""Group Replication: options and versions, a commit's way, large transactions, garbage."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.runs.run import run
from simrep.scenario import load
from simrep.scenario.options import versions
from simrep.testing import reads, updates
from simrep.workload.transaction import Statement, Transaction
from tests.group_clusters import QUIET_S, GroupReplicationCluster, calm_group, latencies
from tests.groups import symmetric
from tests.small_scenario import problem, small
from tests.theory.closed_forms import slot_delivery_s

HOP_S = 0.01
COMMIT_S = 4 * HOP_S
MS = 1e3  # microseconds
EQUIDISTANT = symmetric(3, HOP_S)


# -- options and versions --------------------------------------------------------------------------


def scenario(nodes: int = 3, **options: Any) -> dict[str, Any]:
    cluster = {"model": "group_replication", "nodes": nodes, "options": options}
    return small(cluster=cluster, workload={"threads": 4, "queries": 100, "nodes": ["n1"]})


@pytest.mark.parametrize("version", versions("simrep.models", "group_replication"))
def test_every_version_runs_with_its_defaults(version: str) -> None:
    content = scenario()
    content["cluster"]["version"] = version
    result = run(content, seed=1)
    assert result.counters["n1"]["COUNT_TRANSACTIONS_LOCAL_PROPOSED"] == 100
    assert result.counters["n2"]["COUNT_TRANSACTIONS_CHECKED"] > 90


@pytest.mark.parametrize(
    ("version", "consistency", "workers", "message"),
    [
        ("mysql-5.7.17", "EVENTUAL", 0, 0),
        ("mysql-8.0", "EVENTUAL", 4, 10_485_760),
        ("mysql-8.4", "BEFORE_ON_PRIMARY_FAILOVER", 4, 10_485_760),
        ("mysql-9", "BEFORE_ON_PRIMARY_FAILOVER", 4, 10_485_760),
    ],
)
def test_versions_differ_in_defaults(
    version: str, consistency: str, workers: int, message: int
) -> None:
    content = scenario()
    content["cluster"]["version"] = version
    options: Any = setup_of(load(content)).options
    assert options.consistency == consistency
    assert options.parallel_workers == workers
    assert options.max_message_size == message
    assert options.flow_control_applier_threshold == 25_000


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("group_replication_consistancy", "AFTER", "group_replication_consistency"),
        ("group_replication_consistency", "STRONG", "BEFORE_AND_AFTER"),
        ("group_replication_set_write_concurrency", 9, "10"),
        ("group_replication_set_write_concurrency", 201, "200"),
        ("group_replication_flow_control_mode", "ON", "QUOTA"),
        ("group_replication_flow_control_period", 0, "1"),
        ("group_replication_flow_control_hold_percent", 101, "100"),
        ("group_replication_transaction_size_limit", -1, "0"),
    ],
)
def test_what_no_server_takes_is_refused_by_name(option: str, value: Any, said: str) -> None:
    error = problem(scenario(**{option: value}))
    assert option in error.path
    assert said in str(error)


def test_a_group_has_nine_members_at_most() -> None:
    assert run(scenario(9), seed=1).counters["n9"]["COUNT_TRANSACTIONS_CHECKED"] > 0
    with pytest.raises(ScenarioError, match="at most 9 members, given 10"):
        run(scenario(10), seed=1)


def test_a_secondary_is_read_only() -> None:
    content = scenario()
    content["workload"]["nodes"] = ["n1", "n2"]
    with pytest.raises(ScenarioError, match="'n2', a secondary: it is read-only") as refused:
        run(content, seed=1)
    assert "'n1'" in str(refused.value)
    content["cluster"]["options"] = {"group_replication_single_primary_mode": False}
    assert run(content, seed=1).counters["n2"]["COUNT_TRANSACTIONS_LOCAL_PROPOSED"] > 0
    secondary = GroupReplicationCluster(symmetric(3, HOP_S))
    secondary.client([reads(0, 1)])
    assert secondary.run().outcomes == [True]


# -- a commit's way --------------------------------------------------------------------------------


TRIANGLE = [[0.0, 0.011, 0.032], [0.013, 0.0, 0.021], [0.034, 0.023, 0.0]]


@pytest.mark.parametrize("origin", range(3))
def test_a_commit_waits_for_its_message_to_be_delivered(origin: int) -> None:
    (latency,) = latencies(calm_group(TRIANGLE, last=origin), updates(0, origin, 0))
    assert latency == pytest.approx(slot_delivery_s(TRIANGLE, origin, origin), abs=1e-9)


def test_a_single_leader_waits_for_a_majority_only() -> None:
    led = calm_group(TRIANGLE, single_primary_mode=True, paxos_single_leader=True)
    assert latencies(led, updates(0, 0, 0)) == pytest.approx([0.024], abs=1e-9)
    # It needs a primary to be the leader.
    not_led = calm_group(TRIANGLE, paxos_single_leader=True)
    expected = slot_delivery_s(TRIANGLE, 0, 0)
    assert latencies(not_led, updates(0, 0, 0)) == pytest.approx([expected], abs=1e-9)


def test_every_step_costs_what_it_is_said_to_cost() -> None:
    costs = {
        "statement_us": 1.0,
        "row_us": 2.0,
        "replicate_us": 4.0,
        "certify_us": 8.0,
        "certify_row_us": 16.0,
        "deliver_us": 32.0,
        "propose_us": 64.0,
        "switch_us": 128.0,
        "commit_us": 256.0,
        "binlog_write_us": 512.0,
        "log_write_us": 1024.0,
        "fsync_us": 2048.0,
        "resume_us": 4096.0,
    }
    (free,) = latencies(calm_group(EQUIDISTANT), updates(0, 0, 0))
    for name, cost in costs.items():
        (latency,) = latencies(calm_group(EQUIDISTANT, costs={name: cost}), updates(0, 0, 0))
        # The redo and the binary log are flushed, for which a thread of the file system is woken.
        times = 2 if name == "fsync_us" else 1
        assert latency - free == pytest.approx(times * cost * 1e-6, abs=1e-9), name


def test_waits_in_the_group_overlap_and_commits_share_their_fsyncs() -> None:
    many = calm_group(EQUIDISTANT, costs={"fsync_us": 5 * MS})
    ends = latencies(many, *[updates(client, 0, 0) for client in range(20)])
    assert max(ends) < 2 * COMMIT_S + 3 * 2 * 0.005
    assert many.status(0, "Binlog_group_commits") < 10


def test_a_slow_applier_delays_no_commit() -> None:
    slow = calm_group(EQUIDISTANT, costs={"apply_us": 5000 * MS})
    assert latencies(slow, updates(0, 0, 0)) == pytest.approx([COMMIT_S])
    assert slow.clock.now > QUIET_S + 5.0


# -- large transactions ----------------------------------------------------------------------------

LARGE = 3_000_000


def large(size_bytes: int = LARGE) -> Transaction:
    return updates(0, 0, 0, size_bytes=size_bytes)


def sent_bytes(cluster: GroupReplicationCluster, transaction: Transaction) -> int:
    """What the origin has sent to another member for it, about."""
    latencies(cluster, transaction)
    return cluster.network.link(0, 1).bytes


def test_a_transaction_above_the_limit_fails_without_being_sent() -> None:
    limited = calm_group(EQUIDISTANT, transaction_size_limit=LARGE)
    assert latencies(limited, large(LARGE - 1000), large(LARGE + 1000))[1] == 0.0
    assert [attempt.committed for attempt in limited.attempts] == [False, True]
    assert limited.status(0, "transactions_too_large") == 1
    assert limited.total("COUNT_TRANSACTIONS_LOCAL_PROPOSED") == 1
    unlimited = calm_group(EQUIDISTANT, transaction_size_limit=0)
    latencies(unlimited, large(200_000_000))
    assert unlimited.outcomes == [True]


@pytest.mark.parametrize(
    ("threshold", "size_bytes", "compressed"),
    [(1_000_000, LARGE, True), (0, LARGE, False), (1_000_000, 900_000, False)],
)
def test_messages_above_a_threshold_are_compressed(
    threshold: int, size_bytes: int, compressed: bool
) -> None:
    costs = {"compression_ratio": 4.0}
    cluster = calm_group(EQUIDISTANT, costs=costs, compression_threshold=threshold)
    sent = sent_bytes(cluster, large(size_bytes))
    assert sent == pytest.approx(size_bytes / (4 if compressed else 1), abs=10_000)


def test_compressing_and_decompressing_take_time() -> None:
    def latency(**costs: float) -> float:
        return latencies(calm_group(EQUIDISTANT, costs=costs), large())[0]

    free = latency()
    # Once on the way out; once when it is delivered, at the origin too.
    assert latency(compress_byte_ns=100.0) - free == pytest.approx(LARGE * 1e-7, rel=0.001)
    assert latency(decompress_byte_ns=100.0) - free == pytest.approx(LARGE * 1e-7, rel=0.001)


@pytest.mark.parametrize(
    ("largest", "messages"), [(0, 1), (LARGE + 1000, 1), (LARGE // 2, 3), (LARGE // 10, 11)]
)
def test_large_messages_travel_in_fragments(largest: int, messages: int) -> None:
    cluster = calm_group(EQUIDISTANT, compression_threshold=0, max_message_size=largest)
    sent = sent_bytes(cluster, large())
    statistics = 1
    assert cluster.status(0, "xcom_messages") == messages + statistics
    assert sent == pytest.approx(LARGE, abs=10_000)
    assert cluster.outcomes == [True]


# -- garbage collection ----------------------------------------------------------------------------


def remembered(cluster: GroupReplicationCluster, *when_s: float) -> list[float]:
    """Rows in the certification info of member 0 at these times."""
    counts = []
    for at_s in when_s:
        cluster.clock.run(at_s)
        counts.append(cluster.status(0, "COUNT_TRANSACTIONS_ROWS_VALIDATING"))
    return counts


def insert(number: int, rows: int) -> Transaction:
    keys = tuple(("fresh", number, row) for row in range(rows))
    return Transaction(0, 0, "insert", (Statement(0, rows),), keys, rows, 100)


def test_what_all_have_committed_is_forgotten_every_minute() -> None:
    cluster = calm_group(EQUIDISTANT)
    cluster.client([insert(number, 10) for number in range(50)], begin_s=QUIET_S)
    assert remembered(cluster, 30.0, 58.9, 60.5) == [500, 500, 0]
    assert cluster.status(0, "certification_items_collected") == 500


def test_what_one_member_has_not_applied_is_kept() -> None:
    # One after the other, 10 s each: the sixth is applied after a minute.
    cluster = calm_group(EQUIDISTANT, costs={"apply_row_us": 1000 * MS}, replica_parallel_workers=0)
    cluster.client([insert(number, 10) for number in range(8)], begin_s=QUIET_S)
    assert remembered(cluster, 58.9, 60.5, 121.0) == [80, 30, 0]


def test_garbage_collection_holds_up_certification() -> None:
    costs = {"garbage_ns": 1000 * MS, "garbage_transaction_ns": 0.0}
    cluster = calm_group(EQUIDISTANT, costs=costs)
    cluster.client([insert(0, 500)], begin_s=QUIET_S)
    cluster.client([updates(1, 0, number) for number in range(60)], begin_s=58.5)
    cluster.clock.run(63.0)
    waits = sorted(attempt.ended_s - attempt.began_s for attempt in cluster.attempts[1:])
    # A millisecond for each row, those of the other client's last transactions too.
    rows = cluster.status(0, "certification_items_collected")
    assert rows > 500
    assert waits[-1] == pytest.approx(0.001 * rows, abs=2 * COMMIT_S)
    assert waits[-2] < 3 * COMMIT_S


def test_each_transaction_that_is_forgotten_takes_its_time() -> None:
    # Two minutes: those that were forgotten after the first one are no longer there.
    costs = {"garbage_ns": 0.0, "garbage_transaction_ns": 1000 * MS}
    cluster = calm_group(EQUIDISTANT, costs=costs)
    cluster.client([insert(number, 10) for number in range(500)], begin_s=QUIET_S)
    cluster.client([updates(1, 0, number) for number in range(60)], begin_s=58.5)
    cluster.client([updates(2, 0, number) for number in range(60)], begin_s=118.5)
    cluster.clock.run(123.0)
    ends = [attempt for attempt in cluster.committed if attempt.began_s > 58.0]
    longest = [
        max(attempt.ended_s - attempt.began_s for attempt in ends if low < attempt.began_s < high)
        for low, high in [(58.0, 100.0), (100.0, 123.0)]
    ]
    before = [sum(one.ended_s < at for one in cluster.committed) for at in (59.5, 119.5)]
    assert longest[0] == pytest.approx(0.001 * before[0], rel=0.1)
    assert longest[1] == pytest.approx(0.001 * (before[1] - before[0]), rel=0.5)
    assert longest[1] < longest[0]


def test_too_many_rows_are_forgotten_at_once_if_asked_for() -> None:
    options = {
        "preemptive_garbage_collection": True,
        "preemptive_garbage_collection_rows_threshold": 10_000,
    }
    primary = calm_group(EQUIDISTANT, single_primary_mode=True, **options)
    primary.client([insert(number, 4000) for number in range(4)], begin_s=QUIET_S)
    primary.run()
    assert primary.status(0, "COUNT_TRANSACTIONS_ROWS_VALIDATING") == 4000
    assert primary.status(1, "certification_items_collected") == 12_000
    # Where conflicts are looked for, all rows are needed.
    several = calm_group(EQUIDISTANT, **options)
    several.client([insert(number, 4000) for number in range(4)], begin_s=QUIET_S)
    several.run()
    assert several.status(0, "COUNT_TRANSACTIONS_ROWS_VALIDATING") == 16_000


@pytest.mark.parametrize(
    ("version", "option", "value"),
    [
        ("mysql-5.7.17", "consistency", "AFTER"),
        ("mysql-5.7.17", "paxos_single_leader", True),
        ("mysql-5.7.17", "set_write_concurrency", 200),
        ("mysql-8.0", "preemptive_garbage_collection", True),
    ],
)
def test_what_a_release_does_not_have_cannot_be_set(version, option, value):
    content = {
        "cluster": {
            "model": "group_replication",
            "version": version,
            "options": {f"group_replication_{option}": value},
        },
        "workload": {"preset": "mysqlslap-insert"},
    }
    with pytest.raises(ScenarioError, match=f"group_replication_{option}: does not exist in"):
        run(content)
