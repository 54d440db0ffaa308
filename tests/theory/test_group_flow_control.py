"""What the quota of Group Replication does to a group whose appliers are slower than its floor."""

from __future__ import annotations

from itertools import pairwise

import pytest

import simrep

THRESHOLD = 500
FLOOR = 22  # a second: 5 % of the threshold, less 10 %, whatever members apply
APPLIED = 10  # a second
MINUTE = 60
ROWS = 4  # of a transaction
GARBAGE_S = 1e-3  # per row, much more than it takes: a minute has few rows here


@pytest.fixture(scope="module")
def left_behind() -> simrep.Result:
    """Four clients that write, and members that apply them too slowly."""
    inserts = {"name": "insert", "rows": ROWS, "statement_bytes": 400}
    return simrep.run(
        {
            "cluster": {
                "model": "group_replication",
                "nodes": 3,
                "options": {
                    "replica_parallel_workers": 1,
                    "group_replication_flow_control_applier_threshold": THRESHOLD,
                },
                "costs": {
                    "apply_us": 1e6 / APPLIED,
                    "garbage_ns": GARBAGE_S * 1e9,
                    "garbage_transaction_ns": 0.0,
                },
            },
            "network": {"rtt_ms": 5.0},
            "workload": {"preset": "sysbench-oltp-insert", "threads": 4, "class": [inserts]},
            "run": {"duration_s": 3 * MINUTE + 25, "warmup_s": 0},
        },
        seed=1,
    )


def test_the_floor_lets_a_slow_member_fall_behind_for_ever(left_behind: simrep.Result) -> None:
    calm = left_behind.series.commits[20:58]
    assert sum(calm) / len(calm) == pytest.approx(FLOOR, rel=0.02)
    backlog = left_behind.counters["n2"]["COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE"]
    assert backlog > 4 * THRESHOLD


def test_garbage_that_nobody_may_collect_stops_the_group_longer_every_minute(
    left_behind: simrep.Result,
) -> None:
    # Rows that are not applied everywhere stay, and are looked through once more.
    commits = left_behind.series.commits
    starts = [MINUTE * minute - 5 for minute in (1, 2, 3)]  # members began before their clients
    stalls = [sum(not n for n in commits[start : start + 25]) for start in starts]
    assert stalls[0] > 0
    for earlier, later in pairwise(stalls):
        written = FLOOR * (MINUTE - earlier)
        longer_s = (written - APPLIED * MINUTE) * ROWS * GARBAGE_S
        assert later - earlier == pytest.approx(longer_s, abs=1.0)  # whole seconds
