"""A queue that is simulated over and over, to count how often its intervals are right."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ShortRunWarning
from simrep.measure.confidence import Interval, mean_interval
from simrep.measure.histogram import LatencyHistogram
from simrep.runs.replication import simulate, with_warmup
from simrep.scenario import load
from tests.server_runs import scenario

__all__ = ["FIGURES", "MEAN", "covered", "long_run", "naive", "trial", "truth"]

RATE_TPS = 600.0
MEAN = "latency_s.mean"
FIGURES = {
    "throughput_tps": lambda measured: measured.throughput_tps,
    "latency_s.mean": lambda measured: measured.latency.mean_s,
    "latency_s.p95": lambda measured: measured.latency.percentile(95),
}


def queue(duration_s: float) -> dict[str, Any]:
    """Poisson arrivals at one core that takes 1 ms for each, 60 % of the time."""
    content = scenario(
        "standalone", 1, costs={"statement_us": 1000.0}, cores=1, duration_s=duration_s,
        options={"log_bin": False, "innodb_flush_log_at_trx_commit": 0}, rate_tps=RATE_TPS,
    )  # fmt: skip
    content["run"]["warmup"] = "auto"
    return content


def planned_for(seed: int, duration_s: float) -> Setup:
    """The plan of a trial; of short ones, one in forty seems to be all warm-up, which is told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortRunWarning)
        return with_warmup(setup_of(load(queue(duration_s))), seed)


def trial(seed: int, *, replications: int, duration_s: float) -> dict[str, Interval]:
    """The intervals of one run with several replications."""
    setup = planned_for(seed, duration_s)
    measured = [simulate(setup, seed, number).measurement for number in range(replications)]
    return {
        name: mean_interval([figure(one) for one in measured]) for name, figure in FIGURES.items()
    }


def naive(seed: int, *, duration_s: float) -> dict[str, Interval]:
    """An interval that takes latencies for independent, although what waits makes others wait."""
    latency = simulate(planned_for(seed, duration_s), seed, 0).measurement.latency
    edges_s, counts = latency.buckets()
    variance = np.average((edges_s - latency.mean_s) ** 2, weights=counts)
    half = 1.96 * sqrt(variance / latency.count)
    return {MEAN: Interval(latency.mean_s - half, latency.mean_s + half, latency.mean_s, 0.95)}


def long_run(number: int, long_s: float) -> LatencyHistogram:
    """All latencies of one part of the long run."""
    return simulate(planned_for(10**6, long_s), 10**6, number).measurement.latency


def truth(parts: Iterable[LatencyHistogram]) -> dict[str, float]:
    """What the figures are in the long run: the rate is given, the others are simulated."""
    latency = LatencyHistogram.merged(parts)
    return {
        "throughput_tps": RATE_TPS,
        "latency_s.mean": latency.mean_s,
        "latency_s.p95": latency.percentile(95),
    }


def covered(trials: Sequence[Mapping[str, Interval]], figure: str, true: float) -> int:
    """In how many trials the interval holds the truth."""
    return sum(true in one[figure] for one in trials)
