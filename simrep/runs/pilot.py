"""Pilot runs: how long a run has to be, and what there is to say of it.

Searches meet values at which a cluster is a hundred times as fast as where the limit lies. Rates
and latencies of the long run do not need a hundred times as many transactions there.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ShortRunWarning
from simrep.measure.units import counted
from simrep.runs.contention import preset_trap
from simrep.runs.notices import BEYOND
from simrep.runs.prediction import extrapolation
from simrep.runs.progress import uncounted
from simrep.runs.replication import (
    simulate,
    with_run_settings,
    with_warmup,
    with_warmup_found,
)
from simrep.scenario import Scenario

__all__ = ["FIRST_LOOK", "QUICK", "enough_s", "looked_at", "quick_setup", "short_setup"]

QUICK = 4
"""Runs of a first look: with fewer their interval tells little."""
FIRST_LOOK = "a first look: "
"""How the notice of one begins."""

_ENOUGH = 5_000  # transactions of a replication, and more for percentiles beyond p99
_BEYOND = 2 * BEYOND  # of them, beyond the highest percentile that is asked for
_LEAST_S = 2.0  # what happens once a second is in it
_FIRST = 256  # of a run is simulated first, to see how fast it is, then twice as much ...
_LAST = 8  # ... at most so much
_TELLING = 200  # commits that tell it
_PILOT = 2**31 - 2  # a replication that no figure counts
_PERCENTILE = re.compile(r"latency_s\.p([\d.]+)$")
_LATENCY = re.compile(r"latency_s\.(mean|p[\d.]+)$")


def short_setup(
    scenario: Scenario, seed: int, figures: Sequence[str] = ()
) -> tuple[Setup, list[str]]:
    """The setup of a scenario, and remarks instead of a warning for every value.

    Parameters
    ----------
    scenario : Scenario
    seed : int
    figures : sequence of str
        What it is simulated for. If they are rates and latencies of the long run, a run ends
        after about 5,000 transactions, but not before 2 s.
    """
    setup = setup_of(with_warmup_found(scenario))
    if (short_s := enough_s(setup, seed, figures)) is not None:
        setup = with_run_settings(setup, {"duration_s": short_s})
    remarks = [said for said in (extrapolation(setup), preset_trap(setup)) if said]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        setup = with_warmup(setup, seed)
    for one in caught:
        if not issubclass(one.category, ShortRunWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        else:
            remarks.append(str(one.message))
    return setup, [f"{said[0].upper()}{said[1:]}." for said in remarks]


def quick_setup(setup: Setup, seed: int, figures: Sequence[str]) -> Setup | None:
    """A setup of which ``QUICK`` runs take half of its own time at most; None if there is none.

    Its warm-up is not found out yet.
    """
    short_s = enough_s(setup, seed, figures)
    asked_s = setup.scenario.run.duration_s
    if short_s is None or asked_s is None or QUICK * short_s > asked_s / 2.0:
        return None
    return with_run_settings(setup, {"duration_s": short_s})


def looked_at(runs: int, measured_s: float | None, asked_s: float | None) -> str:
    """What a first look rests on: how many runs, and how long they measured (in seconds)."""
    if measured_s is None or measured_s == asked_s:
        return f"{counted(runs, 'run')} as long as asked for"
    return f"{counted(runs, 'run')} of {measured_s:.3g} s"


def _lasting(figure: str) -> bool:
    """Whether it is about the long run: a total or a maximum grows with the time."""
    return figure == "throughput_tps" or bool(_LATENCY.match(figure))


def enough_s(setup: Setup, seed: int, figures: Sequence[str]) -> float | None:
    """How long a run has to be for some figures, if that is shorter than its scenario asks for.

    Only rates and latencies of the long run tell that, of which a short pilot shows the pace.
    """
    scenario = setup.scenario
    run = scenario.run
    if not figures or not all(map(_lasting, figures)):
        return None
    if run.duration_s is None or run.duration_s <= _LEAST_S or scenario.timed:
        return None
    percentiles = [float(match[1]) for one in figures if (match := _PERCENTILE.match(one))]
    rest = 1.0 - max(percentiles, default=0.0) / 100.0
    enough = max(_ENOUGH, _BEYOND / rest) if rest > 0.0 else _ENOUGH
    tps, part = 0.0, _FIRST
    while part >= _LAST:
        pilot = {"duration_s": run.duration_s / part, "warmup": None, "warmup_s": 0.0}
        with uncounted():
            measured = simulate(with_run_settings(setup, pilot), seed, _PILOT).measurement
        tps = measured.throughput_tps
        if measured.committed >= _TELLING:
            break
        part //= 2
    if tps * run.duration_s <= enough:
        return None
    return min(run.duration_s, max(_LEAST_S, enough / tps))
