"""A replica that changes a table: how late it is, and when it has caught up again.

Nothing here is random. A replica with one thread needs ``s`` seconds for a transaction, and its
source commits ``r`` a second. While it changes a table for ``d`` seconds, ``r d`` transactions
queue up. From then on it catches up with ``1 / s - r`` a second, so the queue is gone after
``r d / (1 / s - r)``.
"""

from __future__ import annotations

import pytest

import simrep
from simrep.runs.run import simulate

APPLY_S = 2e-3
THINK_S = 16e-3
CLIENTS = 4
LONG_S = 0.6
FREE = dict.fromkeys(
    (
        "row_us", "binlog_byte_ns", "log_write_us", "binlog_write_us", "commit_us",
        "switch_us", "schedule_us", "apply_row_us", "ddl_ms", "ddl_byte_ns", "statement_us",
    ),
    0.0,
)  # fmt: skip


@pytest.mark.parametrize("model", ["asynchronous", "semisync", "group_replication"])
def test_a_replica_is_late_by_the_statement_and_catches_up_with_what_it_can_do_more(
    model: str,
) -> None:
    told = simrep.load(
        {
            "cluster": {
                "model": model,
                "nodes": 2,
                "options": {
                    "replica_parallel_workers": 0,
                    "sync_binlog": 0,
                    "innodb_flush_log_at_trx_commit": 2,
                },
                "costs": {**FREE, "apply_us": 1e6 * APPLY_S, "ddl_row_us": 5.0},
            },
            "workload": {
                "threads": CLIENTS,
                "think_time_ms": 1e3 * THINK_S,
                "think_time": "constant",
                "nodes": ["n1"],
                "ddl": [{"at_s": 1.0, "kind": "inplace", "rows": round(LONG_S / 5e-6)}],
            },
            "run": {"duration_s": 4.0},
        }
    )
    run = simulate(told, 1, trace=True)
    assert run.trace is not None
    (began_s, ended_s) = (
        next(one.at_s for one in run.noted if one.node == 1 and one.what == word)
        for word in ("ddl-rows", "ddl-ends")
    )
    assert ended_s - began_s == pytest.approx(LONG_S, abs=1e-3)
    first, second = (
        [one.time_s for one in run.trace if one.node == node and one.what == "commit"]
        for node in (0, 1)
    )
    late_s = [b - a for a, b in zip(first, second, strict=False)]
    assert max(late_s) == pytest.approx(LONG_S, abs=0.02)
    rate = sum(began_s < at_s < ended_s for at_s in first) / LONG_S
    due_s = ended_s + rate * LONG_S / (1.0 / APPLY_S - rate)
    caught_up_s = max(
        at_s for at_s, late in zip(second, late_s, strict=False) if late > 1.5 * CLIENTS * APPLY_S
    )
    assert caught_up_s == pytest.approx(due_s, abs=0.1 * (due_s - ended_s))
