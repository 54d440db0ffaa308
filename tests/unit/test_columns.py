"""Rows of numbers without NumPy: what is there gives what NumPy gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simrep.kernel import columns
from simrep.kernel.columns import Column

FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400)


@given(FLOATS)
def test_statistics_are_equal_to_the_last_bit(values):
    ours, numpys = Column(values), np.array(values)
    assert ours.sum() == numpys.sum()
    assert ours.mean() == numpys.mean()
    assert (ours.min(), ours.max(), ours.argmax(), ours.argmin()) == (
        numpys.min(), numpys.max(), numpys.argmax(), numpys.argmin(),
    )  # fmt: skip
    assert columns.quantile(values, 0.05) == np.quantile(values, 0.05)
    assert columns.cumsum(values).tolist() == np.cumsum(values).tolist()
    assert columns.diff(values).tolist() == np.diff(values).tolist()
    assert ours.argsort(kind="stable").tolist() == numpys.argsort(kind="stable").tolist()
    if len(values) > 1:
        assert columns.std(values, ddof=1) == np.std(values, ddof=1)


@given(FLOATS, st.floats(-1e6, 1e6))
def test_item_by_item(values, limit):
    ours, numpys = Column(values), np.array(values)
    for one, other in (
        (ours[ours > limit], numpys[numpys > limit]),
        ((ours - limit) * 2.0 / 3.0, (numpys - limit) * 2.0 / 3.0),
        (limit - ours, limit - numpys),
        (~((ours >= 0.0) & (ours != limit)), ~((numpys >= 0.0) & (numpys != limit))),
        (columns.minimum(ours, limit), np.minimum(numpys, limit)),
        (columns.maximum(ours, limit), np.maximum(numpys, limit)),
        (columns.where(ours < limit, ours, 0.0), np.where(numpys < limit, numpys, 0.0)),
        (columns.append(ours, limit), np.append(numpys, limit)),
        (columns.flatnonzero(ours), np.flatnonzero(numpys)),
        (columns.pad(ours, (0, 2)), np.pad(numpys, (0, 2))),
        (ours[1:], numpys[1:]),
    ):
        assert one.tolist() == other.tolist()
    for side in ("left", "right"):
        assert columns.searchsorted(sorted(values), limit, side) == np.searchsorted(
            np.sort(numpys), limit, side
        )


def test_means_of_rows_and_of_columns():
    values = np.random.default_rng(1).random(60).tolist()
    rows = np.array(values).reshape(5, 12)
    assert Column(values).reshape(5, 12).mean(axis=1).tolist() == rows.mean(axis=1).tolist()
    assert columns.mean(rows.tolist(), axis=0).tolist() == np.mean(rows, axis=0).tolist()


def test_what_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="ambiguous"):
        bool(Column([1.0]))
    with pytest.raises(IndexError, match="1 flags for 2 items"):
        Column([1.0, 2.0])[Column([True])]
    with pytest.raises(ValueError, match="do not make"):
        Column([1.0]).reshape(2, 2)


def test_rounded_values_are_those_of_numpy():
    values = [1.2345678905, 0.0012345675, -2.5, 1e9 / 3, 2.675, 0.5, 1.0000000005, float("inf")]
    for decimals in (0, 2, 9):
        expected = np.array(values).round(decimals).tolist()
        assert columns.array(values).round(decimals).tolist() == expected
