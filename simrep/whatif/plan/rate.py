"""What rate can be kept up in the long run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.measure.confidence import mean_interval
from simrep.measure.units import number
from simrep.runs.executor import collected, in_order
from simrep.runs.sustain import CLIENTS, Backlog, SustainedRate, sustainable_rate
from simrep.scenario import Scenario
from simrep.whatif.plan.answer import Answer

__all__ = ["Rate", "highest_rate"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rate(Answer):
    """The rate that no member falls behind at.

    ``plot()`` draws the growth of what is behind, over the rates that were tried.

    Attributes
    ----------
    limit : str
        What happens above it, in words.
    searches : tuple of SustainedRate
        One per replication.
    """

    limit: str
    searches: tuple[SustainedRate, ...]

    def _rows(self) -> list[dict[str, Any]]:
        """A row per rate that was tried."""
        return [
            {
                "replication": replication,
                "rate_tps": probe.rate_tps,
                "arrivals": probe.arrivals,
                "behind": probe.behind,
                "drift": probe.drift,
                "allowed": probe.allowed,
                "slowest": probe.slowest,
                "sustained": probe.sustained,
            }
            for replication, one in enumerate(self.searches)
            for probe in one.probes
        ]


def highest_rate(
    scenario: Scenario,
    *,
    precision: float = 0.05,
    replications: int = 5,
    confidence: float = 0.95,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
    backlog: Backlog | None = None,
) -> Rate:
    """The highest rate of arrivals that is kept up: flow control, if any, never begins.

    Parameters
    ----------
    scenario : Scenario
        Its clients are replaced by arrivals; see :func:`simrep.sustainable_rate`.
    precision : float
        Of each search.
    replications : int
        Searches with other random numbers, at least 2.
    confidence, seed, executor, progress
        See :func:`simrep.plan`.
    backlog : callable, optional
        See :func:`simrep.sustainable_rate`.
    """
    if replications < 2:
        raise ScenarioError("replications", f"an interval needs at least 2, given {replications}")
    seed = scenario.run.seed if seed is None else seed
    setup = setup_of(scenario.steady("the highest rate"))
    tasks = [(scenario, seed, precision, number, backlog) for number in range(replications)]
    searches, complete = collected(
        in_order(_searched, tasks, executor),
        least=2,
        progress=progress,
        total=replications,
    )
    rate = mean_interval([found.rate_tps for found in searches], confidence)
    # The ends of the brackets, so that the width of the searches is in the interval too.
    low = mean_interval([found.low_tps for found in searches], confidence).low
    high = mean_interval([found.high_tps for found in searches], confidence).high
    who = Counter(found.limited_by for found in searches).most_common(1)[0][0]
    limit = "transactions queue up before they commit" if who == CLIENTS else f"{who} falls behind"
    return Rate(
        question="The highest rate that is kept up in the long run",
        sentence=f"{number(rate.mean)} transactions/s ({number(low)} to {number(high)}, "
        f"{100.0 * confidence:.3g} %). Above it {limit}.",
        value=rate.mean,
        low=low,
        high=high,
        unit="transactions/s",
        confidence=confidence,
        seed=seed,
        complete=complete,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
        limit=limit,
        searches=tuple(searches),
    )


def _searched(
    scenario: Scenario,
    seed: int,
    precision: float,
    replication: int,
    backlog: Backlog | None,
) -> SustainedRate:
    return sustainable_rate(
        scenario, seed=seed, replication=replication, precision=precision, backlog=backlog
    )
