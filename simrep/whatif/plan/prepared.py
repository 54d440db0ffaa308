"""A scenario made ready for a search: its plan, its length, and what there is to say of both.

Searches meet values at which a cluster is a hundred times as fast as where the limit lies. Rates
and latencies of the long run do not need a hundred times as many transactions there.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from simrep.errors import ShortRunWarning
from simrep.experiment.pack_range import extrapolation
from simrep.experiment.plan import Plan, plan
from simrep.experiment.replication import simulate, with_run_settings, with_warmup
from simrep.experiment.steady import with_warmup_found
from simrep.scenario import Scenario

__all__ = ["prepared"]


_ENOUGH = 20_000  # transactions of a replication: 20 of them lie beyond p99.9
_LEAST_S = 2.0  # what happens once a second is in it
_PART = 16  # of a run tells how fast it is
_PILOT = 2**31 - 2  # a replication that no figure counts


def prepared(scenario: Scenario, seed: int, figures: Sequence[str] = ()) -> tuple[Plan, list[str]]:
    """The plan of a scenario, and remarks instead of a warning for every value.

    Parameters
    ----------
    scenario : Scenario
    seed : int
    figures : sequence of str
        What it is simulated for. If they are rates and latencies of the long run, a run ends
        after about 20,000 transactions, but not before 2 s.
    """
    planned = plan(with_warmup_found(scenario))
    if figures and all(one == "throughput_tps" or one.startswith("latency_s.") for one in figures):
        planned = _shortened(planned, seed)
    remarks = []
    if beyond := extrapolation(planned):
        remarks.append(beyond)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        planned = with_warmup(planned, seed)
    for one in caught:
        if not issubclass(one.category, ShortRunWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        else:
            remarks.append(str(one.message))
    return planned, [f"{said[0].upper()}{said[1:]}." for said in remarks]


def _shortened(planned: Plan, seed: int) -> Plan:
    scenario = planned.scenario
    run = scenario.run
    timed = scenario.workload.scheduled or scenario.cluster.changes or scenario.network.outages
    if run.duration_s is None or run.duration_s <= _LEAST_S or timed:
        return planned
    pilot = {"duration_s": run.duration_s / _PART, "warmup": None, "warmup_s": 0.0}
    measured = simulate(with_run_settings(planned, pilot), seed, _PILOT).measurement
    if measured.throughput_tps * run.duration_s <= _ENOUGH:
        return planned
    enough_s = max(_LEAST_S, _ENOUGH / measured.throughput_tps)
    return with_run_settings(planned, {"duration_s": min(run.duration_s, enough_s)})
