"""Two scenarios with the same random numbers, so that luck does not pass for a difference."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from simrep.contract.model import Degradation
from simrep.contract.setup import Setup, setup_of
from simrep.errors import (
    ContentionWarning,
    DegradedWarning,
    ExtrapolationWarning,
    ScenarioError,
    ShortRunWarning,
)
from simrep.measure.looks import Look, looks
from simrep.runs.batch import Task, figures_of, simulate_groups
from simrep.runs.contention import preset_trap
from simrep.runs.degradation import degradations, degraded
from simrep.runs.executor import collected, workers
from simrep.runs.notices import percentile_notice, rests_on
from simrep.runs.pilot import enough_s
from simrep.runs.prediction import extrapolation
from simrep.runs.progress import told
from simrep.runs.replication import with_run_settings, with_warmup, with_warmup_found
from simrep.runs.result import Result
from simrep.runs.sampler import MOST, Progress, Sampler, at_least, check_precision, seed_of
from simrep.scenario import Scenario, load
from simrep.user_files import check_content
from simrep.whatif.comparison import Comparison
from simrep.whatif.drill.demand import Demand
from simrep.whatif.drill.weigh import weigh

__all__ = ["FIGURES", "compare"]

Pair = tuple[tuple[float, ...], tuple[float, ...]]

FIGURES = (
    "throughput_tps",
    "makespan_s",
    "aborted",
    "latency_s.mean",
    "latency_s.p50",
    "latency_s.p95",
    "latency_s.p99",
)
"""What is compared if nothing else is asked for."""

_NO_GROUPS = "clients"  # what all of them are called where there are no groups
_MOST_FAULTS, _MOST_GROUPS = 4, 4  # of which figures are compared if nothing else is asked for
_LEAST = 3  # pairs: with two, their spread would be a single number
_REPLICATIONS = 10  # so that Student's t is within 15 % of the normal distribution
_SHORT_LEAST = 4  # pairs of runs that are shorter than asked for
_SHORTEST = 0.25  # of the time that is asked for: what happens in that long is to be in it
_SETTLED = 2.0  # times the warm-up
_COUNTED = {"aborted"}  # what grows with the time, and does not keep a run from being shorter


@told
def compare(
    a: str | Path | Mapping[str, Any] | Scenario,
    b: str | Path | Mapping[str, Any] | Scenario,
    *,
    figures: Sequence[str] | None = None,
    labels: tuple[str, str] = ("A", "B"),
    seed: int | None = None,
    replications: int | None = None,
    precision: float | None = None,
    most: int = MOST,
    confidence: float = 0.95,
    rto_s: float | None = None,
    rpo: float | None = None,
    quick: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Simulate two scenarios with the same random numbers and compare them.

    In each replication both have the same streams of random numbers for the same purposes, so the
    difference of a pair holds little of what is only chance.

    Parameters
    ----------
    a, b : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    figures : sequence of str, optional
        Paths of figures of a result, e.g. ``latency_s.p95``. The first decides on ``precision``.
        Default: throughput, makespan (of a fixed number of transactions), aborted transactions,
        mean and percentiles of the latency. Of faults that both have: the stall that clients saw,
        throughput before, during and after them, and the time until nodes are synced again.
    labels : (str, str)
        What the two are called in tables and in the verdict.
    seed, replications, precision, most, jobs, executor, progress
        See :func:`simrep.run`. Replications are pairs, at least 2; by default as many as the
        larger ``run.replications`` of the two. If that is 1: 3, 6 or 10, until the answer is clear
        (``Comparison.clear``); or, of rates and latencies in the long run, 4 to 40 pairs of runs
        that are shorter than asked for, but last a quarter of the time and hold 5,000 transactions.
        The precision is that of the ratio of the first figure.
    confidence : float
        Of every single interval, also if the comparison ended early: looks share the error.
    quick : bool
        A first look: 4 pairs of runs of about 5,000 transactions, or 3 as long as asked for.
    rto_s, rpo : float, optional
        Tell as well which of the two keeps them in a drill (:func:`simrep.drill`): the longest time
        without an answered write in seconds, and how many answered transactions may be lost, when
        the writer dies, or its machine, and when its site is cut off.

    Returns
    -------
    Comparison
        Of the finished pairs when it was interrupted (Ctrl-C).

    Raises
    ------
    ScenarioError
        If a scenario cannot be run, or a path leads to no number.

    Warns
    -----
    DegradedWarning
        If clients of one got less than its product promises, as far as its model tells.
    ExtrapolationWarning
        If a pack was not checked with such a cluster or load.
    ShortRunWarning
        If the precision was not reached, or a percentile rests on too few transactions.
    """
    check_content({"labels": labels}, "labels")
    executor = workers(jobs, executor)
    first, second = with_warmup_found(load(a)), with_warmup_found(load(b))
    if not 0.0 < confidence < 1.0:
        raise ScenarioError("confidence", f"must lie between 0 and 1, given {confidence}")
    if precision is not None:
        check_precision(precision)
        if quick:
            raise ScenarioError("quick", "cannot keep a precision", "leave out one of the two")
    absent: Sequence[str] = ()
    if figures is None:
        fixed = first.workload.fixed or second.workload.fixed
        figures = absent = fault_figures(first, second)
        figures = figures or [one for one in FIGURES if fixed or one != "makespan_s"]
    if not figures:
        raise ScenarioError("figures", "needs at least one figure")
    seed = seed_of(seed, first.run.seed)
    demand = Demand.of(rto_s, rpo)
    wanted = None if quick and replications is None else _wanted(first, second, replications)
    setups = (
        with_warmup(setup_of(first), seed, briefly=True),
        with_warmup(setup_of(second), seed, briefly=True),
    )
    if first.run.warmup and second.run.warmup:
        setups = _from_the_same_time(*setups)
    asked_s = None
    schedule = looks(wanted or _LEAST, wanted or (_LEAST if quick else _REPLICATIONS), confidence)
    if (wanted is None or quick) and precision is None:
        short_s = _short_s(setups, seed, figures, 0.0 if quick else _SHORTEST)
        if short_s is not None:
            asked_s = first.run.duration_s
            assert asked_s is not None
            least = wanted or _SHORT_LEAST
            most_short = least if quick else round(_REPLICATIONS * asked_s / short_s)
            schedule = looks(least, most_short, confidence)
            setups = _both(setups, {"duration_s": short_s})
    for label, setup in zip(labels, setups, strict=True):
        if beyond := extrapolation(setup):
            warnings.warn(f"{label}: {beyond}", ExtrapolationWarning, stacklevel=3)
        if trap := preset_trap(setup):
            warnings.warn(f"{label}: {trap}", ContentionWarning, stacklevel=3)
    about: dict[str, Any] = {
        "labels": labels,
        "confidence": confidence,
        "seed": seed,
        "scenarios": (setups[0].scenario.to_dict(), setups[1].scenario.to_dict()),
        "versions": tuple(dict(setup.versions) for setup in setups),
        "asked_s": asked_s,
    }

    def clear(pairs: Sequence[Pair], look: Look) -> bool:
        return Comparison.of(pairs, figures, look=look.confidence, **about).clear

    less: list[tuple[Degradation, ...]] = []
    paths = (*figures, *map(rests_on, figures))
    reduce = partial(figures_of, paths=paths, absent=frozenset(absent))
    sampler = Sampler(
        simulate=lambda numbers: _pairs(setups, reduce, numbers, seed, executor, less),
        figure=_relative,
        looks=schedule if precision is None else (),
        clear=clear,
        precision=precision,
        most=most,
        progress=progress,
    )
    pairs, complete = collected(sampler, least=2, total=schedule[0].count, pieces=2)
    for place, label in enumerate(labels):
        for line in degraded(degradations(less[place::2])):
            warnings.warn(f"{label}: {line}", DegradedWarning, stacklevel=3)
    for notice in _notices(pairs, figures):
        warnings.warn(notice, ShortRunWarning, stacklevel=3)
    last = next((one for one in schedule if one.count >= len(pairs)), schedule[-1])
    found = Comparison.of(
        pairs,
        figures,
        look=last.confidence if precision is None else confidence,
        most=schedule[-1].count if precision is None else len(pairs),
        complete=complete,
        **about,
    )
    if complete and demand is not None:
        said = (weigh(demand, one, seed, executor)[1] for one in (first, second))
        found = replace(found, drilled=tuple(map("{}: {}".format, labels, said)))
    if complete and precision is not None and not found.precise(precision):
        warnings.warn(
            f"after {len(pairs)} pairs the ratio of {figures[0]} is not known to {precision:.2%}",
            ShortRunWarning,
            stacklevel=3,
        )
    return found


