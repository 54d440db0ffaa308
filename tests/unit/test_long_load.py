"""A group that begins as a load of an hour has left it, and runs that wait for enough."""

from typing import Any

import pytest

from simrep import ScenarioError, SimrepError, load, with_values
from simrep.models.group_replication.past import Balance, left_after
from simrep.runs.replication import simulate

FOR_EVER_BEHIND: dict[str, Any] = {
    "cluster": {
        "model": "group_replication",
        "version": "mysql-8.0",
        "nodes": 3,
        "options": {"replica_parallel_workers": 1},
        "costs": {"statement_us": 300_000.0, "apply_us": 5_000_000.0, "garbage_ns": 400_000.0},
    },
    "network": {"rtt_ms": 0.1},
    "workload": {"preset": "sysbench-oltp-insert", "threads": 1},
    "run": {"duration_s": 60, "warmup_s": 12, "history_s": 2700},
}


def balance(certified: float, applied: float) -> Balance:
    return Balance(certified=certified, arrived=certified, applied=applied, rows=2.0)


def test_without_garbage_the_backlog_is_the_difference_of_two_rates() -> None:
    left = left_after(600.0, 1000.0, [balance(50.0, 50.0), balance(50.0, 30.0)], 0.0, 0.0)
    assert left == [0.0, pytest.approx(1000.0 + 20.0 * 600.0)]


def test_garbage_that_is_looked_through_lets_the_slowest_catch_up() -> None:
    # One minute: 1,000 and 3,000 transactions of two rows are looked through for 1 ms each.
    (left,) = left_after(60.0, 1000.0, [balance(50.0, 30.0)], 1e-3, 0.0)
    assert left == pytest.approx(1000.0 + 50.0 * (60.0 - 8.0) - 30.0 * 60.0)


def test_a_group_begins_with_what_a_long_load_has_left() -> None:
    result = simulate(load(FOR_EVER_BEHIND), seed=1)
    counters = result.counters["n2"]
    waiting = counters["COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE"]
    # 3.3 transactions a second come, 0.2 are applied; the stalls take up to a tenth.
    assert 7_500 < waiting < 8_600
    rows = counters["COUNT_TRANSACTIONS_ROWS_VALIDATING"]
    assert rows == pytest.approx(waiting, rel=0.05)
    # It looks through so many rows in a minute of the run, at 0.4 ms each.
    stall_s = result.measurement.stall.seconds
    assert stall_s == pytest.approx(rows * 4e-4 + 0.3, rel=0.1)
    short = simulate(with_values(load(FOR_EVER_BEHIND), {"run.history_s": 0}), seed=1)
    assert short.measurement.stall.seconds < 1.0


def test_a_group_that_keeps_up_has_no_past() -> None:
    keeps_up = with_values(
        load(FOR_EVER_BEHIND),
        {
            "cluster.costs.apply_us": 1000.0,
            "cluster.costs.statement_us": 30_000.0,
            "run.duration_s": 5,
        },
    )
    result = simulate(keeps_up, seed=1)
    without = simulate(with_values(keeps_up, {"run.history_s": 0}), seed=1)
    assert result.counters == without.counters


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"run.warmup_s": 2}, "warm-up of 8 s"),
        ({"run.staleness": True}, "does not go with run.staleness"),
        ({"cluster.model": "standalone", "cluster.options": {}, "cluster.costs": {}}, "leaves"),
    ],
)
def test_a_history_that_nobody_can_play_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said) as caught:
        simulate(with_values(load(FOR_EVER_BEHIND), changes), seed=1)
    assert caught.value.path == "run.history_s"


def test_a_run_goes_on_until_enough_has_committed() -> None:
    few = with_values(
        load(FOR_EVER_BEHIND),
        {"run": {"duration_s": 1, "warmup_s": 0.5, "least_transactions": 8}},
    )
    measured = simulate(few, seed=1).measurement
    assert 8 <= measured.committed < 12
    assert (measured.ended_s - measured.began_s) % 1.0 == 0.0
    with pytest.raises(SimrepError, match="asks for 1000000"):
        simulate(with_values(few, {"run.least_transactions": 1_000_000, "run.limit_s": 3}), seed=1)
