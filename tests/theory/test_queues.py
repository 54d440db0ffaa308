"""The kernel against queueing theory.

Each check compares the mean of independent replications with a closed form by a two-sided
t-interval of confidence 1 - 1e-6: that is the probability of a false alarm, once, for the seeds
fixed here. The interval must also be narrow, or the check would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from math import sqrt
from statistics import fmean, stdev
from typing import Any

import pytest
from scipy import stats

from simrep.kernel.clock import Clock, Event
from simrep.kernel.queues import Fifo
from simrep.kernel.streams import Draw, Stream, Streams
from tests.theory.closed_forms import erlang_c, mm_wait_s, mva, pollaczek_khinchine_wait_s

FALSE_ALARM = 1e-6
REPLICATIONS = 24
SEED = 20261120


def assert_mean(samples: list[float], expected: float, widest: float = 0.05) -> None:
    """The mean of samples is the expected one; ``widest``: relative half-width allowed."""
    n = len(samples)
    half = float(stats.t.ppf(1.0 - FALSE_ALARM / 2, n - 1)) * stdev(samples) / sqrt(n)
    assert half < widest * expected, f"too wide to prove anything: {half / expected:.1%}"
    assert abs(fmean(samples) - expected) < half, f"{fmean(samples)} is not {expected} +- {half}"


def open_queue(
    replication: int, servers: int, rate: float, service: Draw, customers: int
) -> tuple[float, float]:
    """Mean wait in seconds and share of customers that wait, after a warm-up."""
    streams = Streams(SEED, replication)
    clock = Clock()
    station = Fifo(clock, servers)
    gap = streams.exponential("gap", 1.0 / rate)
    demand: Stream = streams.stream("service", service)
    warm_up = customers // 10
    left = customers + warm_up
    total, waited = 0.0, 0

    def arrive(_: None) -> None:
        nonlocal left, total, waited
        left -= 1
        seconds = demand()
        departure = station.book(seconds)
        if left < customers:
            total += departure - clock.now - seconds
            waited += departure > clock.now + seconds  # exact: both are one sum
        if left:
            clock.at(clock.now + gap(), arrive)

    arrive(None)
    clock.run()
    return total / customers, waited / customers


def exponential(mean: float) -> Draw:
    return lambda generator, size: generator.exponential(mean, size)


def replicate(run: Callable[[int], tuple[float, float]]) -> tuple[list[float], list[float]]:
    pairs = [run(replication) for replication in range(REPLICATIONS)]
    return [first for first, _ in pairs], [second for _, second in pairs]


def test_erlang_c_by_its_definition() -> None:
    # One server waits with probability rho; the textbook value for four servers and three erlangs.
    assert erlang_c(1, 0.7) == pytest.approx(0.7)
    terms = [3**k / f for k, f in enumerate((1, 1, 2, 6))]
    last = 3**4 / 24 * 4 / (4 - 3)
    assert erlang_c(4, 3.0) == pytest.approx(last / (sum(terms) + last))


def test_mva_of_one_station_without_thinking() -> None:
    # Always busy, and everybody waits for everybody else.
    throughput, response_s, lengths = mva([0.2], 0.0, 7)
    assert throughput == pytest.approx(5.0)
    assert response_s == pytest.approx(7 * 0.2)
    assert lengths == pytest.approx([7.0])


def test_mm1() -> None:
    waits, waiting = replicate(lambda r: open_queue(r, 1, 0.6, exponential(1.0), 40_000))
    assert_mean(waits, mm_wait_s(1, 0.6, 1.0))
    assert_mean(waiting, 0.6)


def test_mmc() -> None:
    waits, waiting = replicate(lambda r: open_queue(r, 3, 1.8, exponential(1.0), 40_000))
    assert_mean(waits, mm_wait_s(3, 1.8, 1.0), widest=0.08)
    assert_mean(waiting, erlang_c(3, 1.8))


@pytest.mark.parametrize(
    ("service", "mean", "second_moment"),
    [
        (lambda generator, size: generator.gamma(4.0, 0.25, size), 1.0, 1.25),
        (lambda generator, size: generator.uniform(0.5, 1.5, size), 1.0, 13 / 12),
        (lambda generator, size: generator.choice([0.5, 2.0], size, p=[2 / 3, 1 / 3]), 1.0, 1.5),
    ],
    ids=["erlang", "uniform", "two-point"],
)
def test_mg1(service: Draw, mean: float, second_moment: float) -> None:
    waits, _ = replicate(lambda r: open_queue(r, 1, 0.5, service, 16_000))
    assert_mean(waits, pollaczek_khinchine_wait_s(0.5, mean, second_moment))


def closed_network(
    replication: int, demands_s: tuple[float, ...], think_s: float, customers: int, until: float
) -> tuple[float, float]:
    """Cycles per second and mean response in seconds, after a warm-up."""
    streams = Streams(SEED, replication)
    clock = Clock()
    stations = [Fifo(clock) for _ in demands_s]
    draws = [streams.exponential(f"station/{i}", mean) for i, mean in enumerate(demands_s)]
    think = streams.exponential("think", think_s)
    warm_up = until / 10
    cycles, total = 0, 0.0

    def customer() -> Generator[Event, Any, None]:
        nonlocal cycles, total
        while True:
            yield clock.timeout(think())
            began = clock.now
            for station, draw in zip(stations, draws, strict=True):
                yield clock.until(station.book(draw()))
            if clock.now >= warm_up:
                cycles += 1
                total += clock.now - began

    for _ in range(customers):
        clock.process(customer())
    clock.run(until=until)
    return cycles / (until - warm_up), total / cycles


@pytest.mark.parametrize(("customers", "until"), [(1, 12_000.0), (4, 4000.0), (16, 2500.0)])
def test_closed_network(customers: int, until: float) -> None:
    demands_s = (0.5, 0.8, 0.3)
    throughput, response_s, _ = mva(demands_s, 4.0, customers)
    rates, responses = replicate(lambda r: closed_network(r, demands_s, 4.0, customers, until))
    assert_mean(rates, throughput)
    assert_mean(responses, response_s)