def fault_figures(first: Scenario, second: Scenario) -> list[str]:
    """What is compared of the faults that two scenarios have by the same names; empty if none.

    Clients of nodes that a fault leaves alone come first.
    """
    ours, theirs = ({one.name or one.path: one for one in s.faults} for s in (first, second))
    known = {*second.workload.group_names} or {_NO_GROUPS}
    groups = dict(zip(first.workload.group_names, first.workload.groups, strict=True))
    figures: list[str] = []
    for name in [one for one in ours if one in theirs][:_MOST_FAULTS]:
        places = ours[name].struck(first.node_names, first.host_names)
        struck = {first.node_names[place] for place in places}
        shared = [group for group in groups or [_NO_GROUPS] if group in known]
        shared.sort(key=lambda group: group in groups and groups[group].node in struck)
        parts = [f"stalls.{group}.stall_s" for group in shared[:_MOST_GROUPS]]
        before = [] if figures else ["before"]
        parts += [f"{part}.clients.throughput_tps" for part in (*before, "during", "after")]
        parts += [f"absences.{node}.synced_s" for node in sorted(struck)]
        figures += [f"faults.{name}.{part}" for part in parts]
    return figures


def _wanted(first: Scenario, second: Scenario, replications: int | None) -> int | None:
    """How many pairs are asked for; None for as many as it takes."""
    if replications is None:
        most = max(first.run.replications, second.run.replications)
        return most if most > 1 else None
    if at_least("replications", replications, 0) < 2:
        raise ScenarioError(
            "replications", f"an interval needs at least 2 pairs, given {replications}"
        )
    return replications


