"""Following a run changes nothing in it, and the stages of every transaction add up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from simrep.runs.replication import simulate
from simrep.runs.story import Follow
from simrep.scenario import load
from tests.strategies import scenarios

US = 1e-6


@pytest.mark.slow
@settings(max_examples=25)
@given(content=scenarios())
def test_a_followed_run_is_the_same_and_stages_sum_to_latencies(content):
    loaded = load(content)
    plain = simulate(loaded, loaded.run.seed, trace=True)
    followed = simulate(loaded, loaded.run.seed, trace=True, follow=Follow(0.05, 1.0))
    assert followed.trace_digest == plain.trace_digest
    assert followed.measurement.latency.sum_s == plain.measurement.latency.sum_s
    assert followed.counters == plain.counters

    story = followed.story
    # LOAD DATA is committed in parts, of which each has its own way.
    assert len(story.journeys) >= plain.measurement.committed
    for journey in story.journeys:
        assert sum(leg.seconds for leg in journey.legs) == pytest.approx(journey.latency_s, abs=US)
        assert all(leg.seconds > -US for leg in journey.legs)
    for sent in story.sent:
        assert sent.arrived_s >= sent.sent_s or sent.arrived_s != sent.arrived_s
        if sent.cause is not None:
            assert sent.cause.target == sent.source
            assert sent.cause.arrived_s <= sent.sent_s
    assert all(span.ended_s > span.began_s for span in story.spans)
