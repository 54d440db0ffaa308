"""Queues as somebody sees them who reads them four times a second."""

from __future__ import annotations

from math import isnan
from types import SimpleNamespace
from typing import Any

import pytest

from simrep.data.queue_readings import QueueReadings
from simrep.kernel.clock import Clock


def reads(first_s: float) -> QueueReadings:
    """Readings of two nodes; the second one has a queue of 7 from 1.0 to 1.1 s."""
    clock = Clock()
    cluster: Any = SimpleNamespace(clock=clock, names=("n1", "n2"))

    def status(node: int) -> Any:
        return SimpleNamespace(queue=7 if node and 1.0 <= clock.now < 1.1 else node)

    model: Any = SimpleNamespace(status=status)
    queues = QueueReadings(first_s, 0.25)
    queues.attend(cluster, model)
    clock.run(2.0)
    return queues


@pytest.mark.parametrize(("first_s", "seen"), [(0.05, 7.0), (0.2, 1.0)])
def test_a_short_queue_is_seen_if_a_reading_meets_it(first_s: float, seen: float) -> None:
    queues = reads(first_s)
    assert queues.longest(0, 0.0) == 0.0
    assert queues.longest(1, 0.0) == seen


def test_only_readings_of_the_time_asked_for_count() -> None:
    queues = reads(0.05)
    assert queues.longest(1, 1.1) == 1.0
    assert queues.longest(1, 0.0, 1.0) == 1.0
    assert isnan(queues.longest(1, 0.01, 0.04))
