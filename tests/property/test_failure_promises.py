"""Whatever breaks in a Galera cluster, nothing that was promised is lost, and it comes back.

The long form is ``make accuracy``; its result is kept in tests/accuracy/results.json.
"""

from __future__ import annotations

import json

import pytest

from simrep.runs.replication import simulate
from tests.accuracy.failures import drawn, outcome, taken_back
from tests.accuracy.run import RESULTS

FEWEST = 500


@pytest.mark.parametrize("number", range(8))
def test_a_random_schedule_breaks_no_promise(number: int) -> None:
    assert outcome(number).problems == []


def test_the_long_form_broke_no_promise() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["failures"]
    assert kept["schedules"] >= FEWEST
    assert kept["broken"] == {}
    # What the promise allows, and members that exclude each other for ever, stay rare.
    assert sum(kept["taken_back"].values()) <= kept["schedules"] / 100
    assert len(kept["livelocks"]) <= kept["schedules"] / 100


def test_what_a_server_alone_knew_when_it_ended_is_taken_back_and_it_needs_a_whole_state() -> None:
    scenario = drawn(465)
    faults = [fault.model_dump(exclude_defaults=True) for fault in scenario.faults]
    by_hand = [
        {"what": "kill", "node": "n3", "at_s": 35.0},
        {"what": "restart", "node": "n3", "at_s": 40.0},
    ]
    scenario = scenario.replace({"fault": [*faults, *by_hand]})
    replication = simulate(scenario, 465)
    (reversal,) = taken_back(scenario, replication)
    assert (reversal.node, reversal.places) == (2, 1)
    after = [noted for noted in replication.noted if noted.at_s > reversal.at_s]
    assert ("joiner", 2, "SST") in {(noted.what, noted.node, noted.how) for noted in after}
    assert replication.fates is not None
    assert replication.fates.lost == 1


def test_where_a_group_stands_nobody_tells_who_lacks_the_state() -> None:
    # n2 gets the state from n1 when n1 ends. When both are back neither may speak for the group.
    replication = simulate(drawn(629), 629)
    words = {noted.node: noted.what for noted in replication.noted if noted.what != "link-open"}
    assert words == {0: "non-primary", 1: "non-primary"}
    assert replication.fates is not None
    assert replication.fates.failed_present == 0


def test_members_that_exclude_each_other_do_so_until_somebody_ends_one_of_them() -> None:
    scenario = drawn(396).replace({"run.duration_s": 22.0})
    replication = simulate(scenario, 396)
    locked = [noted for noted in replication.noted if noted.what == "livelock"]
    assert {(noted.node, noted.of) for noted in locked} == {(0, (1,)), (1, (0,))}
    after = [noted for noted in replication.noted if noted.at_s > locked[-1].at_s]
    assert after == []


def test_schedules_have_all_kinds_of_faults() -> None:
    scenarios = [drawn(number) for number in range(100)]
    words = {fault.what for scenario in scenarios for fault in scenario.faults}
    assert words >= {
        "kill", "power-loss", "leave", "restart", "pause", "cut", "loss", "jitter"
    }  # fmt: skip
    assert {len(scenario.node_names) for scenario in scenarios} == set(range(2, 8))
    assert any(node.arbitrator for scenario in scenarios for node in scenario.nodes)
    assert any(node.segment for scenario in scenarios for node in scenario.nodes)
