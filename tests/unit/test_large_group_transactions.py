"""Large transactions in Group Replication: conflicts, limits, and what holds up the group."""

from __future__ import annotations

from math import isnan
from typing import Any

import pytest

from simrep.testing import updates
from simrep.workload.transaction import LongTransaction, Statement
from tests.group_clusters import QUIET_S, GroupReplicationCluster, calm_group
from tests.groups import symmetric
from tests.large_scenario import ROW_BYTES, ROWS, large_scenario, outcome

GROUP = "group_replication"
HOP_S = 0.01
EQUIDISTANT = symmetric(3, HOP_S)
ALL = range(2000)


def sweep(client: int, node: int, rows: range = ALL) -> LongTransaction:
    statement = Statement(0, len(rows), scan=rows)
    large = LongTransaction(client, node, "sweep", (statement,), (), len(rows), 100 * len(rows))
    large.ranges = (rows,)
    return large


def concurrent(first: Any, second: Any, *, after_s: float = HOP_S / 2) -> GroupReplicationCluster:
    """Two transactions, the second sent before the first has arrived."""
    cluster = calm_group(EQUIDISTANT, last=1)
    cluster.client([first], begin_s=QUIET_S)
    cluster.client([second], begin_s=QUIET_S + after_s)
    return cluster.run()


def test_of_a_range_and_a_row_of_it_the_first_ordered_wins() -> None:
    for first, second in (
        (sweep(0, 0), updates(1, 1, 0, (5,))),
        (updates(0, 0, 0, (5,)), sweep(1, 1)),
        (sweep(0, 0), sweep(1, 1, range(1999, 4000))),
    ):
        cluster = concurrent(first, second)
        assert cluster.outcomes == [True, False]
        assert cluster.status(2, "COUNT_CONFLICTS_DETECTED") == 1
        assert cluster.status(1, "errors.3101") == 1
        assert cluster.status(1, "rolled_back_rows") == second.rows


def test_without_common_rows_both_commit() -> None:
    for second in (updates(1, 1, 0, (2000,)), sweep(1, 1, range(2000, 4000))):
        cluster = concurrent(sweep(0, 0), second)
        assert cluster.outcomes == [True, True]
        assert cluster.total("COUNT_CONFLICTS_DETECTED") == 0


def test_one_after_the_other_both_commit() -> None:
    cluster = concurrent(sweep(0, 0), updates(1, 1, 0, (5,)), after_s=1.0)
    assert cluster.outcomes == [True, True]


def test_an_applier_takes_its_rows_from_who_still_executes() -> None:
    row_s = 1e-4
    cluster = calm_group(EQUIDISTANT, costs={"row_us": row_s * 1e6, "rollback_us": 0.0})
    cluster.client([updates(0, 0, 0, (5,))], begin_s=QUIET_S)
    cluster.client([sweep(1, 1, range(10_000))], begin_s=QUIET_S)
    cluster.run()
    assert cluster.outcomes == [True, False]
    assert cluster.status(1, "errors.1213") == 1
    assert cluster.status(1, "errors.3101") == 0
    # It had the row in its first step of 1,000, and was told at the end of that step.
    assert cluster.status(1, "rolled_back_rows") == 1000


def test_all_its_rows_are_certified_and_remembered() -> None:
    content = large_scenario(GROUP, costs={"certify_row_us": 10.0}, payload={"table": "big"})
    result, _ = outcome(content)
    assert result.latency_s["max"] == pytest.approx(ROWS * 10e-6, abs=0.02)
    # Those of the client lie among them.
    assert result.counters["n2"]["COUNT_TRANSACTIONS_ROWS_VALIDATING"] == ROWS


def test_its_bytes_occupy_the_thread_that_everything_passes() -> None:
    result, large = outcome(large_scenario(GROUP, 3, costs={"byte_ns": 50.0}))
    copy_s = (ROWS * (ROW_BYTES + 16)) * 50e-9
    assert result.latency_s["max"] == pytest.approx(copy_s, rel=0.1)
    assert large.duration_s > 2 * 0.9 * copy_s  # built at its origin, then received


def test_the_limit_counts_its_write_set() -> None:
    size = ROWS * (ROW_BYTES + 16)
    for limit, fails in ((size, True), (size + 1000, False)):
        options = {"group_replication_transaction_size_limit": limit}
        result, large = outcome(large_scenario(GROUP, options=options))
        assert large.error.startswith("3100") == fails
        assert result.counters["n1"]["errors.3100"] == fails
        assert result.counters["n1"]["rolled_back_rows"] == fails * ROWS
        assert isnan(large.replicate_s) == fails


def test_flow_control_sees_what_is_behind_it() -> None:
    options = {"group_replication_flow_control_applier_threshold": 500}

    def throttled(apply_row_us: float) -> float:
        content = large_scenario(GROUP, options=options, costs={"apply_row_us": apply_row_us})
        return outcome(content)[0].counters["n1"]["Gr_flow_control_throttle_count"]

    assert throttled(1.0) == 0
    assert throttled(60.0) > 0  # three seconds, in which more than 500 are ordered


def test_garbage_collection_forgets_ranges() -> None:
    cluster = calm_group(EQUIDISTANT)
    cluster.client([sweep(0, 0)], begin_s=QUIET_S)
    cluster.clock.run(58.0)
    assert cluster.status(0, "COUNT_TRANSACTIONS_ROWS_VALIDATING") == len(ALL)
    cluster.clock.run(61.0)
    assert cluster.status(0, "COUNT_TRANSACTIONS_ROWS_VALIDATING") == 0
    assert cluster.status(0, "certification_items_collected") == len(ALL)


def test_too_many_rows_are_forgotten_at_once_if_asked_for() -> None:
    options = {
        "group_replication_preemptive_garbage_collection": True,
        "group_replication_preemptive_garbage_collection_rows_threshold": 10_000,
    }
    result, _ = outcome(large_scenario(GROUP, options=options))
    assert result.counters["n2"]["COUNT_TRANSACTIONS_ROWS_VALIDATING"] < 10_000
    assert result.counters["n2"]["certification_items_collected"] >= ROWS
