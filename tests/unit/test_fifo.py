"""The analytic first-come-first-served station."""

from __future__ import annotations

import pytest

from simrep.kernel.clock import Clock
from simrep.kernel.queues import Fifo


def test_visits_follow_each_other() -> None:
    clock = Clock()
    station = Fifo(clock, 1, "disk")
    assert [station.book(demand) for demand in (3.0, 2.0, 0.0)] == [3.0, 5.0, 5.0]
    clock.at(4.0, lambda _: None)
    clock.at(9.0, lambda _: None)
    clock.run(until=4.0)
    assert station.book(1.0) == 6.0
    clock.run()
    assert station.book(1.0) == 10.0  # idle since 6


def test_counters() -> None:
    station = Fifo(Clock(), 1, "disk")
    for demand in (3.0, 2.0, 1.0):
        station.book(demand)
    assert (station.name, station.servers, station.visits) == ("disk", 1, 3)
    assert station.busy_s == 6.0
    assert station.wait_s == 3.0 + 5.0
    assert station.wait_max_s == 5.0


def test_the_first_free_server_takes_the_next_visit() -> None:
    station = Fifo(Clock(), 2)
    assert [station.book(demand) for demand in (5.0, 1.0, 1.0, 1.0, 3.0, 1.0)] == [
        5.0, 1.0, 2.0, 3.0, 6.0, 6.0,
    ]  # fmt: skip


def test_a_station_has_at_least_one_server() -> None:
    with pytest.raises(ValueError, match="servers must be at least 1, given 0"):
        Fifo(Clock(), 0)
