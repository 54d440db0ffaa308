"""What is known of the machine of a measurement, and of what else runs on it."""

import os
from math import isnan

import pytest

from simrep.rig import machine as machines
from simrep.rig.machine import (
    busy_cpu_s,
    fsync_cost,
    machine,
    used_by_others,
    wait_for_quiet,
)


def test_the_machine_is_described(tmp_path):
    found = machine(tmp_path)
    assert found["cpus"] == os.cpu_count()
    assert found["kernel"]
    assert found["memory_gb"] > 0
    assert found["fsync"]["median_ms"] > 0


def test_fsync_leaves_nothing_behind(tmp_path):
    cost = fsync_cost(tmp_path, 20)
    assert cost["count"] == 20
    assert 0 < cost["median_ms"] <= cost["p99_ms"]
    assert not list(tmp_path.iterdir())


def test_only_work_counts_as_busy():
    ticks = os.sysconf("SC_CLK_TCK")
    # user, nice, system, idle, waiting for the disk, irq, softirq, stolen, guest
    stat = f"cpu  {3 * ticks} {ticks} {2 * ticks} {900 * ticks} {50 * ticks} 0 {ticks} 77 0 0\n"
    assert busy_cpu_s(stat) == 7.0


def test_waiting_ends_when_it_is_quiet_or_the_patience_is_over(monkeypatch):
    cpus = os.cpu_count()
    times = iter([0.0, 0.9 * cpus, 1.0 * cpus, 1.5 * cpus, 2.0 * cpus, 2.1 * cpus])
    slept = []
    monkeypatch.setattr(machines, "busy_cpu_s", lambda: next(times))
    monkeypatch.setattr(machines.time, "sleep", slept.append)
    assert wait_for_quiet(0.2, 10.0) == pytest.approx(0.1)
    assert len(slept) == 3
    busy = iter(range(100))
    monkeypatch.setattr(machines, "busy_cpu_s", lambda: next(busy) * cpus)
    assert wait_for_quiet(0.2, 4.0) == pytest.approx(1.0)
    assert len(slept) == 7


def test_others_use_what_is_left_and_nothing_is_told_where_that_is_not_known():
    cpus = os.cpu_count()
    assert used_by_others(3.0, 1.0, 2.0) == pytest.approx(1.0 / cpus)
    assert used_by_others(1.0, 1.5, 2.0) == 0.0
    assert isnan(used_by_others(1.0, float("nan"), 2.0))
