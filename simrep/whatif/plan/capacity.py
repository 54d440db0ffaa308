"""How much load a cluster, or each of several, carries within an objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Literal, Unpack

from simrep.contract.model import Model
from simrep.contract.registry import find_model
from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.measure.grammar import Range
from simrep.runs.executor import in_order
from simrep.runs.sustain import Backlog, lone_latency_s, probe, with_arrivals
from simrep.scenario import Scenario, load, with_values
from simrep.scenario.changes import short_names
from simrep.whatif.design import Given, factors, grid
from simrep.whatif.objective import Objective
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.questions import check_clients, with_clients
from simrep.whatif.plan.rate import Rate, highest_rate
from simrep.whatif.plan.search import Tried
from simrep.whatif.plan.threshold import SearchOptions, Threshold, Varied, runs_of, threshold

__all__ = ["By", "Capacity", "Carried", "capacity", "labels_of"]

By = Literal["rate", "clients"]

_DURATION_S = 10.0  # of a scenario that has none, as its number of transactions is fixed
_MOST_CLIENTS = 1024
_REPLICATIONS = 12  # the most at one value
_PRECISION = 0.1
_LEAST = 0.25  # of the rate that one client alone gets: transactions hardly ever meet
_STEP = 4.0  # from one value to the next on the way up
_SEARCHES = 5  # for the rate that is kept up
_UNTOLD = "does not tell how far its nodes are behind: only what clients wait for counts."


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What one topology carries.

    Attributes
    ----------
    name : str
        Of the scenario, or its model and size.
    levels : mapping of str to value
        What ``over`` changes in it.
    search : Threshold
        The values that were tried; ``value``, ``low`` and ``high`` are those of its answer.
    limited_by : str
        What is not kept at ``search.high``: the figures of the objective, or who falls behind;
        empty if there is no such value.
    """

    name: str
    levels: Mapping[str, Any]
    search: Threshold
    limited_by: str

    @property
    def at(self) -> Tried | None:
        """What was simulated at the answer; None if there is none."""
        return next((one for one in self.search.tried if one.value == self.search.value), None)

    @property
    def sentence(self) -> str:
        """What it carries, in words."""
        search, text = self.search, self.search.varied.text
        within, goal = search.varied.within, str(search.objective)
        if search.value is None:
            if search.high is None:
                return f"Chance hides whether {goal} is met anywhere."
            if search.high > within.low:
                return f"{goal} is not met at {text(search.high)}; below it chance hides the limit."
            where = "one client" if search.high == 1.0 else text(within.low)
            return f"{goal} is not met even with {where}: {self.limited_by}."
        if search.high is None and search.value >= within.high:
            return f"{goal} holds up to {text(within.high)}, where the search ends."
        if search.high is None:
            return f"{goal} holds up to {text(search.value)}; beyond it chance hides the limit."
        sure = f"{100.0 * (search.confidence or 0.0):.3g} % sure"
        return (
            f"{goal} holds up to {text(search.value)}, and not at {text(search.high)}: "
            f"{self.limited_by} ({sure})."
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Capacity(Answer):
    """The largest load within an objective; ``value`` is that of the topology that carries most.

    ``plot()`` draws the figures of one topology over the load, or the capacities of several.

    Attributes
    ----------
    by : {"rate", "clients"}
    objective : Objective
    carried : tuple of Carried
        A topology each, in the order in which they were given.
    """

    by: By
    objective: Objective
    carried: tuple[Carried, ...]

    def _rows(self) -> list[dict[str, Any]]:
        """A row per topology: what it carries, and the figures of the objective there."""
        rows = []
        for one in self.carried:
            row: dict[str, Any] = {"topology": one.name, **one.levels}
            row |= {self.by: one.search.value, "low": one.search.low, "high": one.search.high}
            for position, condition in enumerate(self.objective.conditions):
                mean = None if one.at is None else one.at.means[position]
                interval = None if one.at is None else one.at.intervals[position]
                row[condition.figure] = mean
                row[f"{condition.figure}_low"] = None if interval is None else interval.low
                row[f"{condition.figure}_high"] = None if interval is None else interval.high
            rows.append({**row, "limited_by": one.limited_by})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it, with every value that was tried."""
        searches = [one.search.to_dict()["steps"] for one in self.carried]
        return super(Capacity, self).to_dict() | {"by": self.by, "searches": searches}


def capacity(
    scenario: Scenario,
    *,
    objective: str | Objective,
    by: By | None = None,
    within: tuple[float, float] | None = None,
    over: Mapping[str, Given] | None = None,
    beside: Sequence[str | Path | Mapping[str, Any] | Scenario] = (),
    **options: Unpack[SearchOptions],
) -> Capacity:
    """The largest rate of arrivals, or number of clients, at which an objective is met.

    A rate counts only if it is kept up: in the long run neither clients nor members fall behind.

    Parameters
    ----------
    scenario : Scenario
    objective : str or Objective
        Such as ``p99<=50ms``.
    by : {"rate", "clients"}, optional
        What grows; default: ``clients`` for a scenario with ``workload.threads``, else ``rate``.
        For a rate, clients are replaced by arrivals at the same nodes.
    within : (float, float), optional
        Range of the search. Default: 1 to 1,024 clients; of rates, from a quarter of what one
        client alone gets to the highest that is kept up.
    over : mapping of str to levels, optional
        Topologies to ask about, as :func:`simrep.sweep` takes them: ``{"cluster.nodes": [3, 5]}``.
    beside : sequence, optional
        Other scenarios to ask the same, each with all changes of ``over``.
    **options
        See :func:`simrep.plan`.
    """
    wanted = Objective.of(objective)
    options.setdefault("replications", _REPLICATIONS)
    options.setdefault("precision", _PRECISION)
    topologies = _topologies([scenario, *map(load, beside)], over)
    if by is None:
        by = "rate" if scenario.workload.open_loop else "clients"
    if by not in {"rate", "clients"}:
        raise ScenarioError("by", f"must be rate or clients, given {by!r}")
    asked = [
        (name, levels, _Asked(chosen, wanted, by, within, options))
        for name, levels, chosen in topologies
    ]
    carried: list[Carried] = []
    progress, before = options.get("progress"), 0

    def tell(done: int, total: int | None) -> None:
        if callable(progress):  # as if all topologies took as many values as this one
            left = len(asked) - len(carried)
            progress(before + done, None if total is None else before + left * total)

    options["progress"] = tell
    try:
        for name, levels, one in asked:
            before = sum(len(known.search.tried) for known in carried)
            search, limited_by = one.search()
            carried.append(Carried(name=name, levels=levels, search=search, limited_by=limited_by))
            if not search.complete:
                break
    except KeyboardInterrupt:
        if not carried:
            raise
    return _answer(scenario, wanted, by, carried, complete=len(carried) == len(asked))


def labels_of(carried: Sequence[Carried]) -> list[str]:
    """Each topology in words: what tells it from the others."""
    names = short_names(dict.fromkeys(path for one in carried for path in one.levels))
    named = len({one.name for one in carried}) > 1 or not names
    return [
        ", ".join(
            [*([one.name] * named), *(f"{names[path]} = {at}" for path, at in one.levels.items())]
        )
        for one in carried
    ]


def _answer(
    scenario: Scenario, objective: Objective, by: By, carried: list[Carried], *, complete: bool
) -> Capacity:
    best = max(carried, key=lambda one: -inf if one.search.value is None else one.search.value)
    labels = dict(zip(map(id, carried), labels_of(carried), strict=True))
    name = "rate" if by == "rate" else "number of clients"
    sentence = best.sentence
    if len(carried) > 1:
        sentence = f"Most is carried by {labels[id(best)]}: {best.sentence}"
        if best.search.value is None:
            sentence = f"None of {len(carried)} topologies meets {objective}."
    said = [
        note if len(carried) == 1 else f"{labels[id(one)]}: {note}"
        for one in carried
        for note in one.search.notes
    ]
    setup = setup_of(scenario)
    return Capacity(
        question=f"Capacity: the largest {name} with {objective}",
        sentence=sentence,
        value=best.search.value,
        low=best.search.low,
        high=best.search.high,
        unit=best.search.unit,
        confidence=best.search.confidence,
        notes=tuple(said),
        seed=best.search.seed,
        complete=complete and all(one.search.complete for one in carried),
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
        by=by,
        objective=objective,
        carried=tuple(carried),
    )


def _topologies(
    scenarios: Sequence[Scenario], over: Mapping[str, Given] | None
) -> list[tuple[str, Mapping[str, Any], Scenario]]:
    """Names, levels and scenarios; all of them are checked before the first is simulated."""
    names: list[str] = []
    for one in scenarios:
        name = one.name or f"{one.cluster.model}, {len(one.node_names)} nodes"
        again = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({again + 1})" if again else name)
    settings = grid(factors(over)) if over else [None]
    found: list[tuple[str, Mapping[str, Any], Scenario]] = []
    for name, one in zip(names, scenarios, strict=True):
        for setting in settings:
            chosen = one if setting is None else with_values(one, setting.settings)
            setup_of(chosen)
            found.append((name, {} if setting is None else setting.labels, chosen))
    return found


class _Asked:
    """The search of one topology."""

    def __init__(
        self,
        scenario: Scenario,
        objective: Objective,
        by: By,
        within: tuple[float, float] | None,
        options: SearchOptions,
    ) -> None:
        self._scenario = scenario
        self._objective = objective
        self._by = by
        self._within = within
        self._options = options
        chosen = options.get("seed")
        self._seed = scenario.run.seed if chosen is None else chosen
        if by == "clients":
            check_clients(scenario)
        else:
            _check_lasting(scenario)

    def search(self) -> tuple[Threshold, str]:
        """The answer, and what limits it."""
        if self._by == "clients":
            return self._within_objective(self._range(1, _MOST_CLIENTS), self._options)
        # The rate that is kept up comes first: beyond it, figures of a run are those of its length.
        sure = self._options.get("confidence", 0.95)
        # Half of the error is for keeping up, and half for the objective.
        options: SearchOptions = {**self._options, "confidence": (1.0 + sure) / 2.0}
        model = find_model(self._scenario.cluster.model)
        backlog, notes = None, []
        if model.backlog is Model.backlog:
            backlog, notes = _untold, [f"Model {model.name!r} {_UNTOLD}"]
        if self._within is not None and self._all_kept_up(self._within[1], options, backlog):
            found, limited_by = self._within_objective(Range(*self._within), options)
            return replace(found, confidence=sure, notes=(*notes, *found.notes)), limited_by
        sustained = self._sustained(options, backlog)
        assert sustained.low is not None
        # A search takes growth by half of its precision for none.
        kept_up = sustained.low * (1.0 - options["precision"] / 2.0)
        limits = self._range(_LEAST / lone_latency_s(self._scenario, self._seed), kept_up)
        if limits.low >= kept_up:
            limits = Range(kept_up, kept_up)
        found, limited_by = self._within_objective(limits, options)
        found = replace(found, confidence=sure, notes=(*notes, *found.notes))
        if found.value is not None and found.high is None and limits.high == kept_up:
            return replace(found, high=sustained.high), sustained.limit
        return found, limited_by

    def _within_objective(self, limits: Range, options: SearchOptions) -> tuple[Threshold, str]:
        """The largest value in a range that meets the objective, and what is not met beyond it."""
        clients = self._by == "clients"
        vary = with_clients(self._scenario) if clients else self._arriving
        sample, notices = runs_of(vary, self._objective, self._seed, options.get("executor"))
        points = 2
        while 0 < limits.low < limits.high > limits.low * _STEP ** (points - 1) * (1.0 + 1e-9):
            points += 1
        varied = Varied(
            "number of clients" if clients else "rate",
            "clients" if clients else "transactions/s",
            largest=True,
            within=limits,
            points=points,
            climbing=True,
        )
        found = threshold(self._scenario, self._objective, varied, None, sample=sample, **options)
        if found.value is not None:
            found = replace(found, notes=(*found.notes, *notices(found.value)))
        return found, self._limit(found)

    def _all_kept_up(self, rate: float, options: SearchOptions, backlog: Backlog | None) -> bool:
        """Whether a rate is surely kept up, so that nobody has to search for the highest."""
        tasks = [
            (self._scenario, rate, self._seed, number, options["precision"], backlog)
            for number in range(min(_SEARCHES, options["replications"]))
        ]
        return rate > 0.0 and all(in_order(_is_kept_up, tasks, options.get("executor")))

    def _sustained(self, options: SearchOptions, backlog: Backlog | None) -> Rate:
        """The rate that is kept up in the long run."""
        return highest_rate(
            self._scenario,
            precision=options["precision"],
            replications=min(_SEARCHES, options["replications"]),
            confidence=options["confidence"],
            seed=self._seed,
            executor=options.get("executor"),
            backlog=backlog,
        )

    def _range(self, low: float, high: float) -> Range:
        """The range that was asked for, or one from ``low`` on, but not beyond ``high``."""
        whole = self._by == "clients"
        if self._within is None:
            return Range(low, high, whole=whole)
        return Range(
            self._within[0], self._within[1] if whole else min(self._within[1], high), whole=whole
        )

    def _arriving(self, rate: float) -> Scenario:
        run: dict[str, Any] = {}
        if self._scenario.run.duration_s is None:
            run["run.duration_s"] = _DURATION_S
        return with_arrivals(self._scenario, rate, run)

    def _limit(self, found: Threshold) -> str:
        """What is not kept at the first value that is too much."""
        end = next((one for one in found.tried if one.value == found.high), None)
        if end is None:
            return ""
        said = [
            f"{condition.name} is {condition.text(mean)}"
            for condition, mean, interval in zip(
                found.objective.conditions, end.means, end.intervals, strict=True
            )
            if not (condition.met(interval.low) or condition.met(interval.high))
        ]
        return " and ".join(said)


def _is_kept_up(
    scenario: Scenario,
    rate: float,
    seed: int,
    replication: int,
    precision: float,
    backlog: Backlog | None,
) -> bool:
    how: dict[str, Any] = {"seed": seed, "replication": replication, "precision": precision}
    return probe(scenario, rate, backlog=backlog, **how).sustained


def _untold(_: Any) -> Mapping[str, float]:
    """Nobody is known to be behind."""
    return {}


def _check_lasting(scenario: Scenario) -> None:
    """Refuse what happens at given times: a rate that is kept up is one of the long run."""
    for path in scenario.steady("a sustained rate").timed:
        raise ScenarioError(
            path,
            "happens at a given time, but a capacity by rate needs a lasting load",
            "leave it out, or ask by clients",
        )
