"""Intervals of simulated figures contain the truth as often as they say.

The truth is what a queue with Poisson arrivals and constant service is known to do, and a long
run. Sixty trials: at a coverage of 95 % fewer than 45 of them cover with a probability of 2e-7, at
one of 60 %, as intervals have that take every transaction for independent, nearly always.
"""

from __future__ import annotations

import pytest

from simrep.experiment.plan import plan
from simrep.experiment.replication import simulate, with_warmup
from simrep.measure.confidence import mean_interval
from simrep.scenario import load
from tests.coverage import SERVICE_S, covered, queue, trial, truth

TRIALS, LEAST = 60, 45


@pytest.mark.slow
def test_intervals_of_mean_and_percentile_cover_the_truth() -> None:
    known = truth(long_s=2_000.0)
    trials = [trial(number, replications=5, duration_s=4.0) for number in range(TRIALS)]
    for figure in known:
        assert covered(trials, figure, known[figure]) >= LEAST, figure


def test_the_mean_latency_is_that_of_the_queue() -> None:
    # Pollaczek and Khinchine: half of s * rho / (1 - rho) of waiting, then s of service.
    rho = 0.6
    expected = SERVICE_S * (1.0 + 0.5 * rho / (1.0 - rho))
    planned = with_warmup(plan(load(queue(60.0))), 1)
    means = [simulate(planned, 1, number).measurement.latency.mean_s for number in range(8)]
    assert expected in mean_interval(means, 1 - 1e-6)
