"""Tiny clusters whose every event is pinned.

They draw nothing but uniform numbers, whose values no library version or processor changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from simrep.contract.model import Change, Operation
from simrep.scenario.ddl import DdlKind, DdlTable
from simrep.scenario.maintenance import MaintenanceTable
from simrep.testing import WiredCluster, reads, updates
from tests.clusters import GaleraCluster, timers
from tests.group_clusters import GroupReplicationCluster, multi_primary
from tests.semisync_clusters import SemisyncCluster
from tests.streams import large

__all__ = ["CLUSTERS", "Golden", "pin"]

COSTS = {
    "statement_us": 90.0,
    "row_us": 5.0,
    "replicate_us": 10.0,
    "byte_ns": 2.0,
    "send_us": 8.0,
    "receive_us": 15.0,
    "action_us": 8.0,
    "certify_us": 5.0,
    "certify_key_us": 1.0,
    "apply_us": 40.0,
    "apply_row_us": 5.0,
    "commit_us": 20.0,
    "rollback_us": 20.0,
    "log_write_us": 5.0,
    "fsync_us": 150.0,
    "switch_us": 3.0,
    "keepalive_spread_ms": 1.0,
}
GROUP_COSTS = {
    "statement_us": 90.0,
    "row_us": 5.0,
    "replicate_us": 20.0,
    "propose_us": 10.0,
    "send_us": 8.0,
    "receive_us": 15.0,
    "byte_ns": 2.0,
    "deliver_us": 5.0,
    "certify_us": 10.0,
    "certify_row_us": 1.0,
    "garbage_ns": 100.0,
    "garbage_transaction_ns": 0.0,
    "relay_log_us": 10.0,
    "schedule_us": 5.0,
    "apply_us": 40.0,
    "apply_row_us": 5.0,
    "commit_us": 20.0,
    "rollback_us": 20.0,
    "binlog_write_us": 5.0,
    "binlog_byte_ns": 1.0,
    "log_write_us": 5.0,
    "fsync_us": 150.0,
    "switch_us": 3.0,
    "compress_byte_ns": 2.0,
    "decompress_byte_ns": 0.5,
    "compression_ratio": 3.4,
}
SEMISYNC_COSTS = {
    "statement_us": 90.0,
    "row_us": 5.0,
    "send_us": 8.0,
    "receive_us": 15.0,
    "byte_ns": 2.0,
    "reply_us": 7.0,
    "acknowledge_us": 9.0,
    "schedule_us": 5.0,
    "apply_us": 40.0,
    "apply_row_us": 5.0,
    "binlog_write_us": 6.0,
    "binlog_byte_ns": 1.0,
    "commit_us": 20.0,
    "log_write_us": 5.0,
    "fsync_us": 150.0,
    "switch_us": 3.0,
}
DDL_COSTS = {
    "ddl_ms": 10.0,
    "ddl_row_us": 5.0,
    "ddl_copied_row_us": 12.0,
    "ddl_byte_ns": 5.0,
}
ROWS = [("hot", 0), ("hot", 1)]
TRIANGLE = [[0.0, 0.011, 0.032], [0.013, 0.0, 0.021], [0.034, 0.023, 0.0]]


@dataclass(frozen=True)
class Golden:
    """What is pinned of a run; the figures beside the digest help to see what has changed."""

    digest: str
    events: int
    committed: int
    last_event_s: float

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def pin(name: str) -> Golden:
    """Run a cluster and take down what happened."""
    cluster = CLUSTERS[name]().run()
    trace = cluster.trace
    return Golden(
        digest=trace.digest(),
        events=len(trace.events),
        committed=len(cluster.committed),
        last_event_s=round(trace.events[-1].time_s, 9),
    )


def alter(
    cluster: WiredCluster,
    at_s: float,
    *,
    node: int,
    kind: DdlKind,
    rows: int,
    method: Literal["TOI", "RSU", "NBO"] | None = None,
) -> None:
    """An operator changes the table of all transactions."""
    told = DdlTable(at_s=at_s, kind=kind, rows=rows, method=method).told_at("workload.ddl.0")
    cluster.clock.at(at_s, cluster.model.operate, Operation(at_s, (node,), told))


def one_writer_behind_a_slow_link() -> GaleraCluster:
    """Eight clients write to a node of three, the third of which answers 50 ms later."""
    cluster = GaleraCluster(
        [[0.0, 5e-5, 5e-5], [5e-5, 0.0, 5e-5], [0.05005, 0.05005, 0.0]],
        options={"wsrep_slave_threads": 16, "innodb_flush_log_at_trx_commit": 2},
        costs=COSTS,
        machines=[0, 0, 0],
    )
    for client in range(8):
        cluster.client([updates(client, 0, number) for number in range(25)])
    return cluster


def three_writers_on_two_hot_rows() -> GaleraCluster:
    """Certification failures, brute force and retries in an asymmetric triangle."""
    cluster = GaleraCluster(
        TRIANGLE,
        options={"wsrep_slave_threads": 4},
        costs=COSTS,
    )
    for client in range(6):
        cluster.client(
            [
                updates(client, client % 3, number, ROWS[: 1 + number % 2], autocommit=client < 3)
                for number in range(8)
            ],
            begin_s=0.004 * client,
        )
    return cluster


def a_slow_replica_under_flow_control() -> GaleraCluster:
    """A replica with one applier and slow rows stops the cluster again and again."""
    cluster = GaleraCluster(
        [[0.0, 0.004, 0.004], [0.004, 0.0, 0.004], [0.004, 0.004, 0.0]],
        options={"gcs.fc_limit": 2, "gcs.fc_factor": 0.5},
        costs=COSTS | {"apply_us": 1500.0},
        cores=1,
    )
    for client in range(12):
        cluster.client([updates(client, 0, number) for number in range(6)])
    return cluster


def large_writesets_between_segments() -> GaleraCluster:
    """Fragments of two writers in two sites of two and three nodes, with relays."""
    near, far = 0.0004, 0.02
    site = [0, 0, 1, 1, 1]
    cluster = GaleraCluster(
        [
            [0.0 if i == j else near if a == b else far for j, b in enumerate(site)]
            for i, a in enumerate(site)
        ],
        segments=site,
        costs=COSTS,
    )
    for client in range(4):
        cluster.client(
            [
                updates(client, (0, 2)[client % 2], number, size_bytes=(100, 90_000)[number % 2])
                for number in range(4)
            ]
        )
    return cluster


def commits_one_by_one_through_the_flush() -> GaleraCluster:
    """Galera 3 on one machine: the commit monitor is held through every fsync."""
    cluster = GaleraCluster(
        [[0.0, 0.001], [0.001, 0.0]],
        options={"commit_monitor_through_flush": True, "gap_when_blocked": False},
        costs=COSTS | {"fsync_us": 900.0},
        machines=[0, 0],
    )
    for client in range(6):
        cluster.client([updates(client, client % 2, number) for number in range(6)])
    return cluster


def fragments_among_writers_on_their_rows() -> GaleraCluster:
    """Streams that commit, lose and are prepared, between writers that want the same rows."""
    cluster = GaleraCluster(
        TRIANGLE,
        options={"wsrep_slave_threads": 3, "innodb_lock_wait_timeout": 1},
        costs=COSTS
        | {"row_us": 900.0, "log_row_us": 30.0, "log_removal_us": 30.0, "log_byte_ns": 3.0},
    )
    for client, (unit, size, hold_s) in enumerate(
        [("rows", 7, None), ("bytes", 900, None), ("statements", 1, None), ("rows", 30, 0.05)]
    ):
        streams = [
            large(
                20, client=client, node=client % 3, first=50 * number + 500 * (client == 3),
                statements=2, unit=unit, size=size, hold_s=hold_s,
            )
            for number in range(4)
        ]  # fmt: skip
        cluster.client(streams, begin_s=0.15 * client)
    for client in range(4, 8):
        rows = range(5 * client, 200, 37)
        cluster.client(
            [updates(client, client % 3, number, [row]) for number, row in enumerate(rows)],
            begin_s=0.02 * client,
            pause_s=0.03,
        )
    return cluster


class _Changing(GaleraCluster):
    """A server that comes back counts from its start, so that only the order can be compared."""

    @property
    def quiet(self) -> bool:
        committed = {one["wsrep_last_committed"] for one in self.model.counters().values()}
        return len(committed) == 1


def a_crash_and_a_join_under_a_stream() -> GaleraCluster:
    """A writer dies with an open stream, and comes back while another one is under way."""
    cluster = _Changing(
        TRIANGLE,
        options={"wsrep_slave_threads": 2} | timers(0.4),
        costs=COSTS
        | {"row_us": 2000.0, "log_row_us": 30.0, "log_removal_us": 30.0, "log_byte_ns": 3.0},
        changes=True,
    )
    for at_s, what in ((0.3, "kill"), (1.5, "restart")):
        cluster.clock.at(at_s, cluster.model.change, Change(at_s, 0, what, 0.1))
    cluster.client([large(200, unit="rows", size=20)])
    cluster.client([large(400, client=1, node=1, unit="rows", size=30)], begin_s=1.1)
    for client in range(2, 6):
        cluster.client(
            [updates(client, client % 3, number, ROWS[: number % 2]) for number in range(12)],
            pause_s=0.1,
        )
    return cluster


def locks_on_two_nodes_under_writers() -> GaleraCluster:
    """One node is locked until it stops all, then another stands still and catches up."""
    cluster = GaleraCluster(
        TRIANGLE,
        options={"wsrep_slave_threads": 2, "gcs.fc_limit": 8},
        costs=COSTS,
        changes=True,
        operations=("lock-tables", "flush-tables-with-read-lock"),
    )
    for what, node, at_s, until_s in (
        ("lock-tables", 2, 0.3, 1.0),
        ("flush-tables-with-read-lock", 1, 0.8, 1.6),
        ("desync", 1, 1.2, 2.0),
    ):
        told = MaintenanceTable.model_validate(
            {"what": what, "node": cluster.names[node], "at_s": at_s, "until_s": until_s}
        )
        cluster.clock.at(at_s, cluster.model.operate, Operation(at_s, (node,), told))
    for client in range(6):
        cluster.client(
            [updates(client, client % 3, number, ROWS[: number % 2]) for number in range(20)],
            pause_s=0.03,
        )
    return cluster


def a_primary_with_a_far_secondary() -> GroupReplicationCluster:
    """More clients than the event horizon has slots, and statistics of the far member."""
    cluster = GroupReplicationCluster(
        [[0.0, 5e-5, 5e-5], [5e-5, 0.0, 5e-5], [0.05005, 0.05005, 0.0]],
        costs=GROUP_COSTS,
        machines=[0, 0, 0],
    )
    for client in range(16):
        cluster.client([updates(client, 0, number) for number in range(20)])
    return cluster


def a_group_of_writers_on_two_hot_rows() -> GroupReplicationCluster:
    """Conflicts in certification and victims, appliers that do not keep the order."""
    cluster = GroupReplicationCluster(
        TRIANGLE,
        options=multi_primary(replica_preserve_commit_order=False, flow_control_max_quota=5),
        costs=GROUP_COSTS | {"apply_us": 1500.0},
    )
    for client in range(6):
        cluster.client(
            [
                updates(client, client % 3, number, ROWS[: 1 + number % 2], autocommit=client < 3)
                for number in range(8)
            ],
            begin_s=0.004 * client,
        )
    return cluster


def reads_and_writes_that_wait_for_each_other() -> GroupReplicationCluster:
    """BEFORE_AND_AFTER behind a single leader; large messages, compressed and in fragments."""
    cluster = GroupReplicationCluster(
        TRIANGLE,
        options={
            "consistency": "BEFORE_AND_AFTER",
            "paxos_single_leader": True,
            "compression_threshold": 50_000,
            "max_message_size": 20_000,
            "sync_relay_log": 5,
        },
        costs=GROUP_COSTS,
        cores=1,
    )
    for client in range(3):
        cluster.client(
            [
                updates(client, 0, number, size_bytes=(100, 90_000)[number % 2])
                for number in range(6)
            ]
        )
        cluster.client([reads(3 + client, client) for _ in range(6)], pause_s=0.02)
    return cluster


def tables_changed_by_three_methods() -> GaleraCluster:
    """In total order isolation under three writers, without blocking, and on a node alone."""
    cluster = GaleraCluster(
        TRIANGLE,
        options={"wsrep_slave_threads": 3, "non_blocking_operations": True},
        costs=COSTS | DDL_COSTS,
        changes=True,
        operations={"ddl"},
    )
    alter(cluster, 0.05, node=0, kind="inplace", rows=8000)
    alter(cluster, 0.30, node=1, kind="copy", rows=6000, method="NBO")
    alter(cluster, 0.7, node=2, kind="copy", rows=6000, method="RSU")
    for client in range(6):
        cluster.client(
            [
                updates(client, client % 3, number, ROWS[: number % 2], autocommit=client < 3)
                for number in range(12)
            ],
            begin_s=0.004 * client,
            pause_s=0.02,
        )
    return cluster


def tables_changed_in_a_group_of_writers() -> GroupReplicationCluster:
    """Rows are gone through while three members write, and copied on another one afterwards."""
    cluster = GroupReplicationCluster(
        TRIANGLE,
        options=multi_primary(replica_parallel_workers=3),
        costs=GROUP_COSTS | DDL_COSTS,
        changes=True,
        operations={"ddl"},
    )
    alter(cluster, 0.02, node=0, kind="inplace", rows=8000)
    alter(cluster, 0.20, node=1, kind="copy", rows=3000)
    for client in range(6):
        cluster.client(
            [updates(client, client % 3, number, ROWS[: number % 2]) for number in range(12)],
            begin_s=0.004 * client,
            pause_s=0.02,
        )
    return cluster


def a_table_copied_on_a_source() -> SemisyncCluster:
    """Replicas that are late by it acknowledge all the same; a second statement waits."""
    cluster = SemisyncCluster(
        [[0.0, 0.004, 0.011], [0.006, 0.0, 0.02], [0.009, 0.02, 0.0]],
        options={"replica_parallel_workers": 3, "rpl_semi_sync_source_timeout": 60},
        costs=SEMISYNC_COSTS | DDL_COSTS,
        changes=True,
        operations={"ddl"},
    )
    alter(cluster, 0.05, node=0, kind="copy", rows=6000)
    alter(cluster, 0.06, node=0, kind="instant", rows=6000)
    for client in range(5):
        cluster.client(
            [updates(client, 0, number, ROWS[: number % 3]) for number in range(10)], pause_s=0.01
        )
    return cluster


def two_of_three_replicas_must_acknowledge() -> SemisyncCluster:
    """AFTER_SYNC with hot rows; every sixth client's transactions are large."""
    cluster = SemisyncCluster(
        [[0.0, 0.004, 0.011, 0.05], [0.006, 0.0, 0.02, 0.02], [0.009, 0.02, 0.0, 0.02],
         [0.05, 0.02, 0.02, 0.0]],
        options={"rpl_semi_sync_source_wait_for_replica_count": 2},
        costs=SEMISYNC_COSTS,
        bytes_per_s=1e7,
    )  # fmt: skip
    for client in range(6):
        cluster.client(
            [
                updates(
                    client, 0, number, ROWS[: number % 3], size_bytes=90_000 if client == 5 else 100
                )
                for number in range(8)
            ]
        )
    return cluster


