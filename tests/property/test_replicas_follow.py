"""What replicas of asynchronous replication do with random load: all of it, conflicts in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from simrep.testing.strategies import networks, workloads
from tests.server_runs import Quiet, until_quiet

EXAMPLES = settings(max_examples=60)

workers = st.sampled_from([0, 1, 2, 5, 16])


@st.composite
def options(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A version, and settings that it knows."""
    version = draw(st.sampled_from(["mysql-5.5", "mysql-5.6", "mysql-5.7", "mysql-9", "mariadb"]))
    chosen: dict[str, Any] = {
        "sync_binlog": draw(st.sampled_from([0, 1, 3])),
        "innodb_flush_log_at_trx_commit": draw(st.integers(0, 2)),
        "sync_relay_log": draw(st.sampled_from([0, 1, 10_000])),
        "log_replica_updates": draw(st.booleans()),
    }
    if version == "mariadb":
        version = "mariadb-11.8"
        chosen["replica_parallel_workers"] = draw(workers)
        chosen["slave_parallel_mode"] = draw(st.sampled_from(["conservative", "optimistic"]))
    elif version in {"mysql-5.7", "mysql-9"}:
        chosen["replica_parallel_workers"] = draw(workers)
        chosen["replica_parallel_type"] = "LOGICAL_CLOCK"
        chosen["replica_preserve_commit_order"] = draw(st.booleans())
        chosen["binlog_order_commits"] = draw(st.booleans())
        chosen["binlog_transaction_dependency_tracking"] = draw(
            st.sampled_from(["COMMIT_ORDER", "WRITESET"])
        )
        chosen["binlog_transaction_dependency_history_size"] = draw(st.sampled_from([2, 25_000]))
    return version, chosen


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """A source with one to three replicas; all costs at their defaults, or nothing but applying."""
    names = [f"n{position + 1}" for position in range(draw(st.integers(2, 4)))]
    version, chosen = draw(options())
    cluster = {
        "model": "asynchronous",
        "version": version,
        "nodes": names,
        "shared_host": draw(st.booleans()),
        "machine": {"cores": draw(st.integers(1, 8)), "variation": draw(st.sampled_from([0, 0.5]))},
        "options": chosen,
        "costs": {"apply_row_us": draw(st.sampled_from([0.0, 5.0, 2000.0]))},
    }
    if draw(st.booleans()):
        cluster["costs"] |= {"statement_us": 0.0, "row_us": 0.0, "fsync_us": 0.0, "switch_us": 0.0}
    return {
        "cluster": cluster,
        "network": draw(networks(names)),
        "workload": draw(workloads(names[:1])) | {"threads": draw(st.integers(1, 12))},
    }


def conflicts(quiet: Quiet) -> Iterator[tuple[int, int]]:
    """Pairs of transactions that updated the same row one after the other."""
    last: dict[int, int] = {}
    for written in quiet.of(0, "binlog"):
        _, rows = written.detail
        for row in rows:
            if isinstance(row, int) and row >= 0:  # fresh rows and rows without a key are no locks
                if row in last:
                    yield last[row], written.seqno
                last[row] = written.seqno


def positions(quiet: Quiet, node: int, what: str) -> dict[int, int]:
    """Where in the trace something happened to each transaction."""
    return {
        one.seqno: position
        for position, one in enumerate(quiet.events)
        if (one.node, one.what) == (node, what)
    }


@EXAMPLES
@given(clusters(), st.integers(0, 1000))
def test_replicas_apply_all_that_the_source_committed_and_conflicts_in_order(content, seed):
    quiet = until_quiet(content, seed)
    assert quiet.submitted == quiet.committed + quiet.aborted
    chosen = content["cluster"]["options"]
    mariadb = content["cluster"]["version"].startswith("mariadb")
    everything = list(range(1, quiet.committed + 1))
    written = quiet.of(0, "binlog")
    assert [one.seqno for one in written] == everything
    assert all(0 <= one.detail[0] < one.seqno for one in written)
    pairs = list(conflicts(quiet))
    event(f"conflicts: {min(len(pairs), 1)}")
    at_source = positions(quiet, 0, "commit")
    assert all(at_source[first] < at_source[second] for first, second in pairs)

    for node in range(1, len(content["cluster"]["nodes"])):
        started, committed = positions(quiet, node, "apply"), positions(quiet, node, "commit")
        assert sorted(started) == sorted(committed) == everything
        assert all(committed[first] < committed[second] for first, second in pairs)
        if chosen.get("slave_parallel_mode") in {None, "conservative"}:
            assert all(committed[first] < started[second] for first, second in pairs)
        # Without binlog_order_commits, members of one group commit in the engine in any order.
        ordered = chosen.get("replica_preserve_commit_order")
        if mariadb or (ordered and chosen.get("binlog_order_commits", True)):
            assert list(committed) == everything
        counters = quiet.counters[f"n{node + 1}"]
        assert counters["Retrieved_Gtid_Set"] == counters["Executed_Gtid_Set"] == quiet.committed
        assert counters["Relay_Log_Space"] == counters["Seconds_Behind_Source"] == 0


@settings(max_examples=15)
@given(clusters(), st.integers(0, 1000))
def test_the_same_seed_gives_the_same_history(content, seed):
    assert until_quiet(content, seed) == until_quiet(content, seed)
