"""Which product, and which layout, meets an objective at given regions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isnan
from pathlib import Path
from typing import Any, Literal

from simrep.contract.model import Degradation
from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError, nearest
from simrep.measure.looks import looks
from simrep.measure.units import number
from simrep.runs.batch import Task, figures_of, simulate_groups
from simrep.runs.degradation import degradations, degraded
from simrep.runs.executor import collected
from simrep.runs.notices import percentile_notice, rests_on
from simrep.runs.pilot import short_setup
from simrep.runs.result import Result
from simrep.scenario import Scenario
from simrep.whatif.drill.demand import Demand
from simrep.whatif.drill.weigh import weigh
from simrep.whatif.objective import Objective
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.candidates import Candidate, candidates
from simrep.whatif.plan.regions import round_trips
from simrep.whatif.plan.search import FIRST, Tried, settled

__all__ = ["Product", "Ranked", "rank_products"]

Durability = Literal["any", "keeps-data", "goes-on"]
_DURABLE: dict[str, Callable[[Candidate], bool]] = {
    "any": lambda _: True,
    "keeps-data": lambda candidate: candidate.keeps_data,
    "goes-on": lambda candidate: candidate.keeps_data and candidate.goes_on,
}
_DEMANDS = {
    "any": "",
    "keeps-data": ", without loss of data when a region is lost",
    "goes-on": ", going on without loss of data when a region is lost",
}
_ORDER = {"met": 0, "open": 1, "failed": 2}
_MOSTLY = 0.4  # of the latency: a stage with less is not what decides


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One candidate and how it does.

    Attributes
    ----------
    candidate : Candidate
    tried : Tried
        Means, intervals and verdict; ``value`` is its number in the order of trying.
    spare : float
        How much better than its limit the worst figure is, as a share of the limit; below 0 if it
        is worse.
    reason : str
    """

    candidate: Candidate
    tried: Tried
    spare: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Product(Answer):
    """Products and layouts, the best first.

    ``plot()`` draws the figures of the objective, candidate by candidate.

    Attributes
    ----------
    objective : Objective
    ranked : tuple of Ranked
    durability : {"any", "keeps-data", "goes-on"}
    """

    width = 160

    objective: Objective
    ranked: tuple[Ranked, ...]
    durability: Durability = "any"

    @property
    def best(self) -> Ranked | None:
        """The first that surely meets the objective."""
        met = [one for one in self.ranked if one.tried.verdict == "met"]
        return met[0] if met else None

    def _rows(self) -> list[dict[str, Any]]:
        """A row per candidate, the best first."""
        rows = []
        for one in self.ranked:
            row: dict[str, Any] = {
                "product": one.candidate.product,
                "servers": one.candidate.servers,
                "verdict": one.tried.verdict,
            }
            for condition, mean, interval in zip(
                self.objective.conditions, one.tried.means, one.tried.intervals, strict=True
            ):
                row[condition.figure] = mean
                row[f"{condition.figure}_low"] = interval.low
                row[f"{condition.figure}_high"] = interval.high
            candidate = one.candidate
            row |= {"keeps_data": candidate.keeps_data, "goes_on": candidate.goes_on}
            rows.append({**row, "spare": one.spare, "loss": candidate.loss, "reason": one.reason})
        return rows


