"""Values of ranges of rows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.server.ranges import Ranges, points_in


def content(ranges: Ranges[object], rows: range = range(40)) -> list[object]:
    return [ranges.at(row) for row in rows]


@pytest.fixture
def ranges() -> Ranges[object]:
    return Ranges()


def test_a_row_has_the_value_of_the_range_that_covers_it(ranges: Ranges[object]) -> None:
    ranges.put(range(10, 20), "a")
    ranges.put(range(30, 35), "b")
    assert [ranges.at(row) for row in (9, 10, 19, 20, 29, 30, 34, 35)] == [
        None, "a", "a", None, None, "b", "b", None,
    ]  # fmt: skip


@pytest.mark.parametrize("row", ["10", ("fresh", 10), None, 10.0])
def test_what_is_no_number_is_in_no_range(ranges: Ranges[object], row: object) -> None:
    ranges.put(range(10, 20), "a")
    assert ranges.at(row) is None


def test_what_is_put_later_replaces_what_it_covers(ranges: Ranges[object]) -> None:
    ranges.put(range(30), "a")
    ranges.put(range(10, 20), "b")
    assert content(ranges, range(30)) == ["a"] * 10 + ["b"] * 10 + ["a"] * 10
    assert (len(ranges), ranges.rows) == (3, 30)
    ranges.put(range(5, 25), "c")
    assert content(ranges, range(30)) == ["a"] * 5 + ["c"] * 20 + ["a"] * 5
    assert (len(ranges), ranges.rows) == (3, 30)


def test_nothing_is_put_with_an_empty_range(ranges: Ranges[object]) -> None:
    ranges.put(range(10, 10), "a")
    assert (len(ranges), ranges.starts) == (0, [])


def test_a_scan_that_advances_stays_one_range(ranges: Ranges[object]) -> None:
    owner = object()
    for start in range(0, 5000, 10):
        ranges.put(range(start, start + 10), owner)
    assert (len(ranges), ranges.rows) == (1, 5000)
    ranges.put(range(5000, 5010), object())
    assert len(ranges) == 2


def test_what_is_removed_is_told(ranges: Ranges[object]) -> None:
    ranges.put(range(10), "a")
    ranges.put(range(10, 20), "b")
    ranges.put(range(30, 35), "a")
    assert ranges.remove(lambda value: value == "a") == [range(10), range(30, 35)]
    assert content(ranges) == [None] * 10 + ["b"] * 10 + [None] * 20


def test_a_copy_goes_its_own_way(ranges: Ranges[object]) -> None:
    ranges.put(range(10), "a")
    copy = ranges.copy()
    copy.put(range(5, 15), "b")
    ranges.put(range(20, 22), "c")
    assert content(ranges, range(24)) == ["a"] * 10 + [None] * 10 + ["c"] * 2 + [None] * 2
    assert content(copy, range(24)) == ["a"] * 5 + ["b"] * 10 + [None] * 9


def test_parts_that_are_covered_come_in_order(ranges: Ranges[object]) -> None:
    ranges.put(range(20, 30), "b")
    ranges.put(range(10), "a")
    assert list(ranges.over(range(5, 25))) == [(range(5, 10), "a"), (range(20, 25), "b")]
    assert list(ranges.over(range(10, 20))) == []


@pytest.mark.parametrize("rows", [range(2, 5), range(1000)])
def test_points_in_a_range_are_found_from_either_side(rows: range) -> None:
    points = {"text": 1, 1: 2, 3: 3, 4: 4, 2000: 5, ("fresh", 3): 6}
    expected = [(3, 3), (4, 4)] if rows.start else [(1, 2), (3, 3), (4, 4)]
    assert sorted(points_in(rows, points)) == expected


steps = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 3)), max_size=20)


@settings(max_examples=200)
@given(steps, st.integers(0, 3), st.integers(0, 35), st.integers(0, 12))
def test_they_are_what_a_table_of_every_row_is(
    puts: list[tuple[int, int, int]], unwanted: int, low: int, length: int
) -> None:
    ranges: Ranges[int] = Ranges()
    table: dict[int, int] = {}
    for start, size, value in puts:
        ranges.put(range(start, start + size), value)
        table |= dict.fromkeys(range(start, start + size), value)
    for _ in range(2):
        assert [ranges.at(row) for row in range(50)] == [table.get(row) for row in range(50)]
        assert ranges.rows == len(table)
        over = range(low, low + length)
        found = [(row, value) for part, value in ranges.over(over) for row in part]
        assert found == [(row, table[row]) for row in over if row in table]
        assert ranges.starts == sorted(ranges.starts)
        gone = ranges.remove(lambda value: value == unwanted)
        rows = [row for part in gone for row in part]
        assert rows == sorted(row for row, value in table.items() if value == unwanted)
        table = {row: value for row, value in table.items() if value != unwanted}
