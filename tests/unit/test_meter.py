"""What the meter makes of transactions that end on a simulated clock."""

import math
import pickle
from collections.abc import Generator

import numpy as np
import pytest

from simrep.kernel.clock import Clock, Event
from simrep.kernel.queues import Fifo
from simrep.measure.meter import Meter
from simrep.measure.stations import StationUse, StationWatch


def run(meter: Meter, clock: Clock, *ends: tuple[float, float]) -> None:
    """Transactions given as (start, end) commit on the clock, and it stops at the last end."""
    for start, end in ends:
        clock.at(end, meter.committed, start)
    clock.run()


def test_a_fixed_number_lasts_from_first_start_to_last_end() -> None:
    clock = Clock()
    meter = Meter(clock)
    run(meter, clock, (0.5, 1.0), (0.25, 2.25))
    measured = meter.measurement()
    assert (measured.began_s, measured.ended_s) == (0.25, 2.25)
    assert measured.committed == 2
    assert measured.makespan_s == 2.0
    assert measured.throughput_tps == 1.0
    assert measured.latency.percentile(0) == 0.5
    assert measured.latency.max_s == 2.0


def test_connecting_counts_for_the_makespan() -> None:
    clock = Clock()
    meter = Meter(clock)
    clock.at(0.125, lambda _: meter.opened())
    clock.at(0.5, lambda _: meter.opened())
    run(meter, clock, (1.0, 2.125))
    assert meter.measurement().makespan_s == 2.0


def test_a_window_is_measured_to_its_end() -> None:
    clock = Clock()
    meter = Meter(clock, warmup_s=1.0)
    run(meter, clock, (1.5, 2.0))
    measured = meter.measurement(until_s=5.0)
    assert (measured.began_s, measured.ended_s) == (1.0, 5.0)
    assert measured.throughput_tps == 0.25
    assert len(measured.series.commits) == 4


def test_only_what_ends_after_the_warm_up_counts() -> None:
    clock = Clock()
    meter = Meter(clock, warmup_s=1.0)
    clock.at(0.75, meter.aborted, 0.0)
    clock.at(1.75, meter.aborted, 0.0)
    run(meter, clock, (0.0, 0.5), (0.25, 1.25), (1.0, 2.0))
    measured = meter.measurement()
    assert (measured.committed, measured.aborted) == (2, 1)
    assert measured.latency.sum_s == 2.0
    assert measured.makespan_s == 1.0
    assert measured.series.start_s == 1.0


def test_the_warm_up_starts_when_the_meter_is_made() -> None:
    clock = Clock(initial_time=100.0)
    meter = Meter(clock, warmup_s=1.0)
    run(meter, clock, (100.0, 100.9), (100.0, 101.0))
    assert meter.measurement().committed == 1


def test_aborted_transactions_count_apart_and_have_no_latency() -> None:
    clock = Clock()
    meter = Meter(clock)
    clock.at(3.0, meter.aborted, 0.0)
    run(meter, clock, (1.0, 2.0))
    measured = meter.measurement()
    assert (measured.committed, measured.aborted) == (1, 1)
    assert measured.latency.count == 1
    assert measured.makespan_s == 3.0
    assert measured.series.aborts.tolist() == [0, 0, 0, 1]


def test_classes_are_counted_apart() -> None:
    clock = Clock()
    meter = Meter(clock)
    clock.at(0.2, lambda _: meter.committed(0.0, "write"))
    clock.at(0.3, lambda _: meter.committed(0.2, "read"))
    clock.at(0.6, lambda _: meter.committed(0.2, "write"))
    clock.at(0.7, lambda _: meter.aborted(0.6, "write"))
    clock.at(0.8, lambda _: meter.aborted(0.7, "ddl"))
    clock.run()
    measured = meter.measurement()
    assert list(measured.classes) == ["ddl", "read", "write"]
    counts = {k: (c.latency.count, c.aborted) for k, c in measured.classes.items()}
    assert counts == {"ddl": (0, 1), "read": (1, 0), "write": (2, 1)}
    assert measured.committed == 3
    assert measured.latency.count == 3
    assert measured.classes["write"].latency.max_s == pytest.approx(0.4)


def test_the_log_holds_every_transaction_when_asked_for() -> None:
    clock = Clock()
    meter = Meter(clock, warmup_s=0.1, log=True)
    clock.at(0.05, lambda _: meter.committed(0.0, "write", 1))
    clock.at(0.5, lambda _: meter.committed(0.0, "write", 7))
    clock.at(0.75, lambda _: meter.aborted(0.25, "read", 8))
    clock.run()
    log = meter.measurement().log
    assert log is not None
    assert len(log) == 2
    assert log.started_s.tolist() == [0.0, 0.25]
    assert log.latency_s.tolist() == [0.5, 0.5]
    assert log.client.tolist() == [7, 8]
    assert log.kind.tolist() == ["write", "read"]
    assert log.committed.tolist() == [True, False]
    assert log.node.tolist() == ["n1", "n1"]
    assert log.error.tolist() == ["", "not told"]


