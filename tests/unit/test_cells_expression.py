"""Conditions on the factors of a cell: equal to Python where they are understood, else refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simrep.data.cells_expression import cells_expression
from simrep.errors import ScenarioError

FACTORS = ("threads", "delay_ms", "layout")
CELL = {"threads": 16, "delay_ms": 0.05, "layout": "lan"}


def meant(text: str, cell=CELL) -> bool:
    return cells_expression(text, FACTORS)(cell)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("threads == 16", True),
        ("threads != 16", False),
        ("1 < threads <= 16", True),
        ("1 < threads < 16", False),
        ("threads in (1, 64) or layout == 'lan'", True),
        ("threads in [1, 64] and layout == 'lan'", False),
        ("threads not in {1, 64}", True),
        ("not (delay_ms > 0)", False),
        ("delay_ms > -1", True),
        ("  layout in ('lan',)  ", True),
        ("layout == 16", False),
    ],
)
def test_a_condition_says_which_cells_are_meant(text, expected):
    assert meant(text) is expected


numbers = st.integers(-3, 3) | st.sampled_from([-0.5, 0.05, 1.5])
signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
comparisons = st.builds(
    "{} {} {}".format, st.sampled_from(["threads", "delay_ms"]), signs, numbers
) | st.builds("threads {} ({}, {})".format, st.sampled_from(["in", "not in"]), numbers, numbers)
conditions = st.recursive(
    comparisons,
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
        | st.builds("not ({})".format, inner)
    ),
    max_leaves=6,
)


@given(conditions, numbers, numbers)
def test_a_condition_means_what_it_means_in_python(text, threads, delay_ms):
    cell = {"threads": threads, "delay_ms": delay_ms, "layout": "lan"}
    assert meant(text, cell) is eval(text, {}, cell)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "threads",
        "threads ==",
        "16",
        "threads == 16; layout",
        "print(1)",
        "threads.real == 16",
        "__import__('os').system('true')",
        "threads == len('ab')",
        "threads == 2 ** 4",
        "threads is 16",
        "threads in 'abc'",
        "(lambda: True)() == 1",
        "threads == None",
        "threads == b'16'",
        "(" * 5000,
        "threads\0 == 1",
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(ScenarioError, match=r"--cells: .*threads <= 16"):
        meant(text)


def test_an_unknown_factor_is_named_with_the_nearest():
    with pytest.raises(ScenarioError, match=r"no factor 'thread' .*'threads'"):
        cells_expression("thread == 1", FACTORS)
    with pytest.raises(ScenarioError, match="--holdout"):
        cells_expression("thread == 1", FACTORS, "--holdout")


def test_a_text_has_no_order_among_numbers():
    with pytest.raises(ScenarioError, match="compares texts with numbers"):
        meant("layout < 3")
