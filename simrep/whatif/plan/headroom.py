"""At which factor of today's load what gives out, and what is next behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from simrep.contract.model import Model
from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError
from simrep.measure.units import number
from simrep.runs.crew import Crew
from simrep.runs.strain import DRIFT
from simrep.scenario import Scenario
from simrep.whatif.objective import Objective
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.ladder import By, Ladder, Rung

__all__ = ["Headroom", "headroom"]

_STEPS = 3  # rungs of the ladder
_REPLICATIONS = 4


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Headroom(Answer):
    """At which factor of today's load what gives out; ``value`` is that of the first.

    ``plot()`` draws the ladder, and the throughput over the load on each of its rungs.

    Attributes
    ----------
    by : {"rate", "clients"}
        What grows.
    today_tps : float
        Commits per second at today's load.
    offered : float
        Today's clients, or arrivals per second.
    rungs : tuple of Rung
    """

    width = 130

    by: By
    today_tps: float
    offered: float
    rungs: tuple[Rung, ...]

    def _rows(self) -> list[dict[str, Any]]:
        """A row per load that was tried, and per resource that was widened."""
        rows: list[dict[str, Any]] = []
        for place, rung in enumerate(self.rungs, start=1):
            common = {"step": place, "gives_out": rung.name}
            rows += (
                common
                | {"tried": "load", "what": f"{level.factor:g}", self.by: level.offered}
                | {"kept_up_tps": level.kept_up_tps, "p95_s": level.latency_p95_s}
                | {"slowest": level.slowest, "replications": len(level.strains)}
                for level in rung.levels
            )
            rows += (
                common
                | {"tried": "wider", "what": one.resource.name, self.by: rung.end.offered}
                | {"gain": one.gain, "evidence": one.resource.evidence}
                | {"replications": one.replications}
                for one in rung.helped
            )
        columns = dict.fromkeys(key for row in rows for key in row)
        return [{key: row.get(key) for key in columns} for row in rows]

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it, with the ladder."""
        ladder = [
            {
                "gives_out": rung.name,
                "factor": rung.factor.mean,
                "low": rung.factor.low,
                "high": rung.factor.high,
                "evidence": "" if rung.by is None else rung.by.evidence,
                "why": rung.why,
                "reached": rung.reached,
            }
            for rung in self.rungs
        ]
        own = {"by": self.by, "today_tps": self.today_tps, "offered": self.offered}
        return super(Headroom, self).to_dict() | own | {"ladder": ladder}


