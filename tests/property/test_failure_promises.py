"""Whatever breaks in a Galera cluster, what is promised holds; see ``tests.accuracy.failures``."""

from __future__ import annotations

import json

import pytest

from tests.accuracy.failures import outcome
from tests.accuracy.run import RESULTS


@pytest.mark.parametrize("seed", [0, 3, 5, 8, 11])
def test_promises_hold_under_random_faults(seed: int) -> None:
    found = outcome(seed)
    assert found is None or found[0] == []


def test_they_held_in_all_schedules_that_were_tried() -> None:
    kept = json.loads(RESULTS.read_text())["failures"]
    assert kept["broken"] == {}
    assert kept["schedules"] >= 400
    assert kept["figures"]["transfers"] > kept["schedules"] / 4
