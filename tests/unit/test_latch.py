"""Threads that contend for a latch of the storage engine."""

from typing import Any

import pytest

import simrep
from simrep.kernel.clock import Clock
from simrep.server.latch import Latch


def test_turns_follow_each_other_and_take_longer_while_others_wait() -> None:
    clock = Clock()
    latch = Latch(clock, 0.010, 0.001)
    ends_s: list[float] = []
    for turns in (1, 2, 1):
        latch.take(turns, lambda _: ends_s.append(clock.now))
    clock.run(until=0.5)
    # 10 ms; 2 turns of 11 ms behind one; 12 ms behind two.
    assert ends_s == pytest.approx([0.010, 0.032, 0.044])
    latch.take(1, lambda _: ends_s.append(clock.now))
    clock.run(until=1.0)
    assert ends_s[-1] == pytest.approx(0.51)  # nobody waits any more


def rate(threads: int, model: str = "standalone", **costs: float) -> float:
    return simrep.run(scenario(threads, model, **costs)).throughput_tps


def scenario(threads: int, model: str, **costs: float) -> dict[str, Any]:
    return {
        "cluster": {
            "model": model,
            "nodes": 1 if model == "standalone" else 3,
            "costs": costs,
            "machine": {"cores": 64},
        },
        "workload": {"preset": "sysbench-oltp-insert", "threads": threads},
        "run": {"duration_s": 0.3, "warmup_s": 0.1, "seed": 1},
    }


def test_a_server_becomes_slower_when_more_threads_wait() -> None:
    costs = {"latch_us": 100.0, "latch_waiter_ns": 1000.0}
    few, many, crowd = (rate(threads, **costs) for threads in (8, 64, 192))
    # Nearly all threads wait for the latch: a turn takes 100 us and 1 us for each that waits.
    assert few < 1e6 / 100.0
    assert many == pytest.approx(1e6 / 160.0, rel=0.05)
    assert crowd == pytest.approx(1e6 / 290.0, rel=0.05)


@pytest.mark.parametrize("model", ["galera", "semisync", "group_replication"])
def test_every_product_inherits_the_latch_of_its_engine(model: str) -> None:
    content = scenario(64, model, latch_us=500.0)
    result = simrep.run(content)
    assert result.throughput_tps == pytest.approx(2000.0, rel=0.05)
    assert "n1/latch" in {one.name for one in result.stations}


def test_there_is_no_closed_form_of_contention() -> None:
    [reason] = simrep.analytic(scenario(8, "standalone", latch_us=5.0)).reasons
    assert "latch" in reason
