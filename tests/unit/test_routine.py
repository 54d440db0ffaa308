"""What code costs when its caches are warm, cold or in between."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest

from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.models.mysql.commit import Commit, Engine
from simrep.server.host import Host, Routine
from simrep.server.storage import Binlog, Disk, RedoLog

MS = 1e-3
SECONDS, COLD, HALF_S = 20e-6, 4.0, 2 * MS


def cold_routine(clock: Clock) -> Routine:
    return Host(clock, 1, cold_factor=COLD, cold_after_s=HALF_S).routine(SECONDS)


def cost_after(pause_s: float) -> float:
    clock = Clock()
    routine = cold_routine(clock)
    routine.cost()
    clock.run(until=pause_s)
    return routine.cost()


def test_without_a_cold_factor_the_cost_is_constant() -> None:
    clock = Clock()
    routine = Host(clock, 1).routine(SECONDS)
    costs = [routine.cost()]
    for until in (1.0, 1.001, 100.0):
        clock.run(until=until)
        costs.append(routine.cost())
    assert costs == [SECONDS] * 4


def test_the_first_run_is_cold() -> None:
    assert cold_routine(Clock()).cost() == pytest.approx(COLD * SECONDS)


def test_a_run_right_after_another_is_warm() -> None:
    routine = cold_routine(Clock())
    routine.cost()
    assert routine.cost() == SECONDS


def test_half_of_the_excess_is_there_after_the_given_pause() -> None:
    assert cost_after(HALF_S) == pytest.approx(SECONDS * (1 + (COLD - 1) / 2))


def test_a_longer_pause_costs_more_but_never_more_than_the_cold_factor() -> None:
    costs = [cost_after(pause) for pause in (0.1 * MS, 1 * MS, 10 * MS, 1.0, 1e6)]
    assert costs == sorted(costs)
    assert costs[-1] == pytest.approx(COLD * SECONDS)
    assert costs[-1] <= COLD * SECONDS


def test_the_variable_part_is_never_cold() -> None:
    assert cold_routine(Clock()).cost(1.0) == pytest.approx(COLD * SECONDS + 1.0)


def test_routines_of_one_host_cool_down_on_their_own() -> None:
    clock = Clock()
    host = Host(clock, 1, cold_factor=COLD, cold_after_s=HALF_S)
    one, other = host.routine(SECONDS), host.routine(SECONDS)
    one.cost()
    assert other.cost() == pytest.approx(COLD * SECONDS)
    assert one.cost() == SECONDS


def test_variation_keeps_the_mean() -> None:
    variation = 0.4
    host = Host(Clock(), 1, streams=Streams(1), name="h", variation=variation)
    routine = host.routine(SECONDS)
    costs = [routine.cost() for _ in range(20_000)]
    # Five standard errors on either side: a false alarm in 2e6 seeds, once, for the seed here.
    assert fmean(costs) == pytest.approx(SECONDS, rel=5 * variation / len(costs) ** 0.5)
    assert pstdev(costs) / fmean(costs) == pytest.approx(variation, rel=0.05)


def test_variation_needs_streams() -> None:
    with pytest.raises(ValueError, match="streams"):
        Host(Clock(), 1, variation=0.1)


@pytest.mark.parametrize("transactions", [1, 4])
def test_a_group_that_commits_together_has_one_cold_start(transactions: int) -> None:
    clock = Clock()
    host = Host(clock, 1, cold_factor=COLD, cold_after_s=HALF_S)
    disk = Disk(clock, 0.0)
    binlog = Binlog(host, disk, write_s=SECONDS, bytes_per_s=1e6)
    engine = Engine(host, RedoLog(clock, disk), commit_s=SECONDS)
    committed: list[None] = []
    group = [Commit(50, committed.append, print, None)] * transactions
    ends: list[float] = []
    binlog.write(transactions, 50, lambda _: ends.append(clock.now))
    clock.run()
    engine.commit(group, lambda _: ends.append(clock.now))
    clock.run()
    assert len(committed) == transactions
    once = (COLD + transactions - 1) * SECONDS
    assert ends == pytest.approx([once + 50e-6, 2 * once + 50e-6])