def rank_products(
    scenario: Scenario,
    *,
    regions: Sequence[str],
    writes: Sequence[str] | str,
    objective: str | Objective,
    durability: Durability = "any",
    rtts: str | Path | None = None,
    zone_rtt_ms: float = 1.0,
    rto_s: float | None = None,
    rpo: float | None = None,
    replications: int = 8,
    confidence: float = 0.95,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Product:
    """Simulate products and layouts at the regions, and rank them by an objective.

    Parameters
    ----------
    scenario : Scenario
        Its load, machines, pack and run are used; its network and nodes are not.
    regions : sequence of str
        Where servers may stand: codes (``us-east-1``), or sites of a published table.
    writes : str or sequence of str
        Where clients write.
    objective : str or Objective
        Such as ``tps>=500,p99<=250ms``.
    durability : {"any", "keeps-data", "goes-on"}
        The part of the objective that no run shows: when the region that writes is lost,
        ``keeps-data`` asks that nothing answered is lost, and ``goes-on`` that the other regions
        take writes without an operator besides. A candidate that does not keep it fails.
    rto_s, rpo : float, optional
        The longest time without an answered write in seconds, and how many answered transactions
        may be lost: when the writer dies, or its machine, and when its site is cut off, in all
        replications of a drill (:func:`simrep.drill`). A candidate that does not keep them fails.
    rtts : str or Path, optional
        A CSV file with the columns ``from``, ``to`` and ``rtt_ms``, instead of published ones.
    zone_rtt_ms : float
        Round trip between two servers of one region, in milliseconds.
    replications : int
        The most of each candidate, at least 2; 4 are enough where they settle it.
    confidence : float
        That no verdict is wrong.
    seed, executor, progress
        See :func:`simrep.plan`.

    Returns
    -------
    Product
        Of the candidates that were finished when it was interrupted (Ctrl-C).
    """
    if replications < 2:
        raise ScenarioError("replications", f"an interval needs at least 2, given {replications}")
    if not 0.0 <= zone_rtt_ms < float("inf"):
        raise ScenarioError("zone_rtt_ms", f"must be at least 0 and finite, given {zone_rtt_ms:g}")
    if durability not in _DURABLE:
        raise ScenarioError(
            "durability",
            f"must be one of {', '.join(_DURABLE)}, given {durability!r}",
            nearest(durability, _DURABLE),
        )
    wanted = Objective.of(objective)
    demand = Demand.of(rto_s, rpo)
    writing = [writes] if isinstance(writes, str) else list(writes)
    trips = round_trips(list(regions), rtts)
    built, left_out = candidates(scenario, regions, writing, trips, zone_rtt_ms=zone_rtt_ms)
    if not built:
        raise ScenarioError("regions", "no product fits there", " ".join(left_out))
    seed = scenario.run.seed if seed is None else seed
    notes = [f"Round trips: {trips.source}; {zone_rtt_ms:g} ms within a region."]
    notes += [f"Not tried: {one}" for one in left_out]
    each = 1.0 - 2.0 * (1.0 - confidence) / (len(built) * len(wanted.conditions))
    schedule = looks(FIRST, replications, each)
    shortest = [inf] * len(wanted.conditions)  # transactions that each figure rests on

    def judgements() -> Iterator[Ranked]:
        nonlocal notes, shortest
        paths = tuple(condition.figure for condition in wanted.conditions)
        reduce = partial(_sampled, paths=(*paths, *map(rests_on, paths)))
        for position, candidate in enumerate(built):
            setup, remarks = short_setup(candidate.scenario, seed, wanted.figures)
            notes += [f"{candidate.product}: {said}" for said in remarks]

            less: list[tuple[Degradation, ...]] = []

            def simulated(
                numbers: range, setup: Setup = setup, less: list[tuple[Degradation, ...]] = less
            ) -> Iterator[Sampled]:
                tasks = [[Task(setup, number) for number in numbers]]
                [found] = simulate_groups(tasks, reduce, seed, executor, less)
                yield from found

            tried, samples = settled(
                simulated,
                lambda sample: sample[0][: len(paths)],
                float(position),
                wanted.conditions,
                schedule,
            )
            notes += [f"{candidate.product}: {said}." for said in degraded(degradations(less))]
            counts = (sample[0][len(paths) :] for sample in samples)
            shortest = [min(each) for each in zip(shortest, *counts, strict=True)]
            ranked = _ranked(candidate, tried, wanted, samples)
            if not _DURABLE[durability](candidate):
                ranked = _refused(ranked, "not durable enough")
            elif demand is not None and ranked.tried.verdict != "failed":
                kept, verdict = weigh(demand, candidate.scenario, seed, executor)
                ranked = ranked if kept else _refused(ranked, verdict.rstrip("."))
            yield ranked

    ranked, complete = collected(judgements(), progress=progress, total=len(built))
    durable = _DURABLE[durability]
    ranked.sort(
        key=lambda one: (
            _ORDER[one.tried.verdict],
            not durable(one.candidate),
            -one.spare,
            one.tried.value,
        )
    )
    asked = [condition.figure for condition in wanted.conditions]
    said = dict.fromkeys(map(percentile_notice, asked, shortest))
    notes += [f"In the shortest run, {notice}." for notice in said if notice]
    first = setup_of(scenario)
    asked_for = f"{wanted}{_DEMANDS[durability]}" + (f", {demand}" if demand else "")
    return Product(
        question=f"{asked_for} at {', '.join(regions)}, written at {', '.join(writing)}",
        sentence=_sentence(ranked, asked_for),
        value=None,
        low=None,
        high=None,
        unit="",
        confidence=confidence,
        notes=tuple(dict.fromkeys(notes)),
        seed=seed,
        complete=complete,
        scenario=first.scenario.to_dict(),
        versions=first.versions,
        objective=wanted,
        ranked=tuple(ranked),
        durability=durability,
    )


Sampled = tuple[tuple[float, ...], str, float]


def _sampled(result: Result, paths: Sequence[str]) -> Sampled:
    """Figures, and the stage that takes most of the latency, with its share."""
    shares = result.breakdown().shares if result.committed else {}
    stage = max(shares, key=lambda name: shares[name], default="")
    return figures_of(result, paths), stage, shares.get(stage, 0.0)


def _ranked(
    one: Candidate, tried: Tried, objective: Objective, samples: Sequence[Sampled]
) -> Ranked:
    spares = [
        condition.spare(mean)
        for condition, mean in zip(objective.conditions, tried.means, strict=True)
    ]
    known = [-inf if isnan(spare) else spare for spare in spares]
    worst = min(range(len(known)), key=known.__getitem__)
    parts = [_margin(objective, worst, tried.means[worst], known[worst])]
    _, stage, share = samples[0]
    if share >= _MOSTLY:
        parts.append(f"{100.0 * share:.0f} % of a commit is {stage!r}")
    parts.append(f"if the region is lost, {one.loss}")
    return Ranked(candidate=one, tried=tried, spare=known[worst], reason="; ".join(parts))


def _refused(ranked: Ranked, why: str) -> Ranked:
    """The same of a candidate that fails when something breaks, whatever its figures are."""
    return replace(
        ranked,
        tried=replace(ranked.tried, verdict="failed"),
        reason=f"{why}; {ranked.reason}",
    )


def _margin(objective: Objective, position: int, mean: float, spare: float) -> str:
    condition = objective.conditions[position]
    if isnan(mean):
        return "nothing committed"
    percent = number(100.0 * abs(spare), 2)
    if spare >= 0.0:
        return f"{condition.name} has {percent} % to spare"
    side = "above" if condition.at_most else "below"
    return f"{condition.name} is {percent} % {side} the limit"


def _sentence(ranked: Sequence[Ranked], demand: str) -> str:
    met = [one for one in ranked if one.tried.verdict == "met"]
    if met:
        first = met[0].candidate
        more = f"; {len(met) - 1} others do, too" if len(met) > 1 else ""
        return f"{first.product} with {first.servers} meets {demand}{more}."
    perhaps = [one for one in ranked if one.tried.verdict == "open"]
    if perhaps:
        first = perhaps[0].candidate
        return f"None surely meets {demand}; {first.product} with {first.servers} may."
    nearest = ranked[0].candidate
    return f"None meets {demand}. {nearest.product} with {nearest.servers} comes closest."
