"""Large writesets: what they cost, what is refused, and what the group is told of them."""

from __future__ import annotations

import pytest

from simrep.workload.transaction import Statement, Transaction
from tests.clusters import GaleraCluster

NEAR = [[0.0 if i == j else 0.001 for j in range(3)] for i in range(3)]


def insert(number: int, rows: int, size_bytes: int = 100) -> Transaction:
    keys = tuple(("fresh", number, row) for row in range(rows))
    return Transaction(0, 0, "insert", (Statement(0, rows),), keys, rows, size_bytes)


def ended_s(rows: int, **costs: float) -> float:
    cluster = GaleraCluster(NEAR, costs=costs)
    cluster.client([insert(0, rows)])
    cluster.run()
    return cluster.attempts[0].ended_s


@pytest.mark.parametrize("rows", [1, 40, 400])  # charged to the thread, and inside the monitor
def test_every_key_costs_its_certification(rows: int) -> None:
    assert ended_s(rows, certify_key_us=1.0) - ended_s(rows) == pytest.approx(rows * 1e-6, abs=1e-9)


def test_a_writeset_that_is_too_large_is_refused_once() -> None:
    options = {"wsrep_max_ws_size": 1024, "wsrep_retry_autocommit": 3}
    cluster = GaleraCluster(NEAR, options=options)
    cluster.client([insert(number, 1, 5000) for number in range(4)])
    cluster.run()
    assert not any(attempt.committed for attempt in cluster.attempts)
    assert cluster.status(0, "wsrep_max_ws_size_exceeded") == 4
    assert cluster.total("wsrep_replicated") == 0


def test_many_keys_are_reported_at_once_and_forgotten() -> None:
    cluster = GaleraCluster(NEAR)
    cluster.client([insert(number, 2000) for number in range(10)])
    cluster.run()
    # The report of the last ones may not have come round; without reports it would be 20000.
    assert cluster.status(0, "wsrep_cert_index_size") <= 4000
