"""What a sweep varies, and which points it visits."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.errors import ScenarioError
from simrep.whatif.design import factors, grid, latin_hypercube, parse


def levels(given: Any, name: str = "network.rtt_ms") -> list[Any]:
    [factor] = factors({name: given})
    return [level.label for level in factor.levels]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,10,50", [1, 10, 50]),
        ("7", [7]),
        ("0.5, 1e1", [0.5, 10.0]),
        ("galera,group_replication", ["galera", "group_replication"]),
        ("true,false", [True, False]),
        ('["n1"],["*"]', [["n1"], ["*"]]),
        ("1..128:x2", [1, 2, 4, 8, 16, 32, 64, 128]),
        ("1..100:x3", [1, 3, 9, 27, 81]),
        ("1..10:+3", [1, 4, 7, 10]),
        ("0.1..0.5:+0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("-1..1:+1", [-1, 0, 1]),
        ("0.5..4:x2", [0.5, 1.0, 2.0, 4.0]),
    ],
)
def test_levels_are_read_as_they_are_written(text: str, expected: list[Any]) -> None:
    found = levels(text)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("10..1:x2", "wrong order"),
        ("0..8:x2", "begins above 0"),
        ("1..8:x1", "xF above 1"),
        ("1..8:+0", r"\+S is above 0"),
        ("1..9:+0.0001", "more than 10,000 levels"),
        ("0..10:log", "begins above 0"),
        ("1,2,1", "1 is there twice"),
        ([], "no levels"),
    ],
)
def test_levels_that_make_no_sense_are_refused(given: Any, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        levels(given)


def test_the_command_line_names_every_path_once() -> None:
    assert parse(["a.b=1,2", " c = x=1"]) == {"a.b": "1,2", "c": " x=1"}
    with pytest.raises(ScenarioError, match="not of the form path=levels"):
        parse(["network.rtt_ms"])
    with pytest.raises(ScenarioError, match="there twice"):
        parse(["a=1", "a=2"])
    with pytest.raises(ScenarioError, match="nothing to vary"):
        factors({})


def test_a_grid_has_all_combinations_in_order() -> None:
    points = grid(factors({"a": [1, 2], "b": "x,y"}))
    assert [(p.labels["a"], p.labels["b"]) for p in points] == [
        (1, "x"), (1, "y"), (2, "x"), (2, "y"),
    ]  # fmt: skip
    assert points[0].settings == {"a": 1, "b": "x"}


def test_clients_are_threads() -> None:
    [point] = grid(factors({"workload.clients": [4]}))
    assert point.labels == {"workload.clients": 4}
    assert point.settings == {"workload.threads": 4}


def test_a_level_may_change_several_values() -> None:
    products = {"ours": {"cluster.model": "galera", "network.rtt_ms": 1}, "bare": {}}
    points = grid(factors({"product": products, "workload.threads": [1]}))
    assert [p.labels["product"] for p in points] == ["ours", "bare"]
    assert points[0].settings == {
        "cluster.model": "galera", "network.rtt_ms": 1, "workload.threads": 1,
    }  # fmt: skip
    with pytest.raises(ScenarioError, match=r"network\.rtt_ms is set by another factor"):
        grid(factors({"product": products, "network.rtt_ms": [2]}))


def test_a_grid_needs_steps() -> None:
    with pytest.raises(ScenarioError, match=r"range without steps.*--samples"):
        grid(factors({"network.rtt_ms": "1..10"}))


def test_a_hypercube_spreads_over_every_factor() -> None:
    varied = factors({"a": "0..100.0", "b": "1..1000:log", "c": "x,y", "d": "1..4"})
    points = latin_hypercube(varied, 20, seed=1)
    assert len(points) == 20
    # Every twentieth of the range has one point: that is what makes it a Latin hypercube.
    assert sorted(int(p.labels["a"] / 5.0) for p in points) == list(range(20))
    whole = [p.labels["b"] for p in points]
    assert all(isinstance(value, int) for value in whole)
    assert sum(value < 10 for value in whole) in {6, 7}  # a third of three decades
    assert sum(p.labels["c"] == "x" for p in points) == 10
    assert {p.labels["d"] for p in points} == {1, 2, 3, 4}


def test_equal_seeds_give_equal_points() -> None:
    varied = factors({"a": "0..1.0", "b": "1..9:+2"})
    assert latin_hypercube(varied, 5, seed=3) == latin_hypercube(varied, 5, seed=3)
    assert latin_hypercube(varied, 5, seed=3) != latin_hypercube(varied, 5, seed=4)
    with pytest.raises(ScenarioError, match="samples: must be at least 1"):
        latin_hypercube(varied, 0, seed=3)
