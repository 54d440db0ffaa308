"""Counts per interval and the longest stall."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.kernel.clock import Clock
from simrep.measure.meter import Meter
from simrep.measure.series import CommitSeries, Series, Stall


def committed(series: CommitSeries, now: float, started_s: float) -> None:
    series.ended([now])
    series.wrote([now], [started_s])


def closed_loop(times: list[float], start_s: float = 0.0) -> CommitSeries:
    """One client without think time: each transaction starts when the last one ended."""
    series = CommitSeries(start_s)
    before = start_s
    for time in times:
        committed(series, time, before)
        before = time
    return series


def test_counts_fall_into_their_intervals() -> None:
    series = CommitSeries(start_s=10.0, interval_s=0.5)
    for time in (10.0, 10.49, 10.5):
        committed(series, time, time - 0.01)
    series.aborted(10.7, 10.6)
    committed(series, 12.1, 12.0)
    counted = series.series(12.25)
    assert counted.commits.tolist() == [2, 1, 0, 0, 1]
    assert counted.aborts.tolist() == [0, 1, 0, 0, 0]
    assert counted.edges_s.tolist() == [10.0, 10.5, 11.0, 11.5, 12.0, 12.5]


def test_silent_time_at_the_end_is_there_with_zeros() -> None:
    series = closed_loop([0.5])
    assert series.series(3.0).commits.tolist() == [1, 0, 0]
    assert series.series(3.2).commits.tolist() == [1, 0, 0, 0]


def test_bounds_do_not_drift() -> None:
    # 0.1 s added up 10,000 times is off by 1.6e-10 s, enough to move a commit on a bound.
    series = CommitSeries(interval_s=0.1)
    times = [index * 0.1 for index in range(10_000)]
    for time in times:
        committed(series, time, time)
    assert series.series(times[-1]).commits.tolist() == [1] * 10_000


def test_rates_divide_the_last_interval_by_its_measured_part() -> None:
    series = CommitSeries()
    for index in range(26):
        committed(series, index * 0.1, 0.0)  # 0.0 .. 2.5 s
    edges, commits, aborts = series.series(2.5).rates()
    assert edges.tolist() == [0.0, 1.0, 2.0, 2.5]
    assert commits.tolist() == [10.0, 10.0, 12.0]
    assert aborts.tolist() == [0.0, 0.0, 0.0]


def test_rates_leave_out_a_sliver_at_the_end() -> None:
    edges, commits, _ = closed_loop([0.4, 0.8, 1.01]).series(1.02).rates()
    assert edges.tolist() == [0.0, 1.0]
    assert commits.tolist() == [2.0]


def test_a_run_shorter_than_an_interval_still_has_a_rate() -> None:
    _, commits, _ = closed_loop([0.05, 0.1]).series(0.1).rates()
    assert commits.tolist() == [20.0]


def test_no_rate_without_time_or_events() -> None:
    assert CommitSeries().series(0.0).rates()[1].tolist() == []
    instant = CommitSeries()
    committed(instant, 0.0, 0.0)
    assert instant.series(0.0).rates()[1].tolist() == []


def test_mean_counts_an_early_end_as_zero() -> None:
    mean = Series.mean([closed_loop([0.5, 2.5]).series(2.5), closed_loop([0.5]).series(0.5)])
    assert mean.commits.tolist() == [1.0, 0.0, 0.5]
    assert mean.end_s == 2.5


def test_mean_refuses_different_intervals() -> None:
    with pytest.raises(ValueError, match="equal start and interval"):
        Series.mean([CommitSeries(interval_s=1).series(1), CommitSeries(interval_s=2).series(1)])


@pytest.mark.parametrize("interval_s", [0.0, -1.0, math.inf, math.nan])
def test_an_impossible_interval_is_refused(interval_s: float) -> None:
    with pytest.raises(ValueError, match="above 0 s"):
        CommitSeries(interval_s=interval_s)


def test_the_longest_gap_of_a_closed_loop_is_the_stall() -> None:
    assert closed_loop([1.0, 1.5, 4.5, 5.0]).stall() == Stall(3.0, 1.5)


def test_the_wait_for_the_first_commit_counts_from_the_start_of_measuring() -> None:
    series = CommitSeries(start_s=10.0)
    committed(series, 14.0, 2.0)  # began in the warm-up
    committed(series, 15.0, 14.0)
    assert series.stall() == Stall(4.0, 10.0)


def test_silence_without_work_is_no_stall() -> None:
    series = CommitSeries()
    committed(series, 1.0, 0.9)
    committed(series, 61.0, 60.8)  # an arrival after a minute without any
    stall = series.stall()
    assert stall.seconds == pytest.approx(0.2)
    assert stall.began_s == pytest.approx(60.8)


def test_a_transaction_that_outlasts_the_silence_shows_work_in_flight() -> None:
    series = CommitSeries()
    committed(series, 1.0, 0.0)
    committed(series, 9.0, 0.5)  # was in flight all the time
    assert series.stall() == Stall(8.0, 1.0)


def test_aborts_are_work_but_do_not_end_a_stall() -> None:
    series = CommitSeries()
    committed(series, 1.0, 0.0)
    for end in (2.0, 3.0, 4.0):
        series.aborted(end, end - 1.0)  # repeated at once
    committed(series, 4.5, 4.0)
    assert series.stall() == Stall(3.5, 1.0)


def test_a_stall_may_end_without_a_commit() -> None:
    series = CommitSeries()
    committed(series, 1.0, 0.0)
    series.aborted(6.0, 1.0)  # five seconds, then the client gives up
    committed(series, 20.5, 20.0)
    assert series.stall() == Stall(5.0, 1.0)
    trailing = CommitSeries()
    trailing.aborted(6.0, 1.0)
    assert trailing.stall() == Stall(5.0, 1.0)


def test_work_in_flight_at_the_end_shows_a_hang() -> None:
    series = closed_loop([1.0, 2.0])
    assert series.stall(end_s=60.0) == Stall(1.0, 0.0)
    assert series.stall(end_s=60.0, in_flight_since_s=1.9) == Stall(58.0, 2.0)
    assert series.stall(end_s=60.0, in_flight_since_s=50.0) == Stall(10.0, 50.0)
    assert CommitSeries().stall(end_s=60.0, in_flight_since_s=5.0) == Stall(55.0, 5.0)


def test_nothing_measured_is_no_stall() -> None:
    stall = CommitSeries().stall(end_s=5.0)
    assert stall.seconds == 0.0
    assert math.isnan(stall.began_s)


def test_size_grows_with_time_and_not_with_commits() -> None:
    series = CommitSeries()
    for time in np.linspace(0.0, 4.999, 50_000).tolist():
        committed(series, time, time)
    assert len(series.series(5.0).commits) == 5


def test_one_that_was_in_flight_while_others_failed_and_paused_shows_it() -> None:
    def failing() -> CommitSeries:
        series = CommitSeries()
        committed(series, 2.0, 1.0)
        series.aborted(3.0, 1.5)
        series.aborted(5.0, 4.5)  # until then nothing seems to have been in flight
        return series

    ended = failing()
    committed(ended, 7.0, 2.25)
    assert ended.stall() == Stall(4.75, 2.25)
    before = failing()
    committed(before, 7.0, 1.75)  # no silence before the last commit
    assert before.stall() == Stall(5.0, 2.0)
    failed = failing()
    failed.aborted(6.0, 2.25)
    assert failed.stall() == Stall(3.75, 2.25)
    hanging = failing()
    assert hanging.stall(end_s=9.0, in_flight_since_s=2.5) == Stall(6.5, 2.5)
    paused = failing()
    committed(paused, 7.0, 4.75)  # tells nothing new
    assert paused.stall() == Stall(2.5, 4.5)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["write", "write", "write", "read", "abort", "wait"]),
            st.floats(0.0, 2.0),
            st.floats(0.0, 5.0),
        ),
        max_size=40,
    ),
    end_s=st.floats(0.0, 3.0),
)
def test_many_at_a_time_count_as_one_after_the_other(steps, end_s) -> None:
    clock = Clock()
    single, meter = CommitSeries(0.0, 1.0), Meter(clock, readers={"read"})
    now = 0.0
    for what, later_s, took_s in steps:
        if now + later_s > now:
            clock.run(until=now + later_s)
        now = clock.now
        started_s = max(0.0, now - took_s)
        if what == "abort":
            single.aborted(now, started_s)
            meter.aborted(started_s, "write")
        elif what == "wait":
            single.waited(now, started_s)
            meter.waited(started_s)
        else:
            single.ended([now])
            if what == "write":
                single.wrote([now], [started_s])
            meter.committed(started_s, what)
    end_s += now
    measured = meter.measurement(end_s, 0.5 * now)
    assert repr(measured.stall) == repr(single.stall(end_s, 0.5 * now))
    expected = single.series(end_s)
    assert measured.series.commits.tolist() == expected.commits.tolist()
    assert measured.series.aborts.tolist() == expected.aborts.tolist()


def test_the_spread_tells_a_saw_tooth_and_leaves_out_what_is_no_whole_interval() -> None:
    steady = Series(0.0, 0.5, 2.2, np.array([5.0, 5, 5, 5, 1]), np.zeros(5))
    assert steady.spread_tps() == {"sd": 0.0, "min": 10.0, "p5": 10.0}
    teeth = Series(0.0, 0.5, 2.0, np.array([10.0, 0, 10, 0]), np.zeros(4))
    assert teeth.spread_tps()["min"] == 0.0
    assert teeth.spread_tps()["sd"] == pytest.approx(np.std([20, 0, 20, 0], ddof=1))
    assert Series(0.0, 1.0, 1.9, np.array([3.0, 2]), np.zeros(2)).spread_tps() == {}
