"""Whoever looks on changes nothing, whatever the cluster and the load; what is told adds up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from simrep.measure.blockage import blockages, causes
from simrep.runs.replication import simulate
from simrep.runs.story import Follow
from simrep.scenario import load
from tests.galera_cases import galera_scenarios

US = 1e-6


@pytest.mark.slow
@settings(max_examples=20)
@given(content=galera_scenarios())
def test_a_run_that_is_watched_or_followed_is_the_same_and_adds_up(content):
    loaded = load(content)
    plain = simulate(loaded, loaded.run.seed, trace=True)
    watched = simulate(loaded, loaded.run.seed, trace=True, watch_s=0.005)
    followed = simulate(loaded, loaded.run.seed, trace=True, follow=Follow(0.05, 1.0))
    for seen in (watched, followed):
        assert seen.trace_digest == plain.trace_digest
        assert seen.measurement.latency.sum_s == plain.measurement.latency.sum_s
        assert seen.counters == plain.counters
    a_stall_is_explained(watched)
    stages_sum_to_latencies(followed, plain.measurement.committed)


def a_stall_is_explained(watched):
    stall = watched.measurement.stall
    found = blockages(watched.waited or ())
    reasons, free_s = causes(found, stall)
    assert all(one.seconds >= 0.005 for one in found)
    assert all(one.waiting >= 1 for one in found)
    covered_s = stall.seconds - free_s
    longest_s = max((cause.seconds for cause in reasons), default=0.0)
    assert longest_s <= covered_s + 1e-9
    assert sum(cause.seconds for cause in reasons) >= covered_s - 1e-9
    for position, one in enumerate(found):
        for other in one.because:
            assert other != position
            explains = found[other]
            assert explains.began_s < one.ended_s
            assert one.began_s < explains.ended_s


def stages_sum_to_latencies(followed, committed):
    story = followed.story
    # LOAD DATA is committed in parts, of which each has its own way.
    assert len(story.journeys) >= committed
    for journey in story.journeys:
        assert sum(leg.seconds for leg in journey.legs) == pytest.approx(journey.latency_s, abs=US)
        assert all(leg.seconds > -US for leg in journey.legs)
    for sent in story.sent:
        assert sent.arrived_s >= sent.sent_s or sent.arrived_s != sent.arrived_s
        if sent.cause is not None:
            assert sent.cause.target == sent.source
            assert sent.cause.arrived_s <= sent.sent_s
    assert all(span.ended_s > span.began_s for span in story.spans)