def one_transaction_per_round_trip() -> SemisyncCluster:
    """MySQL 5.5 with two replicas and a timeout that is reached while many wait."""
    cluster = SemisyncCluster(
        [[0.0, 0.01, 0.025], [0.01, 0.0, 0.01], [0.025, 0.01, 0.0]],
        options={
            "commit_pipeline": "mysql-5.5",
            "rpl_semi_sync_source_wait_point": "AFTER_COMMIT",
            "rpl_semi_sync_master_timeout": 90,
            "replica_parallel_workers": 0,
        },
        costs=SEMISYNC_COSTS,
    )
    for client in range(8):
        cluster.client([updates(client, 0, number) for number in range(6)], pause_s=0.05)
    return cluster


def groups_that_follow_each_other_in_mariadb() -> SemisyncCluster:
    """AFTER_SYNC of MariaDB on one machine: one group waits, one more is written."""
    cluster = SemisyncCluster(
        [[0.0, 0.0001], [0.03, 0.0]],
        options={"commit_pipeline": "mariadb", "replica_parallel_workers": 2},
        costs=SEMISYNC_COSTS,
        machines=[0, 0],
    )
    for client in range(5):
        cluster.client([updates(client, 0, number) for number in range(8)])
    return cluster


CLUSTERS: dict[str, Callable[[], WiredCluster]] = {
    build.__name__: build
    for build in (
        one_writer_behind_a_slow_link,
        three_writers_on_two_hot_rows,
        a_slow_replica_under_flow_control,
        large_writesets_between_segments,
        commits_one_by_one_through_the_flush,
        fragments_among_writers_on_their_rows,
        a_crash_and_a_join_under_a_stream,
        locks_on_two_nodes_under_writers,
        a_primary_with_a_far_secondary,
        a_group_of_writers_on_two_hot_rows,
        reads_and_writes_that_wait_for_each_other,
        tables_changed_by_three_methods,
        tables_changed_in_a_group_of_writers,
        a_table_copied_on_a_source,
        two_of_three_replicas_must_acknowledge,
        one_transaction_per_round_trip,
        groups_that_follow_each_other_in_mariadb,
    )
}
