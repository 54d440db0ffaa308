"""What must hold of every run, whatever the model; an AssertionError says what does not.

>>> check(
...     {
...         "cluster": {"model": "standalone"},
...         "workload": {"preset": "mysqlslap-insert", "queries": 20},
...     }
... ).committed
20
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simrep.contract.setup import Setup, setup_of
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.measure.meter import Measurement, Meter
from simrep.network.link import Jitter, Latency
from simrep.runs.build import build_cluster
from simrep.runs.replication import Replication, Traffic, simulate, with_run_settings
from simrep.scenario.schema import Scenario, load
from simrep.workload.clients import Clients

__all__ = [
    "check",
    "check_conservation",
    "check_convergence",
    "check_determinism",
    "check_floor",
    "check_little",
    "check_nodes",
    "check_stages",
    "round_trip_s",
]

_ROUNDING = 1e-9

Given = str | Path | Mapping[str, Any] | Scenario


def check(scenario: Given, *, acknowledged_by: int = 0) -> Traffic:
    """Run a scenario twice and ask everything of this module.

    Parameters
    ----------
    scenario : path, mapping or Scenario
    acknowledged_by : int
        How many other nodes must have answered before a client is told that what it wrote is
        committed; 0 asks nothing about the distance of the nodes.

    Returns
    -------
    Traffic
        What its clients did.

    Raises
    ------
    AssertionError
        If something does not hold.
    ScenarioError
        If the scenario cannot be run.
    """
    loaded = scenario if isinstance(scenario, Scenario) else load(scenario)
    setup = with_run_settings(setup_of(loaded), {"log": True})
    replication = check_determinism(setup, loaded.run.seed)
    check_conservation(replication.traffic)
    check_stages(replication.measurement)
    check_nodes(replication.measurement)
    if setup.workload.per_client is not None and not setup.moves:
        check_convergence(setup, loaded.run.seed)
    if acknowledged_by:
        check_floor(setup, replication.measurement, acknowledged_by)
    return replication.traffic


def check_conservation(traffic: Traffic) -> None:
    """Whatever clients submitted is committed, aborted, or in flight."""
    ended = traffic.committed + traffic.aborted
    assert traffic.in_flight >= 0, f"{traffic.in_flight} transactions in flight"
    assert traffic.submitted == ended + traffic.in_flight, (
        f"{traffic.submitted} transactions were submitted, {traffic.committed} committed, "
        f"{traffic.aborted} aborted, and {traffic.in_flight} are in flight"
    )


def check_stages(measurement: Measurement) -> None:
    """The stages of committed transactions sum to their latencies; none is negative."""
    for kind, stages_s in measurement.laps.items():
        latency = measurement.classes[kind].latency if kind in measurement.classes else None
        assert latency, f"there are stages of {kind}, of which no transaction has committed"
        sum_s, latency_s = math.fsum(stages_s), latency.mean_s * latency.count
        assert min(stages_s) >= 0.0, f"a stage of {kind} lasts {min(stages_s):g} s in sum"
        assert math.isclose(sum_s, latency_s, rel_tol=_ROUNDING), (
            f"the stages of {kind} last {sum_s:g} s in sum, its latencies {latency_s:g} s"
        )


def check_nodes(measurement: Measurement) -> None:
    """What is counted of classes, of nodes and of errors is what is counted in all."""
    ended = (measurement.committed, measurement.aborted)
    for what, counts in (("classes", measurement.classes), ("nodes", measurement.nodes)):
        found = tuple(
            sum(getattr(count, name) for count in counts.values())
            for name in ("committed", "aborted")
        )
        assert found == ended, f"the {what} have {found} commits and aborts, in all {ended}"
    for name, node in measurement.nodes.items():
        assert sum(node.errors.values()) == node.aborted, f"aborts of {name} without an error"
    assert sum(measurement.errors.values()) == measurement.aborted, "aborts without an error"


def check_little(setup: Setup, measurement: Measurement) -> None:
    """Little's law of every client of a closed loop: at any time it waits for an answer or thinks.

    From the start of its first transaction to the end of its last, the latencies and the pauses
    between them add up to the time that has passed. ``measurement`` must have a log of the whole
    run (``run.log``).
    """
    assert measurement.log is not None, "there is no log: set run.log"
    workload, log = setup.workload, measurement.log
    if workload.arrivals:
        return
    # Clients that come and go may be away, those of a server that is away try again later, and who
    # thinks at random may think for any time.
    exact = workload.think.kind == "constant" and not setup.noticed
    exact = exact and not any(loop.course or loop.think or loop.policy for loop in workload.loops)
    answered = log.committed if workload.retry else log.committed | True
    for client in sorted(set(log.client[answered].tolist())):
        own = answered & (log.client == client)
        started_s, latency_s = log.started_s[own], log.latency_s[own]
        passed_s = started_s[-1] + latency_s[-1] - started_s[0]
        pauses_s, pauses = passed_s - latency_s.sum(), len(started_s) - 1
        rounding_s = _ROUNDING * (1.0 + passed_s)
        least_s = pauses * workload.think.mean_s if exact else 0.0
        assert pauses_s >= least_s - rounding_s, (
            f"client {client} had {pauses} pauses of {pauses_s:g} s in sum, at least {least_s:g} s"
        )
        assert not exact or pauses_s <= least_s + rounding_s, (
            f"client {client} had {pauses} pauses of {pauses_s:g} s in sum, at most {least_s:g} s"
        )


def check_determinism(setup: Setup, seed: int = 1) -> Replication:
    """A seed determines everything that happens; returns the replication."""
    first, second = (simulate(setup, seed, trace=True) for _ in range(2))
    assert first.trace_digest == second.trace_digest, "two runs with one seed have different traces"
    assert first.counters == second.counters, "two runs with one seed have different counters"
    assert first.measurement.latency.sum_s == second.measurement.latency.sum_s, (
        "two runs with one seed have different latencies"
    )
    return first


def check_convergence(setup: Setup, seed: int = 1, limit_s: float = 3600.0) -> None:
    """After the last transaction no node stays behind, as far as the model tells.

    Clients must submit a fixed number of transactions.
    """
    clock, streams = Clock(), Streams(seed)
    model = setup.model(build_cluster(setup, clock, streams), setup.options, setup.costs)
    meter = Meter(clock)
    ended = clock.all_of(Clients(clock, streams, setup.workload, model, meter).start())
    clock.run(ended | clock.until(limit_s))
    assert ended.processed, f"clients have not ended after {limit_s:g} simulated seconds"
    while behind := {name: number for name, number in (model.backlog() or {}).items() if number}:
        assert clock.now < limit_s, f"after {limit_s:g} simulated seconds still behind: {behind}"
        clock.run(clock.now + 0.1)


def check_floor(setup: Setup, measurement: Measurement, acknowledged_by: int) -> None:
    """No write is committed before so many other nodes can have answered.

    ``measurement`` must have a log (``run.log``).
    """
    assert measurement.log is not None, "there is no log: set run.log"
    workload, log = setup.workload, measurement.log
    nodes = {*workload.nodes, *(arrivals.node for arrivals in workload.arrivals)}
    floor_s = min(round_trip_s(setup, node, acknowledged_by) for node in nodes)
    writing = {one.name for one in workload.classes if one.statements}
    for latency_s, kind, committed in zip(log.latency_s, log.kind, log.committed, strict=True):
        assert not committed or kind not in writing or latency_s >= floor_s - _ROUNDING, (
            f"a {kind} transaction took {latency_s:g} s, and the round trip {floor_s:g} s"
        )


def round_trip_s(setup: Setup, node: int, others: int) -> float:
    """The shortest time in which so many other nodes can answer a node, in seconds."""
    size = len(setup.placement)
    return sorted(
        _least_s(setup.paths[node, other].latency) + _least_s(setup.paths[other, node].latency)
        for other in range(size)
        if other != node
    )[others - 1]


def _least_s(latency: Latency) -> float:
    """What jitter leaves of a delay at least."""
    return max(0.0, latency.base_s + sum(map(_least_jitter_s, latency.jitter)))


def _least_jitter_s(jitter: Jitter) -> float:
    if jitter.kind == "normal":
        return -math.inf
    if jitter.kind == "uniform":
        return jitter.mean_s - jitter.sd_s
    return min(jitter.samples_s, default=0.0)
