"""Quotas of Group Replication: how they are found, who waits for them, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from simrep.kernel.clock import Clock
from simrep.models.group_replication.flow_control import FlowControl
from simrep.models.group_replication.messages import Statistics
from simrep.models.group_replication.options import GroupReplicationOptions
from simrep.testing import updates
from simrep.workload.transaction import Transaction
from tests.group_clusters import GroupReplicationCluster, multi_primary

LIMIT = 25_000  # of both queues
LEAST = 1250  # 5 % of it


def flow_control(**options: Any) -> FlowControl:
    named = {f"group_replication_flow_control_{name}": value for name, value in options.items()}
    return FlowControl(Clock(), GroupReplicationOptions(**named))


def member(number: int, **statistics: int) -> Statistics:
    """A writer that has done 4000 transactions, applied 3000 and has no queues, but for ..."""
    usual = {
        "waiting_certification": 0,
        "waiting_apply": 0,
        "certified": 4000,
        "applied": 3000,
        "local": 0,
    }
    return Statistics(number, **usual | statistics)


def quota(*members: Statistics, used: int = 0, **options: Any) -> int:
    """The quota after a period in which these statistics came."""
    control = flow_control(**options)
    for statistics in members:
        control.hear(statistics)
    for _ in range(used):
        control.admit()
    control.step()
    return control.quota


LAGS = member(1, waiting_apply=LIMIT + 1, applied=2000)


# -- when ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["waiting_certification", "waiting_apply"])
@pytest.mark.parametrize(("length", "holds"), [(LIMIT, False), (LIMIT + 1, True)])
def test_a_queue_above_its_threshold_sets_a_quota(queue: str, length: int, holds: bool) -> None:
    assert (quota(member(0), member(1, **{queue: length})) > 0) == holds


@pytest.mark.parametrize("queue", ["certifier", "applier"])
def test_above_a_threshold_of_zero_is_whatever_waits(queue: str) -> None:
    # The slowest counts as if nobody lagged, and there is no least quota.
    waiting = {"certifier": "waiting_certification", "applier": "waiting_apply"}[queue]
    options = {f"{queue}_threshold": 0}
    assert quota(member(1), **options) == 0
    assert quota(member(1, **{waiting: 1}), **options) == 2700
    assert quota(member(1, applied=3, **{waiting: 1}), **options) == 2


def test_disabled_there_is_no_quota() -> None:
    assert quota(LAGS, mode="DISABLED") == 0
    assert quota(LAGS, mode="DISABLED", max_quota=500) == 0


# -- how much --------------------------------------------------------------------------------------


def test_the_quota_is_what_the_slowest_member_does_less_a_tenth() -> None:
    assert quota(member(0), LAGS) == 1800
    assert quota(member(0), LAGS, hold_percent=0) == 2000
    assert quota(member(0), LAGS, hold_percent=25) == 1500
    assert quota(member(0), LAGS, hold_percent=100) == 1


def test_a_member_that_does_not_lag_can_be_the_slowest_all_the_same() -> None:
    assert quota(member(0, applied=1500), LAGS) == 1350
    assert quota(member(0, certified=1600), LAGS) == 1440


def test_who_has_done_nothing_does_not_count() -> None:
    assert quota(member(0, applied=0, certified=0), LAGS) == 1800
    assert quota(member(0), member(1, waiting_apply=LIMIT + 1, applied=0)) == 2700


def test_certification_can_be_what_is_slow() -> None:
    slow = member(1, waiting_certification=LIMIT + 1, certified=1700, applied=1700)
    assert quota(member(0), slow) == 1530


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, LEAST * 9 // 10),
        ({"applier_threshold": 10_000}, 450),
        ({"certifier_threshold": 1000}, 45),
        ({"min_quota": 300}, 270),
    ],
)
def test_it_is_not_less_than_a_twentieth_of_the_smaller_threshold(
    options: dict[str, int], expected: int
) -> None:
    assert quota(member(0), member(1, waiting_apply=LIMIT + 1, applied=3), **options) == expected


def test_members_that_recover_have_a_least_quota_of_their_own() -> None:
    # Who recovers applies nothing yet by this channel: nobody who applies is behind.
    recovering = member(1, waiting_apply=LIMIT + 1, applied=0)
    assert quota(member(0, applied=40), recovering, min_recovery_quota=500) == 450
    assert quota(member(0), recovering, min_recovery_quota=500) == 2700
    assert quota(member(0, applied=40), LAGS, min_recovery_quota=500) == LEAST * 9 // 10
    least = {"min_recovery_quota": 500, "min_quota": 200}
    assert quota(member(0, applied=40), recovering, **least) == 180


def test_at_most_max_quota_and_that_always() -> None:
    assert quota(member(0), LAGS, max_quota=700) == 700
    assert quota(member(0), max_quota=700) == 700
    assert flow_control(max_quota=700).quota == 700


def test_writers_share_the_quota() -> None:
    first, second = member(0, local=100), member(1, waiting_apply=LIMIT + 1, applied=2000, local=1)
    assert quota(first, second) == 900
    assert quota(first, second, member(2, local=5)) == 600
    assert quota(first, second, member_quota_percent=30) == 540
    assert quota(first, LAGS, member_quota_percent=30) == 1800  # the only writer takes all of it


def test_what_was_used_too_much_is_taken_off_the_next_quota() -> None:
    control = flow_control()
    control.hear(LAGS)
    control.step()
    assert control.quota == 1800
    for _ in range(2000):
        control.admit()
    control.hear(LAGS)
    control.step()
    assert control.quota == 1600
    for _ in range(10_000):
        control.admit()
    control.hear(LAGS)
    control.step()
    assert control.quota == 1


# -- release ---------------------------------------------------------------------------------------


def released(periods: int, **options: Any) -> list[int]:
    """Quotas of a period in which a member lags, and of those after it."""
    control = flow_control(**options)
    control.hear(LAGS)
    quotas = []
    for _ in range(periods):
        control.step()
        quotas.append(control.quota)
    return quotas


def test_the_quota_grows_by_half_per_period() -> None:
    assert released(4) == [1800, 2700, 4050, 6075]
    assert released(3, release_percent=100) == [1800, 3600, 7200]
    assert released(3, hold_percent=100) == [1, 2, 3]
    assert released(3, max_quota=2000) == [1800, 2000, 2000]


def test_a_group_of_64_clients_takes_the_steps_of_a_real_one() -> None:
    # Commits of ten seconds on end of a MySQL 9.7 group (dataset flow-control, threshold 100, no
    # delay) while no member lagged: the 64 that waited, and the quota.
    real = [70, 73, 77, 83, 92, 106, 127, 158, 205, 275]
    control, clients = flow_control(), 64
    control.quota = 4  # of the second before
    commits = []
    for _ in real:
        while control.admit():
            pass
        for _ in range(clients - 1):
            control.admit()
        control.step()
        commits.append(clients + control.quota)
    assert commits == real


def test_in_the_end_it_is_lifted() -> None:
    assert released(60)[-1] == 0
    assert released(2, release_percent=0) == [1800, 0]


def test_old_statistics_do_not_hold_but_tell_what_members_can_do() -> None:
    control = flow_control()
    control.hear(member(1, applied=1500))
    control.step()
    control.hear(member(2, waiting_apply=LIMIT + 1, applied=2500))
    control.step()
    assert control.quota == 1350


# -- waiting ---------------------------------------------------------------------------------------


def waiter() -> tuple[FlowControl, list[float]]:
    """A quota of one that is used up, and one transaction that waits; when it went on."""
    control = flow_control(max_quota=1)
    clock = control._clock
    went_on: list[float] = []
    assert control.admit()
    assert not control.admit()
    control.wait(lambda _: went_on.append(clock.now))
    return control, went_on


def test_a_transaction_beyond_the_quota_waits_for_the_next_period() -> None:
    control, went_on = waiter()
    control._clock.at(0.3, lambda _: control.step())
    control._clock.run()
    assert went_on == [0.3]
    assert (control.waits, control.wait_s) == (1, pytest.approx(0.3))


def test_at_most_for_a_second() -> None:
    control, went_on = waiter()
    control._clock.run()
    assert went_on == [1.0]
    assert control.wait_s == 1.0


# -- on a cluster ----------------------------------------------------------------------------------

HOP_S = 0.002
APPLY_S = 0.010  # 100 per second
BACKLOG = "COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE"


def slow_applier(
    seconds: float, *, clients: int = 4, writers: int = 1, **options: Any
) -> GroupReplicationCluster:
    """Members that apply with one thread, and clients that write all the time."""
    cluster = GroupReplicationCluster(
        [[0.0 if i == j else HOP_S for j in range(3)] for i in range(3)],
        options={
            "replica_parallel_workers": 0,
            "flow_control_applier_threshold": 50,
            **(multi_primary() if writers > 1 else {}),
            **options,
        },
        costs={"apply_us": APPLY_S * 1e6},
    )
    for client in range(clients):
        cluster.client(endless(client, client % writers))
    cluster.clock.run(seconds)
    return cluster


def endless(client: int, node: int) -> Iterator[Transaction]:
    return (updates(client, node, number) for number in count())


def rate(cluster: GroupReplicationCluster, since_s: float) -> float:
    """Commits per second."""
    ends = [attempt for attempt in cluster.committed if attempt.ended_s > since_s]
    return len(ends) / (cluster.clock.now - since_s)


@pytest.mark.parametrize("writers", [1, 2])
def test_writers_get_no_more_than_the_quota_while_a_member_lags(writers: int) -> None:
    # The transactions that waited for the end of a period are taken off the next quota.
    held = slow_applier(5.0, writers=writers, flow_control_min_quota=100)
    assert rate(held, 2.0) == pytest.approx(0.9 * 100, abs=writers)
    for node in range(3):
        throttled = held.status(node, "Gr_flow_control_throttle_count")
        assert (throttled > 0) == (node < writers)
    # Each client waits once per period, for what is left of it.
    assert 3 * 4 <= held.total("Gr_flow_control_throttle_count") <= 5 * 4
    assert held.total("Gr_flow_control_throttle_time_sum") > 1e6


def test_a_writer_keeps_the_pace_of_the_slowest_member_in_the_long_run() -> None:
    # Held, the queue becomes short; released, the quota grows by half per second: a saw.
    held = slow_applier(30.0, clients=2, flow_control_min_quota=60)
    assert rate(held, 10.0) == pytest.approx(1 / APPLY_S, rel=0.1)
    assert held.status(1, BACKLOG) < 3 / APPLY_S


def test_nobody_slows_a_writer_down_when_it_is_disabled() -> None:
    free = slow_applier(3.0, flow_control_mode="DISABLED")
    assert free.total("Gr_flow_control_throttle_count") == 0
    assert rate(free, 1.0) == pytest.approx(4 / (4 * HOP_S), rel=0.05)
    assert free.status(1, BACKLOG) > 8 / APPLY_S


def test_a_period_passes_before_anything_happens() -> None:
    late = slow_applier(3.0, flow_control_period=10)
    assert late.total("Gr_flow_control_throttle_count") == 0
    assert late.status(1, BACKLOG) > 8 / APPLY_S


def test_a_fixed_quota_limits_a_group_that_does_not_lag() -> None:
    # Only while somebody lags is what was used too much taken off the next quota.
    fixed = slow_applier(10.0, flow_control_max_quota=40)
    assert rate(fixed, 2.0) == pytest.approx(40 + 4)
