"""The latency histogram against NumPy on the full sample."""

import math
import pickle

import numpy as np
import pytest

from simrep.measure.histogram import LatencyHistogram

WIDTH = 1 / 512  # widest bucket relative to its lower edge


def sample(count: int, seed: int = 1) -> list[float]:
    return [float(v) for v in np.random.default_rng(seed).lognormal(-3.0, 1.0, count)]


def test_moments_and_extremes_are_those_of_the_full_sample() -> None:
    values = sample(20_000)
    histogram = LatencyHistogram(values)
    assert histogram.count == len(histogram) == 20_000
    assert histogram.sum_s == pytest.approx(math.fsum(values), rel=1e-14)
    assert histogram.mean_s == pytest.approx(np.mean(values), rel=1e-12)
    assert histogram.percentile(0) == min(values)
    assert histogram.max_s == max(values)


@pytest.mark.parametrize("q", [0, 0.1, 5, 50, 95, 99, 99.99, 100])
def test_percentiles_are_within_a_bucket_of_numpy(q: float) -> None:
    values = sample(20_000)
    expected = np.percentile(values, q)
    assert LatencyHistogram(values).percentile(q) == pytest.approx(expected, rel=WIDTH)


def test_percentiles_interpolate_between_distant_values() -> None:
    # Equal to numpy.percentile within a bucket: the median of two values is half way.
    assert LatencyHistogram([1.0, 100.0]).percentile(50) == pytest.approx(50.5)
    assert LatencyHistogram([1.0, 2.0, 4.0]).percentile(75) == pytest.approx(3.0, rel=WIDTH)


def test_values_spread_over_one_bucket_have_no_biased_median() -> None:
    values = [1.0 + WIDTH * (index + 0.5) / 10 for index in range(10)]
    histogram = LatencyHistogram([0.5, *values, 2.0])
    assert histogram.buckets()[1].tolist() == [1, 10, 1]
    assert histogram.percentile(50) == pytest.approx(1.0 + WIDTH / 2, abs=1e-12)


def test_extremes_are_exact_and_a_constant_has_one_percentile() -> None:
    histogram = LatencyHistogram([0.1] * 10)
    assert [histogram.percentile(q) for q in (0, 1, 50, 99, 100)] == [0.1] * 5


def test_reading_in_between_changes_nothing() -> None:
    values = sample(10_000)
    undisturbed, read = LatencyHistogram(values), LatencyHistogram()
    for index, value in enumerate(values):
        read.add(value)
        if index % 997 == 0:
            read.percentile(50)
    for histogram in (undisturbed, read):
        assert histogram.count == 10_000
    assert read.percentile(95) == undisturbed.percentile(95)
    assert np.array_equal(read.buckets()[1], undisturbed.buckets()[1])


def test_merging_equals_counting_together() -> None:
    parts = [sample(3_000, 1), sample(9_000, 2), []]
    merged = LatencyHistogram.merged(LatencyHistogram(part) for part in parts)
    together = LatencyHistogram([value for part in parts for value in part])
    assert merged.count == 12_000
    assert merged.sum_s == pytest.approx(together.sum_s, rel=1e-14)
    for ours, theirs in zip(merged.buckets(), together.buckets(), strict=True):
        assert np.array_equal(ours, theirs)
    assert merged.figures() == pytest.approx(together.figures())


def test_merging_leaves_the_source_alone() -> None:
    source, target = LatencyHistogram([0.5]), LatencyHistogram([2.0])
    target.merge(source)
    target.add(0.5)
    assert (source.count, source.max_s) == (1, 0.5)
    assert (target.count, target.percentile(0), target.max_s) == (3, 0.5, 2.0)


def test_size_does_not_depend_on_the_number_of_values() -> None:
    def size(count: int) -> int:
        values = np.tile(np.geomspace(1e-5, 10.0, 1_000), count // 1_000).tolist()
        histogram = LatencyHistogram(values)
        histogram.percentile(50)
        return len(pickle.dumps(histogram))

    assert abs(size(100_000) - size(1_000)) < 64  # larger numbers take a few bytes more


def test_the_distribution_rises_from_the_least_to_the_greatest_value() -> None:
    values = sample(5_000)
    histogram = LatencyHistogram(values)
    seconds, fraction = histogram.cdf()
    assert (seconds[0], fraction[0]) == (min(values), 0.0)
    assert (seconds[-1], fraction[-1]) == (max(values), 1.0)
    assert np.all(np.diff(seconds) >= 0)
    assert np.all(np.diff(fraction) > 0)
    middle = np.searchsorted(np.sort(values), seconds[1:-1], side="left") / len(values)
    assert fraction[1:-1] == pytest.approx(middle, abs=1e-12)


def test_buckets_are_narrow_and_hold_their_values() -> None:
    for value in (2e-6, 0.0123, 1.0, 4000.0):
        edges, counts = LatencyHistogram([value]).buckets()
        assert counts.tolist() == [1]
        assert edges[0] <= value < edges[0] * (1 + WIDTH) * (1 + 1e-12)


def test_very_short_latencies_share_the_first_bucket() -> None:
    histogram = LatencyHistogram([0.0, 1e-9, 5e-7])
    assert histogram.buckets()[1].tolist() == [3]
    assert histogram.percentile(0) == 0.0


def test_an_empty_histogram_has_no_figures() -> None:
    empty = LatencyHistogram()
    assert empty.count == 0
    assert all(math.isnan(value) for value in empty.figures().values())
    assert math.isnan(empty.percentile(0))
    assert [len(part) for part in empty.cdf()] == [0, 0]
    assert LatencyHistogram.merged([empty]).count == 0


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_an_impossible_latency_is_refused(value: float) -> None:
    histogram = LatencyHistogram([0.1, value])
    with pytest.raises(ValueError, match=f"given {value}"):
        histogram.percentile(50)


@pytest.mark.parametrize("q", [-1, 100.5])
def test_an_impossible_percentile_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        LatencyHistogram([1.0]).percentile(q)


def test_it_travels_between_processes() -> None:
    histogram = LatencyHistogram(sample(10_000))
    copy = pickle.loads(pickle.dumps(histogram))
    assert copy.figures() == histogram.figures()
    assert repr(copy) == repr(histogram)