def test_an_empty_log_is_a_log() -> None:
    log = Meter(Clock(), log=True).measurement().log
    assert log is not None
    assert len(log) == 0


def test_no_log_unless_asked_for() -> None:
    assert Meter(Clock()).measurement().log is None


def test_nothing_measured() -> None:
    measured = Meter(Clock(), warmup_s=2.0).measurement()
    assert (measured.committed, measured.throughput_tps, measured.makespan_s) == (0, 0.0, 0.0)
    assert measured.classes == {}
    assert math.isnan(measured.latency.mean_s)


def test_a_hang_to_the_end_of_the_window_is_a_stall() -> None:
    clock = Clock()
    meter = Meter(clock)
    run(meter, clock, (0.0, 1.0))
    assert meter.measurement(until_s=9.0).stall.seconds == 1.0
    assert meter.measurement(until_s=9.0, in_flight_since_s=1.0).stall.seconds == 8.0


def test_a_measurement_is_a_snapshot() -> None:
    clock = Clock()
    meter = Meter(clock)
    run(meter, clock, (0.0, 1.0))
    early = meter.measurement()
    run(meter, clock, (1.0, 2.0))
    assert early.latency.count == early.classes[""].latency.count == 1
    assert early.series.commits.tolist() == [0, 1]
    assert meter.measurement().committed == 2


def test_a_measurement_travels_between_processes() -> None:
    clock = Clock()
    meter = Meter(clock, log=True)
    run(meter, clock, (0.0, 1.0))
    copy = pickle.loads(pickle.dumps(meter.measurement()))
    assert copy.throughput_tps == 1.0
    assert copy.latency.figures() == meter.measurement().latency.figures()


def test_impossible_times_are_refused() -> None:
    clock = Clock()
    with pytest.raises(ValueError, match="given -1"):
        Meter(clock, warmup_s=-1.0)
    meter = Meter(clock)
    run(meter, clock, (0.0, 1.0))
    with pytest.raises(ValueError, match="lies before"):
        meter.measurement(until_s=0.5)


def test_littles_law_holds_for_a_closed_loop() -> None:
    """Four clients without think time on two servers: throughput times mean latency is four."""
    clock = Clock()
    station = Fifo(clock, 2, "cpu")
    meter = Meter(clock, warmup_s=1.0)
    watch = StationWatch(clock, [station], 1.0)
    demands = np.random.default_rng(3).exponential(0.01, 100_000)
    draw = iter(demands.tolist())

    def client() -> Generator[Event, None, None]:
        while True:
            started = clock.now
            yield clock.until(station.book(next(draw)))
            meter.committed(started)

    for _ in range(4):
        clock.process(client())
    clock.run(until=101.0)
    measured = meter.measurement(until_s=101.0)
    # What is in flight at either end of the window is 8 of about 20,000 transactions.
    assert measured.throughput_tps * measured.latency.mean_s == pytest.approx(4.0, rel=1e-3)
    (use,) = watch.use()
    assert use.utilisation == pytest.approx(1.0, rel=1e-3)
    assert use.queue_mean == pytest.approx(2.0, rel=1e-2)
    assert use.wait_mean_s == pytest.approx(2.0 / measured.throughput_tps, rel=1e-2)


def test_station_use_leaves_out_the_warm_up() -> None:
    clock = Clock()
    station = Fifo(clock, 2, "disk")
    watch = StationWatch(clock, [station], start_s=10.0)
    for time in (0.0, 0.0, 0.0, 20.0, 20.0, 20.0):
        clock.at(time, station.book, 5.0)
    clock.run(until=35.0)
    assert watch.use() == (
        StationUse(
            name="disk",
            servers=2,
            visits=3,
            utilisation=15.0 / (2 * 25.0),
            queue_mean=5.0 / 25.0,
            wait_mean_s=5.0 / 3,
            wait_max_s=5.0,
        ),
    )


def test_booked_work_beyond_the_end_does_not_push_utilisation_over_one() -> None:
    clock = Clock()
    station = Fifo(clock, 1, "link")
    watch = StationWatch(clock, [station])
    assert watch.use()[0].utilisation == 0.0
    station.book(100.0)
    clock.run(until=10.0)
    assert watch.use()[0].utilisation == 1.0


def test_mean_station_use_weighs_waits_by_visits() -> None:
    busy = StationUse("cpu", 1, 90, 0.9, 3.0, 0.010, 0.5)
    idle = StationUse("cpu", 1, 10, 0.1, 0.0, 0.0, 0.1)
    mean = StationUse.mean([busy, idle])
    assert mean.visits == 50.0
    assert mean.utilisation == pytest.approx(0.5)
    assert mean.queue_mean == pytest.approx(1.5)
    assert mean.wait_mean_s == pytest.approx(0.009)
    assert mean.wait_max_s == 0.5
    assert StationUse.mean([busy]) == busy
