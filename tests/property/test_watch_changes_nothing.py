"""A watch only looks on, whatever the cluster and the load; what it tells adds up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from simrep.measure.blockage import blockages, causes
from simrep.runs.run import simulate
from simrep.scenario import load
from tests.strategies import scenarios


@pytest.mark.slow
@settings(max_examples=30)
@given(content=scenarios())
def test_a_watched_run_is_the_same_and_its_stall_is_explained(content):
    loaded = load(content)
    plain = simulate(loaded, loaded.run.seed, trace=True)
    watched = simulate(loaded, loaded.run.seed, trace=True, watch_s=0.005)
    assert watched.trace_digest == plain.trace_digest
    assert watched.measurement.latency.sum_s == plain.measurement.latency.sum_s
    assert watched.counters == plain.counters

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
