"""Objectives: what they may say, and what they mean."""

import pytest

from simrep.errors import ScenarioError
from simrep.whatif.objective import Condition, Objective


def test_short_names_and_units():
    found = Objective.of("tps>=500, p99 <= 250ms,aborted<10")
    assert found.conditions == (
        Condition("throughput_tps", at_most=False, limit=500.0),
        Condition("latency_s.p99", at_most=True, limit=0.25),
        Condition("aborted", at_most=True, limit=10.0),
    )
    assert str(found) == "tps >= 500 and p99 <= 250 ms and aborted <= 10"
    assert Objective.of(found) is found


def test_paths_are_in_the_unit_of_their_name():
    assert Objective.of("latency_s.p95<=0.5").conditions[0].limit == 0.5
    assert Objective.of("counters.n1.wsrep_flow_control_sent<=0").conditions[0].limit == 0.0
    assert Objective.of("nodes.db-1.latency_s.p95<=50ms").conditions[0].limit == 0.05
    assert Objective.of("nodes.n2.errors.1213<10").conditions[0].limit == 10.0


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("p99<=250", "250ms"),  # a time without a unit
        ("p99=250ms", "tps>=500"),
        ("p98<=250ms", "p99"),
        ("tps>=500ms", "unit"),
        ("", "tps>=500"),
    ],
)
def test_what_cannot_be_read_is_told(text, hint):
    with pytest.raises(ScenarioError, match=hint):
        Objective.of(text)


def test_spare_is_relative_to_the_limit():
    low, high = Objective.of("tps>=500,p99<=200ms").conditions
    assert low.spare(550.0) == pytest.approx(0.1)
    assert high.spare(0.25) == pytest.approx(-0.25)
    assert low.met(500.0)
    assert not high.met(0.2000001)
    assert not low.met(float("nan"))
