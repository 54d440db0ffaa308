"""The stations of the second opinion against textbook formulas that were written for the tests."""

from __future__ import annotations

from math import inf

import pytest

from simrep.contract.closed_form.group_commit import (
    GroupStage,
    closed_group_commit_s,
    open_group_commit_s,
)
from simrep.contract.closed_form.order import kth_fastest, safe_order_s, slot_order_s
from simrep.whatif.analytic.stations import closed_station_s, open_release_s, open_station_s
from tests.groups import symmetric
from tests.theory.closed_forms import (
    erlang_c,
    longest_triangle_s,
    mm_wait_s,
    mva,
    pollaczek_khinchine_wait_s,
    slot_delivery_s,
)

UNEVEN = [[0.0, 1.0, 4.0, 2.0], [1.5, 0.0, 3.5, 1.0], [4.5, 3.0, 0.0, 3.0], [2.0, 1.0, 3.0, 0.0]]


@pytest.mark.parametrize("customers", [1, 2, 5, 40])
@pytest.mark.parametrize("away_s", [0.0, 0.3, 4.0])
def test_one_server_is_exact_mean_value_analysis(customers, away_s):
    _, response_s, _ = mva([0.2], away_s, customers)
    assert closed_station_s(customers, away_s, 0.2, 1) == pytest.approx(response_s, rel=1e-9)


@pytest.mark.parametrize("variation", [0.0, 0.6, 1.0])
def test_nobody_waits_with_as_many_servers_as_customers(variation):
    assert closed_station_s(4, 0.1, 0.2, 4, variation) == pytest.approx(0.2, rel=1e-9)


def test_a_crowded_station_lets_nobody_pass_faster_than_it_works():
    for variation in (0.0, 1.0):
        response_s = closed_station_s(500, 1.0, 0.2, 3, variation)
        assert 500 / (1.0 + response_s) == pytest.approx(3 / 0.2, rel=1e-6)


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.7), (3, 2.1), (8, 7.6)])
def test_arrivals_wait_as_erlang_says(servers, rate):
    expected = 1.0 + mm_wait_s(servers, rate, 1.0)
    assert open_station_s(rate, 1.0, servers) == pytest.approx(expected, rel=1e-12)
    assert 0.0 < erlang_c(servers, rate) < 1.0


def test_one_server_with_any_service_time_is_pollaczek_and_khinchine():
    expected = 1.0 + pollaczek_khinchine_wait_s(0.6, 1.0, 1.25)
    assert open_station_s(0.6, 1.0, 1, 0.5) == pytest.approx(expected, rel=1e-12)


def test_more_than_it_can_take_is_infinite():
    assert open_station_s(4.0, 0.5, 2) == inf
    assert open_group_commit_s([GroupStage(1.0, 0.1)], 10.0).seconds == inf
    assert (
        open_group_commit_s([GroupStage(1.0)], 1e6).seconds < 2.0
    )  # a group has room for everybody


def test_a_lone_customer_passes_a_group_commit_alone():
    stages = [GroupStage(0.3, 0.1), GroupStage(0.5)]
    assert closed_group_commit_s(stages, 1, 2.0).seconds == pytest.approx(0.8, rel=1e-12)


def test_customers_who_come_back_at_once_wait_for_a_whole_group_before_theirs():
    # Two sets take turns: one is served, the other waits.
    for away_s in (0.0, 0.25):
        time = closed_group_commit_s([GroupStage(1.0)], 100, away_s)
        assert time.seconds + away_s == pytest.approx(2.0, rel=0.02)


def test_who_gathers_behind_a_group_waits_half_as_long_again_at_most():
    waits = [open_release_s(rate, 1.0) for rate in (1e-6, 0.5, 2.0, 10.0, 1e3)]
    assert waits == sorted(waits)
    assert waits[0] == pytest.approx(1.0, abs=1e-5)
    assert waits[-1] == pytest.approx(1.5, abs=0.01)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_orders_of_equidistant_members(size):
    hops = symmetric(size)
    assert safe_order_s(hops, 0) == (2.0 if size == 2 else 3.0)
    assert slot_order_s(hops, hops, 0, single_leader=False) == 4.0
    assert slot_order_s(hops, hops, 0, single_leader=True) == 2.0


@pytest.mark.parametrize("origin", range(4))
def test_orders_of_members_at_different_distances(origin):
    assert safe_order_s(UNEVEN, origin) == pytest.approx(longest_triangle_s(UNEVEN, origin))
    for leader in (False, True):
        expected = slot_delivery_s(UNEVEN, origin, origin, single_leader=leader)
        found = slot_order_s(UNEVEN, UNEVEN, origin, single_leader=leader)
        assert found == pytest.approx(expected)


def test_the_kth_fastest_is_counted_from_one():
    assert [kth_fastest([3.0, 1.0, 2.0], k) for k in (1, 2, 3)] == [1.0, 2.0, 3.0]
