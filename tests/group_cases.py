"""Random groups of MySQL Group Replication under random conflicting load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from simrep.testing import reads, updates
from tests.galera_cases import Delays, Load, Look, delays, loads
from tests.group_clusters import GroupReplicationCluster

__all__ = ["GroupCase", "group_cases"]

_MEMBER = "simrep.models.group_replication.member."


@dataclass(frozen=True)
class GroupCase:
    """A group and its writers, who read on one of the members after everything they write."""

    delays_s: Delays
    jitter_s: float
    machines: tuple[int, ...]
    cores: int
    options: dict[str, Any]
    costs: dict[str, float]
    loads: tuple[Load, ...]
    loop_s: float
    broadcast_periods: int
    names: tuple[str, ...] | None = None

    @property
    def size(self) -> int:
        return len(self.delays_s)

    def run(
        self, seed: int = 0, look: Look[GroupReplicationCluster] | None = None
    ) -> GroupReplicationCluster:
        """Run it to its end; on the way, at a time in seconds, ``look`` may have a look at it."""
        # Members report every second, and every minute what they have committed: more often here,
        # to have flow control work and certification forget.
        with (
            patch(_MEMBER + "LOOP_S", self.loop_s),
            patch(_MEMBER + "_GTID_BROADCAST_PERIODS", self.broadcast_periods),
        ):
            return self._run(seed, look)

    def _run(
        self, seed: int, look: Look[GroupReplicationCluster] | None
    ) -> GroupReplicationCluster:
        cluster = GroupReplicationCluster(
            self.delays_s,
            options=self.options,
            costs=self.costs,
            jitter_s=self.jitter_s,
            machines=self.machines,
            cores=self.cores,
            names=self.names,
            seed=seed,
        )
        for client, load in enumerate(self.loads):
            transactions = []
            for i, (hot, size_bytes, autocommit) in enumerate(load.work):
                transactions.append(
                    updates(client, load.node, i, hot, size_bytes=size_bytes, autocommit=autocommit)
                )
                transactions.append(reads(client, (load.node + 1 + i) % self.size))
            cluster.client(transactions, begin_s=load.begin_s, pause_s=load.pause_s)
        if look is not None:
            time_s, call = look
            cluster.clock.run(time_s)
            call(cluster)
        return cluster.run(600.0)


levels = st.sampled_from(["EVENTUAL", "BEFORE", "AFTER", "BEFORE_AND_AFTER"])
variables = st.fixed_dictionaries(
    {
        "paxos_single_leader": st.booleans(),
        "write_concurrency": st.sampled_from([10, 200]),
        "compression_threshold": st.sampled_from([0, 1000, 1_000_000]),
        "max_message_size": st.sampled_from([0, 50_000, 10_485_760]),
        "transaction_size_limit": st.sampled_from([0, 100_000]),
        "flow_control_mode": st.sampled_from(["QUOTA", "DISABLED"]),
        "flow_control_period": st.sampled_from([1, 2]),
        "flow_control_applier_threshold": st.sampled_from([1, 25_000]),
        "flow_control_certifier_threshold": st.sampled_from([0, 25_000]),
        "flow_control_min_quota": st.sampled_from([1, 3, 100]),
        "replica_parallel_workers": st.sampled_from([0, 1, 2, 8]),
        "replica_preserve_commit_order": st.booleans(),
        "sync_binlog": st.sampled_from([0, 1]),
        "sync_relay_log": st.sampled_from([0, 1, 10_000]),
        "innodb_flush_log_at_trx_commit": st.integers(0, 2),
        "binlog_order_commits": st.booleans(),
    }
)

costs: st.SearchStrategy[dict[str, float]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {
            "statement_us": st.sampled_from([0.0, 90.0]),
            "client_us": st.sampled_from([0.0, 20.0]),
            "replicate_us": st.sampled_from([0.0, 20.0]),
            "propose_us": st.sampled_from([0.0, 10.0]),
            "send_us": st.sampled_from([0.0, 8.0]),
            "receive_us": st.sampled_from([0.0, 15.0]),
            "deliver_us": st.sampled_from([0.0, 5.0]),
            "certify_us": st.sampled_from([0.0, 10.0, 2000.0]),
            "garbage_ns": st.sampled_from([0.0, 1e5]),
            "garbage_transaction_ns": st.sampled_from([0.0, 1e6]),
            "relay_log_us": st.sampled_from([0.0, 10.0]),
            "schedule_us": st.sampled_from([0.0, 5.0]),
            "apply_us": st.sampled_from([0.0, 40.0, 3000.0]),
            "commit_us": st.sampled_from([0.0, 20.0]),
            "rollback_us": st.sampled_from([0.0, 20.0]),
            "fsync_us": st.sampled_from([0.0, 150.0, 5000.0]),
            "switch_us": st.sampled_from([0.0, 3.0]),
            "byte_ns": st.sampled_from([0.0, 2.0]),
            "compress_byte_ns": st.sampled_from([0.0, 200.0]),
            "compression_ratio": st.sampled_from([1.0, 4.0]),
        }
    ),
)


@st.composite
def group_cases(draw: st.DrawFn) -> GroupCase:
    size = draw(st.integers(2, 5))
    single_primary = draw(st.sampled_from([False, False, True]))
    mode = {"single_primary_mode": single_primary, "consistency": draw(levels)}
    return GroupCase(
        delays_s=draw(delays(size)),
        jitter_s=draw(st.sampled_from([0.0, 0.0, 0.003])),
        machines=tuple(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))),
        cores=draw(st.integers(1, 3)),
        options=mode | draw(variables),
        costs=draw(costs),
        loads=draw(loads(1 if single_primary else size)),
        loop_s=draw(st.sampled_from([0.02, 0.1, 1.0])),
        broadcast_periods=draw(st.sampled_from([1, 2, 60])),
    )
