"""Whatever breaks in a source and its replicas, and whoever is promoted: one history in the end.

All who follow the source have the same transactions in the same order; a transaction whose client
was told that it failed is nowhere; nothing that was answered is lost where all replicas had to
acknowledge it. The long form is ``python tests/accuracy/run.py --only source-failures``.
"""

from __future__ import annotations

import json

import pytest

from tests.accuracy.run import RESULTS
from tests.accuracy.source_failures import drawn, outcome

FEWEST = 200


# Quick ones; in 4 a switch-over is taken back before it has ended, in 13 an old source is back.
@pytest.mark.parametrize("number", [2, 4, 13, 31, 33, 40, 41, 49])
def test_a_random_schedule_breaks_no_promise(number: int) -> None:
    assert outcome(number).problems == []


def test_the_long_form_broke_no_promise() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["source_failures"]
    assert kept["schedules"] >= FEWEST
    assert kept["broken"] == {}


def test_schedules_have_all_kinds_of_faults() -> None:
    scenarios = [drawn(number) for number in range(100)]
    words = {fault.what for scenario in scenarios for fault in scenario.faults}
    assert words >= {
        "kill", "power-loss", "leave", "restart", "pause", "cut", "loss", "jitter", "promote"
    }  # fmt: skip
    assert {scenario.cluster.model for scenario in scenarios} == {"asynchronous", "semisync"}
    assert len({scenario.cluster.version for scenario in scenarios}) == 4
