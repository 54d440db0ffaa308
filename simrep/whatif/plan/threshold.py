"""The largest, or the smallest, value of a scenario that meets an objective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, TypedDict, Unpack

from simrep.contract.model import Degradation
from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError
from simrep.measure.grammar import Range
from simrep.measure.units import number
from simrep.runs.batch import Task, figures_of, simulate_groups
from simrep.runs.degradation import degradations, degraded
from simrep.runs.notices import percentile_notice, rests_on
from simrep.runs.pilot import short_setup
from simrep.scenario import Scenario
from simrep.whatif.objective import Condition, Objective
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.search import POINTS, Found, Sample, Tried, search

__all__ = ["SearchOptions", "Threshold", "Varied", "Vary", "runs_of", "threshold"]

_SHOWN = 3  # remarks on the way; others repeat them with other numbers

Vary = Callable[[float], Scenario]


class SearchOptions(TypedDict, total=False):
    """What all searches take; see :func:`simrep.plan`."""

    precision: float
    replications: int
    confidence: float
    seed: int | None
    executor: Executor | None
    progress: Callable[[int, int | None], object] | None


@dataclass(frozen=True, slots=True)
class Varied:
    """What a search varies.

    Attributes
    ----------
    name : str
        In words, such as ``round trip``.
    unit : str
    largest : bool
        The largest value is wanted; else the smallest.
    within : Range
        Of the search.
    points : int
        Values of the range that are tried first.
    climbing : bool
        None of them beyond the first that does not keep what the lowest does.
    path : str
        Of the value in the scenario, where the name does not tell which one it is.
    """

    name: str
    unit: str
    largest: bool
    within: Range
    points: int = POINTS
    climbing: bool = False
    path: str = ""

    def text(self, value: float) -> str:
        """A value with its unit."""
        digits = f"{value:,.0f}" if self.within.whole else number(value)
        unit = self.unit.removesuffix("s") if self.within.whole and value == 1.0 else self.unit
        return f"{digits} {unit}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Threshold(Answer):
    """The end of what meets an objective; ``value`` surely meets it, ``low`` to ``high`` hold it.

    ``plot()`` draws each figure over the values that were tried, and its limit.

    Attributes
    ----------
    objective : Objective
    varied : Varied
    tried : tuple of Tried
        What was simulated, by value.
    monotone : bool
        False if a value beyond the answer meets (or fails) the objective again.
    """

    objective: Objective
    varied: Varied
    tried: tuple[Tried, ...]
    monotone: bool = True

    def heading(self, condition: Condition) -> str:
        """What stands above a figure; with its limit only where the question does not tell it."""
        return condition.name if str(condition) in self.question else str(condition)

    def _rows(self) -> list[dict[str, Any]]:
        """A row per value that was tried."""
        rows = []
        for one in self.tried:
            row: dict[str, Any] = {"value": one.value, "verdict": one.verdict}
            for condition, mean, interval in zip(
                self.objective.conditions, one.means, one.intervals, strict=True
            ):
                row[condition.figure] = mean
                row[f"{condition.figure}_low"] = interval.low
                row[f"{condition.figure}_high"] = interval.high
            rows.append({**row, "replications": one.replications})
        return rows


def runs_of(
    scenario_at: Vary, objective: Objective, seed: int, executor: Executor | None
) -> tuple[Sample, Callable[[float | None], list[str]]]:
    """What simulates a scenario at a value, and what there is to say of it afterwards.

    That is to be said of one value, or of all of them.
    """
    figures = tuple(one.figure for one in objective.conditions)
    asked = len(figures)
    reduce = partial(figures_of, paths=(*figures, *map(rests_on, figures)))
    setups: dict[float, Setup] = {}
    remarks: dict[str, float] = {}
    # Transactions that each of the figures rests on, by value.
    fewest: dict[float, list[float]] = {}
    less: dict[float, list[tuple[Degradation, ...]]] = {}

    def sample(value: float, numbers: range) -> Sequence[Sequence[float]]:
        if value not in setups:
            setups[value], said = short_setup(scenario_at(value), seed, figures)
            for one in said:
                remarks.setdefault(one, value)
        groups = [[Task(setups[value], number) for number in numbers]]
        own = less.setdefault(value, [])
        [found] = simulate_groups(groups, reduce, seed, executor, own)
        counts = (one[asked:] for one in found)
        least = fewest.get(value, [inf] * asked)
        fewest[value] = [min(each) for each in zip(least, *counts, strict=True)]
        return [one[:asked] for one in found]

    def notices(of: float | None) -> list[str]:
        rests = list(fewest.values()) if of is None else [fewest[of]]
        least = [min(each) for each in zip([inf] * asked, *rests, strict=True)]
        said = dict.fromkeys(map(percentile_notice, figures, least))
        first = [f"At {number(value)}: {one}" for one, value in list(remarks.items())[:_SHOWN]]
        tried = sorted(less) if of is None else [of]
        worse = [(value, line) for value in tried for line in degraded(degradations(less[value]))]
        first += [f"At {number(value)}: {line}." for value, line in worse[:_SHOWN]]
        return [*first, *(f"In the shortest run, {one}." for one in said if one)]

    return sample, notices


def threshold(
    scenario: Scenario,
    objective: Objective,
    varied: Varied,
    vary: Vary | None,
    *,
    sample: Sample | None = None,
    goal: str = "",
    **options: Unpack[SearchOptions],
) -> Threshold:
    """Search for the end of what meets an objective.

    Parameters
    ----------
    scenario : Scenario
    objective : Objective
    varied : Varied
    vary : callable or None
        The scenario at a value; simulated as it is.
    sample : callable, optional
        Simulates instead.
    goal : str
        The objective in words, where its conditions do not say it well.
    **options
        See :func:`simrep.plan`.
    """
    precision = options.get("precision", 0.05)
    replications = options.get("replications", 24)
    confidence = options.get("confidence", 0.95)
    chosen = options.get("seed")
    seed = scenario.run.seed if chosen is None else chosen
    _check(precision, replications, confidence, varied.within)
    notices = None
    if sample is None:
        assert vary is not None
        sample, notices = runs_of(vary, objective, seed, options.get("executor"))
    found = search(
        sample,
        objective.conditions,
        varied.within,
        points=varied.points,
        climbing=varied.climbing,
        largest=varied.largest,
        precision=precision,
        replications=replications,
        confidence=confidence,
        progress=options.get("progress"),
    )
    setup = setup_of(scenario)
    start, end = found.start, found.end
    good = start if varied.largest else end
    goal = goal or str(objective)
    notes = [
        *_notes(found, varied, goal),
        *_held(setup.scenario),
        *(notices(None) if notices else ()),
    ]
    return Threshold(
        question=_question(varied, goal),
        sentence=_sentence(found, varied, goal, confidence),
        value=good,
        low=start,
        high=end,
        unit=varied.unit,
        confidence=confidence,
        notes=tuple(notes),
        seed=seed,
        complete=found.complete,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
        objective=objective,
        varied=varied,
        tried=found.tried,
        monotone=not found.strays,
    )


def _check(precision: float, replications: int, confidence: float, within: Range) -> None:
    if not 0.001 <= precision <= 1.0:
        raise ScenarioError("precision", f"must be from 0.001 to 1, given {precision:g}")
    if replications < 4:
        raise ScenarioError("replications", f"must be at least 4, given {replications}")
    if not 0.5 <= confidence < 1.0:
        raise ScenarioError("confidence", f"must be from 0.5 to below 1, given {confidence:g}")
    if not 0.0 < within.low <= within.high < float("inf"):
        raise ScenarioError(
            "within", f"must be two numbers above 0 in order, given {within.low:g}..{within.high:g}"
        )


def _question(varied: Varied, goal: str) -> str:
    which = f"{varied.name} ({varied.path})" if varied.path else varied.name
    return f"The {'largest' if varied.largest else 'smallest'} {which} with {goal}"


def _sentence(found: Found, varied: Varied, goal: str, confidence: float) -> str:
    text, within = varied.text, varied.within
    sure = f"{100.0 * confidence:.3g} % sure"
    low, high = text(within.low), text(within.high)
    name = varied.name
    if found.status == "everywhere":
        if varied.largest:
            return f"Up to {high}, the end of the range: {goal}. The limit lies beyond."
        return f"No {name} from {low} to {high}: {goal} is never met."
    if found.status == "nowhere":
        if varied.largest:
            return f"{goal} is not met even at {low}, the begin of the range."
        return f"{goal} is met at {low} already, the begin of the range."
    start = None if found.start is None else text(found.start)
    end = None if found.end is None else text(found.end)
    if start is None or end is None:
        known = "nothing is sure"
        if start is not None:
            known = f"surely {'met' if varied.largest else 'not met'} at {start}"
        elif end is not None:
            known = f"surely {'not met' if varied.largest else 'met'} at {end}"
        return f"Chance hides the limit: {known} ({sure})."
    if varied.largest:
        return f"{name[0].upper()}{name[1:]}: up to {start}. From {end} on it is too much ({sure})."
    return f"{name[0].upper()}{name[1:]}: at least {end}. {start} are too few ({sure})."


def _held(scenario: Scenario) -> list[str]:
    """What is the same in all runs and has no steady state."""
    if not scenario.timed:
        return []
    tables = ", ".join(scenario.timed)
    return [f"Every run has {tables} at the same times: its figures are those of the whole run."]


def _notes(found: Found, varied: Varied, goal: str) -> list[str]:
    notes = []
    if found.strays:
        where = ", ".join(map(varied.text, found.strays))
        again = "is met again" if varied.largest else "is not met any more"
        notes.append(f"Not monotone: {goal} {again} at {where}. This is the first limit.")
    if found.exhausted:
        notes.append(f"Given up after {len(found.tried)} values.")
    inside = [
        one
        for one in found.tried
        if one.verdict == "open"
        and found.start is not None
        and found.end is not None
        and found.start < one.value < found.end
    ]
    if inside:
        notes.append(
            f"{len(inside)} values between stay open after {inside[0].replications} replications: "
            "more of them, or longer runs, narrow the interval."
        )
    return notes
