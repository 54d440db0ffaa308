"""Whatever breaks in a group of MySQL Group Replication, its promises hold, and it comes back.

One order and the same verdicts on all members; nothing answered is lost while a majority survives;
who has no majority answers no write; one primary at a time; members that are back have everything.
The long form is ``python tests/accuracy/run.py --only group-failures``.
"""

from __future__ import annotations

import pytest

from tests.accuracy.group_failures import drawn, outcome


# Quick ones; in 11 a member joins while a primary is elected, in 12 several join in one view, in
# 187 one has what the group has begun anew without, and in 458 one leaves with work left at AFTER.
@pytest.mark.parametrize("number", [3, 4, 11, 12, 13, 22, 187, 458])
def test_a_random_schedule_breaks_no_promise(number: int) -> None:
    assert outcome(number).problems == []


def test_schedules_have_all_kinds_of_faults() -> None:
    scenarios = [drawn(number) for number in range(100)]
    words = {fault.what for scenario in scenarios for fault in scenario.faults}
    assert words >= {
        "kill", "power-loss", "leave", "restart", "pause", "cut", "loss", "jitter"
    }  # fmt: skip
    assert {len(scenario.node_names) for scenario in scenarios} == {3, 4, 5, 7}
