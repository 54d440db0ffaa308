"""Galera as the model plays it, and as one would write it with SimPy first: both do the same.

``make benchmark`` tells how long each takes.
"""

from __future__ import annotations

import pytest

from tests.benchmarks.insert_load import run_model, run_naive
from tests.benchmarks.simple_queue import LOAD, SIMULATORS

EACH = 15  # enough for reports, keepalives and several stops of flow control


def test_the_model_equals_its_naive_twin() -> None:
    model, naive = run_model(EACH), run_naive(EACH)
    assert [end[:2] for end in model.ends] == [end[:2] for end in naive.ends]
    assert [end[2] for end in model.ends] == pytest.approx(
        [end[2] for end in naive.ends], rel=0, abs=1e-9
    )
    assert model.makespan_s == pytest.approx(naive.makespan_s, rel=0, abs=1e-9)
    assert model.orders == naive.orders
    assert model.stops == naive.stops > 0
    assert model.paused_s == pytest.approx(naive.paused_s, rel=0, abs=1e-9)


def test_the_simplest_queue_is_the_same_in_both() -> None:
    own, simpys = (simulator(2_000) for simulator in SIMULATORS.values())
    assert own == pytest.approx(simpys, rel=1e-12)
    assert 1.0 < own < 3.0 / (1.0 - LOAD)
