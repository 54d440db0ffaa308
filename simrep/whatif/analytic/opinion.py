"""A second opinion on a scenario: closed forms instead of a simulation, at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simrep.contract.setup import Setup, setup_of
from simrep.runs.report import Report
from simrep.scenario import Scenario, load
from simrep.whatif.analytic.doubts import contention, doubts
from simrep.whatif.analytic.solve import NoSolutionError, Solution, solve

if TYPE_CHECKING:
    from rich.console import Group

    from simrep.runs.result import Result

__all__ = ["Analytic", "analytic"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Analytic(Report):
    """What closed forms say of a scenario, or why they say nothing.

    Attributes
    ----------
    title : str
        Name of the scenario.
    throughput_tps : float or None
        Committed transactions per second; None where no closed form holds.
    latency_s : float or None
        Mean latency in seconds.
    stages_s : mapping of str to float
        Its parts, in seconds.
    busy : mapping of str to float
        Share of the cores in use, by machine.
    reasons : tuple of str
        Why no closed form holds; empty where one does.
    notes : tuple of str
        What is simplified.
    """

    title: str
    throughput_tps: float | None = None
    latency_s: float | None = None
    stages_s: Mapping[str, float] = field(default_factory=dict)
    busy: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether there is an answer."""
        return not self.reasons

    def against(self, result: Result) -> dict[str, float]:
        """How far it is from a simulation, relative to that, by figure; empty without an answer."""
        pairs = {
            "throughput_tps": (self.throughput_tps, result.throughput_tps),
            "latency_s.mean": (self.latency_s, result.latency_s.get("mean", 0.0)),
        }
        return {
            name: said / simulated - 1.0
            for name, (said, simulated) in pairs.items()
            if said is not None and isfinite(simulated) and simulated > 0.0
        }

    def to_dict(self, result: Result | None = None) -> dict[str, Any]:
        """As JSON can hold it; with a simulation, the differences to it."""
        content = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("stages_s", "busy"):
            content[name] = dict(content[name])
        for name in ("reasons", "notes"):
            content[name] = list(content[name])
        content["holds"] = self.holds
        if result is not None:
            content["difference"] = self.against(result)
        return content

    def tables(self, result: Result | None = None) -> Group:
        """Tables for a terminal; with a simulation, beside it."""
        tables: Group = self._view("tables", result)
        return tables

    def _rows(self) -> list[dict[str, Any]]:
        """A row per stage of the latency."""
        return [{"stage": name, "seconds": seconds} for name, seconds in self.stages_s.items()]

    def __repr__(self) -> str:
        if not self.holds:
            return f"<Analytic: none, {self.reasons[0]}>"
        return f"<Analytic {self.throughput_tps:.4g} transactions/s, mean {self.latency_s:.4g} s>"


def analytic(scenario: str | Path | Mapping[str, Any] | Scenario) -> Analytic:
    """What closed forms and mean value analysis say of a scenario.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.

    Returns
    -------
    Analytic
        Throughput and mean latency, or the reasons why no closed form holds.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run.
    """
    loaded = load(scenario)
    setup = setup_of(loaded)
    form = setup.model.analytic(setup)
    reasons = list(doubts(setup))
    if form is None:
        reasons.insert(0, f"model {setup.model.name!r} has no closed form")
        return Analytic(title=loaded.name, reasons=tuple(reasons))
    if len(setup.workload.classes) == 1:  # forms are those of a single class
        reasons += form.doubts()
    if reasons:
        return Analytic(title=loaded.name, reasons=tuple(reasons))
    try:
        solution = solve(setup, form)
    except NoSolutionError as error:
        return Analytic(title=loaded.name, reasons=(str(error),))
    under_way = sum(rate * solution.latencies_s[node] for node, rate in solution.rates.items())
    if crowded := contention(setup, under_way):
        reasons.append(crowded)
    reasons += form.limits(solution.rates)
    if reasons:
        return Analytic(title=loaded.name, reasons=tuple(reasons))
    return Analytic(
        title=loaded.name,
        throughput_tps=_throughput_tps(setup, solution),
        latency_s=solution.latency_s,
        stages_s=solution.stages_s,
        busy={host: share for host, share in solution.busy.items() if share > 0.0},
        notes=tuple(form.notes()),
    )


def _throughput_tps(setup: Setup, solution: Solution) -> float:
    """Of a fixed number, until the last client has done its share; its connection included."""
    workload = setup.workload
    if workload.per_client is None:
        return solution.throughput_tps
    think_s = workload.think.mean_s
    span_s = 0.0
    for node, latency_s in solution.latencies_s.items():
        machine = setup.machines[setup.placement[node]]
        on_host = sum(setup.placement[other] == setup.placement[node] for other in workload.nodes)
        turns = -(-on_host // (machine.cores or 1))
        connect_s = turns * solution.connects_s[node]
        connect_s += 2.0 * setup.scenario.workload.client_rtt_ms / 1e3
        span_s = max(span_s, connect_s + workload.per_client * (think_s + latency_s))
    return len(workload.nodes) * workload.per_client / span_s