def _from_the_same_time(first: Setup, second: Setup) -> tuple[Setup, Setup]:
    """Both with the longer warm-up of the two, so that pairs measure the same time."""
    longer = {"warmup_s": max(first.scenario.run.warmup_s, second.scenario.run.warmup_s)}
    return _both((first, second), longer)


def _both(setups: tuple[Setup, Setup], settings: Mapping[str, object]) -> tuple[Setup, Setup]:
    return with_run_settings(setups[0], settings), with_run_settings(setups[1], settings)


def _short_s(
    setups: tuple[Setup, Setup], seed: int, figures: Sequence[str], least: float
) -> float | None:
    """How long the runs of both are to be, if that is much less than is asked for."""
    runs = [setup.scenario.run for setup in setups]
    asked_s = runs[0].duration_s
    if asked_s is None or asked_s != runs[1].duration_s:
        return None
    lasting = [figure for figure in figures if figure not in _COUNTED]
    least_s = [least * asked_s, _SETTLED * max(run.warmup_s for run in runs)]
    for setup in setups:
        short_s = enough_s(setup, seed, lasting)
        if short_s is None:
            return None
        least_s.append(short_s)
    return max(least_s) if max(least_s) <= asked_s / 2.0 else None


def _relative(pairs: Sequence[Pair]) -> list[float]:
    """Values around 1 that vary as the ratio of the first figure does (delta method)."""
    above = fmean(other[0] for _, other in pairs)
    below = fmean(one[0] for one, _ in pairs)
    if not (above > 0.0 and below > 0.0):
        return [1.0] * len(pairs)  # there is no ratio whose precision could improve
    return [1.0 + other[0] / above - one[0] / below for one, other in pairs]


def _notices(pairs: Sequence[Pair], figures: Sequence[str]) -> list[str]:
    """What percentiles rest on too few transactions, in the run that has the fewest."""
    if not pairs:
        return []
    said = []
    for place, figure in enumerate(figures, start=len(figures)):
        fewest = min(fmean(pair[side][place] for pair in pairs) for side in (0, 1))
        said.append(percentile_notice(figure, fewest))
    return list(filter(None, said))


def _pairs(
    setups: tuple[Setup, Setup],
    reduce: Callable[[Result], tuple[float, ...]],
    numbers: range,
    seed: int,
    executor: Executor | None,
    less: list[tuple[Degradation, ...]],
) -> Iterator[Pair]:
    """Figures of both, and what each of these rests on, replication by replication."""
    groups = [[Task(setup, number) for setup in setups] for number in numbers]
    for pair in simulate_groups(groups, reduce, seed, executor, less):
        yield pair[0], pair[1]
