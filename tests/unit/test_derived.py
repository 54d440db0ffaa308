"""Derived metrics, of cells whose answers are known."""

from math import nan

import pytest

from simrep.data.definition import Definition
from simrep.data.derived import DerivedFigures
from simrep.data.measurements import DatasetCell
from simrep.data.statements import Statement, Systems

# Throughput and latency in seconds by clients.
BASE = {1: (100.0, 0.010), 2: (200.0, 0.010), 4: (400.0, 0.010)}
SLOW = {1: (50.0, 0.020), 2: (150.0, 0.013), 4: (300.0, 0.013)}
SLOWER = {1: (50.0, 0.020), 2: (100.0, 0.020), 4: (200.0, 0.020)}
DEFINITION = {
    "title": "a",
    "source": "b",
    "factors": {"clients": "workload.threads"},
    "series": [{"name": "s", "title": "s", "scenario": "s.toml", "where": {"system": "s"}}],
}


def rows(kind, *systems, sustained_tps=None, **options):
    """The row about systems 0, 1, ... beside the baseline; none if it cannot be computed."""
    derived = {
        "along": "clients",
        "baseline": {"system": "base"},
        "metric": {"figure": {"kind": kind, **options}},
    }
    definition = Definition.model_validate({**DEFINITION, "derived": derived})
    figures = DerivedFigures(Systems(definition, definition.derived, {}, []))
    for name, system in (("base", BASE), *enumerate(systems)):
        for clients, sample in system.items():
            cell = DatasetCell({"system": name, "clients": clients}, {})
            figures.add("s", cell, [sample])
        if sustained_tps is not None:
            figures.add_rates("s", DatasetCell({"system": name}, {}), [(sustained_tps, "n2")])
    stated = Statement({}, "figure", 0.1, 0.2, "ratio", (tuple((n,) for n in range(len(systems))),),
                       used_in_fit=False)  # fmt: skip
    return list(figures.rows([stated]))


def value(kind, *systems, **options):
    [row] = rows(kind, *systems, **options)
    return row.predicted


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("maximum_ratio", 0.75),
        ("maximum_gap", 0.25),
        ("mean_gap", (0.5 + 0.25 + 0.25) / 3),
        ("mean_latency_increase", (1.0 + 0.3 + 0.3) / 3),
        ("mean_latency_added_ms", (10.0 + 3.0 + 3.0) / 3),
    ],
)
def test_a_figure_of_one_system(kind, expected):
    assert value(kind, SLOW) == pytest.approx(expected)


def test_a_sustained_rate_is_a_share_of_the_highest_throughput_of_the_baseline():
    assert value("sustained_ratio", SLOW, sustained_tps=200.0) == pytest.approx(0.5)


def test_a_gap_at_one_place():
    assert value("gap_at", SLOW, at=2) == pytest.approx(0.25)


def test_means_end_where_they_should():
    assert value("mean_gap", SLOW, up_to=1) == pytest.approx(0.5)
    assert value("mean_latency_added_ms", SLOW, up_to=2) == pytest.approx(6.5)


def test_means_are_over_what_both_systems_have():
    assert value("mean_gap", {2: (150.0, 0.013), 8: (1.0, 1.0)}) == pytest.approx(0.25)


def test_several_systems_are_averaged():
    assert value("maximum_ratio", SLOW, SLOWER) == pytest.approx((0.75 + 0.5) / 2)


def test_a_drop_is_from_the_first_to_the_last():
    assert value("maximum_ratio_drop", SLOW, SLOW, SLOWER) == pytest.approx(0.25)


def test_a_row_without_its_sustained_rate_is_left_out():
    assert rows("sustained_ratio", SLOWER) == []
    assert rows("sustained_ratio", SLOWER, sustained_tps=nan) == []


def test_the_distance_is_from_the_nearer_end_and_0_inside():
    assert [row.distance for row in rows("maximum_gap", SLOW)] == pytest.approx([5.0])
    [inside] = rows("maximum_gap", {4: (340.0, 0.01)})
    assert inside.distance == 0.0
    [below] = rows("maximum_gap", {4: (380.0, 0.01)})
    assert below.distance == pytest.approx(-5.0)
