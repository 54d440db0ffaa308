"""Quantities read off curves, on curves whose answers are known."""

from math import isnan

import pytest

from simrep.data.curve_quantities import QUANTITIES, Line

# Clients 1, 2 and 4; latencies in seconds.
BASE = Line({1: 100.0, 2: 200.0, 4: 400.0}, {1: 0.010, 2: 0.010, 4: 0.010})
SLOW = Line({1: 50.0, 2: 150.0, 4: 300.0}, {1: 0.020, 2: 0.013, 4: 0.013}, sustained_tps=200.0)
SLOWER = Line({1: 50.0, 2: 100.0, 4: 200.0}, {1: 0.020, 2: 0.020, 4: 0.020})


def value(kind, *lines, at=None, up_to=None):
    return QUANTITIES[kind].compute([(line, BASE) for line in lines], at, up_to)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("maximum_ratio", 0.75),
        ("maximum_gap", 0.25),
        ("mean_gap", (0.5 + 0.25 + 0.25) / 3),
        ("mean_latency_increase", (1.0 + 0.3 + 0.3) / 3),
        ("mean_latency_added_ms", (10.0 + 3.0 + 3.0) / 3),
        ("sustained_ratio", 0.5),
    ],
)
def test_a_quantity_of_one_curve(kind, expected):
    assert value(kind, SLOW) == pytest.approx(expected)


def test_a_gap_at_one_place():
    assert value("gap_at", SLOW, at=2) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="no point at 3"):
        value("gap_at", SLOW, at=3)


def test_means_end_where_they_should():
    assert value("mean_gap", SLOW, up_to=1) == pytest.approx(0.5)
    assert value("mean_latency_added_ms", SLOW, up_to=2) == pytest.approx(6.5)


def test_means_are_over_what_both_curves_have():
    part = Line({2: 150.0, 8: 1.0}, {2: 0.013, 8: 1.0})
    assert value("mean_gap", part) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="in common"):
        value("mean_gap", part, up_to=1)


def test_several_curves_are_averaged():
    assert value("maximum_ratio", SLOW, SLOWER) == pytest.approx((0.75 + 0.5) / 2)


def test_a_drop_is_from_the_first_to_the_last():
    assert value("maximum_ratio_drop", SLOW, SLOW, SLOWER) == pytest.approx(0.25)


def test_a_rate_that_was_not_sought_is_no_number():
    assert isnan(value("sustained_ratio", SLOWER))
