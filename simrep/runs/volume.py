"""How many events a replication takes at least, as far as its scenario tells before it runs."""

from __future__ import annotations

from simrep.contract.setup import Setup
from simrep.errors import ScenarioError
from simrep.kernel.budget import MOST_EVENTS

__all__ = ["check_volume", "least_events"]


def least_events(setup: Setup) -> float:
    """The fewest events that the load takes; no run takes fewer, and most take many times as many.

    A transaction of a fixed number takes one event at least, and so does an arrival, whose
    transaction takes another one if it need not wait for a connection. Clients of a closed loop
    that submit as many as they can count nothing: they may wait all the time.
    """
    workload = setup.workload
    if workload.per_client is not None:
        return float(len(workload.nodes) * workload.per_client)
    length_s = _least_length_s(setup)
    found = 0.0
    for arrivals in workload.arrivals:
        rate = arrivals.rate_tps
        if arrivals.course is not None:
            (rate,) = arrivals.course.means((0.0, length_s))
        found += rate * length_s * (2.0 if arrivals.connections is None else 1.0)
    return found


def _least_length_s(setup: Setup) -> float:
    """How long the run lasts at least in simulated seconds."""
    run = setup.scenario.run
    if run.duration_s is not None:
        return run.warmup_s + run.duration_s
    last_s = max((one.at_s for one in setup.workload.scheduled), default=0.0)
    return last_s + (run.settle_s or 0.0)


def check_volume(setup: Setup) -> None:
    """Refuse a run that would take more events than any may; of others the clock finds out.

    Raises
    ------
    ScenarioError
        With the number that it would take at least.
    """
    least = least_events(setup)
    if least <= MOST_EVENTS:
        return
    many, how = "run.duration_s", "shorten the run, or lower the rate"
    if setup.workload.per_client is not None:
        many, how = "workload", "submit fewer transactions"
    raise ScenarioError(
        many,
        f"the run would take at least {least:.1e} events, a replication takes at most "
        f"{MOST_EVENTS:.0e}",
        how,
    )