def headroom(
    scenario: Scenario,
    *,
    by: By | None = None,
    objective: str | Objective | None = None,
    steps: int = _STEPS,
    replications: int = _REPLICATIONS,
    confidence: float = 0.95,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Headroom:
    """At which factor of today's load what gives out, and what is next behind it.

    The load grows until all nodes together do not keep up more of it. There, what may be the
    bottleneck is widened, one at a time; it is the one that helps most. It stays wide, and the
    load grows on, for the next one.

    Parameters
    ----------
    scenario : Scenario
        Today's load is that of its clients, or of its arrivals. ``[run]`` matters for the seed.
    by : {"rate", "clients"}, optional
        What grows: ``clients`` of a closed loop, or the ``rate`` of arrivals; default: as the
        scenario has it. With ``rate``, clients are replaced by arrivals at the rate that they get.
    objective : str or Objective, optional
        Such as ``p95<=50ms``: a load that does not meet it is too large, too.
    steps : int
        How many resources give out, one behind the other, at most.
    replications : int
        At the ends, at least 2.
    confidence, seed, executor, progress
        See :func:`simrep.plan`.
    """
    if replications < 2:
        raise ScenarioError("replications", f"an interval needs at least 2, given {replications}")
    if steps < 1:
        raise ScenarioError("steps", f"must be at least 1, given {steps}")
    if by not in {None, "rate", "clients"}:
        raise ScenarioError("by", f"must be rate or clients, given {by!r}")
    wanted = None if objective is None else Objective.of(objective)
    _check(scenario, by)
    open_loop = scenario.workload.open_loop
    chosen: By = by or ("rate" if open_loop else "clients")
    seed = scenario.run.seed if seed is None else seed
    setup = setup_of(scenario)
    search = Ladder(
        scenario,
        chosen,
        wanted,
        replications,
        confidence,
        seed,
        Crew() if executor is None else executor,
        progress,
        steps,
    )
    rungs, complete = search.climb()
    first = rungs[0]
    return Headroom(
        question="Headroom: what gives out first when the load grows",
        sentence=_sentence(rungs),
        value=first.factor.mean,
        low=first.factor.low,
        high=first.factor.high if first.reached else None,
        unit="times today's throughput",
        confidence=None if search.open_loop else confidence,
        notes=tuple(_notes(setup, search, rungs)),
        seed=seed,
        complete=complete,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
        by=chosen,
        today_tps=search.today_tps,
        offered=search.offered(1.0),
        rungs=tuple(rungs),
    )


def _check(scenario: Scenario, by: By | None) -> None:
    """Refuse what has no factor."""
    steady = scenario.steady("headroom")
    for path in steady.timed:
        raise ScenarioError(
            path,
            "happens at a given time, but headroom needs a lasting load",
            "leave it out",
        )
    if by == "clients" and scenario.workload.open_loop:
        raise ScenarioError("by", "an open loop has no clients to count", "ask by rate")


def _sentence(rungs: Sequence[Rung]) -> str:
    """The ladder in words."""
    first, *others = rungs
    if not first.reached:
        return (
            f"Nothing gives out {first.why}, {number(first.factor.mean)} times today's throughput."
        )
    said = [f"At {_times_text(first)} today's throughput {_what(first)}."]
    for rung in others:
        if not rung.reached:
            said.append(f"With that wider, nothing more gives out {rung.why}.")
        elif rung.by is None:
            said.append(
                f"With that wider, {number(rung.factor.mean)} times are kept up, and nothing that "
                "was widened helps any further."
            )
        else:
            said.append(f"Behind it, at {_times_text(rung)}, {_what(rung)}.")
    return " ".join(said)


def _what(rung: Rung) -> str:
    """What gives out, and how that shows."""
    if rung.by is None:
        return f"it ends ({rung.why}), and nothing that was widened helps"
    return f"the limit is {' or '.join([rung.name, *rung.likewise])} ({_evidence(rung)})"


def _times_text(rung: Rung) -> str:
    one = rung.factor
    return f"{number(one.mean)} times ({number(one.low)} to {number(one.high)})"


def _evidence(rung: Rung) -> str:
    parts = [rung.why] if rung.by is None else [rung.by.evidence, rung.why]
    return "; ".join(part for part in parts if part)


def _notes(setup: Setup, search: Ladder, rungs: Sequence[Rung]) -> list[str]:
    model, workload = setup.model, setup.scenario.workload
    notes = []
    if search.open_loop:
        what = (
            "arrivals at the rate that the clients get today" if search.replaced else "its arrivals"
        )
        notes.append(
            f"Today's load: {number(search.offered(1.0))} transactions/s. A factor is one of "
            f"{what}."
        )
    else:
        clients = f"{workload.clients} client{'s' * (workload.clients != 1)}"
        notes.append(
            f"Today's load: {clients}, {number(search.today_tps)} transactions/s. The load grows "
            "by more clients. Factors multiply the throughput, because twice the clients seldom "
            "commit twice as much."
        )
    widened = [f"{rung.name}: {rung.by.wider}" for rung in rungs if rung.by is not None]
    if len(rungs) > 1:
        notes.append(f"Widened to find the next limit: {'; '.join(widened[: len(rungs) - 1])}.")
    notes.append(
        "Not modelled: memory, connection limits, clients' machines, a network card or disk shared "
        "with others. A backlog that grows by less than "
        f"{DRIFT:.1%} of the commits is not noticed."
    )
    if model.backlog is Model.backlog:
        notes.append(
            f"Model {model.name!r} does not tell how far its nodes are behind: only what clients "
            "get counts."
        )
    return notes
